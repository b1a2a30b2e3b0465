"""Equations: what is accepted, what is shown, how far they are proven to read."""

import copy
import pickle

import numpy as np
import pytest

from clgeom import dp
from clgeom.core import sources
from clgeom.dp.analysis.dependences import Far, Near, Row, Split
from clgeom.dp.codegen.cell import Form
from clgeom.dp.codegen.text import marked, users_line
from clgeom.dp.language.parameters import GIVEN
from clgeom.errors import InvalidInput

PARAMETERS = {"a": "uint8[]", "b": "uint8[]"}


def lcs(M, i, j, a, b):
    longer = dp.maximum(M[i - 1, j], M[i, j - 1])
    return dp.where((i == 0) | (j == 0), 0, dp.where(a[i - 1] == b[j - 1], M[i - 1, j - 1] + 1, longer))


def knapsack(M, i, j, w: "int32[]", v: "int32[]"):  # noqa: F722
    skip, take = M[i - 1, j], M[i - 1, j - w[i - 1]] + v[i - 1]
    best = dp.maximum(skip, take), dp.which_max(skip, take)
    return dp.where(i == 0, (0, 0), dp.where(w[i - 1] <= j, best, (skip, 0)))


def chain(M, i, j, d: "int32[]"):  # noqa: F722
    k = dp.index("k")
    cost = M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1]
    return dp.where(i >= j, (0, -1), (dp.min_over(k, i, j, cost), dp.argmin_over(k, i, j, cost)))


def test_source_of_traced_equations():
    assert dp.Equation(lcs, parameters=PARAMETERS).source.splitlines()[2].strip() == (
        "return i == 0 || j == 0 ? 0 : "
        "a[i - 1] == b[j - 1] ? M(i - 1, j - 1) + 1 : dp_max_int(M(i - 1, j), M(i, j - 1));"
    )
    source = dp.Equation(chain).source
    assert source.count("for (") == 1 and "decision = which;" in source  # value and split point in one loop
    assert source.startswith("int chain(int i, int j, int n, int m, global const int *restrict d, const int d_size)\n{")
    assert dp.Equation(knapsack).source.count("M(i - 1, j)") == 1  # what is used twice is read once


def test_source_of_c():
    text = "i == 0 ? 1 :  // base\n    M(i - 1, j) + 1"
    equation = dp.Equation(text, dtype="int64", name="up")
    assert (
        equation.source
        == "long up(int i, int j, int n, int m)\n{\n    return i == 0 ? 1 :  // base\n        M(i - 1, j) + 1;\n}\n"
    )
    assert dp.Equation("i + j;").source.splitlines()[2] == "    return i + j;"
    assert dp.Equation("i /* ; */ + ';'; // so; ").body == "i /* ; */ + ';' // so;"
    assert dp.Equation("a[i] == '(' ? 1 : a[i] == '\\'' ? 2 : 0", parameters={"a": "uint8[]"}).reach == Near(())
    body = "int k = i;\nreturn k;"
    assert dp.Equation(body).source.splitlines()[2:4] == ["    int k = i;", "    return k;"]


@pytest.mark.parametrize(
    "equation, reach, proven",
    (
        (dp.Equation(lcs, parameters=PARAMETERS), Near(((-1, -1), (-1, 0), (0, -1))), True),
        (dp.Equation("M(i-1,j) + M( i , j - 2 ) + M((i + 1), j)"), Near(((-1, 0), (0, -2), (1, 0))), True),
        (dp.Equation("i + j"), Near(()), True),
        (dp.Equation("M(i - 1, j - w[i])", parameters={"w": "int32[]"}), Far(), False),
        (dp.Equation("int i = 3; return M(i, j);"), Far(), False),
        (dp.Equation("for (int j = 0, k = 1; k < 3; ++k) if (M(i, j)) return 1; return 0;"), Far(), False),
        (dp.Equation("M(j, i)"), Far(), False),
        (dp.Equation("M(i-010, j)"), Far(), False),
        (dp.Equation("if (j > 0) { uchar i = 1; return M(i, j-1); } return 1;"), Far(), False),
        (dp.Equation(lambda M, i, j: M[i - 2, j] + M[i - 1, 2 * j]), Far(), False),
    ),
)
def test_reach(equation, reach, proven):
    if isinstance(reach, Far):
        assert isinstance(equation.reach, Far)
    else:
        assert equation.reach == reach
    assert equation.reach_proven is proven


