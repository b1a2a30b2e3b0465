"""Read specifications of dynamic programs in TOML with the files that they name, and write filled tables."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import shown
from clgeom.errors import InvalidInput, short
from clgeom.io.arrays import load_array
from clgeom.io.atomic import replacing
from clgeom.io.files import FilePath
from clgeom.io.layout import int_or_float, malformed
from clgeom.io.tables import Told, read_blocks

KEYS = ("equation", "helpers", "dtype", "pattern", "shape", "keep", "parameters", "check", "path", "layout")
#: Parts of a table that may be kept.
KEPT = ("table", "last", "corner")
#: Keys that are passed to the fill.
OPTIONS = ("keep", "check", "path", "layout")
OUTPUTS = (".npy", ".csv")
#: A dotted TOML key with 200 parts or more, for which the parser would take minutes.
DEEP_KEY = re.compile(r"(?:[\w-]+[ \t]*\.[ \t]*){200}")


@dataclass(frozen=True)
class Spec:
    """The content of a specification: types and values of parameters by name, other properties, options of the fill."""

    equation: str
    shape: tuple[int, int]
    types: dict[str, Any]
    values: dict[str, Any]
    about: dict[str, Any]
    options: dict[str, Any]


@keeps_subnormals
def read_spec(path: FilePath, *, told: Told | None = None) -> Spec:
    """Return the content of a specification; ``told(layout)`` is called for each table of text that it names."""
    spec = _read_toml(path)

    def wrong(name: str, expected: Any, got: Any) -> InvalidInput:
        return InvalidInput(f"The key '{name}' of '{path}' must be {expected}. Got {short(got)} instead.")

    for name in spec:
        if name not in KEYS:
            raise wrong_file(path, f"has the unknown key '{name}'. Known: {', '.join(KEYS)}")
    for name in ("equation", "shape"):
        if name not in spec:
            raise wrong_file(path, f"must have the key '{name}'")
    if not isinstance(spec["equation"], str):
        raise wrong("equation", "OpenCL C text", spec["equation"])
    shape = spec["shape"]
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(size) is int and size > 0 for size in shape):
        raise wrong("shape", "two numbers, rows and columns", shape)
    if spec.get("keep", "table") not in KEPT:
        raise wrong("keep", f"one of {', '.join(KEPT)}", spec["keep"])
    if type(spec.get("check", False)) is not bool and spec["check"] != "auto":
        raise wrong("check", "true, false or 'auto'", spec["check"])
    given = spec.get("parameters", {})
    if not isinstance(given, dict) or not all(isinstance(p, dict) and "type" in p for p in given.values()):
        raise wrong("parameters", "tables with the key 'type'", given)
    return Spec(
        spec["equation"],
        tuple(shape),
        {name: p["type"] for name, p in given.items()},
        {name: _value(path, name, p, told) for name, p in given.items()},
        {"dtype": spec.get("dtype", "int32"), "pattern": spec.get("pattern"), "helpers": spec.get("helpers", "")},
        {name: spec[name] for name in OPTIONS if name in spec},
    )


@keeps_subnormals
def read_instance(path: FilePath, *, told: Told | None = None) -> dict[str, Any]:
    """Return the parameters in a specification of a problem, by name; `told` as for `read_spec`."""
    found = _read_toml(path)
    for name, given in found.items():
        if isinstance(given, dict):
            if set(given) != {"file"} or not isinstance(given["file"], str):
                raise InvalidInput(
                    f"The key '{name}' of '{path}' must be a value, or have the key 'file' with the name of a file. "
                    f"Got {short(given)} instead."
                )
            found[name] = _array(Path(path).parent / given["file"], np.dtype(np.float64), told)
        elif not _is_plain(given):
            raise InvalidInput(
                f"The key '{name}' of '{path}' must be a number, text, or lists of numbers. Got {short(given)} instead."
            )
    return found


def _is_plain(given: Any) -> bool:
    """Return whether a value of TOML is made of numbers and texts: no dates, and no tables in lists."""
    return all(map(_is_plain, given)) if isinstance(given, list) else isinstance(given, (bool, int, float, str))


def _value(path: FilePath, name: str, given: Any, told: Told | None) -> Any:
    """Return the value of a parameter: written out, text as codes, or a file beside the specification."""
    sources = [key for key in ("value", "text", "file") if key in given]
    unknown = sorted(set(given) - {"type", *sources})
    if len(sources) != 1 or unknown:
        got = ", ".join([*sources, *unknown]) or "none"
        raise InvalidInput(
            f"The parameter '{name}' of '{path}' must have 'type' and one of 'value', 'text', 'file'. "
            f"Got {got} instead."
        )
    source = given[sources[0]]
    if sources[0] == "value":
        return source
    if not isinstance(source, str):
        raise InvalidInput(f"The key '{sources[0]}' of the parameter '{name}' of '{path}' must be text.")
    if sources[0] == "text":
        return np.frombuffer(source.encode("utf-32-le"), np.uint32)
    return _array(Path(path).parent / source, _type(given["type"]), told)


def _array(file: Path, dtype: np.dtype, told: Told | None) -> np.ndarray:
    """Return the array of a .npy file as it is stored, or the numbers of a table as this type."""
    return load_array(file) if file.suffix.lower() == ".npy" else read_matrix(file, dtype, told=told)


def _type(spelled: Any) -> np.dtype:
    """Return the type of the numbers of a parameter, such as "int32[]"; float64 for any other text."""
    try:
        dtype = np.dtype(str(spelled).replace(" ", "").partition("[")[0])
    except (TypeError, ValueError, SyntaxError):  # the equation raises the error
        return np.dtype(np.float64)
    return dtype if dtype.kind in "iuf" else np.dtype(np.float64)


@keeps_subnormals
def read_matrix(path: FilePath, dtype: Any = np.float64, *, told: Told | None = None) -> np.ndarray:
    """Return all numbers of a table: shape (rows, columns), or (n,) for a single row or column.

    `told` is called with the `clgeom.io.layout.Layout`, if given. Integers are exact, floats are rounded to `dtype`.
    The rules of the table are in `clgeom.io.tables`.
    """
    dtype = np.dtype(dtype)
    read = _floats if dtype.kind == "f" else _integers
    blocks = read_blocks(path, lambda names, width: (range(width), None), told=told)
    parts = [read(path, block, dtype) for block in blocks]
    values = np.concatenate(parts) if parts else np.empty((0, 1), dtype)
    return values if min(values.shape) > 1 else values.reshape(-1)


def _floats(path: FilePath, block: Any, dtype: Any) -> np.ndarray:
    """Return the numbers of a block rounded to this type; `InvalidInput` if a finite one is beyond it."""
    values = block.floats()
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype)
    if (np.isinf(rounded) & np.isfinite(values)).any():
        raise wrong_file(path, f"has a number beyond {dtype.name}")
    return rounded


def _integers(path: FilePath, block: Any, dtype: Any) -> np.ndarray:
    """Return the numbers of a block as integers of this type; `InvalidInput` names the first line that has another."""
    limits = np.iinfo(dtype)
    rows: list[list[int]] = []
    for line, text, fields in block.rows():
        rows.append([])
        for field in fields:
            number = int_or_float(path, line, field, text)
            if isinstance(number, float) and not number.is_integer():
                raise malformed(path, line, f"'{shown(field)}' is not a whole number", text)
            if not limits.min <= number <= limits.max:
                raise malformed(path, line, f"'{shown(field)}' is beyond {dtype.name}", text)
            rows[-1].append(int(number))
    return np.array(rows, dtype).reshape(-1, len(block.layout.columns))


def _read_toml(path: FilePath) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError as error:
            raise InvalidInput("Reading .toml files needs the package tomli before Python 3.11.") from error
    too_deep = wrong_file(path, "has tables or arrays too deep inside each other")
    try:
        text = Path(path).read_bytes().decode("utf-8")
        if DEEP_KEY.search(text):
            raise too_deep
        return tomllib.loads(text)
    except OSError as error:
        raise wrong_file(path, f"cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if Path(path).suffix.lower() != ".toml":
            raise InvalidInput(f"The specification must be a .toml file. Got '{path}', which is not TOML.") from error
        raise InvalidInput(f"The file '{path}' is not TOML: {error}") from error
    except RecursionError as error:
        raise too_deep from error
    except InvalidInput:
        raise
    except ValueError as error:  # a date or a number that Python does not take
        raise InvalidInput(f"The file '{path}' is not TOML: {error}") from error
    except MemoryError as error:
        raise wrong_file(path, "does not fit the memory") from error


@keeps_subnormals
def write_table(path: FilePath, values: np.ndarray) -> None:
    """Write an array to a .npy file, or as rows of a .csv file, with every bit; whole or not at all."""
    with replacing(path) as file:
        if Path(path).suffix.lower() == ".npy":
            np.save(file, values)
            return
        for row in np.atleast_2d(values):
            file.write((",".join(map(repr, row.tolist())) + "\n").encode())
