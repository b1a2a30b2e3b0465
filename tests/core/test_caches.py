"""Caches that cannot be written or are damaged, a linker that fails: each works or is one clear error."""

import collections
import os
import random
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from children import environment
from effort import LONG

from clgeom import caches
from clgeom.core.device import why_none
from clgeom.core.profile import describe
from clgeom.errors import NoDevice
from clgeom.quirks import pocl_cache, pocl_linker

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


def test_a_link_to_a_folder_that_is_gone_is_not_writable(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert not caches.writable(tmp_path / "link") and not caches.writable(tmp_path / "link" / "pocl" / "kcache")
    (tmp_path / "gone").mkdir()
    assert caches.writable(tmp_path / "link" / "pocl" / "kcache")


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
        "from clgeom import caches\ncaches.MOST_TEXTS = 3\n"
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


@pytest.mark.slow
def test_pyopencls_damaged_tables_are_made_anew(run, tmp_path):
    env = {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": caches.pocl_folder()}
    assert run(**env).stdout == "[1]\n"
    for at in (0, 4096, 8192):  # the header, and pages of what is in the table
        for path in (tmp_path / "pytools").glob("*.sqlite"):
            data = path.read_bytes()
            path.write_bytes(data[:at] + b"no table" * ((len(data) - at) // 8))
        for _ in range(2):
            result = run(**env)
            assert result.stdout == "[1]\n" and result.returncode == 0, result.stderr


# No device ------------------------------------------------------------------------------------------------------


def test_no_platform_and_no_device_are_told_apart(run, pocl, monkeypatch):
    from clgeom.core import device

    monkeypatch.setattr(device, "all_platforms", lambda: [])
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
    result = run(["-m", "clgeom", "devices"], **{**env, "PATH": str(tmp_path / "none")})
    assert result.returncode == 0 and pocl.profile.name in result.stdout
    assert "cannot be used: it links its kernels with the program 'ld', which is not on the PATH" in result.stderr


def test_a_linker_is_asked_once(pocl, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    linker, real = tmp_path / "ld", shutil.which("ld")
    linker.write_text(f'#!/bin/sh\necho asked >> {tmp_path}/asked\nexec {real} "$@"\n')
    linker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for _ in range(3):
        pocl_linker.check_linker(pocl.profile)
    assert (tmp_path / "asked").read_text() == 2 * "asked\n"  # an object, and a library
    for text, said in (
        ("exit 7", "exit status 7"),
        ("test $1 = --version || exit 7", "exit status 7"),
        ("exit 0", "it writes no shared library for this machine"),
        ("echo text > $3", "it writes no shared library for this machine"),
        (
            f"""case "$*" in *-shared*) echo "ld: no objects" >&2; exit 1;; esac; exec {real} "$@" """,
            "ld: no objects",
        ),
        ("kill -9 $$", "exit status -9"),
    ):
        linker.write_text(f"#!/bin/sh\n{text}\n")
        with pytest.raises(NoDevice, match=f"fails: {said}. Install binutils"):
            pocl_linker.check_linker(pocl.profile)


def test_kernels_link_without_a_c_compiler(pocl, tmp_path, monkeypatch):
    """PoCL names libgcc and libc to the linker, which no kernel needs but binutils alone does not install."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LIBRARY_PATH", "/own")
    pocl_linker.check_linker(pocl.profile)
    if "libraries" not in os.environ["LIBRARY_PATH"]:
        monkeypatch.setattr(pocl_linker, "COMPILER_LIBRARIES", ("/usr/lib/of-no-compiler/*",))
    for _ in range(2):
        pocl_linker.check_linker(pocl.profile)
    folder = tmp_path / "clgeom" / "libraries"
    assert os.environ["LIBRARY_PATH"] == f"/own:{folder}"
    libraries = ["-nostdlib", f"-L{folder}", "-lgcc", "-lgcc_s", "-lc"]
    subprocess.run(["ld", "-shared", "-o", tmp_path / "kernel.so", *libraries], check=True)
    (folder / "libc.a").unlink()
    monkeypatch.setattr(caches, "write", lambda path, text: False)
    with pytest.raises(NoDevice, match="libgcc and libc, which are missing, .* Install a C compiler"):
        pocl_linker.check_linker(pocl.profile)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("blocks", (0, 1, 100))
def test_files_that_may_not_be_large(run, pocl, tmp_path, blocks):
    """PoCL ends the process when it cannot write one."""
    env = {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": caches.pocl_folder()}
    code = (
        f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({blocks << 10}, resource.RLIM_INFINITY))\n"
        f"from clgeom.commands.main import main\nimport sys\nsys.argv = ['clgeom', 'demo', '--device', 'pocl']\nmain()"
    )
    result = run(["-c", code], **env)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1, result.stderr
    assert f"No file may be larger than {blocks << 10:,} bytes here (ulimit -f)" in result.stderr


# PoCL's cache ---------------------------------------------------------------------------------------------------


#: Calls of several kernels.
SEVERAL = """
import sys, numpy as np, clgeom
rng = np.random.default_rng(5)
points, keys = rng.normal(size=(9000, 2)), rng.integers(-(1 << 31), 1 << 31, 70_000).astype(np.int32)
device = {name!r}
assert (clgeom.sort(keys, device=device) == np.sort(keys)).all()
print(clgeom.convex_hull(points.astype(np.float32), device=device).vertices.tolist())
print(clgeom.orient2d(points[:9], points[9:18], points[18:27], device=device).tolist())
"""


def damage(rng, path, others):
    """One of the things that happen to files; `others` are files of the same kind."""
    data = bytearray(path.read_bytes())
    kind = rng.choice(DAMAGES)
    if kind == "half":
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    elif kind == "flip" and data:
        times = path.stat()
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return
    elif kind == "truncate":
        del data[rng.randrange(len(data) + 1) :]
    elif kind == "noise":
        data = rng.randbytes(len(data))
    elif kind == "more":
        data += b"more" * rng.randrange(1, 1000)
    elif kind == "swap":
        other = rng.choice(others)
        other_data = other.read_bytes()
        other.write_bytes(data)
        data = other_data
    elif kind == "mode":
        path.chmod(0)
        return
    elif kind == "temporary":
        (path.parent / f"{path.name}_x.temp").write_bytes(data[:99])
    elif kind in ("delete", "folder"):
        path.unlink()
        if kind == "folder":
            (path / "inside").mkdir(parents=True)
        return
    path.write_bytes(data)


DAMAGES = ("half", "flip", "truncate", "noise", "more", "swap", "mode", "temporary", "delete", "folder")
#: Rounds of damages and of two runs each.
ROUNDS = 60 if LONG else 1


def test_damaged_files_are_built_again(run, pocl, tmp_path):
    """No run has a wrong result, and the second after a damage none at all."""
    rng, env = random.Random(15), {"XDG_CACHE_HOME": tmp_path, "POCL_CACHE_DIR": None}
    command = ["-c", (SEVERAL if LONG else SIGN).format(name=pocl.profile.name)]
    whole, top = run(command, **env), tmp_path / "pocl" / "kcache"
    assert whole.returncode == 0, whole.stderr
    for number in range(ROUNDS):
        files = sorted(path for path in top.glob("??/**/*") if path.is_file() and "temp" not in path.name)
        notes = sorted(path for path in (top / "clgeom").iterdir() if path.name != "lock")
        for _ in range(20):
            path = rng.choice(files + notes)
            if path.is_file():
                damage(
                    rng, path, [other for other in files if other.is_file() and other.suffix == path.suffix] or [path]
                )
        first, second = run(command, **env), run(command, **env)
        assert first.returncode != 0 or first.stdout == whole.stdout, number
        assert (second.returncode, second.stdout) == (0, whole.stdout), (number, second.stderr)


@pytest.fixture
def top(tmp_path, monkeypatch):
    """An empty cache, with nothing used of it."""
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "kcache"))
    monkeypatch.setattr(pocl_cache, "_used", set())
    monkeypatch.setattr(pocl_cache, "_watched", collections.OrderedDict())
    return tmp_path / "kcache"


class Builder:
    """Stands for PoCL: writes a program and a kernel unless they are there, and counts what it writes."""

    int_ptr = 0
    folder = "AB/" + "C" * 37

    def __init__(self, top, monkeypatch):
        self.top, self.wrote = top, []
        monkeypatch.setattr(pocl_cache, "folder_of", lambda program: program.folder)

    def __call__(self, options=()):
        self.options = options
        time.sleep(0.02)  # a build takes longer than a tick of the clock of files
        self.write("program.bc")
        return self

    def write(self, name, data=b"data"):
        path = self.top / self.folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            (self.top / "tempfile").write_bytes(data)
            (self.top / "tempfile").rename(path)
            self.wrote.append(name)

    def run(self):
        """A process: a build, a launch, results that are read; then all is forgotten."""
        self.wrote = []
        assert pocl_cache.build(self, "source") is self
        self.write("kernel/1-1-1/kernel.so")
        pocl_cache.KernelFiles().look()
        pocl_cache._used.clear()
        pocl_cache._watched.clear()
        return self.wrote


KERNEL = "kernel/1-1-1/kernel.so"


def test_files_with_their_hashes_stay(top, monkeypatch):
    build = Builder(top, monkeypatch)
    assert build.run() == ["program.bc", KERNEL] and build.run() == []
    (top / build.folder / KERNEL).write_bytes(b"dat4")
    assert build.run() == [KERNEL] and build.run() == []
    (top / build.folder / "clgeom.sums").unlink()  # who knows what these files are
    assert build.run() == ["program.bc", KERNEL] and build.run() == []
    for note in (top / "clgeom").iterdir():
        note.unlink()
    assert build.run() == [] and build.run() == []  # the hashes are verified after the build
    (top / build.folder / "program.bc").write_bytes(b"dat4")
    for note in (top / "clgeom").iterdir():
        note.unlink()
    assert build.run() == ["program.bc"] and build.run() == []


def test_a_build_that_has_died_becomes_another_program(top, monkeypatch):
    """The lock tells: a process that runs keeps it, whatever its number and its container are."""
    build = Builder(top, monkeypatch)
    code = (
        "import sys, os, time\nfrom clgeom.quirks import pocl_cache\n"
        "def make(options):\n    print('builds', flush=True)\n    sys.stdin.readline()\n    os._exit(1)\n"
        "pocl_cache.build(make, 'source')"
    )
    env = environment(POCL_CACHE_DIR=str(top))
    other = subprocess.Popen([sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"builds\n"
    pocl_cache.build(build, "source")
    assert build.options == ()  # it lives
    pocl_cache._used.clear()
    pocl_cache._watched.clear()
    (note,) = (path for path in (top / "clgeom").iterdir() if path.name != "lock")
    caches.write_checked(note, "[null, 0, true]")
    other.communicate(b"\n")
    pocl_cache.build(build, "source")
    assert build.options == ("-DCLGEOM_ATTEMPT=1",)
    assert build.run() == [KERNEL] and build.options == ("-DCLGEOM_ATTEMPT=1",)


def test_files_of_a_process_that_runs_stay(top, monkeypatch):
    """It has no hashes yet of what it builds at this moment."""
    build = Builder(top, monkeypatch)
    code = (
        "import sys, os\nfrom pathlib import Path\nfrom clgeom.quirks import pocl_cache\n"
        f"folder = Path({str(top)!r}, {build.folder!r})\npocl_cache.folder_of = lambda program: {build.folder!r}\n"
        "def make(options):\n    folder.mkdir(parents=True)\n    (folder / 'program.bc').write_bytes(b'data')\n"
        "pocl_cache.build(make, 'source')\nprint('built', flush=True)\nsys.stdin.readline()\nos._exit(1)"
    )
    env = environment(POCL_CACHE_DIR=str(top))
    other = subprocess.Popen([sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"built\n"
    pocl_cache.build(build, "source")
    assert build.wrote == []
    pocl_cache._used.clear()
    old = time.time() + pocl_cache.YOUNG  # in ns: far in the future
    monkeypatch.setattr(pocl_cache.time, "time_ns", lambda: int(old))
    pocl_cache.build(build, "source")
    assert build.wrote == ["program.bc"]
    other.communicate(b"\n")


def test_the_second_process_renders_no_template_and_asks_no_witnesses(run, session, tmp_path):
    """And it does both again where what was kept is damaged."""
    code = (
        "import clgeom, sys, numpy\npoints = numpy.random.default_rng(3).normal(size=(9000, 2))\n"
        f"from clgeom.core.build import program_keys\nsession = clgeom.Session({session.profile.name!r})\n"
        "print(clgeom.convex_hull(points, device=session).vertices.tolist())\n"
        "print('mako' in sys.modules, *sorted({key[0].rsplit('/')[-1] for key in program_keys(session)}))"
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