def test_dependences_are_not_declared():
    """A wrong declaration filled wrong cells on some paths, and raised an error on others."""
    with pytest.raises(TypeError, match="reach"):
        dp.Equation("M(i - 1, j - w[i - 1])", parameters={"w": "int32[]"}, reach=Near(((-1, 0),)))


def test_row_reach():
    equation = dp.Equation(knapsack)
    assert isinstance(equation.reach, Row) and equation.reach.step == -1 and equation.reach_proven
    low, high = equation.reach.bounds(np.arange(4), {"w": np.array([18, 15, 10])}, (4, 23))
    assert low.tolist() == [-18, -18, -15, -10] and high.tolist() == [
        0,
        0,
        0,
        0,
    ]  # row 0 reads nothing: any bound

    def allotment(M, i, j, x):
        return dp.where(i == n - 1, 0, dp.min_over("k", 0, x[i] + 1, lambda k: M[i + 1, j - 2 * k] + k))

    n = 4
    reach = dp.Equation(allotment, parameters={"x": "int32[]"}).reach
    low, high = reach.bounds(np.arange(3), {"x": np.array([1, 5, 0])})
    assert reach.step == 1 and low.tolist() == [-2, -10, 0] and high.tolist() == [0, 0, 0]
    whole = dp.Equation(lambda M, i, j: dp.min_over("k", 0, j + 1, lambda k: M[i - 1, k])).reach
    assert isinstance(whole, Row) and whole.low is None and whole.bounds([1], {})[0] is None


def test_split_reach():
    reach = dp.Equation(chain).reach
    assert isinstance(reach, Split) and (reach.op, reach.left, reach.right, reach.outer) == ("min", 0, 1, ())
    assert reach.term is not None and reach.lo.op == "i" and reach.hi.op == "j"

    def tree(M, i, j, w):
        both = lambda k: M[k + 1, j] + M[i, k - 1]  # noqa: E731
        return dp.where(i > j, 0.0, dp.min_over("k", i, j + 1, both) + w[i, j])

    reach = dp.Equation(tree, dtype="float64", parameters={"w": "float64[,]"}).reach
    assert (reach.left, reach.right, reach.term) == (-1, 1, None)

    def out_of_order(M, i, j, w):
        return dp.min_over("k", i, j, lambda k: M[i, k] + (w[i, k] + M[k + 1, j]))

    assert isinstance(dp.Equation(out_of_order, parameters={"w": "int32[,]"}).reach, Split)
    floats = dp.Equation(out_of_order, dtype="float32", parameters={"w": "float32[,]"})
    assert isinstance(floats.reach, Far)  # a float sum is not to be reordered
    doubles = dp.Equation(out_of_order, dtype="float64", parameters={"w": "float64[,]"})
    assert isinstance(doubles.reach, Far)
    three = dp.Equation(lambda M, i, j: dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + M[k, k]))
    assert isinstance(three.reach, Far)


@pytest.mark.parametrize("a, b", ((1, 0), (0, 1), (-1, 0), (2, 3)))
def test_sums_of_cells_in_other_rows_and_columns_are_no_splits(a, b):
    """The kernels of splits read row i and column j only."""

    def cell(M, i, j):
        best = dp.min_over("k", i + 2, j - 2, lambda k: M[i + a, k] + M[k + 1, j + b])
        return dp.where(j - i < 6, (i * 7 + j * 3) % 11, best)

    assert not isinstance(dp.Equation(cell).reach, Split)


