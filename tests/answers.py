"""All that a result says in public, as values that can be compared bit for bit; and runs of documented examples."""

import dataclasses
import doctest
import functools
import inspect
import warnings
from collections.abc import Mapping
from importlib import import_module

import numpy as np

from clgeom.errors import ClgeomError

#: Packages with public names.
PACKAGES = ("clgeom", "clgeom.dp", "clgeom.dp.problems", "clgeom.radio")
#: Fields that say how a result was computed and how it lies in memory, and not what it is.
HOW = frozenset(("phases", "seconds", "session", "path", "layout", "pitch"))
#: Objects inside results that are compared as they are written.
OPAQUE = (str, bytes, bool, int, type(None), type, np.dtype)


def everything(value, seen=()):
    """All that a value says in public: arrays with their types, and every public field and property of objects."""
    if isinstance(value, OPAQUE):
        return value
    if isinstance(value, (float, complex)):
        return type(value).__name__, np.array(value).tobytes()
    if hasattr(value, "get") and hasattr(value, "queue"):
        value = value.get()  # an array on a device
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return "objects", value.shape, [everything(one, seen) for one in value.ravel()]
        return str(value.dtype), value.shape, value.tobytes()
    if id(value) in seen or len(seen) > 6:
        return "..."
    seen = (*seen, id(value))
    if isinstance(value, Mapping):
        return {everything(key, seen): everything(one, seen) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return [everything(one, seen) for one in value]
    if inspect.isroutine(value) or inspect.ismodule(value) or not type(value).__module__.startswith("clgeom"):
        return type(value).__name__
    return {"type": type(value).__name__, **{name: said(value, name, seen) for name in names_of(value)}}


def names_of(value) -> list[str]:
    """The public fields, attributes and properties of an object."""
    found = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    found |= set(getattr(value, "__dict__", {})) | set(getattr(value, "_fields", ()))
    kinds = (property, functools.cached_property)
    found |= {name for name, one in inspect.getmembers_static(type(value)) if isinstance(one, kinds)}
    return sorted(name for name in found if not name.startswith("_") and name not in HOW)


def said(value, name, seen):
    """A field or property, or the error that it raises."""
    try:
        return everything(getattr(value, name), seen)
    except (ClgeomError, AttributeError) as error:
        return type(error).__name__, str(error)


def answer(call):
    """What a call returns or raises, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = everything(call())
        except ClgeomError as error:
            found = type(error).__name__, str(error)
    return found, sorted({(one.category.__name__, str(one.message)) for one in caught})


# Examples ---------------------------------------------------------------------------------------------------------


@functools.cache
def examples() -> dict:
    """The examples of the documentation of every public function and class, by its name."""
    parser, found = doctest.DocTestParser(), {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            doc = inspect.getdoc(getattr(module, name)) or ""
            if callable(getattr(module, name)) and ">>>" in doc:
                found[f"{package}.{name}"] = parser.get_examples(doc)
    return found


def run_example(name) -> dict:
    """All values that an example prints or names."""
    space, found = {}, {}
    for number, one in enumerate(examples()[name]):
        try:
            code = compile(one.source, name, "eval")
        except SyntaxError:
            exec(compile(one.source, name, "exec"), space)
        else:
            found[number] = answer(functools.partial(eval, code, space))
    names = {key: value for key, value in space.items() if not key.startswith("__")}
    return {**found, **{key: answer(lambda value=value: value) for key, value in names.items()}}


def differences(a, b, where=""):
    """Where two answers differ, in words."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [line for key in a for line in differences(a[key], b[key], f"{where}.{key}")]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        return [line for k, pair in enumerate(zip(a, b)) for line in differences(*pair, f"{where}[{k}]")]
    return [] if a == b and type(a) is type(b) else [f"{where}: {a!r:.200} and {b!r:.200}"]
