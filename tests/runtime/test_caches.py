"""Caches that cannot be written or are damaged, a linker that fails: each works or is one clear error."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clgeom.errors import NoDevice
from clgeom.runtime import caches, pocl_cache
from clgeom.runtime.device import why_none
from clgeom.runtime.profile import describe

#: A call of few kernels.
SIGN = "import clgeom; print(clgeom.orient2d([(0, 0)], [(4, 0)], [(2, 1)], device={name!r}).tolist())"


@pytest.fixture
def run(session, tmp_path):
    """run(**env): SIGN in a new process with these environment variables, None to unset one."""

    def start(command=None, **env):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path), **env}
        command = command or ["-c", SIGN.format(name=session.profile.name)]
        return subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            text=True,
            timeout=120,
            env={key: str(value) for key, value in env.items() if value is not None},
        )

    return start


@pytest.fixture
def pocl(session):
    if session.profile.runtime != "pocl":
        pytest.skip(f"about PoCL, not {session.profile.platform}")
    return session


# Folders --------------------------------------------------------------------------------------------------------


def test_writable(tmp_path):
    assert caches.writable(tmp_path) and caches.writable(tmp_path / "a" / "b")
    (tmp_path / "file").touch()
    assert not caches.writable(tmp_path / "file") and not caches.writable(tmp_path / "file" / "a")
    assert not caches.writable(Path("/dev/null/x")) and not caches.writable(Path("/proc/x"))
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]  # asking leaves nothing


def test_a_full_disk_is_not_writable(tmp_path, monkeypatch):
    found = os.statvfs(tmp_path)
    full = os.statvfs_result((*found[:4], 3, *found[5:]))
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    assert not caches.writable(tmp_path)


def test_prepare_changes_nothing_that_works(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    before = dict(os.environ)
    caches.prepare()
    assert dict(os.environ) == before and not list(tmp_path.iterdir())


def test_prepare_finds_a_place_of_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    monkeypatch.setenv("POCL_CACHE_DIR", "/dev/null/y")
    monkeypatch.setattr(caches.tempfile, "tempdir", str(tmp_path))
    caches.prepare()
    own = tmp_path / f"clgeom-{os.geteuid()}"
    assert os.environ["XDG_CACHE_HOME"] == str(own) and os.environ["POCL_CACHE_DIR"] == str(own / "pocl")
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    own.chmod(0o777)  # somebody else could have put kernels there
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    caches.prepare()
    other = Path(os.environ["XDG_CACHE_HOME"])
    assert other != own and other.parent == tmp_path and stat.S_IMODE(other.stat().st_mode) == 0o700


def _interrupt(*arguments):
    raise KeyboardInterrupt


def test_notes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if caches.folder().parent != tmp_path:
        pytest.skip("this system has another place for caches")
    assert caches.noted("thing") == {}
    caches.note("thing", {"a": [1, 2]})
    assert caches.noted("thing") == {"a": [1, 2]}
    assert [path.name for path in caches.folder().iterdir()] == ["thing.json"]
    for text in ("{", "[]", "\xff", "[" * 200_000):
        (caches.folder() / "thing.json").write_bytes(text.encode("latin-1"))
        assert caches.noted("thing") == {}
    with monkeypatch.context() as interrupted, pytest.raises(KeyboardInterrupt):
        interrupted.setattr(os, "replace", _interrupt)
        caches.note("thing", {"a": 1})
    assert [path.name for path in caches.folder().iterdir()] == ["thing.json"]
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    caches.note("thing", {})
    assert caches.noted("thing") == {}


def test_texts(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if caches.folder().parent != tmp_path:
        pytest.skip("this system has another place for caches")
    name = caches.digest_of("name")
    assert caches.kept(name) is None
    for text in ("int a;\r\n\n// \u00fc\n", "", "other"):
        caches.keep(name, text)
        assert caches.kept(name) == text
    (path,) = (caches.folder() / "texts").iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole + b" ", whole[1:], b"", b"\xff", whole.replace(b"t", b"T")):
        path.write_bytes(damaged)
        assert caches.kept(name) is None
    monkeypatch.setattr(caches, "MOST_TEXTS", 3)
    for i in range(5):
        caches.keep(str(i), text)
        assert caches.kept(str(i)) == text and len(os.listdir(path.parent)) <= 3
    for i in range(3):  # which are not removed, and others are all the same
        (path.parent / f"folder {i}").mkdir()
    for i in range(20):
        caches.keep(f"{i} besides", text)
    assert sum(one.is_file() for one in path.parent.iterdir()) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    caches.keep(name, text)
    assert caches.kept(name) is None


def test_texts_of_several_processes(tmp_path, monkeypatch):
    """Each process finds none or a whole one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = (
        "from clgeom.runtime import caches\ncaches.MOST_TEXTS = 3\n"
        "for i in range(300):\n    caches.keep(str(i % 5), 'x' * i)\n"
        "    found = caches.kept(str(i % 5))\n    assert found is None or set(found) <= {'x'}"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]


