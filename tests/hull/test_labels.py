"""Labels of every kind that people have: groups, their order, null, noise, and what is refused."""

import datetime
import decimal
import pickle
import re

import numpy as np
import pytest
from reference import hull as reference_hull

from clgeom.errors import InvalidInput
from clgeom.hull.batch.hulls import convex_hulls_by_label
from clgeom.intake import labels as labels_module

#: What labels are, as a list, None for null; the distinct ones ascend by value.
TEXT = ["b", "a", None, "c", "b", "ä", "a", "B", "a"]
NUMBERS = [3, -1, 0, None, -7, 3, -1, 2**40, 3]
FLOATS = [0.5, -0.0, None, 0.0, -1e300, 0.5, np.inf, -np.inf, 0.5]
BOOLS = [True, False, None, True, True, False, False, True, True]
DATES = [datetime.datetime(2026, 3, day) if day else None for day in (2, 1, 0, 2, 3, 1, 1, 2, 9)]


def numpy_forms():
    nan = float("nan")
    yield "a list of text", TEXT, TEXT
    yield "a tuple of integers", tuple(NUMBERS), NUMBERS
    yield "a list of floats", [nan if v is None else v for v in FLOATS], FLOATS
    yield "a list of dates", DATES, DATES
    yield "a list of decimals", [decimal.Decimal(v) for v in (3, 1, 2)] * 3, [3, 1, 2] * 3
    yield "a range", range(9), list(range(9))
    wide = [-1, 2**63, 2**63 + 1, 2**63, None, -1, 2**64 - 1]  # NumPy makes floats of such
    yield "a list of integers beyond 64 bits", [0 if v is None else v for v in wide], [v or 0 for v in wide]
    yield "objects beyond 64 bits", np.array(wide, object), wide
    for whole in (int, np.int64):
        yield "integers among floats", [0.5, whole(2**53), whole(2**53 + 1)], [0.5, 2**53, 2**53 + 1]
    yield "objects", np.array(TEXT, object), TEXT
    yield "objects with NaN", np.array([nan if v is None else v for v in TEXT], object), TEXT
    whole = [v or "" for v in TEXT]
    for kind in ("U3", "S6"):
        array = np.array([v.encode() for v in whole] if kind[0] == "S" else whole, kind)
        yield kind, array, array.tolist()
    ints = [-3 if v is None else v for v in NUMBERS]
    for kind in ("int64", ">i8", "float64"):
        yield kind, np.array(ints, kind), ints
    small = [0 if v is None else v % 100 for v in NUMBERS]
    for kind in ("int8", "uint16", "uint64", "float16", "float32"):
        yield kind, np.array(small, kind), small
    yield "strided", np.repeat(ints, 2)[::2], ints
    yield "masked", np.ma.MaskedArray(ints, mask=[v is None for v in NUMBERS]), NUMBERS
    yield "bool", np.array([bool(v) for v in BOOLS]), [bool(v) for v in BOOLS]
    yield "datetime64", np.array([v or "NaT" for v in DATES], "M8[s]"), DATES
    yield "timedelta64", np.array([3, -1, 2] * 3, "m8[s]"), [datetime.timedelta(seconds=v) for v in (3, -1, 2)] * 3


