"""Parameters of equations: types, tables, on the device, changed after the call, wrong ones."""

import numpy as np
import pytest

from clgeom import dp
from clgeom.core import launch
from clgeom.dp.fills import Copies
from clgeom.errors import (
    EquationWarning,
    InvalidInput,
)


def test_tables_as_parameters(session):
    c = np.arange(12, dtype=np.float32).reshape(3, 4)
    for equation in (
        dp.Equation(
            "c(i, j) * scale + c_rows * 100 + c_columns",
            dtype="float32",
            parameters={"c": "float32[,]", "scale": "float32"},
            pattern="RUD",
        ),
        dp.Equation(
            lambda M, i, j, c, scale: c[i, j] * scale + 304,
            dtype="float32",
            parameters={"c": "float32[,]", "scale": "float32"},
            pattern="RUD",
        ),
    ):
        table = dp.fill(equation, (3, 4), c=c[:, ::-1], scale=0.5, device=session, path="stages")
        np.testing.assert_array_equal(table.numpy(), c[:, ::-1] * np.float32(0.5) + 304)


def test_parameters_on_the_device(session):
    import pyopencl.array

    equation = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")
    w = pyopencl.array.to_device(session.queue, np.arange(5, dtype=np.int32))
    assert dp.fill(equation, (1, 5), w=w, device=session)[0].tolist() == [0, 1, 2, 3, 4]


def test_parameters_may_change_after_the_call(session):
    equation = dp.Equation("w[j]", parameters={"w": "int32[]"}, pattern="RUD")
    w = np.arange(5, dtype=np.int32)
    table = dp.fill(equation, (1, 5), w=w, device=session)
    w[:] = 0
    source = "for (int k = 0; k < 5; ++k) out[k] = w[k] + M(0, k); return 5;"
    assert table.recover(source, 5).tolist() == [0, 2, 4, 6, 8]


@pytest.mark.settings("as_is", "as_gpu", "small_allocations")
def test_arrays_on_the_device_may_change_after_the_call(subtests, any_session):
    """Of several layouts and types, in repeated calls whose tables are used later."""
    import pyopencl.array

    def there(values):
        return pyopencl.array.to_device(any_session.queue, values)

    parameters = {"w": "int32[]", "t": "float32[,]"}
    equation = dp.Equation("w[j] + t(i, j) + (i ? M(i - 1, j) : 0)", parameters=parameters, pattern="RUD")
    source = "for (int k = 0; k < 5; ++k) out[k] = w[k] + M(1, k); return 5;"
    made = []
    for turn in range(4):
        w, t = np.arange(5, dtype=np.int32) + turn, np.arange(10, dtype=np.float32).reshape(2, 5) * turn
        for form in (
            (there(w), there(t)),
            (there(np.repeat(w, 2))[::2], there(np.asfortranarray(t))),
            (there(np.append(w, w))[5:], t),
            (there(w.astype(np.int16)), there(t.astype(">f4"))),
        ):
            table = dp.fill(equation, (2, 5), w=form[0], t=form[1], device=any_session)
            for array in form:
                if isinstance(array, pyopencl.array.Array):
                    pyopencl.enqueue_fill_buffer(array.queue, array.base_data, np.uint8(7), 0, array.base_data.size)
            made.append((table, w, t))
    for table, w, t in made:
        expected = np.cumsum(w + t, axis=0).astype(np.int32)
        np.testing.assert_array_equal(table.numpy(), expected)
        np.testing.assert_array_equal(table.recover(source, 5), w + expected[1])
    for wrong, words in ((there(np.arange(5.0)), "int32. Got float64"), (there(t), r"Got shape \(2, 5\)")):
        with pytest.raises(InvalidInput, match=words):
            dp.fill(equation, (2, 5), w=wrong, t=there(t), device=any_session)


def test_floats_on_the_device_stay_there(session, monkeypatch):
    """Once a fill is checked, no fill with as many of them reads them; the table knows them when it is asked."""
    import pyopencl.array

    read = []
    one = Copies.read
    monkeypatch.setattr(Copies, "read", lambda copies, some: read.extend(p.name for p in some) or one(copies, some))
    parameters = {"w": "float32[]", "k": "int32[]"}
    equation = dp.Equation("w[j] + k[j] + (i ? M(i - 1, j) : 0)", dtype="float32", parameters=parameters, pattern="RUD")
    k = pyopencl.array.to_device(session.queue, np.arange(6, dtype=np.int32))
    for turn in range(4):
        w = np.arange(6, dtype=np.float32) / 4 + turn
        read.clear()
        table = dp.fill(equation, (2, 6), w=pyopencl.array.to_device(session.queue, w), k=k, device=session)
        np.testing.assert_array_equal(table[1], 2 * (w + np.arange(6)))
    assert read == ["k"]
    values = table._fill.values
    assert list(values) == ["w", "k"] and len(values) == 2 and values.unread == {"w": (6,)}
    np.testing.assert_array_equal(values["w"], w)
    assert read == ["k", "w"] and not values.unread and values["w"] is values["w"]