@pytest.mark.parametrize("dtype", ("int32", "int64", "float32"))
def test_terms_of_splits_are_computed_in_the_cells_type(session, dtype):
    """Signs and all: 32-bit terms wrap around in int32 only, where they are written so."""
    terms = {
        "less": lambda cells, w, v, k: cells - w[k],
        "less a sum": lambda cells, w, v, k: cells - (w[k] + v[k + 1]),
        "both": lambda cells, w, v, k: cells + w[k] - v[k],
        "first": lambda cells, w, v, k: -w[k] + cells,
    }
    w = np.array([2**31 - 1, 5, -(2**31), 7, 2**31 - 1, 2**31 - 3, -(2**31)] * 3, np.int32)
    for name, term in terms.items():

        def cell(M, i, j, w, v):
            best = dp.max_over("k", i, j, lambda k: term(M[i, k] + M[k + 1, j], w, v, k))  # noqa: B023
            return dp.where(i >= j, 3, best)

        equation = dp.Equation(cell, dtype=dtype, pattern="SONE", parameters={"w": "int32[]", "v": "int32[]"})
        assert isinstance(equation.reach, Split) or (name, dtype) == ("both", "float32")
        by_stages, found = (
            dp.fill(equation, (20, 20), w=w, v=w[::-1].copy(), path=path, check=False, device=session)
            for path in ("stages", None)
        )
        assert (found.path == "splits") == isinstance(equation.reach, Split)
        assert np.array_equal(found.numpy(), by_stages.numpy()), name


@pytest.mark.parametrize("sign", (1, -1))
def test_terms_of_splits_are_rounded_as_written(session, sign):
    def cell(M, i, j, w):
        def body(k):
            cells, term = M[i, k] + M[k + 1, j], w[k] + (w[k + 1] + w[0])
            return cells + term if sign == 1 else cells - term

        return dp.where(i >= j, 0, dp.max_over("k", i, j, body))

    equation = dp.Equation(cell, dtype="float32", pattern="SONE", parameters={"w": "float32[]"})
    w = np.array([0.25, *[1e8, -1e8] * 5], np.float32)
    by_stages, found = (dp.fill(equation, (9, 9), w=w, path=path, device=session) for path in ("stages", None))
    assert found.path == "splits" and np.array_equal(found.numpy(), by_stages.numpy())


def test_no_name_in_kernels_begins_as_parameters_do():
    """A variable of a macro called as an argument is would take its place."""
    kernels = [kernel for kernel in sources.kernels() if kernel.startswith("dp/")]
    texts = {sources.inline_headers(sources.template(kernel, v)) for kernel in kernels for v in ("group", "serial")}
    assert len(texts) > 10 and not any(GIVEN in text for text in texts)


@pytest.mark.parametrize("name", ("v", "better", "k", "left", "overflow"))
def test_parameters_may_have_the_names_of_variables_in_kernels(session, name):
    def chain(M, i, j, w):
        return dp.where(i >= j, w[i], dp.min_over("k", i, j, lambda k: M[i, k] + M[k + 1, j] + w[k] * w[j]))

    other = eval(f"lambda M, i, j, {name}: chain(M, i, j, {name})", {"chain": chain})
    w = np.arange(20, dtype=np.int32)
    expected = dp.fill(dp.Equation(chain, parameters={"w": "int32[]"}), (20, 20), w=w, device=session)
    table = dp.fill(dp.Equation(other, parameters={name: "int32[]"}), (20, 20), device=session, **{name: w})
    assert table.path == "splits" and np.array_equal(table.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ("WG_SIZE", "TILE", "CELLS"))
def test_macros_of_kernels_are_no_names_of_parameters(name):
    with pytest.raises(InvalidInput, match=f"cannot be called '{name}': this name has a meaning in a kernel"):
        dp.Equation(f"{name}[j]", parameters={name: "int32[]"})


@pytest.mark.parametrize("name", ("DECISIONS", "DIVISORS", "RING", "KEEP", "PATTERN_I", "N", "W"))
@pytest.mark.parametrize("pattern", ("NOSE", "RUD"))
def test_other_names_in_capitals(session, name, pattern):
    before = "M(i - 1, j)" if pattern == "RUD" else "max(M(i - 1, j), M(i, j - 1))"
    text = f"i == 0 || j == 0 ? {name}[j] : {before} + {name}[j]"
    equation = dp.Equation(text, parameters={name: "int32[]"}, pattern=pattern)
    other = dp.Equation(text.replace(name, "w"), parameters={"w": "int32[]"}, pattern=pattern)
    values = np.arange(90, dtype=np.int32)
    found, expected = (
        dp.fill(one, (70, 90), values={key: values}, device=session).numpy()
        for one, key in ((equation, name), (other, "w"))
    )
    np.testing.assert_array_equal(found, expected)