def column_forms():
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    yield "pandas text", pandas.Series(TEXT, name="tile"), TEXT
    for dtype in ("string[python]", "string[pyarrow]", object, pandas.ArrowDtype(pyarrow.string())):
        yield f"pandas {dtype}", pandas.Series(TEXT, dtype=dtype), TEXT
    yield "pandas Int64", pandas.array(NUMBERS, "Int64"), NUMBERS
    yield "pandas Int16 without null", pandas.Series([3, -1, 2] * 3, dtype="Int16"), [3, -1, 2] * 3
    yield "pandas Arrow integers", pandas.Series(NUMBERS, dtype="int64[pyarrow]"), NUMBERS
    yield "pandas int64 index", pandas.Index([3, -1, 2] * 3), [3, -1, 2] * 3
    yield "pandas Float64", pandas.array(FLOATS, "Float64"), FLOATS
    yield "pandas boolean", pandas.array(BOOLS, "boolean"), BOOLS
    yield "pandas dates", pandas.Series(DATES).astype("datetime64[us]"), DATES
    zoned = pandas.to_datetime(pandas.Series(DATES)).dt.tz_localize("UTC")
    yield "pandas zoned dates", zoned, [None if v is pandas.NaT else v for v in zoned]
    yield "pandas categories", pandas.Categorical(TEXT), TEXT
    yield "Arrow text", pyarrow.array(TEXT), TEXT
    yield "Arrow chunks", pyarrow.chunked_array([TEXT[:2], [], TEXT[2:]]), TEXT
    views = [pyarrow.string_view(), pyarrow.binary_view()] if hasattr(pyarrow, "string_view") else []  # not PyArrow 14
    for kind in (pyarrow.large_string(), *views[:1]):
        yield f"Arrow {kind}", pyarrow.array(TEXT, kind), TEXT
    yield "Arrow dictionary", pyarrow.array(TEXT).dictionary_encode(), TEXT
    parts = [pyarrow.array(part).dictionary_encode() for part in (TEXT[:4], TEXT[4:])]
    yield "Arrow dictionaries", pyarrow.chunked_array(parts), TEXT
    if views:
        codes = pyarrow.array(TEXT).dictionary_encode()
        codes = pyarrow.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(views[0]))
        yield "Arrow dictionary of views", codes, TEXT
    yield "Arrow dictionary of integers", pyarrow.array(NUMBERS).dictionary_encode(), NUMBERS
    yield "Arrow integers", pyarrow.array(NUMBERS), NUMBERS
    yield "Arrow integers without null", pyarrow.array([3, -1, 2] * 3), [3, -1, 2] * 3
    yield "Arrow floats", pyarrow.array(FLOATS), FLOATS
    yield "Arrow bools", pyarrow.array(BOOLS), BOOLS
    yield "Arrow dates", pyarrow.array(DATES), DATES
    for method, held in (
        ("__arrow_c_array__", pyarrow.array(TEXT)),
        ("__arrow_c_stream__", pyarrow.chunked_array([TEXT])),
    ):
        yield f"an object with {method}", type("Other", (), {method: staticmethod(getattr(held, method))})(), TEXT
    yield "Polars text", polars.Series("tile", TEXT), TEXT
    yield "Polars categories", polars.Series(TEXT, dtype=polars.Categorical), TEXT
    yield "Polars integers", polars.Series(NUMBERS), NUMBERS
    yield "Polars dates", polars.Series(DATES), DATES
    wide = [2**100, -1, None, 2**100]
    yield "Polars integers of 128 bits", polars.Series(wide, dtype=polars.Int128), wide
    objects = [decimal.Decimal(3), decimal.Decimal(1), None, decimal.Decimal(3)]
    yield "Polars objects", polars.Series(objects, dtype=polars.Object), objects
    codes = [b"b", None, b"a", b"b"]
    for kind in (pyarrow.binary(), *views[1:]):
        yield f"Arrow {kind}", pyarrow.array(codes, kind), codes


def expected_of(values):
    """The distinct labels ascending, and the points of each, by plain Python."""
    distinct = sorted({value for value in values if value is not None})
    return distinct, [[i for i, value in enumerate(values) if value == label] for label in distinct]


def check(labels, values, points, **options):
    batch = convex_hulls_by_label(points, labels, **options)
    distinct, members = expected_of(values)
    assert isinstance(batch.labels, np.ndarray) and batch.labels.tolist() == distinct
    assert batch.left_out == sum(value is None for value in values) and len(batch) == len(distinct)
    for hull, mine in zip(batch, members):
        assert hull.vertices.tolist() == [mine[i] for i in reference_hull.convex_hull(points[mine])]
        assert hull.n == len(mine)
    return batch


@pytest.mark.parametrize("forms", (numpy_forms, column_forms))
def test_labels_of_every_kind(session, forms):
    points = np.random.default_rng(1).random((10, 2)).astype(np.float32)
    for what, labels, values in forms():
        try:
            check(labels, values, points[: len(values)], device=session)
        except AssertionError as error:
            raise AssertionError(f"{what}: {labels!r}") from error


