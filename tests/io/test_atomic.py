"""Outputs are checked before the work, and files written whole or not at all."""

import os

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput
from clgeom.io.atomic import all_or_none, check_output, check_outputs, replacing
from clgeom.io.outputs import GEOMETRIES


@pytest.mark.parametrize(
    "name, message",
    [
        ("hull.txt", "must end in one of .csv, .fgb"),
        ("hull", "must end in one of"),
        ("none/hull.csv", "there is no folder"),
        ("file/hull.csv", "there is no folder"),
        ("folder.csv", "it is not a file"),
    ],
)
def test_check_output_refuses(tmp_path, name, message):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match=message):
        check_output(tmp_path / name, GEOMETRIES)


def test_replacing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.csv"]
    with replacing(path) as file:
        file.write(b"after")
    assert path.read_text() == "after" and os.listdir(tmp_path) == ["out.csv"]


def test_replacing_follows_links_and_respects_umask(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        with replacing(link) as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert link.is_symlink() and target.read_bytes() == b"x"
    assert target.stat().st_mode & 0o777 == 0o640


def test_replacing_keeps_mode_and_owner(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o604)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        os.chown(path, 65534, 65533)
    before = path.stat()
    with replacing(path) as file:
        file.write(b"after")
    after = path.stat()
    assert path.read_bytes() == b"after"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


@pytest.mark.parametrize("length", [250, 255])
def test_replacing_takes_long_names(tmp_path, length):
    path = tmp_path / ("n" * (length - 4) + ".csv")
    check_output(path, GEOMETRIES)
    with replacing(path) as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == [path.name]
    with pytest.raises(InvalidInput, match="cannot be written: File name too long"):
        check_output(tmp_path / ("n" * 252 + ".csv"), GEOMETRIES)
    with pytest.raises(InvalidInput, match="null character|null byte"):
        check_output("a\0.csv", GEOMETRIES)


@pytest.mark.parametrize("path", (None, 5, b"hull.csv", ["hull.csv"]))
def test_an_output_that_is_no_path_is_refused(path):
    with pytest.raises(InvalidInput, match="An output must be the path of a file. Got .* instead"):
        check_output(path, GEOMETRIES)
    with pytest.raises(InvalidInput, match="An output must be the path of a file. Got .* instead"):
        clgeom.coverage_regions(np.ones((3, 3)), 1, outline="segments")[0].to_file(path)
    with pytest.raises(InvalidInput, match="An output must be the path of a file. Got .* instead"):
        clgeom.convex_hull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).to_file(path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    """The system's limit on the size of files stands in for a full disk."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "out.csv"
    path.write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(InvalidInput, match="cannot be written: File too large"), replacing(path) as file:
            for _ in range(100):
                file.write(b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["out.csv"]


def test_check_outputs_finds_two_of_one_name(tmp_path):
    (tmp_path / "b.png").symlink_to("a.png")
    picture = tmp_path / "a.png"
    with pytest.raises(InvalidInput, match="is the output .*a.png', too"):
        check_outputs(None, (picture, (".png",)), (None, ()), (tmp_path / "b.png", (".png",)))
    with pytest.raises(InvalidInput, match="is the input file"):
        check_outputs(picture, (tmp_path / "b.png", (".png",)))
    with pytest.raises(InvalidInput, match="must not hold a null character"):
        check_outputs("a\0.csv", (picture, (".png",)))
    check_outputs(picture, (tmp_path / "c.png", (".png",)), (tmp_path / "d.png", (".png",)))


def test_all_or_none_names_files_at_its_end(tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("before")
    with pytest.raises(KeyError), all_or_none():
        for path in (first, second):
            with replacing(path) as file:
                file.write(b"after")
        raise KeyError
    assert first.read_text() == "before" and os.listdir(tmp_path) == ["first.csv"]
    with all_or_none():
        for path in (first, second):
            with replacing(path) as file:
                file.write(b"after")
        assert first.read_text() == "before" and not second.exists()
    assert {path.read_text() for path in tmp_path.iterdir()} == {"after"} and len(os.listdir(tmp_path)) == 2
    with replacing(first) as file:  # alone again
        file.write(b"later")
    assert first.read_text() == "later"


@pytest.mark.parametrize("links", [True, False])
def test_all_or_none_gives_names_back_if_one_cannot_be_taken(tmp_path, monkeypatch, links):
    """As that of a file of another user in a folder whose files only their owners rename."""
    old, new, last = (tmp_path / f"{name}.csv" for name in ("old", "new", "last"))
    old.write_text("before")
    last.write_text("before")
    replace = os.replace

    def fail(one, other):
        if other == last:
            raise PermissionError(1, "Operation not permitted")
        replace(one, other)

    def no_link(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", fail)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    with pytest.raises(InvalidInput, match="last.csv' cannot be written: Operation not permitted"), all_or_none():
        for path in (old, new, last):
            with replacing(path) as file:
                file.write(b"after")
    assert [path.read_text() for path in (old, last)] == ["before" if links else "after", "before"]
    assert sorted(os.listdir(tmp_path)) == (["last.csv", "old.csv"] if links else ["last.csv", "new.csv", "old.csv"])


@pytest.mark.parametrize("ending", ["kml", "fgb", "shp"])
def test_a_file_of_gdal_without_its_end_is_no_output(tmp_path, monkeypatch, ending):
    """GDAL does not always say that a disk is full."""
    raw = pytest.importorskip("pyogrio.raw")
    path, write = tmp_path / f"out.{ending}", raw.write_arrow
    path.write_text("before")

    def cut(table, file, **options):
        write(table, file, **options)
        os.truncate(file, os.path.getsize(file) - 8)

    land = clgeom.polygonize([[1, 2], [3, 3]], crs="EPSG:32632", transform=(1, 0, 500_000, 0, -1, 5_000_000))
    monkeypatch.setattr(raw, "write_arrow", cut)
    with pytest.raises(InvalidInput, match="cannot be written: No space left on device"):
        land.to_file(path)
    assert path.read_text() == "before" and os.listdir(tmp_path) == [path.name]
    monkeypatch.setattr(raw, "write_arrow", write)
    land.to_file(path)
    assert len(pytest.importorskip("geopandas").read_file(path)) == 3