def test_what_a_group_reduces():
    """One minimum, maximum or sum of integers outside all conditions but branches, with the index of an extreme."""

    def wide(cell):
        return dp.Equation(cell).wide

    assert dp.Equation(chain).wide.node.data == "min" and len(dp.Equation(chain).wide.twins) == 2
    assert wide(lambda M, i, j: dp.max_over("k", 0, j, lambda k: M[i, k])).need.data is True
    assert wide(lambda M, i, j: dp.sum_over("k", 0, j, lambda k: M[i, k])).node.data == "sum"
    assert dp.Equation(lambda M, i, j: dp.sum_over("k", 0, j, lambda k: M[i, k]), dtype="float32").wide is None
    assert wide(lambda M, i, j: M[i - 1, j]) is None and dp.Equation("M(i - 1, j)").wide is None

    def asked_by_a_condition(M, i, j):
        return dp.where(i >= j, 0, dp.where(dp.min_over("k", i, j, lambda k: M[i, k]) > 3, 1, 2))

    assert wide(asked_by_a_condition) is None


def test_texts_for_kernels():
    equation = dp.Equation(lcs, parameters=PARAMETERS)
    assert "i == 0" in equation.text()
    assert "dp_add_int(M(i - 1, j - 1), 1, dp_fault)" in equation.text(Form(checks="all"))
    split = dp.Equation(chain).text(Form(reduction="split"))
    assert "for (" not in split and "dp_split_term" in split and "return i >= j ? 0 : dp_split" not in split
    assert "dp_inside(dp_k + 1, d_size)" in dp.Equation(chain).text(Form(reduction="clamped split"))
    with pytest.raises(ValueError, match="no reduction"):
        equation.text(Form(reduction="split"))


@pytest.mark.parametrize(
    "log",
    (
        "error: /root/t.cl:5:45 <Spelling=/root/t.cl:1:2>: use of undeclared identifier",
        "warning: k.cl:4:1: unused\n<kernel>:5:2: error: expected expression",
        "5:3: error: x",
        "/tmp/a.cl(5): error: y",
        "1:5:8: error: unknown type name",
    ),
)
def test_lines_of_compilers_logs(log):
    """As PoCL, NVIDIA, and others write them."""
    source = "a\nb\n" + marked("equation", "x\ny\nz") + "\nend\nmore"
    assert users_line(source, log) == ("equation", 2)
    assert users_line(source, log.replace("5", "8")) == ("equation", 3)  # what comes right after it
    beyond = log.replace("5", "90").replace(":8:", ":80:")
    assert users_line(source, beyond) is None and users_line(source, "Aborted.") is None


@pytest.mark.parametrize(
    "count, dtype, shape",
    (
        (2, "uint8", (9, 9)),
        (256, "uint8", (9, 9)),
        (257, "uint16", (9, 9)),
        ("index", "uint8", (9, 254)),
        ("index", "uint16", (255, 9)),
        ("index", "uint32", (1, 70_000)),
        (1 << 20, "uint32", (1, 1)),
    ),
)
def test_types_of_decisions(count, dtype, shape):
    equation = dp.Equation("decision = 0; return 1;", decisions=count)
    assert equation.decision_dtype(shape) == dtype
    assert dp.Equation("1").decision_dtype(shape) is None


def test_counts_of_decisions():
    def with_decision(decision):
        return dp.Equation(lambda M, i, j: (i, decision(i, j))).decisions

    assert dp.Equation(knapsack).decisions == 2
    assert dp.Equation(chain).decisions == "index"
    assert with_decision(lambda i, j: dp.which_min(i, j, 3)) == 3
    assert with_decision(lambda i, j: dp.where(i > j, 3, 1)) == 4
    assert with_decision(lambda i, j: dp.which_min(i, j) + 1) == 3
    assert with_decision(lambda i, j: i > j) == 2
    with pytest.raises(InvalidInput, match="cannot be seen: give the 'decisions' parameter"):
        with_decision(lambda i, j: i + j)
    assert dp.Equation(lambda M, i, j: (i, i % 5), decisions=5).decisions == 5
    with pytest.raises(InvalidInput, match="must be an integer"):
        with_decision(lambda i, j: i * 0.5)
    with pytest.raises(InvalidInput, match=r"must return \(value, choice\)"):
        dp.Equation(lambda M, i, j: i, decisions=2)


