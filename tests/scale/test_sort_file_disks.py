"""`sort_file` whose indices go to another disk than the keys."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
from children import environment
from sorted_files import check, saved

import clgeom
from clgeom.errors import InvalidInput
from clgeom.io.atomic import is_one_disk
from clgeom.scale.sorting import job as external
from clgeom.scale.sorting.state import MARK, state_folder


@pytest.fixture
def other_disk(tmp_path, monkeypatch):
    """A folder into which the system renames no file of another folder, as of another disk."""
    other, replace = tmp_path / "other disk", os.replace
    other.mkdir()

    def renamed(source, target):
        if (Path(source).parent == other) != (Path(target).parent == other):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(source, target)

    monkeypatch.setattr(os, "replace", renamed)
    return other


@pytest.mark.parametrize("n, from_chunks", ((500, False), (80_000, False), (80_000, True)))
def test_indices_on_another_disk(tmp_path, other_disk, n, from_chunks):
    keys, (out, order) = np.random.default_rng(0).integers(0, 99, n), (tmp_path / "s.npy", other_disk / "order.npy")
    order.write_bytes(b"as it was")
    order.chmod(0o640)
    source = iter(np.split(keys, 4)) if from_chunks else saved(tmp_path / "keys.npy", keys)
    check(clgeom.scale.sort_file(source, out, max_bytes=10**6, indices=order), keys)
    assert order.stat().st_mode & 0o777 == 0o640 or sys.platform == "win32"
    assert os.listdir(other_disk) == ["order.npy"] and set(os.listdir(tmp_path)) <= {"keys.npy", "s.npy", "other disk"}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm is Linux's")
def test_indices_on_a_disk_that_is_another(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if os.stat(folder).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("both folders are on one disk")
        assert not is_one_disk(tmp_path, folder) and is_one_disk(tmp_path, tmp_path.parent)
        keys = np.random.default_rng(0).integers(0, 99, 500)
        source, order = saved(tmp_path / "keys.npy", keys), Path(folder) / "order.npy"
        check(clgeom.scale.sort_file(source, tmp_path / "s.npy", indices=order), keys)
        assert os.listdir(folder) == ["order.npy"] and sorted(os.listdir(tmp_path)) == ["keys.npy", "s.npy"]


def test_the_other_disk_must_have_room_at_the_start(tmp_path, other_disk, monkeypatch):
    keys, free = np.random.default_rng(0).integers(0, 99, 80_000), {}
    usage, stat = shutil.disk_usage, os.stat

    def two_disks(path, **options):
        found = stat(path, **options)
        if Path(path) != other_disk:
            return found
        return types.SimpleNamespace(st_dev=-1, st_mode=found.st_mode, st_ino=found.st_ino)

    monkeypatch.setattr(external.os, "stat", two_disks)
    monkeypatch.setattr(
        external.shutil, "disk_usage", lambda path: usage(path)._replace(free=free.get(Path(path), 1 << 40))
    )
    source, order = saved(tmp_path / "keys.npy", keys), other_disk / "order.npy"
    arguments = (source, tmp_path / "s.npy"), {"max_bytes": 10**6, "indices": order}
    for folder, wanted in ((other_disk, 8 * len(keys) + 128), (tmp_path, 16 * len(keys))):
        free.clear()
        free[folder] = wanted - 1
        begun = []
        with monkeypatch.context() as patched:
            patched.setattr(external.FileSort, "_sort_blocks", lambda *_, begun=begun: begun.append(1))
            with pytest.raises(InvalidInput, match=f"{folder.name}' must have [0-9,]+ bytes of free space"):
                clgeom.scale.sort_file(*arguments[0], **arguments[1])
        assert not begun and os.listdir(other_disk) == [] and sorted(os.listdir(tmp_path)) == ["keys.npy", "other disk"]
    free.clear()
    free[other_disk] = 8 * len(keys) + 128
    check(clgeom.scale.sort_file(*arguments[0], **arguments[1]), keys)


def test_a_full_other_disk_keeps_the_state(tmp_path, other_disk, monkeypatch):
    keys = np.random.default_rng(0).integers(0, 99, 80_000)
    source, out, order = saved(tmp_path / "keys.npy", keys), tmp_path / "s.npy", other_disk / "order.npy"

    def full(source, file, size):
        file.write(source.read(99))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", full)
        with pytest.raises(InvalidInput, match="order.npy' cannot be written: No space left on device. What is sorted"):
            clgeom.scale.sort_file(source, out, max_bytes=10**6, indices=order)
    assert os.listdir(other_disk) == [] and not out.exists()
    found = clgeom.scale.sort_file(source, out, max_bytes=10**6, indices=order)
    assert found.resumed
    check(found, keys)


KILLED = """
    import errno, os, shutil, signal, sys
    from pathlib import Path
    import numpy as np
    import clgeom
    source, out, order = map(Path, sys.argv[1:])
    replace = os.replace

    def renamed(old, new):
        if (Path(old).parent == order.parent) != (Path(new).parent == order.parent):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        replace(old, new)

    def killed(source, file, size):
        file.write(source.read(99))
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    os.replace, shutil.copyfileobj = renamed, killed
    keys = source if source.exists() else np.arange(500)
    clgeom.scale.sort_file(keys, out, max_bytes=10**6, indices=order)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
