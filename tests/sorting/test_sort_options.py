"""An option changes the result in each combination with another one, or is an error or a warning."""

import itertools
import warnings

import numpy as np
import pytest

import clgeom
from clgeom.errors import InvalidInput

KEYS = np.array([5.0, np.nan, 2, 5, 0.25, np.nan, 9, 2, 1, 1, 7, 0.5])
TABLE = KEYS.reshape(4, 3)
NUMBERS = np.array([3, 1, 3, 0, 7, 2, 2, 3, 1, 1, 5, 6])
BY_KEY = {"descending": True, "offsets": [0, 5, 12], "key_bits": 60, "profile": True}
KEEP = {**BY_KEY, "axis": 0}
#: The functions: arguments, and for each option a value that has an effect by itself.
FUNCTIONS = {
    "sort": ((KEYS,), {**KEEP, "out": lambda: np.empty(12)}),
    "sort of rows": ((TABLE,), {**KEEP, "out": lambda: np.empty((4, 3))}),
    "argsort": ((KEYS,), {**KEEP, "index_type": "uint32", "out": lambda: np.empty(12, np.int64)}),
    "argsort of rows": ((TABLE,), {**KEEP, "index_type": "uint32", "out": lambda: np.empty((4, 3), np.int64)}),
    "sort_by_key": ((KEYS, NUMBERS), {**BY_KEY, "out": lambda: (np.empty(12), np.empty(12, np.int64))}),
    "lexsort": (([KEYS, NUMBERS],), {"index_type": "uint32"}),
    "topk": ((KEYS, 3), {"largest": False, "index_type": "uint32"}),
    "partition": ((TABLE, 1), {"axis": 0}),
    "argpartition": ((TABLE, 1), {"axis": 0, "index_type": "uint32"}),
    "unique": (
        (np.repeat(TABLE, 2, axis=0),),
        {
            **{"return_index": True, "return_inverse": True, "return_counts": True, "axis": 0, "equal_nan": False},
            **{"index_type": "uint32", "profile": True},
        },
    ),
    "searchsorted": (
        (np.sort(KEYS), [2.0, 5, 8]),
        {"side": "right", "sorter": np.arange(12)[::-1], "index_type": "uint32"},
    ),
    "bincount": ((NUMBERS,), {"weights": NUMBERS + 0.5, "minlength": 20, "index_type": "uint32"}),
    "histogram": (
        (NUMBERS, 4),
        {"range": (0.0, 6.5), "weights": NUMBERS + 0.5, "density": True, "index_type": "uint32"},
    ),
    "histogram of edges": (
        (NUMBERS, [0, 1.5, 4, 5]),
        {"range": (0.0, 6.5), "weights": NUMBERS + 0.5, "density": True, "index_type": "uint32"},
    ),
    "take": ((TABLE, [[1, 13], [2, 0]]), {"axis": 0, "mode": "wrap"}),
}
#: Without an effect by themselves, and so an error or a warning: the key axis of one dimension is the only one.
ALONE = {("sort", "axis"), ("argsort", "axis")}


def outcome(session, name, options):
    """A result that can be compared, the text of an error, or None for a warning."""
    made = {key: value() if callable(value) else value for key, value in options.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", clgeom.errors.InputWarning)
            found = getattr(clgeom, name.split()[0])(*FUNCTIONS[name][0], **made, device=session)
    except InvalidInput as error:
        return "error", str(error)
    except clgeom.errors.InputWarning as warning:
        return "warning", str(warning)
    profiled = hasattr(found, "phases")
    found = found.result if profiled else found
    return comparable(found), profiled, "out" in made and comparable(made["out"]) == comparable(found)


def comparable(value):
    if isinstance(value, (tuple, list)):
        return [comparable(one) for one in value]
    value = np.asarray(value)
    return value.dtype.str, value.shape, value.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_option_is_ignored(session, name):
    options = FUNCTIONS[name][1]
    none = outcome(session, name, {})
    alone = {option: outcome(session, name, {option: value}) for option, value in options.items()}
    for option, found in alone.items():
        assert found != none or (name, option) in ALONE, option
    for one, other in itertools.combinations(options, 2):
        both = outcome(session, name, {one: options[one], other: options[other]})
        if both[0] in ("error", "warning"):
            continue
        for left_out, present in ((one, other), (other, one)):
            assert both != alone[present] or (name, left_out) in ALONE, f"{left_out} does nothing beside {present}"


#: Calls in the order of NumPy's arguments, and options of NumPy's sorts.
AS_IN_NUMPY = {
    "sort": [((TABLE, 0), {}), ((TABLE, None, "stable"), {}), ((TABLE,), {"kind": "quicksort"})],
    "argsort": [((TABLE, 1, "mergesort"), {}), ((NUMBERS,), {"kind": "stable"})],
    "unique": [((NUMBERS, True, True, True), {}), ((TABLE, False, False, True, 0), {})],
    "histogram": [
        ((NUMBERS, 5, (-1, 7)), {}),
        ((NUMBERS, 4, None, True, NUMBERS + 0.5), {}),
        ((NUMBERS, 3, None, None), {}),
    ],
    "searchsorted": [((np.sort(NUMBERS), NUMBERS, "right"), {}), ((NUMBERS, 2, "left", np.argsort(NUMBERS)), {})],
    "bincount": [((NUMBERS.astype(int), NUMBERS + 0.5, 20), {})],
    "partition": [((np.arange(6).reshape(3, 2), 1, 0), {})],
    "argpartition": [((np.arange(6).reshape(3, 2), 1, 0), {})],
    "take": [((TABLE, [2, 0], 0), {})],
}


@pytest.mark.parametrize("name", AS_IN_NUMPY)
def test_arguments_come_in_numpys_order(session, name):
    for arguments, options in AS_IN_NUMPY[name]:
        found = getattr(clgeom, name)(*arguments, **options, device=session)
        wanted = getattr(np, name)(*arguments, **options)
        for one, other in zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_array_equal(one, other)


def test_any_kind_of_sort_is_the_stable_one(session):
    keys = np.array([1, 0] * 300)
    order = np.argsort(keys, kind="stable")
    for options in ({"kind": "heapsort"}, {"stable": True}, {"stable": False}):
        np.testing.assert_array_equal(clgeom.argsort(keys, **options, device=session), order)
        np.testing.assert_array_equal(clgeom.sort(keys, **options, device=session), keys[order])
    assert clgeom.unique(keys, sorted=False, device=session).tolist() == [0, 1]
    wrong = [("sort", "kind", "bogo"), ("argsort", "kind", True), ("sort", "stable", "yes"), ("unique", "sorted", None)]
    for name, option, value in wrong:
        with pytest.raises(InvalidInput, match=f"'{option}' parameter of {name} must be .* Got {value!r} instead"):
            getattr(clgeom, name)(keys, **{option: value}, device=session)