@pytest.mark.parametrize(
    "name",
    ("i", "M", "D", "out", "dp_x", "float", "DP_CELL", "while", "lambda", "2x", "x y", "__x", "decision"),
)
def test_names_of_parameters(name):
    with pytest.raises(InvalidInput, match="parameter"):
        dp.Equation("1", parameters={name: "int32"})


@pytest.mark.parametrize(
    "arguments, message",
    (
        ({"what": 3}, "must be OpenCL C text or a Python function. Got int instead"),
        ({"what": "  "}, "must not be empty"),
        ({"what": "// nothing"}, "must not be empty"),
        ({"what": "int k = 1; k"}, "several statements must end with 'return"),
        ({"what": "M[i - 1, j]"}, r"reads cells as M\(a, b\), not M\[a, b\]"),
        ({"what": "1\n#define x"}, "Line 2 of an equation: preprocessor directives are not allowed"),
        ({"what": "1;\n%:define X 5\nreturn X;"}, "Line 2 of an equation: digraphs are not allowed: %:define X 5"),
        ({"what": "return 1; %> int f(void) <% return 2;"}, "Line 1 of an equation: digraphs are not allowed"),
        ({"what": "1 +\n??=define X"}, r"Line 2 of an equation: trigraphs are not allowed: \?\?="),
        ({"what": "// all ??/\n)\nreturn 1;"}, "Line 1 of an equation: trigraphs are not allowed"),
        ({"what": "// x\r#define Y 7\nreturn Y;"}, r"must be text without the character '\\r'"),
        ({"what": "1\x0b#define Y 7"}, r"must be text without the character '\\x0b'"),
        ({"what": "i \ud800"}, r"must be text without the character '\\ud800'"),
        ({"what": "// x \\ \n)"}, "Line 1 of an equation: a backslash at its end is not allowed"),
        ({"what": "i \\ + 1"}, "Line 1 of an equation: a backslash outside of literals is not allowed"),
        ({"what": "i ? 'a : 2"}, "Line 1 of an equation: a literal is not closed"),
        ({"what": "/* x\n return 1"}, "Line 1 of an equation: a comment is not closed"),
        ({"what": '_Pragma("x") i'}, "Line 1 of an equation: preprocessor directives are not allowed"),
        ({"what": "1", "helpers": "int f(int x) <% return x; %>"}, "Line 1 of an equation: digraphs are not allowed"),
        (
            {"what": "+".join("i" * 2000)},
            "at most 2,000 words and marks in one statement.* Got 3,999 instead",
        ),
        (
            {"what": "int s = 0;\n" + "s += i;\n" * 6000 + "return s;"},
            "at most 20,000 words and marks in all",
        ),
        ({"what": "1", "dtype": {"w": [1]}}, "'dtype' parameter of Equation"),
        ({"what": "(i + (j)"}, r"Line 1 of an equation: '\(' is not closed"),
        ({"what": "return 1; }\nint f(void) {"}, "Line 1 of an equation: '}' closes nothing"),
        (
            {"what": "1", "dtype": "float16"},
            "'dtype' parameter of Equation must be one of int8, uint8, int16, uint16, int32, uint32, int64, uint64",
        ),
        ({"what": "1", "pattern": "SIDEWAYS"}, "'pattern' parameter of Equation must be one of 'RUD'"),
        ({"what": "1", "pattern": 3}, "'pattern' parameter of Equation must be one of 'RUD'"),
        ({"what": "1", "parameters": {"w": "uint32[]"}}, r"must be one of int8, .* with \[\] for an array"),
        ({"what": "1", "parameters": {"w": "text"}}, "Got 'text' instead"),
        ({"what": "1", "parameters": ["w"]}, "must be a dictionary of names and types. Got list"),
        ({"what": "1", "parameters": {5: "int32"}}, "name must be a name in C and in Python. Got 5 instead"),
        ({"what": "1", "parameters": {"w": "int32[]", "w_size": "int32"}}, "share the name 'w_size'"),
        ({"what": "1", "decisions": 1}, "must be a count of at least 2, or 'index'"),
        ({"what": "1", "decisions": True}, "must be a count"),
        ({"what": "1", "helpers": 3}, "'helpers' parameter of Equation must be OpenCL C text"),
        ({"what": lambda M, i: 1}, r"must take the cells and two indices"),
        ({"what": lambda M, i, j, w: 1}, r'takes w, .* of Equation do not name\. .*parameters=\{"w": "uint8\[\]"\}'),
        ({"what": lambda M, i, j: 1, "helpers": "int f() {}"}, "goes with OpenCL C, not with Python"),
        ({"what": lambda M, i, j: i * 0.5}, "returns float values, and its cells are int32: use dp.cast"),
        ({"what": lambda M, i, j: 2**40}, "does not fit the cells' type"),
        ({"what": lambda M, i, j: None}, "must be a number, a cell, an index or a parameter. Got None"),
    ),
)
def test_what_is_refused(arguments, message):
    arguments = dict(arguments)
    with pytest.raises(InvalidInput, match=message):
        dp.Equation(arguments.pop("what"), **arguments)


