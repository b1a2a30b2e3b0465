"""NumPy's calls work as they stand, but for what docs/reference/numpy.rst lists."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy_tests
import pytest
from children import environment

import clgeom
from clgeom.errors import InvalidInput, InvalidType

NOT_KEYS = ([2j, 1, 1j], ["b", "a", "b"], np.longdouble([2, 1, 2]), np.array([(2, 1), (1, 3)], "i4,i4"), [b"b", b"a"])


@pytest.mark.slow
@pytest.mark.skipif(not np.__version__.startswith("2.4"), reason="the page lists what differs from NumPy 2.4")
def test_numpys_own_tests_fail_where_the_page_says():
    done = subprocess.run(
        [sys.executable, numpy_tests.__file__], env=environment(), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    page = " ".join(numpy_tests.PAGE.read_text().split())
    counts = [line.split() for line in done.stdout.splitlines() if "cases pass" in line][0]
    failed = int(counts[4]) - int(counts[2])
    assert f"Of {int(counts[4]):,} cases of NumPy 2.4 these {failed} fail" in page


def test_the_page_lists_tests_of_numpy():
    names = numpy_tests.listed()
    pytest.importorskip("numpy.lib.tests.test_histograms")
    folder = Path(np.__file__).parent
    text = "".join((folder / f"{module.replace('.', '/')}.py").read_text() for module in numpy_tests.MODULES)
    assert names and len(names) <= 16 and all(f"def {name}(" in text for name in names)


@pytest.mark.parametrize("keys", NOT_KEYS, ids=lambda keys: str(np.asarray(keys).dtype))
def test_types_that_no_kernel_orders_go_to_numpy(keys):
    for name, options in (("sort", {"kind": "m"}), ("argsort", {"kind": "stable"}), ("unique", {}), ("lexsort", {})):
        given = [keys, keys] if name == "lexsort" else keys
        found, wanted = getattr(clgeom, name)(given, **options), getattr(np, name)(given, **options)
        assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
    for found, wanted in zip(clgeom.unique(keys, True, True, True), np.unique(keys, True, True, True)):
        assert np.array_equal(found, wanted)
    with pytest.raises(InvalidType, match="must be one of uint8"):
        clgeom.sort(keys, descending=True)


def test_errors_are_of_numpys_classes():
    axis_error = getattr(np, "exceptions", np).AxisError
    for call, kind in (
        (lambda: clgeom.sort([3, 1], axis=2), axis_error),
        (lambda: clgeom.unique([3, 1], axis=-2), axis_error),
        (lambda: clgeom.lexsort([[3, 1]], 1), axis_error),
        (lambda: clgeom.argsort([[3, 1]], axis=0.5), TypeError),
        (lambda: clgeom.sort([3, None]), TypeError),
        (lambda: clgeom.bincount([3, 1], minlength="x"), TypeError),
        (lambda: clgeom.histogram([3, 1], 2.5), TypeError),
        (lambda: clgeom.searchsorted([1, 3], 2, sorter=[0.5, 1]), TypeError),
        (lambda: clgeom.bincount([3, 1], minlength=-1), ValueError),
    ):
        with pytest.raises(kind) as got:
            call()
        assert isinstance(got.value, InvalidInput)
    assert not issubclass(InvalidInput, TypeError)


@pytest.mark.parametrize("axis", (0, -1))
@pytest.mark.parametrize("equal_nan", (False, True))
def test_unique_along_the_only_axis_is_that_of_the_array(session, axis, equal_nan):
    keys = np.array([np.nan, 0, -0.0, np.nan, -np.nan, 1], np.float32)
    options = {"axis": axis, "equal_nan": equal_nan, "return_inverse": True, "return_counts": True}
    for found, wanted in zip(clgeom.unique(keys, device=session, **options), np.unique(keys, **options)):
        assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f")


@pytest.mark.parametrize("kind", "Mm")
def test_histograms_of_dates_are_those_of_numpy(session, kind):
    values = np.append(np.random.default_rng(3).integers(-60, 60, 400), np.iinfo(np.int64).min).view(f"{kind}8[D]")
    edges = np.array([-1000, -24, 0, 24, 480, 481]).view(f"{kind}8[h]")
    for density in (False, True) if kind == "m" else (False,):
        for found, wanted in zip(
            clgeom.histogram(values, edges, density=density, device=session),
            np.histogram(values, edges, density=density),
        ):
            assert np.array_equal(found, wanted) and found.dtype == wanted.dtype
    for wrong in (3, "auto", [1, 2], np.array(["NaT", "NaT"], edges.dtype)):
        with pytest.raises(InvalidType, match="'bins' parameter of histogram must be edges of the values' type"):
            clgeom.histogram(values, wrong)
