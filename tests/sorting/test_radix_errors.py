"""What radix sorts refuse, and their plans and key codes, which need no device."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import shell_codes
from sort_keys import bits_of, device_array, expected_order, keys_of

from clgeom import argsort, sort, sort_by_key
from clgeom.core.device import Session
from clgeom.core.families import rows_of
from clgeom.core.launch import run
from clgeom.core.plan import Scratch
from clgeom.core.tuning import override, select
from clgeom.errors import InvalidInput
from clgeom.primitives.gather import pick_plan
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.passes import SortMemory, digit_windows, order_plan, radix_plan

# Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", (np.array([1j]), np.array(["a"]), np.array([None]), np.zeros(2, "V4")))
@pytest.mark.parametrize("options", ({"descending": True}, {"offsets": [0, 1]}, {"key_bits": 3}))
def test_other_types_are_refused(wrong, options):
    """NumPy itself sorts some, without an option that it does not have."""
    for function in (sort, argsort):
        with pytest.raises(
            InvalidInput,
            match=f"'keys' parameter of {function.__name__} .* Got {re.escape(str(wrong.dtype))} ",
        ):
            function(wrong, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    (
        ({"axis": 1}, r"'axis' parameter of sort must be None or an integer from -1 to 0, .* \(4,\). Got 1 instead"),
        ({"axis": 0.5}, "'axis' .* Got 0.5 instead"),
        ({"keys": np.zeros((2, 2)), "axis": -3}, "from -2 to 1, .* Got -3 instead"),
        ({"keys": np.zeros((2, 2)), "offsets": [0, 4]}, r"'offsets' .* keys of shape \(2, 2\)"),
        ({"keys": np.zeros((2, 2)), "out": np.zeros(4)}, r"'out' .* of shape \(2, 2\). Got float64 of shape \(4,\)"),
        ({"keys": 3}, r"Got \(\)"),
        ({"keys": np.ma.array([1.0, 2.0], mask=[0, 1])}, "no masked entries. Got 1 of them"),
        ({"keys": [[1], [2, 3]]}, "'keys' parameter of sort must be an array of numbers"),
        ({"offsets": [0, 3, 2, 4]}, r"must never descend. Got 2 at \[2\] after 3"),
        ({"offsets": [1, 4]}, r"begin with 0 .* Got 1 at \[0\]"),
        ({"offsets": [0, 2]}, r"number of keys, 4. Got 2 at \[-1\]"),
        ({"offsets": [-1, 4]}, r"Got -1 at \[0\]"),
        ({"offsets": [0.0, 4.0]}, "Got float64 of shape"),
        ({"offsets": []}, r"shape \(0,\)"),
        (
            {"descending": "ascending"},
            "'descending' parameter of sort must be True or False. Got 'ascending'",
        ),
        ({"descending": None}, "'descending' .* Got None"),
        ({"key_bits": 0}, "Got 0 instead"),
        ({"key_bits": 65}, "from 1 to 64.* Got 65"),
        ({"key_bits": (8, 8)}, r"Got \(8, 8\)"),
        ({"key_bits": (1.5, 8)}, r"Got \(1.5, 8\)"),
        ({"key_bits": [[1, 2], [3]]}, r"'key_bits' .* Got \[\[1, 2\], \[3\]\]"),
        ({"offsets": [[1, 2], [3]]}, r"'offsets' parameter of sort must be integers of shape \(m \+ 1,\)"),
        (
            {"offsets": np.ma.array([0, 2, 4], mask=[0, 1, 0])},
            "'offsets' .* no masked entries. Got 1 of them",
        ),
        ({"out": np.zeros(3)}, r"'out' .* float64 of shape \(4,\). Got float64 of shape \(3,\)"),
        ({"out": np.zeros(4, np.float32)}, "Got float32"),
        ({"out": [0, 0, 0, 0]}, "must be an ndarray. Got list"),
    ),
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        sort(arguments.pop("keys", np.zeros(4)), **arguments)


def test_bad_values_are_named(session):
    with pytest.raises(InvalidInput, match=r"one entry for each of the 4 keys. Got shape \(3,\)"):
        sort_by_key(np.zeros(4), np.zeros(3))
    with pytest.raises(InvalidInput, match="'values' parameter of sort_by_key must have one entry for each"):
        sort_by_key([3, 1], [[1, 2], [3]])
    for dtype, mask in (("i4", [0, 1]), ("i4, f4", [(0, 1), (0, 0)])):
        hidden = np.ma.array(np.zeros(2, dtype), mask=mask)
        with pytest.raises(InvalidInput, match="'values' .* no masked entries. Got 1 of them"):
            sort_by_key([3, 1], hidden)
    with pytest.raises(InvalidInput, match="pair of arrays"):
        sort_by_key(np.zeros(4), np.zeros(4), out=np.zeros(4))
    with pytest.raises(InvalidInput, match=r"'out\[1\]' .* Got float32"):
        sort_by_key(np.zeros(4), np.zeros(4), out=(np.zeros(4), np.zeros(4, np.float32)))
    there = device_array(session, np.zeros(4))
    with pytest.raises(InvalidInput, match="where the keys are, on the device. Got an array on the host"):
        sort_by_key(there, np.zeros(4))
    with pytest.raises(InvalidInput, match=r"one entry for each of the 4 keys. Got shape \(3, 2\)"):
        sort_by_key(there, device_array(session, np.zeros((3, 2))))
    locked = np.zeros(4)
    locked.flags.writeable = False
    with pytest.raises(InvalidInput, match="read-only"):
        sort(np.zeros(4), out=locked)


# Plans and keys: no device needed ---------------------------------------------------------------------------------


def test_digit_windows_cover_varying_bits():
    assert digit_windows(0) == ()
    assert digit_windows(0xFFFF) == ((0, 8), (8, 8))
    assert digit_windows(0xFF00FF00) == ((8, 8), (24, 8))
    assert digit_windows(0b1100) == ((2, 2),)
    assert digit_windows(1 << 63 | 1) == ((0, 1), (63, 1))
    assert len(digit_windows((1 << 64) - 1)) == 8


@given(varying=st.integers(0, (1 << 64) - 1))
def test_digit_windows_of_any_bits(varying):
    windows = digit_windows(varying)
    covered = sum((1 << width) - 1 << shift for shift, width in windows)
    assert varying & ~covered == 0
    assert all(1 <= width <= 8 for _, width in windows)
    assert all(a[0] + a[1] <= b[0] for a, b in zip(windows, windows[1:]))


@pytest.mark.parametrize("dtype", ("int8", "uint16", "float16"))
@pytest.mark.parametrize("descending", (False, True))
def test_key_codes_are_a_total_order(dtype, descending):
    order = KeyOrder(dtype, descending)
    keys = np.arange(1 << order.bits).astype(order.storage).view(dtype)
    codes, digits = shell_codes.encoded(order, keys), order.digits(keys)
    assert len(np.unique(codes)) == len(keys)
    np.testing.assert_array_equal(bits_of(shell_codes.decoded(order, codes)), bits_of(keys))
    assert (np.diff(digits[np.argsort(codes)].astype(np.int64)) >= 0).all()
    np.testing.assert_array_equal(np.argsort(digits, kind="stable"), expected_order(keys, descending))


@pytest.mark.settings("as_is", "as_gpu")
def test_plan_sorts_points_by_x_then_y(any_session):
    session, n = any_session, 20_000
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 50, (2, n)).astype(np.float32)
    x[::3] = -0.0
    profile = session.profile
    x_, y_, x_by_y, keys, order = (Scratch(name, np.uint32, n) for name in ("x", "y", "x_by_y", "keys", "order"))
    by_y, indices = order_plan(profile, y_, "index", order=KeyOrder(np.float32))
    pick = pick_plan(profile, x_, indices, x_by_y)
    by_x = radix_plan(profile, SortMemory(x_by_y, KeyOrder(np.float32), indices, keys, order), prefix="by_x")
    buffers = {name: device_array(session, values).data for name, values in (("x", x), ("y", y))}
    result = run(session, by_y + pick + by_x, **buffers)
    expected = np.lexsort([y, x])
    np.testing.assert_array_equal(result.read(order), expected)
    np.testing.assert_array_equal(result.read(keys).view(np.float32), x[expected])


def test_policies_fit_small_local_memory(session):
    """The scatter's tile shrinks until its local memory fits."""
    small = Session(session.device, context=session.context, local_mem_bytes=16 << 10, max_wg_size=64)
    rows = {k: select(session.profile, k) for k in ("sorting/radix/radix_count", "sorting/radix/radix_spine")}

    rows["sorting/radix/radix_scatter"] = rows_of("sorting/radix/radix_scatter")["any"]
    rows["sorting/radix/radix_segments"] = rows_of("sorting/radix/radix_segments")["any"]
    with override(rows):
        keys = keys_of("random", 17_000, np.uint64)
        np.testing.assert_array_equal(sort(keys, device=small), np.sort(keys))
        np.testing.assert_array_equal(sort(keys[:2000], device=small), np.sort(keys[:2000]))


