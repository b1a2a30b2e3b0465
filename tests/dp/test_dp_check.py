"""check=True: planted faults are caught in the right cell; bounds that rule overflow out; patterns are held to."""

import functools
import itertools
import math
import re

import numpy as np
import pytest
from effort import LONG, thinned
from reference import dp as reference

from clgeom import dp
from clgeom.errors import DependencyError, IntegerOverflow, InvalidInput

SHAPE = (9, 11)


def planted(pattern):
    """An equation in C that reads cell (a, b) from cell (4, 5) alone; its reach cannot be proven."""
    text = "int there = b % 100; return i == 4 && j == 5 ? M(a, there) : i + j;"
    return dp.Equation(text, pattern=pattern, parameters={"a": "int32", "b": "int32"})


def test_reads_that_the_pattern_does_not_allow(session):
    """All reads of cells up to two rows and columns away; in CI of one pattern of each kind."""
    at = 4, 5
    equations = map(planted, thinned([*dp.PATTERNS], 2))
    for equation, i, j in itertools.product(equations, range(2, 7), range(3, 8)):
        pattern = equation.pattern
        if dp.PATTERNS[pattern].allows(i - 4, j - 5):
            assert dp.fill(equation, SHAPE, check=True, device=session, a=i, b=j)[at] == i + j
            continue
        message = rf"{pattern} has not filled then.*\(4, 5\) -> \({i}, {j}\)"
        with pytest.raises(DependencyError, match=message) as e:
            dp.fill(equation, SHAPE, check=True, device=session, a=i, b=j)
        assert (e.value.cell, e.value.read) == (at, (i, j))


@pytest.mark.settings("as_is", "as_gpu")
@pytest.mark.parametrize("read", ((-1, 3), (9, 3), (2, -7), (2, 11)))
def test_reads_outside_the_table(any_session, read):
    text = "int a = i == 3 && j == 4 ? p : i - 1, b = i == 3 && j == 4 ? q : j; return i == 0 ? 0 : M(a, b) + 1;"
    equation = dp.Equation(text, pattern="RUD", parameters={"p": "int32", "q": "int32"})
    with pytest.raises(DependencyError, match="outside the table of 9 x 11") as e:
        dp.fill(equation, SHAPE, check=True, device=any_session, p=read[0], q=read[1])
    assert (e.value.cell, e.value.read) == ((3, 4), read)


def test_the_first_fault_is_named(session):
    """Of the first stage that has one, the first in the layout's order."""
    equation = dp.Equation("int b = j - 3; return i < 2 ? 0 : M(i - 1, b);", pattern="RUD")
    with pytest.raises(DependencyError) as e:
        dp.fill(equation, SHAPE, check=True, device=session)
    assert (e.value.cell, e.value.read) == ((2, 0), (1, -3))
    equation = dp.Equation("int b = j + 3; return j < 6 ? 0 : M(i, b);", pattern="SENO")
    with pytest.raises(DependencyError) as e:
        dp.fill(equation, SHAPE, check=True, device=session)
    assert (e.value.cell, e.value.read) == ((8, 10), (8, 13))


def test_reads_before_the_first_stage(session):
    equation = dp.Equation("int a = i - 1; return i == 0 ? 5 : M(a, j) + 1;", pattern="RUD")
    with pytest.raises(DependencyError, match=r"before the first stage filled \(start=2\): \(2, 0\) -> \(1, 0\)"):
        dp.fill(equation, SHAPE, start=2, check=True, device=session)
    assert dp.fill(equation, SHAPE, check=True, device=session)[8, 3] == 13


def test_textbook_integer_knapsack_is_no_row_pattern(session):
    """f(i, w - w_i) reads its own row."""

    def cell(M, i, j, w, v):
        return dp.where(
            i == 0,
            0,
            dp.where(w[i - 1] <= j, dp.maximum(M[i - 1, j], M[i, j - w[i - 1]] + v[i - 1]), M[i - 1, j]),
        )

    equation = dp.Equation(cell, pattern="RUD", parameters={"w": "int32[]", "v": "int32[]"})
    given = {"w": [18, 15, 10], "v": [25, 24, 15]}
    for check in (True, "auto", False):
        with pytest.raises(DependencyError, match=r"reads M\(i, j - w\[i - 1\]\), and the pattern RUD allows rows"):
            dp.fill(equation, (4, 23), check=check, device=session, **given)
    table = dp.fill(equation, (4, 23), pattern="NOSE", check=True, device=session, **given)
    assert table.corner == 30


