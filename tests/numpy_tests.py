"""Run NumPy's own tests of sorts, searches, distinct values and bins with clgeom's functions in place of NumPy's.

    python tests/numpy_tests.py

The tests are those of the installed NumPy, unchanged: in their modules `np` stands for a module with clgeom's functions
and all else of NumPy. A case counts if it calls one of these functions; methods, as of ``a.sort()``, stay NumPy's.
Prints the cases that fail and exits with 1 unless they are those that docs/reference/numpy.rst names with a reason.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

#: NumPy's functions that clgeom has under their names and with their parameters.
FUNCTIONS = "sort argsort lexsort searchsorted unique bincount histogram".split()
MODULES = ("lib.tests.test_arraysetops", "lib.tests.test_histograms", "lib.tests.test_function_base")
MODULES += ("_core.tests.test_multiarray",)
#: Cases that may call them, by their names.
WORDS = "(Unique or unique or Bincount or TestHistogram or sort) and not partition"
PAGE = Path(__file__).parents[1] / "docs/reference/numpy.rst"


class Numpy(types.ModuleType):
    """NumPy with clgeom's functions."""

    def __init__(self) -> None:
        super().__init__("numpy")
        self.called = False
        for name in FUNCTIONS:
            setattr(self, name, self._noted(name))

    def __getattr__(self, name: str):
        return getattr(np, name)

    def _noted(self, name: str):
        import clgeom

        function = getattr(clgeom, name)

        @functools.wraps(function)
        def noted(*args, **kwargs):
            self.called = True
            return function(*args, **kwargs)

        return noted


class Replaced:
    """Plugin of pytest that replaces functions in NumPy's test modules and notes the cases that call them."""

    def __init__(self) -> None:
        self.numpy = Numpy()
        self.cases: dict[str, bool] = {}  # whether each case passed

    def pytest_collection_modifyitems(self, items):
        for module in {item.module for item in items}:
            for name, value in list(vars(module).items()):
                if value is np:
                    setattr(module, name, self.numpy)
                elif value is getattr(np, name, self) and name in FUNCTIONS:
                    setattr(module, name, getattr(self.numpy, name))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.when == "call" and self.numpy.called and not report.skipped:
            self.cases[item.nodeid.split("::", 1)[1]] = report.passed
        self.numpy.called = False
        return report


def run(*options: str) -> dict[str, bool]:
    """Run the tests and return whether each case that calls one of the functions passes."""
    replaced = Replaced()
    names = [f"numpy.{module}" for module in MODULES]
    pytest.main(
        ["-q", "-c", "/dev/null", "-p", "no:cacheprovider", "-k", WORDS, "--pyargs", *names, *options], [replaced]
    )
    return replaced.cases


def listed(page: Path = PAGE) -> set[str]:
    """Return the names of tests on the page."""
    return set(re.findall(r"``(test_\w+)``", page.read_text()))


def test_of(case: str) -> str:
    """Return the name of the test of a case, without its parameters."""
    return case.split("::")[-1].split("[")[0]


if __name__ == "__main__":
    cases = run("--tb=line", *sys.argv[1:])
    failed = [case for case, passed in cases.items() if not passed]
    print(f"NumPy {np.__version__}: {len(cases) - len(failed)} of {len(cases)} cases pass with clgeom's functions.")
    changed = {test_of(case) for case in failed} ^ listed()
    print(*failed, sep="\n")
    if changed:
        sys.exit(f"{PAGE.name} does not list what differs: {', '.join(sorted(changed))}")