@pytest.mark.parametrize("shape", ((2,), (2, 3)))
def test_values_of_another_context_are_refused(session, shape):
    other = Session(session.device)
    keys, values = device_array(session, np.array([2, 1])), device_array(other, np.zeros(shape))
    with pytest.raises(
        InvalidInput, match="'values' parameter of sort_by_key must be in the OpenCL context of the keys"
    ):
        sort_by_key(keys, values)


@pytest.mark.parametrize(
    ("keys", "got"),
    (
        ({3, 1}, r"set \{1, 3\}"),
        ("abc", "str 'abc'"),
        (b"abc", "bytes b'abc'"),
        (None, "None"),
        ({"a": 1}, r"dict \{'a': 1\}"),
    ),
    ids=str,
)
@pytest.mark.parametrize("function", (sort, argsort), ids=lambda f: f.__name__)
def test_an_object_that_is_no_array_is_named(function, keys, got):
    with pytest.raises(InvalidInput, match=f"must be an array of numbers. Got {got} instead"):
        function(keys)


@pytest.mark.parametrize("axis", (-1, 0, None))
@pytest.mark.parametrize("key", (np.float64(3), np.array(3), 7), ids=repr)
def test_argsort_of_a_number_is_numpys(session, key, axis):
    found, expected = argsort(key, axis=axis, device=session), np.argsort(key, axis=axis)
    assert found.tolist() == expected.tolist() == [0] and found.dtype == expected.dtype
    if axis is not None:
        with pytest.raises(InvalidInput, match="must have a dimension, or axis=None"):
            sort(key, axis=axis, device=session)