@pytest.mark.settings("as_is", "as_gpu")
def test_checked_fills_are_the_same(any_session):
    from dp_tables import chain, mixed, mixed_c

    for equation in (mixed("NESO", "int32"), mixed("CRL", "int32", mixed_c)):
        table = dp.fill(equation, (40, 37), check=True, device=any_session)
        np.testing.assert_array_equal(table.numpy(), reference.mixed(equation.pattern, (40, 37), "int32"))
    d = [30, 35, 15, 5, 10, 20, 25]
    assert dp.fill(chain(), (6, 6), d=d, check=True, device=any_session).corner == 15125


def binomial(dtype, language):
    if language == "python":

        def cell(M, i, j):
            return dp.where((j == 0) | (j == i), 1, dp.where(j > i, 0, M[i - 1, j - 1] + M[i - 1, j]))

        return dp.Equation(cell, pattern="RUD", dtype=dtype)
    return dp.Equation("j == 0 || j == i ? 1 : j > i ? 0 : M(i-1, j-1) + M(i-1, j)", pattern="RUD", dtype=dtype)


@pytest.mark.parametrize(
    "dtype, language, last",
    (
        ("int32", "python", (33, 16)),
        ("int32", "c", (33, 16)),
        ("int64", "python", (66, 33)),
    ),
)
def test_overflow_is_trapped(session, dtype, language, last):
    """C(33, 16) fits 32 bits and C(34, 17) does not; C(66, 33) fits 64 bits and C(67, 33) does not."""
    n = last[0] + 1
    equation = binomial(dtype, language)
    table = dp.fill(equation, (n, n), check=True, device=session)
    assert table[last] == math.comb(*last)
    assert table.overflow == "possible"
    with pytest.raises(IntegerOverflow, match=rf"goes beyond {dtype}") as e:
        dp.fill(equation, (n + 1, n + 1), check=True, device=session)
    assert isinstance(e.value, OverflowError)
    limit = np.iinfo(dtype).max
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in zip(row, row[1:])), 1]
    assert e.value.cell == (n, next(j for j, x in enumerate(row) if x > limit))