@pytest.mark.parametrize("later", ("the same", "no indices", "of an array"))
def test_a_copy_that_a_killed_process_left_is_removed(tmp_path, other_disk, later):
    keys = np.random.default_rng(0).integers(0, 99, 80_000)
    source, out, order = tmp_path / "keys.npy", tmp_path / "s.npy", other_disk / "order.npy"
    if later != "of an array":
        saved(source, keys)
    order.write_bytes(b"as it was")
    strange = other_disk / ".clgeom-1-00000000.part"  # of another call that runs
    strange.touch()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), *map(str, (source, out, order))]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(os.listdir(other_disk)) == 3 and order.read_bytes() == b"as it was"
    given, options = keys if later == "of an array" else source, {} if later == "no indices" else {"indices": order}
    found = clgeom.scale.sort_file(given, out, max_bytes=10**6, **options)
    check(found, keys)
    assert found.resumed == (later == "the same")
    assert sorted(os.listdir(other_disk)) == [strange.name, "order.npy"]
    assert set(os.listdir(tmp_path)) <= {"keys.npy", "s.npy", "other disk"}


def test_a_note_of_a_copy_removes_no_other_file(tmp_path):
    """Whoever may write beside the output could have written it."""
    out, kept = tmp_path / "s.npy", tmp_path / "kept.npy"
    kept.touch()
    for note in (os.fsencode(kept), b"", b"\0/.clgeom-1-00000000.part", b"none/.clgeom-1-00000000.part"):
        state_folder(out).mkdir(exist_ok=True)
        (state_folder(out) / "lock").write_bytes(MARK)
        (state_folder(out) / "copy").write_bytes(note)
        clgeom.scale.sort_file(np.arange(9)[::-1], out)
        assert sorted(os.listdir(tmp_path)) == ["kept.npy", "s.npy"]


OTHERS = ({"precious": b"data"}, {"lock": b"token"}, {"lock": b"", "precious": b"data"})


@pytest.mark.parametrize(
    ("contents", "linked"),
    [({}, True), ({"lock": MARK}, True), *((one, linked) for one in OTHERS for linked in (True, False))],
)
def test_a_folder_of_others_is_not_taken_for_the_state(tmp_path, contents, linked):
    """Nor is one that has an empty lock and other files, nor any link, nor what a link names."""
    out, folder = tmp_path / "s.npy", tmp_path / "others"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    if linked:
        state_folder(out).symlink_to(folder)
    else:
        folder = folder.rename(state_folder(out))
    with pytest.raises(InvalidInput, match="is no folder of a sort"):
        clgeom.scale.sort_file(np.arange(9)[::-1], out)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == contents and not out.exists()


def test_a_folder_that_a_process_left_while_it_removed_it_is_removed(tmp_path):
    out = tmp_path / "s[1].npy"
    left = [tmp_path / f"{state_folder(out).name}-{number}-140329642039184" for number in range(4)]
    for folder, lock in zip(left, (MARK, None, b"token", None)):  # two of clgeom's, one of them empty, two of others
        folder.mkdir()
        (folder / ("lock" if lock else "precious")).write_bytes(lock or b"data")
    (left[0] / "buckets").touch()
    (left[1] / "precious").unlink()
    clgeom.scale.sort_file(np.arange(9)[::-1], out)
    assert sorted(tmp_path.iterdir()) == [*left[2:], out]


@pytest.mark.parametrize("there", (True, False))
def test_a_lock_that_is_a_link_stays(tmp_path, there):
    out, victim = tmp_path / "s.npy", tmp_path / "victim"
    if there:
        victim.write_text("token")
    state_folder(out).mkdir()
    (state_folder(out) / "lock").symlink_to(victim)
    with pytest.raises(InvalidInput, match="is no folder of a sort"):
        clgeom.scale.sort_file(np.arange(9)[::-1], out)
    assert (victim.read_text() == "token") if there else not victim.exists()