def test_labels_keep_type_and_name():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    points = np.zeros((3, 2), np.float32)
    levels = pandas.CategoricalDtype(["low", "mid", "high"], ordered=True)
    batch = convex_hulls_by_label(points, pandas.Series(["high", "low", "low"], name="risk", dtype=levels))
    assert batch.labels.tolist() == ["low", "high"] and batch.label_name == "risk"
    assert batch.label_column.dtype == levels
    days = pandas.Series(["2026-03-05", "2026-03-03", "2026-03-05"])
    for dtype in ("str", "string[python]", "category", "datetime64[us, UTC]", "period[D]"):
        labels = days.astype("datetime64[us]").dt.to_period("D") if dtype == "period[D]" else days.astype(dtype)
        batch = convex_hulls_by_label(points, labels)
        assert batch.label_column.dtype == labels.dtype and len(batch) == 2
    for dtype in ("Int64", "int8[pyarrow]", "Float32"):
        assert convex_hulls_by_label(points, pandas.Series([5, 3, 5], dtype=dtype)).label_column.dtype == dtype
    for values in (["hi", "lo", "mid"], [3, 1, 2]):
        ordered = pyarrow.DictionaryArray.from_arrays([2, 0, 2], pyarrow.array(values), ordered=True)
        assert convex_hulls_by_label(points, ordered).labels.tolist() == [values[0], values[2]]
    sparse = convex_hulls_by_label(points, pandas.Series([5, 0, 0], dtype="Sparse[int64]"))
    assert sparse.to_pandas().index.dtype == np.int64 and sparse.labels.tolist() == [0, 5]
    zoned = pyarrow.array([1, 2, 1], pyarrow.timestamp("s", "Europe/Berlin"))
    assert convex_hulls_by_label(points, zoned).label_column.type == zoned.type


def test_labels_that_are_all_null():
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    nulls = [None] * 3
    for labels in (
        nulls,
        [float("nan")] * 3,
        np.ma.masked_all(3, np.int64),
        np.array(["NaT"] * 3, "M8[s]"),
        pandas.Series(nulls),
        pandas.array([pandas.NA] * 3, "Int64"),
        pandas.Categorical(nulls, ["a"]),
        pyarrow.nulls(3),
        pyarrow.array(nulls, pyarrow.string()),
        polars.Series(nulls),
    ):
        for noise in (None, *([-1] if isinstance(labels, np.ma.MaskedArray) else [])):
            batch = convex_hulls_by_label(np.full((3, 2), np.nan), labels, noise=noise)
            assert len(batch) == 0 and batch.left_out == 3 and len(batch.to_pandas()) == 0, labels