def test_integers_on_the_device_are_read_with_one_wait(session, monkeypatch):
    import pyopencl.array

    waits = []
    one = launch.read
    monkeypatch.setattr(launch, "read", lambda *args, **options: waits.append(args) or one(*args, **options))
    parameters = {"k": "int32[]", "p": "int16[]", "e": "uint8[]"}
    equation = dp.Equation("k[j] + p[j] + (i ? M(i - 1, j) : 0)", parameters=parameters, pattern="RUD")
    k, p, e = np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int16) ** 2, np.zeros(6, np.uint8)
    for turn in range(3):
        there = {name: pyopencl.array.to_device(session.queue, v + turn) for name, v in (("k", k), ("p", p), ("e", e))}
        waits.clear()
        table = dp.fill(equation, (2, 6), **there, device=session)
        assert len(waits) == 1
        np.testing.assert_array_equal(table[1], 2 * (k + p + 2 * turn))
    assert all(np.array_equal(table._fill.values[name], there[name].get()) for name in there)


WEIGHTS = dp.Equation("w[i] + c + t(0, 0)", parameters={"w": "int16[]", "c": "float32", "t": "int32[,]"}, pattern="RUD")


@pytest.mark.parametrize(
    "wrong, message",
    (
        ({"w": None}, r"needs the parameter 'w' \(int16\[\]\), which was not given"),
        ({"x": 1}, r'has no parameter .x.. It has: w, c, t. An equation .* parameters=\{"x": "int32"\}'),
        ({"s": "abc"}, r'such as parameters=\{"s": "uint8\[\]"\}'),
        ({"s": np.zeros((2, 3), np.float32)}, r'such as parameters=\{"s": "float32\[,\]"\}'),
        ({"s": [[1], [1, 2]]}, r'such as parameters=\{"s": "uint8\[\]"\}'),
        ({"w": [1.5]}, "'w' parameter of fill must be an array of shape .n,. of int16"),
        ({"w": [[1]]}, r"Got shape \(1, 1\) instead"),
        ({"w": [40_000]}, "Got the value 40000 instead"),
        ({"w": ["a"]}, "'w' parameter"),
        ({"w": "text"}, "'w' parameter"),
        ({"w": [[1], [1, 2]]}, "'w' parameter"),
        ({"w": np.ma.masked_array([1, 2], [0, 1])}, "masked"),
        ({"c": [1.0]}, r"'c' parameter of fill must be a number of float32. Got shape \(1,\) instead"),
        ({"c": 2**24 + 1}, "integers that it cannot hold exactly"),
        ({"c": -1e39}, r"'c' parameter of fill must be a number of float32. Got the value -1e\+39 instead"),
        ({"c": np.float64(1e39)}, r"Got the value 1e\+39 instead"),
        ({"t": [1, 2]}, "'t' parameter of fill must be a table of shape"),
        ({"c": 1j}, "'c' parameter"),
    ),
)
def test_wrong_parameters(session, wrong, message):
    given = {"w": [1], "c": 1.0, "t": [[1]]} | wrong
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(InvalidInput, match=message):
        dp.fill(WEIGHTS, (1, 1), device=session, **given)


def test_floats_beyond_a_parameters_type(session, recwarn):
    equation = dp.Equation("x[j]", parameters={"x": "float32[]"}, pattern="RUD", dtype="float32")
    with pytest.raises(InvalidInput, match=r"'x' parameter .* of float32. Got the value 1e\+39 instead"):
        dp.fill(equation, (1, 3), x=[1.0, 1e39, np.inf], device=session)
    largest = float(np.finfo(np.float32).max)
    table = dp.fill(equation, (1, 3), x=[np.nan, largest * (1 + 1e-9), -np.inf], device=session)
    np.testing.assert_array_equal(table[0], np.array([np.nan, largest, -np.inf], np.float32))
    assert not recwarn.list


def test_parameters_that_are_called_as_ours(session):
    """`values` takes them wherever an equation is filled or watched; what is called inside is told the same way."""
    names = (
        "device",
        "method",
        "path",
        "values",
        "shape",
        "equation",
        "of",
        "check",
        "graph",
        "seeds",
        "numbers",
    )
    equation = dp.Equation(
        f"i == 0 ? {' + '.join(names)} : M(i - 1, (j + device * 5) % m)",
        parameters=dict.fromkeys(names, "int32"),
    )
    values = {name: 1 << place for place, name in enumerate(names)}
    with pytest.warns(EquationWarning, match="not proven"):
        table = dp.fill(equation, (3, 3), values=values, device=session)
    assert table.corner == 2047 and table.pattern == "RUD"
    assert dp.infer_pattern(equation, (3, 3), values=values, device=session).best == "RUD"
    graph = dp.dependency_graph(equation, (3, 3), values=values, device=session)
    assert graph.dependencies((1, 0)).tolist() == [[0, 2]]
    assert dp.fill_by_stages(equation, (3, 3), values=values, device=session)[2, 2] == 2047
    assert dp.fill_when_ready(equation, (3, 3), values=values, device=session)[2, 2] == 2047