@pytest.mark.parametrize("dtype", ("int32", "int64"))
def test_every_operation_traps(session, dtype):
    """A column for each operation; each overflows in one row and not in the one before."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    operations = {
        "add": (lambda x, y: x + y, (high, 0), (high, 1)),
        "add down": (lambda x, y: x + y, (low, 0), (low, -1)),
        "sub": (lambda x, y: x - y, (low, 0), (low, 1)),
        "sub up": (lambda x, y: x - y, (high, 0), (0, low)),
        "mul": (lambda x, y: x * y, (high // 2, 2), (high // 2 + 1, 2)),
        "mul low": (lambda x, y: x * y, (low, 1), (low, -1)),
        "mul down": (lambda x, y: x * y, (high, -1), (high, -2)),
        "neg": (lambda x, y: -x, (high, 0), (low, 0)),
        "abs": (lambda x, y: abs(x), (-high, 0), (low, 0)),
        "floordiv": (lambda x, y: x // y, (low, 1), (low, -1)),
        "sum": (lambda x, y: dp.sum_over("k", 0, 2, lambda k: dp.where(k == 0, x, y)), (high, 0), (high, 1)),
    }

    def cell(M, i, j, x, y):
        value = 0 * x[0]
        for column, (operation, *_) in enumerate(operations.values()):
            value = dp.where(j == column, operation(x[j], y[j]), value)
        return value

    parameters = {"x": f"{dtype}[]", "y": f"{dtype}[]"}
    equation = dp.Equation(cell, pattern="RUD", dtype=dtype, parameters=parameters)
    fine = [good for _, good, _ in operations.values()]
    x, y = (np.array(side, dtype) for side in zip(*fine))
    shape = (1, len(operations))
    expected = [high, low, low, high, high // 2 * 2, low, -high, -high, high, low, high]
    assert dp.fill(equation, shape, x=x, y=y, check=True, device=session)[0].tolist() == expected
    for column, (_, _, bad) in enumerate(operations.values()):
        x[column], y[column] = bad
        with pytest.raises(IntegerOverflow) as e:
            dp.fill(equation, shape, x=x, y=y, check=True, device=session)
        assert e.value.cell == (0, column)
        x[column], y[column] = fine[column]


def test_indices_of_parameters_and_division(session):
    def cell(M, i, j, w, c, by):
        return dp.where(i == 0, w[j], dp.where(i == 1, c[j, j], w[0] // by + w[0] % by))

    parameters = {"w": "int32[]", "c": "int32[,]", "by": "int32"}
    equation = dp.Equation(cell, pattern="RUD", parameters=parameters)
    given = {"w": [5, 6, 7], "c": np.ones((3, 3), int), "by": 3}

    def fill(rows=3, **changed):
        return dp.fill(equation, (rows, 3), check=True, device=session, **{**given, **changed})

    assert fill().numpy().tolist() == [[5, 6, 7], [1, 1, 1], [3, 3, 3]]
    with pytest.raises(
        InvalidInput, match=r"Cell \(0, 2\) of cell reads the parameter 'w' at index 2, and its size there is 2"
    ):
        fill(w=[5, 6])
    with pytest.raises(
        InvalidInput, match=r"Cell \(0, 0\) of cell reads the parameter 'w' at index 0, and its size there is 0"
    ):
        fill(w=[])
    with pytest.raises(
        InvalidInput, match=r"Cell \(1, 2\) of cell reads the parameter 'c' at index 2, and its size there is 2"
    ):
        fill(c=np.ones((3, 2), int))
    with pytest.raises(InvalidInput, match=r"Cell \(2, 0\) of cell divides by zero"):
        fill(by=0)


def test_reads_before_the_first_index_hint_at_a_base_case(session):
    options = {"pattern": "NOSE", "parameters": {"w": "int32[]"}}
    in_python = r" If the cell is a base case, write dp.where\({}, value, ...\)\.$"
    in_c = r" If the cell is a base case, begin with: {} \? value : \.\.\.$"
    both = r"\(i == 0\) \| \(j == 0\)"
    for cell, error, hint in (
        (lambda M, i, j, w: w[j - 1], InvalidInput, in_python.format(both)),
        (lambda M, i, j, w: dp.where(i == 0, 0, M[i - 1, j - 1] + w[0]), DependencyError, in_python.format("j == 0")),
        ("w[j - 1]", InvalidInput, in_c.format(r"i == 0 \|\| j == 0")),
        ("j == 0 ? 0 : M(i - 1, j - 1) + w[0]", DependencyError, in_c.format("i == 0")),
        (lambda M, i, j, w: w[j + 3], InvalidInput, "its size there is 3.$"),
        (lambda M, i, j, w: dp.where(j < 2, 0, w[j - 3]), InvalidInput, None),
    ):
        with pytest.raises(error, match=hint) as found:
            dp.fill(dp.Equation(cell, **options), (3, 3), w=[1, 2, 3], device=session)
        assert ("base case" in str(found.value)) == ("base case" in (hint or "base case"))


#: Statements in C that are wrong where j is 3, and what is said of them.
WRONG_IN_C = {
    "return w[j];": "reads the parameter 'w' or 'c' at index 3, and its size there is 3",
    "return w[w[(j + 2) % 3] - 5 - (j == 3) * 4];": "reads the parameter 'w' or 'c' at index -2",
    "return c(1, j);": "reads the parameter 'w' or 'c' at index 3, and its size there is 3",
    "return c[c_columns + 2 * j - (j < 3) * j];": "reads the parameter 'c' at index 9, and its size there is 6",
    "return 7 / (3 - j);": "divides by zero",
    "return 7 % (uchar)(3 - j);": "divides by zero",
    "long x = 5; x /= 3L - j; return x;": "divides by zero",
    "uint x = 5; x %= j < 3 ? 1 : 0; return (int)x;": "divides by zero",
    "return i / (12 / (6 / (5 - j) - 2)) + (char)j;": "divides by zero",
}


#: Of which float cells try three: what is trapped are reads and quotients, whatever the type of the cells.
TYPED = [("int32", text) for text in WRONG_IN_C] + [("float32", text) for text in list(WRONG_IN_C)[:: 1 if LONG else 3]]


@functools.cache
def all_wrong(dtype):
    """One equation of all these statements, of which the parameter `kind` says which to run."""
    each = "\n".join(f"if (kind == {kind}) {{ {text} }}" for kind, text in enumerate(WRONG_IN_C))
    parameters = {"w": "int32[]", "c": "int32[,]", "kind": "int32"}
    return dp.Equation(f"int other = i; {each}\nreturn 0;", pattern="CLR", dtype=dtype, parameters=parameters)


@pytest.mark.parametrize("dtype, text", TYPED)
def test_c_is_trapped(session, text, dtype):
    equation = all_wrong(dtype)
    given = {"w": [5, 6, 7], "c": np.ones((2, 3), int), "kind": list(WRONG_IN_C).index(text)}
    if "c(" not in text and "w[j]" not in text and "12 /" not in text:
        dp.fill(equation, (1, 3), check=True, device=session, **given)
    for check in (True, "auto"):
        with pytest.raises(
            InvalidInput,
            match=f"Cell \\(0, {2 if '12 /' in text else 3}\\) of equation {re.escape(WRONG_IN_C[text])}",
        ):
            dp.fill(equation, (1, 4), check=check, device=session, **given)


def test_quotients_that_do_not_fit(session):
    """The least integer by -1 ends the process on x86, and is a wrong value elsewhere."""
    kinds = ("(int)a / (int)b", "(int)a % (int)b", "(long)a / b", "(long)a % b", "(quotient /= (int)b)")
    text = " : ".join(f"kind == {kind} ? (int)({what})" for kind, what in enumerate(kinds))
    equation = dp.Equation(
        f"long a = w[0], b = w[1]; int quotient = (int)a; return {text} : 5;",
        pattern="RUD",
        parameters={"w": "int64[]", "kind": "int32"},
    )
    for kind, what in enumerate(kinds):
        least = -(2**63) if "long" in what else -(2**31)
        for check in ("auto", True):
            with pytest.raises(IntegerOverflow, match="Cell .0, 0. .* by -1, and the quotient does not fit"):
                dp.fill(equation, (1, 1), w=[least, -1], kind=kind, check=check, device=session)
            for a, b in ((least, 3), (least + 1, -1)):
                table = dp.fill(equation, (1, 1), w=[a, b], kind=kind, check=check, device=session)
                expected = abs(a) // abs(b) * (1 if b < 0 else -1) if "/" in what else -(abs(a) % abs(b))
                assert table.corner == np.array(expected).astype(np.int32)


@pytest.mark.parametrize(
    "text, expected",
    (
        ("-(a - 1) / (b + 1) * 2", "(-(a - 1)) / (b + 1) * 2"),
        ("a * b / 7 % c / (b / c)", "a * b / 7 % c / (b / c)"),
        ("(uchar)a / -b + ~a % (c + 9)", "(uchar)a / -b + ~a % (c + 9)"),
        ("- -a-a / *&b", "a - a / b"),
    ),
)
def test_signs_and_casts_stay_with_what_is_divided(text, expected):
    """What traps are put around is what C divides; shown by functions of Python's in their place."""
    from clgeom.dp.codegen import rewriting as traps

    def truncated(a, b):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    class C(int):
        """An integer that divides as C does."""

        def __truediv__(self, other):
            return C(truncated(self, other))

        def __mod__(self, other):
            return C(self - other * truncated(self, other))

    def as_c(name):
        return lambda *numbers: C(getattr(int, name)(*numbers))

    for name in ("__sub__", "__add__", "__mul__", "__neg__", "__invert__"):
        setattr(C, name, as_c(name))

    def python(words):
        words = re.sub(r"\(1 \? 0 : ", "(0 and ", words).replace("*&", "").replace("* & ", "")
        words = words.replace("(uchar)", "").replace("( uchar ) ", "").replace("(uchar) ", "")
        return re.sub(r"\b(\d+)\b", r"C(\1)", words)

    given = {
        "a": C(50),
        "b": C(-7),
        "c": C(3),
        "C": C,
        "dp_fault": None,
        "dp_divide": lambda a, b, _: a / b,
        "dp_divide_rest": lambda a, b, _: a % b,
    }
    trapped = traps.trapped(text, {})
    assert "dp_divide(" in trapped
    assert eval(python(trapped), given) == eval(python(expected), given)