def branch(M, i, j):
    if i == 0:
        return 0
    return M[i - 1, j]


def loop(M, i, j):
    return sum(M[i - 1, k] for k in range(j))


def chained(M, i, j):
    return dp.where(0 < i < 3, 1, 2)


def half_index(M, i, j):
    return M[i / 2, j]


def float_index(M, i, j):
    return M[dp.cast(i, "float32"), j]


def one_index(M, i, j):
    return M[i]


def unroll(M, i, j):
    value = i
    for _ in range(30_000):
        value = value * j + i
    return value


def array_as_number(M, i, j, w: "int32[]"):  # noqa: F722
    return w + 1


def iterated(M, i, j, w: "int32[]"):  # noqa: F722
    return sum(w)


def modulo(M, i, j):
    return i // 0


@pytest.mark.parametrize(
    "function, words",
    (
        (branch, r"cannot branch on a cell or an index with 'if'.*dp.where"),
        (chained, "chained comparison"),
        (lambda M, i, j: max(M[i - 1, j], i), "Python's min and max: write .* dp.minimum and dp.maximum"),
        (loop, r"use dp.min_over for range"),
        (half_index, "'/' divides floats: write // for integers"),
        (float_index, "An index of M must be an integer"),
        (one_index, r"M takes a row and a column: M\[i - 1, j\]"),
        (unroll, "more than 20,000 operations"),
        (array_as_number, "The parameter 'w' is an array: give it an index"),
        (iterated, "The parameter 'w' has no length"),
        (modulo, "Division by zero"),
        (
            lambda M, i, j: i & (j > 2),
            "'&' joins two conditions, or the bits of two integers. Got a condition and an int",
        ),
        (lambda M, i, j: (i > 1) | 1, r"compare the integer, and set brackets, as in \(x | 1\) != 0"),
        (lambda M, i, j: True ^ i, "'\\^' joins two conditions"),
        (
            lambda M, i, j: dp.cast(i, "float32") & 1,
            r"'&' takes conditions or integers. Got a value of type float",
        ),
        (lambda M, i, j: ~dp.cast(i, "float32"), "'~' takes conditions or integers"),
        (lambda M, i, j: dp.cast(i, "float32") >> 1, "'>>' takes integers in an equation"),
        (lambda M, i, j: i << -1, "'<<' takes a count that is not negative. Got -1"),
        (lambda M, i, j: i**2, r"'\*\*' is no operator of equations: write x \* x"),
        (lambda M, i, j: 2**j, r"'\*\*' is no operator of equations"),
        (lambda M, i, j: divmod(i, 2)[0], "divmod is no part of equations: write // and %"),
        (lambda M, i, j: round(i), r"dp.cast\(x, 'int32'\), towards zero"),
        (lambda M, i, j: i @ j, "'@' is no operator"),
        (lambda M, i, j: np.minimum(i, j), "an equation cannot do this with its cells"),
        (lambda M, i, j: M(i - 1, j), r"M takes square brackets in Python: M\[i - 1, j\]"),
        (lambda M, i, j: M.__setitem__((i, j), 1), "writes no other: M can only be read"),
        (lambda M, i, j: len(i), "an equation cannot do this"),
    ),
)
def test_mistakes_name_the_line(function, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        dp.Equation(function)
    line = int(str(caught.value).split("line ")[1].split(":")[0])
    first = function.__code__.co_firstlineno
    assert __file__ in str(caught.value) and first <= line <= first + 4


def test_what_goes_too_deep():
    def deep(M, i, j):
        for k in range(100):
            i = dp.minimum(i * 3 + j, k)
        return i

    with pytest.raises(InvalidInput, match="deep has 300 operators inside each other, and 240 is the most"):
        dp.Equation(deep)

    def endless(M, i, j):
        return endless(M, i, j)

    with pytest.raises(InvalidInput, match="more operators inside each other than fit Python's stack"):
        dp.Equation(endless)


def test_errors_of_the_function_itself_come_through():
    with pytest.raises(TypeError, match="NoneType"):
        dp.Equation(lambda M, i, j: None + 1)
    with pytest.raises(ZeroDivisionError):
        dp.Equation(lambda M, i, j: i + 1 // 0)


@pytest.mark.parametrize(
    "make, message",
    (
        (lambda: dp.Near("x"), r"'offsets' parameter of Near must be pairs of integers \(di, dj\). Got 'x'"),
        (lambda: dp.Near(((0, 0.5),)), "'offsets' parameter of Near"),
        (lambda: dp.Row(2), "'step' parameter of Row must be -1 or 1. Got 2"),
        (lambda: dp.Row(-1, "x"), "'low' parameter of Row must be an integer, an expression"),
    ),
)
def test_reaches_that_are_none(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_characters_that_only_look_strange():
    text = "i < 2 ? '%' : j /* # ' \" %: */ + 1 // \"<% here\r\n"
    assert dp.Equation(text).body == text.replace("\r\n", "")
    assert dp.Equation("a[i] == '\\\\' ? '\\n' : 1", parameters={"a": "uint8[]"}).is_expression


def deep(M, i, j):
    total = M[i - 1, j]
    for k in range(200):
        total = total + k * M[i - 1, j]
    return total


@pytest.mark.parametrize("again", (lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy), ids=("pickle", "copy"))
@pytest.mark.parametrize(
    "what, parameters",
    ((lcs, PARAMETERS), (knapsack, None), (chain, None), (deep, None), ("a[i] + b[j]", PARAMETERS)),
)
def test_equations_travel(again, what, parameters):
    equation = dp.Equation(what, parameters=parameters, pattern="NOSE")
    assert equation.source  # what was asked for before makes no difference
    other = again(equation)
    assert other.source == equation.source and repr(other.parameters) == repr(equation.parameters)
    assert type(other.reach) is type(equation.reach) and other.reach_proven == equation.reach_proven
    form = Form(reduction="split" if isinstance(equation.reach, Split) else None)
    assert other.text(form) == equation.text(form)
    assert (other.wide is None) == (equation.wide is None) and other.decisions == equation.decisions
    with pytest.raises(TypeError):
        other.parameters["x"] = "int32"


def test_decorator_and_repr():
    @dp.equation(pattern="nose", parameters=PARAMETERS)
    def length(M, i, j, a, b):
        return lcs(M, i, j, a, b)

    assert length.pattern == "NOSE"
    assert repr(length).startswith("<Equation length(a: uint8[], b: uint8[]) -> int32, NOSE, Near(")

    @dp.equation
    def plain(M, i, j, m):
        return i * m + j

    assert plain.parameters == {} and plain.name == "plain" and not plain.loops and dp.Equation(chain).loops


def test_kept_results_are_computed_once_and_not_copied():
    equation, made = dp.Equation("M(i - 1, j) + 1", pattern="RUD"), []

    def make():
        made.append(len(made))
        return None

    for _ in range(2):
        assert equation.cache.get(("a kind", 1), make) is None
    equation.cache.get(("a kind", 2), make)
    assert made == [0, 1] and len(equation.cache.of("a kind")) == 2
    for number in range(1000):
        equation.cache.get(("a kind", number), make)
    assert len(equation.cache.of("a kind")) <= 128
    for twin in (copy.copy(equation), pickle.loads(pickle.dumps(equation))):
        assert not twin.cache.of("a kind")