def test_long_arrow_labels_go_in_pieces(monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(labels_module, "PIECE", 64)
    rng = np.random.default_rng(2)
    values = [f"k{i}" if i else None for i in rng.integers(0, 30, 1000).tolist()]
    check(pyarrow.chunked_array([values[:300], values[300:]]), values, rng.random((1000, 2)))


def test_labelled_hulls_on_the_device_leave_and_travel(session):
    pytest.importorskip("shapely")
    pandas, array = pytest.importorskip("pandas"), pytest.importorskip("pyopencl.array")
    points = np.random.default_rng(5).random((90, 2)).astype(np.float32)
    labels = pandas.Series(["b", "a", None] * 30, name="tile")
    host = convex_hulls_by_label(points, labels, device=session)
    there = convex_hulls_by_label(array.to_device(session.queue, points), labels)
    for batch in (there, pickle.loads(pickle.dumps(there)), pickle.loads(pickle.dumps(host))):
        assert batch.left_out == 30 and batch.to_wkb().tolist() == host.to_wkb().tolist()
        pandas.testing.assert_frame_equal(batch.to_pandas(), host.to_pandas())
        assert batch.to_pandas().index.equals(pandas.Index(["a", "b"], name="tile"))


# Noise ------------------------------------------------------------------------------------------------------------


def noises():
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    ints, text = [0, -1, 2, -1, 0, None], ["x", "", "z", "", "x", None]
    yield -1, np.array([0, -1, 2, -1, 0, 2]), [0, None, 2, None, 0, 2]
    yield -1.0, np.array([0, -1, 2, -1, 0, 2], np.int8), [0, None, 2, None, 0, 2]
    yield -1, np.array([0, 1, 2, 1, 0, 255], np.uint8), [0, 1, 2, 1, 0, 255]
    yield -1, [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2]
    yield -1, [-1] * 6, [None] * 6
    yield 0.5, [0, 0.5, np.nan, 1, 1, 0.5], [0, None, None, 1, 1, None]
    yield False, [True, False, True, False, False, True], [True, None, True, None, None, True]
    day = np.datetime64("2026-03-01")
    yield (
        day,
        np.array(["2026-03-01", "2026-03-02", "NaT"] * 2, "M8[D]"),
        [None, day.astype(object) + datetime.timedelta(1), None] * 2,
    )
    for make in (list, pandas.Series, pandas.Categorical, pyarrow.array, polars.Series, lambda v: np.array(v, object)):
        yield "", make(text), [value or None for value in text]
    for make in (list, lambda v: pandas.array(v, "Int64"), pandas.Categorical, pyarrow.array, polars.Series):
        yield -1, make(ints), [None if value == -1 else value for value in ints]


def dates_as_noise():
    """(noise, labels, which label it is, if any): labels of days and of nanoseconds, masked ones too."""
    pandas = pytest.importorskip("pandas")
    days = np.array(["2026-03-01", "2026-03-02", "2026-03-03"], "M8[D]")
    for noise in ("2026-03-02", days[1], datetime.date(2026, 3, 2), pandas.Timestamp("2026-03-02")):
        yield noise, days, 1
    yield np.datetime64("2026-03-02T12:00"), days, None
    moments = np.array([1000, 1001, 1999], "M8[ns]")
    for labels in (moments, pandas.Series(moments)):
        yield pandas.Timestamp(1001), labels, 1
        yield np.datetime64(1, "us"), labels, 0
    spans = np.array([1, 2, 3], "m8[s]")
    for noise, place in (
        (datetime.timedelta(0, 2), 1),
        (datetime.timedelta(0, 2.5), None),
        (pandas.Timedelta("3s"), 2),
    ):
        yield noise, spans, place
    singles = np.array([0.1, 2, 3], np.float32)
    for noise, labels, place in ((days[1], days, 1), (pandas.Timestamp(1001), moments, 1), (0.1, singles, 0)):
        yield noise, np.ma.MaskedArray(labels, [False, False, True]), place


def test_noise_is_one_label_and_no_other():
    points = np.zeros((3, 2), np.float32)
    for noise, labels, place in dates_as_noise():
        batch = convex_hulls_by_label(points, labels, noise=noise)
        kept = [i for i in range(3) if i != place and not np.ma.getmaskarray(labels)[i]]
        assert batch.labels.tolist() == np.asarray(labels)[kept].tolist(), (noise, labels)
    for noise, labels, left in (
        (2**53 + 1, [2.0**53, 1.0, 2.0], 0),
        (10**400, [1.0, 2.0, 3.0], 0),
        (10**400, [1, 2, 3], 0),
        (1e300, np.array([1, np.inf, 2], np.float16), 0),
        (np.inf, np.array([1, np.inf, 2], np.float16), 1),
        (2, [True, False, True], 0),
    ):
        assert convex_hulls_by_label(points, labels, noise=noise).left_out == left, (noise, labels)


def test_noise_of_dates_that_are_categories():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Categorical(pandas.to_datetime(["2026-03-01", "2026-03-02", "2026-03-02"]))
    for day, left in ((1, 1), (2, 2), (3, 0)):
        for noise in (
            datetime.datetime(2026, 3, day),
            np.datetime64(f"2026-03-0{day}"),
            pandas.Timestamp(2026, 3, day),
        ):
            assert convex_hulls_by_label(np.zeros((3, 2)), labels, noise=noise).left_out == left


def test_noise_that_is_null_is_no_label():
    pandas = pytest.importorskip("pandas")
    for null in (pandas.NA, pandas.NaT, float("nan"), np.datetime64("NaT"), np.ma.masked):
        for labels in ([1, 2, 3], ["a", "b", "c"], np.array([1, 2, 3], "M8[D]"), pandas.array([1, 2, 3], "Int64")):
            assert convex_hulls_by_label(np.zeros((3, 2), np.float32), labels, noise=null).left_out == 0


def test_noise_is_left_out_and_counted():
    points = np.random.default_rng(3).random((6, 2))
    for noise, labels, values in noises():
        batch = check(labels, values, points, noise=noise)
        left = sum(value is None for value in values)
        assert (f"{left} point{'s' * (left > 1)} left out" in repr(batch)) == bool(left)


def test_points_left_out_may_be_anything():
    points = np.array([(0, 0), (1, 0), (0, 1), (np.nan, 0), (np.inf, 5)])
    assert convex_hulls_by_label(points, [7, 7, 7, -1, -1], noise=-1).areas.tolist() == [0.5]
    with pytest.raises(InvalidInput, match=re.escape("must be finite. Got nan at index [3, 0] instead")):
        convex_hulls_by_label(points, [7, 7, 7, -1, -1])
    with pytest.raises(InvalidInput, match=re.escape("must be finite. Got inf at index [4, 0] instead")):
        convex_hulls_by_label(points, [8, 7, 7, -1, 8], noise=-1)
    batch = convex_hulls_by_label(points, ["a", "a", "a", "b", None], nonfinite="drop")
    assert batch.labels.tolist() == ["a", "b"] and batch.dimensions.tolist() == [2, -1] and batch.left_out == 1


# Refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels, message",
    [
        ([0, 1], "must have one label for each of the 3 points. Got 2 instead."),
        ([[0], [1], [2]], "Got int64 of shape (3, 1) instead."),
        (7, "Got int64 of shape () instead."),
        ("abc", "Got <U3 of shape () instead."),
        (None, "Got object of shape () instead."),
        (["a", 1, 2], "Got object ('<' not supported between instances of 'int' and 'str') instead."),
        (np.array([{}, {}, {}]), "Got object (unhashable type: 'dict') instead."),
        ([1j, 2, 3], "Got complex128 ('<' not supported between instances of 'complex' and 'complex') instead."),
        ([[1], [1, 2], [3]], "Got an object that is not an array (setting an array element with a sequence."),
    ],
)
def test_labels_refused(labels, message):
    with pytest.raises(InvalidInput, match=r"The 'labels' parameter of convex_hulls_by_label must ") as caught:
        convex_hulls_by_label(np.zeros((3, 2), np.float32), labels)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "name, message",
    [
        ("__array__", "Got an object that is not an array (lost) instead."),
        ("__dlpack_device__", "Odd in the memory of a device: lost"),
    ],
)
def test_labels_that_cannot_be_read(name, message):
    def lost(self, *args, **options):
        raise RuntimeError("lost")

    odd = type("Odd", (), {name: lost, "__dlpack__": lost})()
    with pytest.raises(InvalidInput, match=r"^The 'labels' parameter of convex_hulls_by_label must ") as caught:
        convex_hulls_by_label(np.zeros((3, 2), np.float32), odd)
    assert message in str(caught.value) and str(caught.value).count("parameter") == 1


