"""Files that cannot be read or written: missing, folders, pipes, without permission."""

import os
import tempfile
from pathlib import Path

import pytest
from point_files import make

from clgeom.errors import InvalidInput
from clgeom.io.atomic import check_output, replacing
from clgeom.io.outputs import GEOMETRIES
from clgeom.io.points import read_points

__all__ = ["make"]


def test_read_points_unreadable(tmp_path, make):
    with pytest.raises(InvalidInput, match="No such file"):
        read_points(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="must end in one of .npy, "):
        read_points(make("points.xlsx", ""))
    with pytest.raises(InvalidInput, match="for .npz files"):
        read_points(make("points.csv", ""), array="a")
    for suffix in (".csv", ".npy", ".npz"):
        (tmp_path / f"folder{suffix}").mkdir()
        with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
            read_points(tmp_path / f"folder{suffix}")
        with pytest.raises(InvalidInput, match="cannot be read: File name too long"):
            read_points(tmp_path / ("n" * 300 + suffix))
        with pytest.raises(InvalidInput, match="null character"):
            read_points(f"a\0{suffix}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz"])
def test_read_points_waits_for_no_pipe(tmp_path, suffix):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"null{suffix}").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(InvalidInput, match="not a regular file"):
            read_points(tmp_path / f"{name}{suffix}")


@pytest.fixture
def unprivileged(tmp_path_factory):
    """A folder, while the process has no more rights than any user's."""
    if not hasattr(os, "setresuid"):
        pytest.skip("this system has no setresuid to become another user by")
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, 65534, 65534)
            os.setresuid(65534, 65534, 0)
        try:
            yield Path(folder)
        finally:
            if root:
                os.setresuid(0, 0, 0)


def test_files_without_permission(unprivileged):
    secret, folder = unprivileged / "secret.csv", unprivileged / "closed"
    secret.write_text("x,y\n")
    secret.chmod(0)
    folder.mkdir(mode=0o555)
    with pytest.raises(InvalidInput, match="cannot be read: Permission denied"):
        read_points(secret)
    with pytest.raises(InvalidInput, match="cannot be written: it is read-only"):
        check_output(secret, GEOMETRIES)
    with pytest.raises(InvalidInput, match="is read-only"):
        check_output(folder / "a.csv", GEOMETRIES)
    with (
        pytest.raises(InvalidInput, match="cannot be written: Permission denied"),
        replacing(folder / "a.csv"),
    ):
        pytest.fail("no file can be there")
