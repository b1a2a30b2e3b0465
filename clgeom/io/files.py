"""Input files of all formats: their kind, how they are opened, and errors of the operating system."""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from clgeom.arguments import wrong, wrong_file
from clgeom.errors import InvalidInput, short

#: The name of a file.
FilePath: TypeAlias = "str | os.PathLike[str]"
#: Called with what is done and what there is in all.
Progress: TypeAlias = "Callable[[int, int], object]"
#: The name of standard input.
STDIN = "-"
#: Settings with which GDAL opens no network connection, whatever a file names: neither as a file nor by HTTP.
NO_NETWORK = {"CPL_VSIL_CURL_ALLOWED_FILENAME": "-", "GDAL_HTTP_PROXY": "none://x", "GDAL_HTTPS_PROXY": "none://x"}
#: Signs of patterns.
WILD = "*?["
#: Endings of tables of text.
TABLES = (".csv", ".tsv", ".tab", ".txt", ".xy", ".xyz")
#: Endings of each kind of file.
ENDINGS = {
    "numpy": (".npy", ".npz"),
    "table": (*TABLES, *(f"{ending}.gz" for ending in TABLES)),
    "arrow": (".parquet", ".geoparquet", ".feather", ".arrow"),
    "lidar": (".las", ".laz"),
    "layer": (".gpkg", ".geojson", ".json", ".shp", ".fgb"),
}
#: First bytes that tell the kind of standard input; any other is a table.
STARTS = {
    b"PAR1": "arrow",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream
    b"LASF": "lidar",
    b"SQLite format 3\0": "layer",
    b"fgb\x03": "layer",
    b"\x93NUMPY": "numpy",
    b"PK\x03\x04": "numpy",
}


def kind_of(path: FilePath, kinds: Any = tuple(ENDINGS)) -> str:
    """Return the kind of a file by its ending, or by its first bytes for standard input; refuse other kinds."""
    if is_stdin(path):
        data = standard_input()
        kind = next((kind for start, kind in STARTS.items() if data.startswith(start)), "table")
        if kind not in kinds or kind == "numpy":
            raise InvalidInput("Standard input must be a table of text here. Got another format; name a file instead.")
        return kind
    name = os.fspath(path).lower()
    for kind in kinds:
        if name.endswith(ENDINGS[kind]):
            return kind
    if os.path.isdir(path):
        raise wrong_file(path, "cannot be read: it is a folder")
    known = ", ".join(ending for kind in kinds for ending in ENDINGS[kind] if not ending.endswith(".gz"))
    more = ", or a table with .gz after it" if "table" in kinds else ""
    raise wrong_file(path, f"must end in one of {known}{more}")


def check_selection(path: FilePath, kind: Any, array: str | None, layer: str | None, parameter: str) -> None:
    """Refuse the name of an array or a layer for a file that has none; `parameter` has {} for the name."""
    is_npz = kind == "numpy" and os.fspath(path).lower().endswith(".npz")
    for name, value, applies, files in (
        ("array", array, is_npz, ".npz files"), ("layer", layer, kind == "layer", "vector files"),
    ):  # fmt: skip
        if value is not None and not applies:
            raise InvalidInput(f"{parameter.format(name)} is for {files}. Got the file '{path}' instead.")


def suffix_of(path: FilePath) -> str:
    """Return the ending of a file in lower case, without that of its compression."""
    return Path(os.fspath(path).lower().removesuffix(".gz")).suffix


def is_stdin(path: FilePath) -> bool:
    return os.fspath(path) == STDIN


_standard_input: tuple[object, bytes] = (None, b"")


def standard_input() -> bytes:
    """Return all bytes of standard input, which is read once."""
    global _standard_input
    if sys.stdin is None:
        raise InvalidInput("Standard input is closed.")
    if _standard_input[0] is not sys.stdin:
        _standard_input = (sys.stdin, sys.stdin.buffer.read())
    return _standard_input[1]


@contextlib.contextmanager
def opened(path: FilePath) -> Iterator[Any]:
    """Yield a binary file, its size in bytes, and a callable that returns the number of bytes read so far.

    Standard input is in memory. A file compressed by gzip is unpacked; its bytes are counted compressed.
    """
    with contextlib.ExitStack() as stack:
        if is_stdin(path):
            file: Any = io.BytesIO(standard_input())
            total = len(standard_input())
        else:
            file = stack.enter_context(open(path, "rb"))
            total = os.fstat(file.fileno()).st_size
        plain = file
        if (is_stdin(path) and standard_input().startswith(b"\x1f\x8b")) or os.fspath(path).lower().endswith(".gz"):
            plain = stack.enter_context(gzip.GzipFile(fileobj=file))
        yield plain, total, file.tell


@contextlib.contextmanager
def reading(path: FilePath) -> Iterator[Any]:
    """Turn errors of the system within a block that reads the file `path` into `InvalidInput`.

    The file must be a regular one, because a pipe without a writer would block forever.
    """
    try:
        if not is_stdin(path) and not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise wrong_file(path, "cannot be read: it is a device or a pipe, not a regular file")
        yield
    except gzip.BadGzipFile as error:
        raise wrong_file(path, "cannot be read: it is not compressed by gzip, or damaged") from error
    except (EOFError, zlib.error) as error:
        raise wrong_file(path, "cannot be read: it is damaged or cut short") from error
    except OSError as error:
        raise wrong_file(path, f"cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise wrong_file(path, "cannot be read: it does not fit into memory") from error
    except ValueError as error:
        if isinstance(error, InvalidInput) or "\0" not in os.fspath(path):
            raise
        raise InvalidInput("The name of a file must not hold a null character.") from error


def files_of(files: FilePath | Iterable[FilePath], *, caller: str) -> list[str]:
    """Return the names of files that names and patterns stand for; those of a pattern in the order of their names."""
    if isinstance(files, bytes) or not isinstance(files, (str, os.PathLike, Iterable)):
        raise wrong("files", caller, "names of files", short(files))
    given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    found = []
    for one in given:
        if not isinstance(one, (str, os.PathLike)):
            raise wrong("files", caller, "names of files", short(one))
        name = os.fspath(one)
        if is_stdin(name) or os.path.exists(name) or not any(sign in name for sign in WILD):
            found.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise InvalidInput(f"There is no file '{name}'.")
        found += matches
    if not found:
        raise wrong("files", caller, "a file or more", "none", verb="name")
    return found


def state_of(path: FilePath) -> tuple[Any, ...] | None:
    """Return what differs if a file has changed, or was replaced, also by one of its size and time."""
    if is_stdin(path):
        return None
    with reading(path):
        found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns
