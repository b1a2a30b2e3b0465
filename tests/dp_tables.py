"""Equations that tests fill tables by, in Python and in C."""

import numpy as np
from reference import dp as reference

from clgeom import dp


def mixed_python(pattern, dtype):
    """An equation that reads all around in its region, mixes what it reads with its place, and never overflows."""
    floats = dtype.startswith("float")

    def cell(M, i, j, n, m):
        value = i * 0.75 + j if floats else 31 * i + 17 * j
        for k, (a, b) in enumerate(reference.REGIONS[pattern]):
            inside = (i + a >= 0) & (i + a < n) & (j + b >= 0) & (j + b < m)
            read = dp.where(inside, M[i + a, j + b], 0)
            value = value + (read * (0.25, 0.5, 0.1)[k] if floats else (k + 1) * read)
        return value / 3 if floats else value % (1009 if dtype == "int32" else 10**10 + 19)

    return dp.Equation(cell, pattern=pattern, dtype=dtype)


def mixed_c(pattern, dtype):
    """What `mixed_python` says, in OpenCL C."""
    floats, suffix = dtype.startswith("float"), "f" if dtype == "float32" else ""
    lines = [f"cell_t value = (cell_t)i * 0.75{suffix} + j;" if floats else "cell_t value = 31 * i + 17 * j;"]
    for k, (a, b) in enumerate(reference.REGIONS[pattern]):
        weight = f" * {(0.25, 0.5, 0.1)[k]}{suffix}" if floats else f" * {k + 1}"
        inside = f"i + {a} >= 0 && i + {a} < n && j + {b} >= 0 && j + {b} < m"
        lines.append(f"if ({inside}) value += M(i {a:+}, j {b:+}){weight};".replace("+ -", "- "))
    end = f"value / 3.0{suffix}" if floats else f"value % {'1009' if dtype == 'int32' else '10000000019L'}"
    return dp.Equation("\n".join([*lines, f"return {end};"]), pattern=pattern, dtype=dtype)


EQUATIONS = {}


def mixed(pattern, dtype, write=mixed_python):
    return EQUATIONS.setdefault((pattern, dtype, write), write(pattern, dtype))


def same(table, expected):
    assert table.numpy().dtype == expected.dtype
    np.testing.assert_array_equal(table.numpy(), expected)


KNAPSACK = {"weights": [18, 15, 10, 7, 3], "profits": [25, 24, 15, 3, 2]}


def knapsack():
    def cell(M, i, j, weights, profits):
        skip, take = M[i - 1, j], M[i - 1, j - weights[i - 1]] + profits[i - 1]
        fits = weights[i - 1] <= j
        better = dp.maximum(skip, take), dp.which_max(skip, take)
        return dp.where(i == 0, (0, 0), dp.where(fits, better, (skip, 0)))

    parameters = {"weights": "int32[]", "profits": "int64[]"}
    return dp.Equation(cell, pattern="RUD", dtype="int64", parameters=parameters)


def chain(dtype="int32"):
    def cell(M, i, j, d):
        k = dp.index("k")
        cost = M[i, k] + M[k + 1, j] + d[i] * d[k + 1] * d[j + 1]
        return dp.where(i >= j, (0, -1), (dp.min_over(k, i, j, cost), dp.argmin_over(k, i, j, cost)))

    return dp.Equation(cell, pattern="SONE", dtype=dtype, parameters={"d": "int32[]"})