@pytest.mark.parametrize(
    "text",
    (
        "return i == 0 ?\n (w)[100000000] : M(i-1, j);",
        "return 0 +\n 100000000[w];",
        "return 1 +\n *(w + 100000000);",
        "int k = 1;\n const global int *p = w; return p[100000000];",
        "int k = 1;\n return (&w[0])[100000000];",
        "int k = 1;\n return (&(w[0]))[k];",
        "int k = 1;\n return *&c(0, 0);",
        "int k = 1;\n return vload2(1000, w).x;",
        "int k = 1;\n return first(w + 100000000);",
        "int k = 1;\n return first((k, w));",
        "int k = 1;\n if (w) { k = 2; } return k;",
    ),
)
def test_other_ways_to_an_array_are_refused(text):
    """They would not be trapped."""
    with pytest.raises(InvalidInput, match="Line 2 of an equation: read the parameter '[wc]' as [wc]"):
        dp.Equation(
            text,
            pattern="RUD",
            parameters={"w": "int32[]", "c": "int32[,]"},
            helpers="int first(global const int *p) { if (p) { return vload2(0, p).x; } return 0; }",
        )
    with pytest.raises(InvalidInput, match="Line 1 of an equation: the left side of /= must not change a variable"):
        dp.Equation("int k = 0, own[2] = {1, 1}; own[k++] /= i; return own[0];", pattern="RUD")