def test_columns_refused():
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
    for labels in (
        frame,
        pandas.MultiIndex.from_frame(frame),
        pyarrow.array([{"a": 1}] * 3),
        polars.Series([[1], [2], [3]]),
        polars.DataFrame({"a": [1, 2, 3]}),
    ):
        with pytest.raises(
            InvalidInput, match=r"The 'labels' parameter of convex_hulls_by_label must be integers, floats"
        ):
            convex_hulls_by_label(np.zeros((3, 2), np.float32), labels)


@pytest.mark.parametrize(
    "labels, noise, kind",
    [
        ([1, 2, 3], "x", "int64"),
        (["a", "b", "c"], -1, "str"),
        (np.array([0, 1, 2], "M8[D]"), "not a day", "datetime64[D]"),
        (np.array([0, 1, 2], "M8[D]"), 1, "datetime64[D]"),
        (np.array([0, 1, 2], "M8[D]"), ["1970-01-01"], "datetime64[D]"),
        (np.array([0, 1, 2], "M8[D]"), ["1970-01-01"] * 2, "datetime64[D]"),
        (np.array([0, 1, 2], "M8[s]"), datetime.datetime.fromtimestamp(1, datetime.timezone.utc), "datetime64[s]"),
        (np.array([0, 1, 2], "m8[s]"), 1, "timedelta64[s]"),
        (["a", "b", "c"], np.array(["a"]), "str"),
        (["a", "b", "c"], np.array(["a", "b"]), "str"),
        ([1.0, 2.0, 3.0], [1], "float64"),
    ],
)
def test_noise_refused(labels, noise, kind):
    message = f"The 'noise' parameter of convex_hulls_by_label must be a label of the kind of 'labels', {kind}."
    with pytest.raises(InvalidInput, match=re.escape(message)):
        convex_hulls_by_label(np.zeros((3, 2), np.float32), labels, noise=noise)


def test_noise_without_the_zone_of_the_labels():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    plain = pandas.Series(pandas.date_range("2026-03-01", periods=3))
    zoned = plain.dt.tz_localize("Europe/Berlin")
    for labels in (zoned, pyarrow.array(zoned), pandas.Categorical(zoned)):
        assert convex_hulls_by_label(np.zeros((3, 2)), labels, noise=zoned[1]).left_out == 1
        with pytest.raises(InvalidInput, match="the kind of 'labels', dates with a time zone. Got Timestamp"):
            convex_hulls_by_label(np.zeros((3, 2)), labels, noise=plain[1])
    for labels in (pyarrow.array(plain), pandas.Categorical(plain)):
        assert convex_hulls_by_label(np.zeros((3, 2)), labels, noise=plain[1]).left_out == 1
        with pytest.raises(InvalidInput, match="the kind of 'labels', dates without a time zone. Got Timestamp"):
            convex_hulls_by_label(np.zeros((3, 2)), labels, noise=zoned[1])
