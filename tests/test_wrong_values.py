"""Wrong values for all parameters of public functions and classes: each gives a result or a documented error.

The other arguments are those of the first call in the example of the function, so each public function must have one.
Messages have one line.
"""

import contextlib
import doctest
import importlib
import inspect
import math
import re

import numpy as np
import pytest

from clgeom.errors import ClgeomError, KernelBuildError

PACKAGES = ("clgeom", "clgeom.radio", "clgeom.scale", "clgeom.dp", "clgeom.dp.problems", "clgeom.dask")
VALUES = {
    "None": None,
    "a number": 2,
    "a negative one": -1,
    "a large one": 2**70,
    "NaN": math.nan,
    "text": "x",
    "a ragged list": [[1, 2], [3]],
    "a dictionary": {},
    "an array": np.zeros((3, 3)),
    "an array of objects": np.array([None, 1], object),
    "a masked array": np.ma.array([1, 2], mask=[1, 0]),
    "an object": object(),
}


#: Public classes whose examples make one of them.
CLASSES = "ConvexHull", "Raster", "Session", "Transmitter", "Chunks", "Equation"


def names():
    for package in PACKAGES:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(package)
            for name in module.__all__:
                if name in CLASSES or inspect.isfunction(getattr(module, name)):
                    yield f"{package}.{name}"


class Tried(Exception):
    """Ends an example."""


def is_documented(error, function):
    """Whether the section on errors of the function names an error that is not one of the package."""
    return re.search(rf"^ *{type(error).__name__}$", inspect.getdoc(function), re.MULTILINE) is not None


def faults(function, given):
    """What is wrong with the answers to wrong values in a call."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        for kind, value in VALUES.items():
            arguments = given.arguments | {parameter.name: value}
            given.arguments, kept = (
                {name: arguments[name] for name in given.signature.parameters if name in arguments},
                given.arguments,
            )
            case = f"{parameter.name} that is {kind}"
            try:
                function(*given.args, **given.kwargs)
            except ClgeomError as error:
                if "\n" in str(error) and not isinstance(error, KernelBuildError):
                    yield f"{case}: several lines: {error}"
            except Exception as error:
                if not is_documented(error, function):
                    yield f"{case}: {type(error).__name__}: {error}"
            else:
                if isinstance(parameter.default, bool) and value is not None:
                    yield f"{case}: no error for a flag"
            given.arguments = kept


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", names())
def test_wrong_values(name, monkeypatch, tmp_path, capsys):
    package, _, own = name.rpartition(".")
    module, found = importlib.import_module(package), []
    function = getattr(module, own)

    def tried(*args, **kwargs):
        given = inspect.signature(function).bind(*args, **kwargs)
        found.append(list(faults(function, given)))
        raise Tried

    monkeypatch.chdir(tmp_path)  # "x" is the name of a file, too
    monkeypatch.setattr(module, own, tried)
    scope = {}
    for example in doctest.DocTestParser().get_examples(function.__doc__):
        with contextlib.suppress(Tried):
            exec(compile(example.source, name, "single"), scope)
        if found:
            break
    assert found[0] == []