def test_arrays_go_to_helpers(session):
    equation = dp.Equation(
        "int4 v = (int4)(first(w), first(c), w[j] & w[0], 7); int own[2] = {w[0], 3}; int *p = &own[w[0] - 5]; "
        "return (int)v.w + v.x * 10 + v.y * 100 + (v.z & w[1]) * 1000 + *p * 10000;",
        pattern="RUD",
        parameters={"w": "int32[]", "c": "int32[,]"},
        helpers="int first(global const int *p) { return p[0]; }",
    )
    table = dp.fill(equation, (1, 2), w=[5, 6], c=[[4, 4]], check=True, device=session)
    assert table[0].tolist() == [54457, 54457]


def test_floats_may_be_divided_by_zero(session):
    """In the type that they are divided in; and zero keeps its sign."""
    text = "float z = -0.0f, a = 6.0f / (j - 1); a += j == 2 ? 1 / z : i * 1.5f / (j + i); return a;"
    equation = dp.Equation(text, pattern="RUD", dtype="float32")
    plain = dp.fill(equation, (2, 3), check=False, device=session).numpy()
    assert plain[0, 1] == np.inf and plain[0, 2] == -np.inf
    for check in (True, "auto"):
        np.testing.assert_array_equal(dp.fill(equation, (2, 3), check=check, device=session).numpy(), plain)


def test_shifts_by_negative_counts(session):
    equation = dp.Equation(lambda M, i, j: (1 << (3 - j)) + (9 >> (3 - j)), pattern="RUD", dtype="int64")
    assert dp.fill(equation, (1, 4), check=True, device=session)[0].tolist() == [9, 6, 6, 10]
    with pytest.raises(InvalidInput, match=r"Cell \(0, 4\) .* shifts by a negative count, -1"):
        dp.fill(equation, (1, 5), check=True, device=session)
    assert dp.fill(equation, (1, 5), check=False, device=session)[0, 4] == 0
    wide = dp.Equation(lambda M, i, j: 1 << (j + 29), pattern="RUD")
    with pytest.raises(IntegerOverflow) as caught:
        dp.fill(wide, (1, 6), check=True, device=session)
    assert caught.value.cell == (0, 2)
    assert dp.fill(wide, (1, 6), check=False, device=session)[0].tolist() == [2**29, 2**30, -(2**31), 0, 0, 0]


def test_bounds_rule_overflow_out(session):
    lcs = dp.Equation(
        lambda M, i, j, a: dp.where((i == 0) | (j == 0), 0, dp.maximum(M[i - 1, j], M[i, j - 1]) + a[i]),
        pattern="NOSE",
        parameters={"a": "int32[]"},
    )
    n = 40
    assert dp.fill(lcs, (n, n), a=[1] * n, path="stages", device=session).overflow == "impossible"
    assert dp.fill(lcs, (n, n), a=[-1] * n, path="stages", device=session).overflow == "impossible"
    near = (2**31 - 1) // (2 * n)
    assert dp.fill(lcs, (n, n), a=[near // 2] * n, path="stages", device=session).overflow == "impossible"
    assert dp.fill(lcs, (n, n), a=[2 * near] * n, path="stages", device=session).overflow == "possible"
    doubled = dp.Equation(lambda M, i, j: dp.where(i == 0, 0, M[i - 1, j] * 2), pattern="RUD")
    assert dp.fill(doubled, (n, n), path="stages", device=session).overflow == "possible"
    floats = dp.Equation("i", dtype="float32", pattern="RUD")
    assert dp.fill(floats, (n, n), path="stages", device=session).overflow == "impossible"