@pytest.mark.parametrize(
    "env",
    (
        {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "POCL_CACHE_DIR": None},
        {"XDG_CACHE_HOME": "/proc/x", "POCL_CACHE_DIR": "/dev/null/x"},
    ),
)
def test_without_a_writable_home_or_cache(run, pocl, env):
    for _ in range(2):  # the second finds the first one's kernels
        result = run(**env)
        assert result.stdout == "[1]\n", result.stderr
        assert "Error" not in result.stderr and "Warning" not in result.stderr


def test_pyopencls_tables_are_damaged(run, tmp_path):
    env = {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": caches.pocl_folder()}
    assert run(**env).stdout == "[1]\n"
    tables = list((tmp_path / "pytools").glob("*.sqlite"))
    for path in tables:
        path.write_bytes(b"no table" * 1000)
    result = run(**env)
    if tables and "Error" in result.stderr:
        last = result.stderr.strip().splitlines()[-1]
        assert last.startswith("clgeom.errors.") and f"'{tmp_path / 'pytools'}'" in last
        assert "XDG_CACHE_HOME" in last
    else:
        assert result.stdout == "[1]\n"


# No device ------------------------------------------------------------------------------------------------------


def test_no_platform_and_no_device_are_told_apart(run, pocl, monkeypatch):
    from clgeom.runtime import device

    monkeypatch.setattr(device, "_platforms", lambda: [])
    assert "no OpenCL driver is installed" in why_none() and "pip install" in why_none()
    code = "import clgeom\ntry: clgeom.convex_hull([(0, 0)])\nexcept clgeom.errors.NoDevice as error: print(error)"
    said = run(["-c", code], POCL_DEVICES="nonesuch", CLGEOM_DEVICE=None).stdout
    others = [d for d in device._ranked() if describe(d).runtime != "pocl"]
    if not others:
        assert "the installed drivers show none" in said and "Portable Computing Language" in said
        assert "POCL_CACHE_DIR" in said and "XDG_CACHE_HOME" in said and "pip install" not in said


# The linker -----------------------------------------------------------------------------------------------------


def test_a_linker_that_fails_is_named(run, pocl, tmp_path):
    linker = tmp_path / "ld"
    linker.write_text("#!/bin/sh\necho 'ld: cannot open libbfd' >&2\nexit 1\n")
    linker.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_CACHE_HOME": tmp_path / "cache"}
    points = tmp_path / "points.csv"
    points.write_text("x,y\n0,0\n1,1\n")
    result = run(["-m", "clgeom", "hull", str(points), "--device", pocl.profile.name], **env)
    assert result.returncode == 2 and result.stdout == ""
    assert f"{linker} fails: ld: cannot open libbfd. Install binutils" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_linker_is_asked_once(pocl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    linker = tmp_path / "ld"
    linker.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\n")
    linker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for _ in range(3):
        pocl_cache.check_linker(pocl.profile)
    assert (tmp_path / "asked").read_text() == "asked\n"
    linker.write_text("#!/bin/sh\nexit 7\n")
    with pytest.raises(NoDevice, match="fails: exit status 7. Install binutils"):
        pocl_cache.check_linker(pocl.profile)


# PoCL's cache ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with one program of one kernel, that kernel, and notes of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    kernel = tmp_path / "pocl" / "kcache" / "AB" / "CDEF" / "name" / "1-1-1" / "name.so"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(Path(sys.executable).resolve().read_bytes()[:64].ljust(64, b"\0"))
    return kernel


def _elf(length):
    """A file of this length whose header says that it has 1000 bytes."""
    header = bytearray(b"\x7fELF\x02\x01\x01".ljust(64, b"\0"))
    header[40:48], header[58:60], header[60:62] = (
        (360).to_bytes(8, "little"),
        (64).to_bytes(2, "little"),
        (10).to_bytes(2, "little"),
    )
    return bytes(header).ljust(1000, b"x")[:length]


@pytest.mark.parametrize("length, whole", ((1000, True), (999, False), (500, False), (10, False), (0, False)))
def test_broken_kernels_are_removed_after_a_process_that_was_ended(cache, length, whole):
    cache.write_bytes(_elf(length))
    pocl_cache.mend_cache()  # whose boot is noted now
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_bytes(_elf(length))
    assert pocl_cache.mend_cache() == 0 and cache.exists()  # nothing has happened: nothing is read
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mark = caches.folder() / "running" / str(ended.pid)
    mark.touch()
    assert pocl_cache.mend_cache() == (not whole)
    assert cache.exists() == whole and not mark.exists()
    assert (caches.folder() / "running" / str(os.getpid())).exists()


def test_broken_kernels_are_removed_after_a_start_of_the_machine(cache, tmp_path, monkeypatch):
    boot = tmp_path / "boot"
    monkeypatch.setattr(pocl_cache, "BOOT", boot)
    assert pocl_cache.mend_cache() == 0  # not known on this system
    for name, broken in (("first", 1), ("first", 0), ("second", 1)):
        boot.write_text(name)
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_bytes(_elf(10))
        assert pocl_cache.mend_cache() == broken


def test_the_second_process_renders_no_template_and_asks_no_witnesses(run, session, tmp_path):
    """And it does both again where what was kept is damaged."""
    code = (
        "import clgeom, sys, numpy\npoints = numpy.random.default_rng(3).normal(size=(5000, 2))\n"
        f"session = clgeom.Session({session.profile.name!r})\n"
        "print(clgeom.convex_hull(points, device=session).vertices.tolist())\n"
        "print('mako' in sys.modules, *sorted({key[0].rsplit('/')[-1] for key in session.programs}))"
    )
    env = {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": caches.pocl_folder()}
    first, second = (run(["-c", code], **env) for _ in range(2))
    for path in (tmp_path / "clgeom" / "texts").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    (tmp_path / "clgeom" / "trials.json").write_text("{}")
    third = run(["-c", code], **env)
    hulls, said = zip(*(r.stdout.splitlines() for r in (first, second, third)))
    assert len(set(hulls)) == 1
    assert [line.split()[0] for line in said] == ["True", "False", "True"]
    assert ["orient2d_signs" in line for line in said] == [True, False, True]
    if session.profile.is_cpu:
        assert said[1] == "False sieve tile_hull"  # no more programs than that


def test_a_truncated_cache_of_pocl(run, pocl, tmp_path):
    """Programs without kernels are built again at once; a library that PoCL dies of, by the next process."""
    env = {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": None}
    assert run(**env).stdout == "[1]\n"
    assert not list((tmp_path / "clgeom" / "running").iterdir())  # it ended by itself
    for path in tmp_path.rglob("program.bc"):
        os.truncate(path, 100)
    assert run(**env).stdout == "[1]\n"
    for path in tmp_path.rglob("*.so"):
        os.truncate(path, 100)
    died, mended = run(**env), run(**env)
    assert died.returncode != 0 and "cannot read file data" in died.stderr
    assert mended.stdout == "[1]\n" and mended.returncode == 0
