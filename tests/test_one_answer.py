"""One answer: every public field of every result is the same, bit for bit, in the shapes of every kind of device.

`answers.everything` walks a result; what says how it was computed (`answers.HOW`) may differ. Maps of path loss may
differ within a stated bound, which the tests of `radio` hold.
"""

import functools
import itertools

import answers
import numpy as np
import pytest
from effort import LONG, thinned

import clgeom
import clgeom.core.device
from clgeom import dp
from clgeom.dp import problems
from clgeom.primitives.compact import compact, partition
from clgeom.primitives.scan import exclusive_scan, inclusive_scan

SHAPES = ("as_gpu", "odd_shapes", "as_amd", *(("cpu_shapes", "small_groups") if LONG else ()))
#: Examples about devices themselves, and maps of path loss, which differ within a stated bound.
LEFT_OUT = ("clgeom.Session", "clgeom.DeviceProfile", "clgeom.devices", "clgeom.default_session", "clgeom.radio")
EXAMPLES = sorted(name for name in answers.examples() if not name.startswith(LEFT_OUT))


@pytest.fixture
def reference(any_session):
    """The session of the same device as it is."""
    return clgeom.core.device.as_session(any_session.device)


@pytest.mark.settings(*SHAPES)
def test_documented_examples(any_session, reference, monkeypatch, tmp_path, capsys):
    """Those of all public functions: each value that they print or name."""
    monkeypatch.chdir(tmp_path)  # some write files
    shared = clgeom.core.device._sessions
    for name in thinned(EXAMPLES, 12):
        found = []
        for session in (reference, any_session):
            for key in (None, clgeom.core.device.os.environ.get("CLGEOM_DEVICE")):
                monkeypatch.setitem(shared, key, session)
            found.append(answers.run_example(name))
        assert not answers.differences(*found), name


# Adversarial values -----------------------------------------------------------------------------------------------


def floats(rng, count, dtype):
    """Floats with ties, both zeros, infinities, NaN, and the ends of the type."""
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        return rng.choice(np.array([info.min, info.max, 0, 1, 2], dtype), count)
    info = np.finfo(dtype)
    some = [0.0, -0.0, 1, 1, -1, 1e16, -1e16, info.max, info.min, info.smallest_subnormal, np.nan, np.inf, -np.inf]
    return rng.choice(np.array(some, dtype), count)


def points(rng, count, dtype):
    """Points on a small lattice, some with both zeros, so that many are equal or on one line."""
    lattice = rng.integers(-2, 3, (count, 2)).astype(dtype)
    return -lattice if np.dtype(dtype).kind == "f" and count % 2 else lattice


def letters(rng, count):
    return ["".join(rng.choice(list("ACG"), size)) for size in rng.integers(1, 40, count)]


def table(rng, session, keep, pattern, dtype):
    """A table of floats or integers, all that it says, and its reductions and searches."""
    n, m = rng.integers(1, 40, 2)
    values = floats(rng, (n, m), dtype)
    equation = dp.Equation("v(i, j)", parameters={"v": f"{values.dtype}[,]"}, pattern=pattern, dtype=dtype)
    found = dp.fill(equation, (n, m), keep=keep, v=values, device=session)
    if keep != "table":
        return found, found.last if keep == "last" else found.corner
    some = [
        getattr(found, name)(axis)
        for name, axis in itertools.product(("min", "max", "argmin", "argmax", "sum"), (None, 0, 1))
    ]
    return found, some, found.where(">=", 0), found.count("==", 0), found.numpy(), found.row(0), found.column(0)


def choices(rng, session, keep):
    """A table with ties between its choices."""
    n, m = rng.integers(1, 30, 2)

    @dp.equation(pattern="NOSE", parameters={"w": "float32[,]"}, dtype="float32")
    def best(M, i, j, w):
        options = M[i - 1, j], M[i, j - 1], M[i - 1, j - 1]
        inside = dp.maximum(*options) + w[i, j], dp.which_max(*options)
        return dp.where((i == 0) | (j == 0), (w[i, j], 0), inside)

    found = dp.fill(best, (n, m), keep=keep, w=rng.integers(-1, 2, (n, m)).astype("f4"), device=session)
    return found, found.corner, None if keep in ("last", "corner") else found.decisions.numpy()


def alignments(rng, session, mode, options):
    return clgeom.align(letters(rng, 30), letters(rng, 30), mode=mode, device=session, **options)


DTYPES = ("float32", "float64", "int32")
ENDS = ({}, {"path": False}, {"path": False, "ends": False}, {"strand": "both", "path": False, "ends": False})
CALLS = {
    **{
        f"align {mode} {options}": lambda r, s, mode=mode, options=options: alignments(r, s, mode, options)
        for mode in ("global", "local", "semiglobal")
        for options in (*ENDS, {"strand": "both"}, {"band": "auto"})
    },
    **{
        f"fill {keep} {pattern} {dtype}": lambda r, s, keep=keep, pattern=pattern, dtype=dtype: table(
            r, s, keep, pattern, dtype
        )
        for keep in ("table", "last", "corner")
        for pattern, dtype in (("RUD", "float32"), ("NOSE", "float64"), ("CRL", "int64"), ("SONE", "float32"))
    },
    **{
        f"choices {keep}": lambda r, s, keep=keep: choices(r, s, keep)
        for keep in ("table", "last", "corner", "decisions")
    },
    "edit_distance": lambda r, s: problems.edit_distance(letters(r, 1)[0], letters(r, 1)[0], device=s),
    "lcs": lambda r, s: problems.lcs(letters(r, 1)[0], letters(r, 1)[0], device=s),
    "knapsack": lambda r, s: problems.knapsack(r.integers(0, 3, 9), r.integers(1, 4, 9), 11, device=s),
    "matrix_chain": lambda r, s: problems.matrix_chain(r.integers(1, 3, 12), device=s),
    "cdist": lambda r, s: dp.cdist(letters(r, 9), letters(r, 7), device=s),
    "cdist, nearest": lambda r, s: dp.cdist(letters(r, 9), letters(r, 7), nearest=3, device=s),
    "cdist, sparse": lambda r, s: dp.cdist(letters(r, 9), sparse=True, score_cutoff=9, device=s),
    **{
        f"convex_hull {dtype} {options}": lambda r, s, dtype=dtype, options=options: clgeom.convex_hull(
            points(r, int(r.choice([0, 1, 2, 3, 500])), dtype), device=s, **options
        )
        for dtype in DTYPES
        for options in ({}, {"collinear": "keep"}, {"filter": "octagon"}, {"filter": "none"})
    },
    "convex_hulls": lambda r, s: clgeom.convex_hulls(points(r, 40, "f4"), [0, 0, 1, 3, 20, 40], device=s),
    "convex_hulls_by_label": lambda r, s: clgeom.convex_hulls_by_label(
        points(r, 90, "f4"), r.integers(-2, 9, 90), device=s
    ),
    "heaphull_filter": lambda r, s: clgeom.heaphull_filter(points(r, 300, "f4"), device=s),
    "upper_hood": lambda r, s: clgeom.upper_hood(np.unique(points(r, 99, "f4"), axis=0), device=s),
    "lower_hood with a trace": lambda r, s: clgeom.lower_hood(
        np.unique(points(r, 99, "f4"), axis=0), trace=True, device=s
    ),
    "orient2d": lambda r, s: clgeom.orient2d(*(points(r, 60, "f8") for _ in range(3)), device=s),
    **{
        f"{name} {dtype}": lambda r, s, call=call, dtype=dtype: call(
            floats(r, int(r.choice([0, 1, 2, 3000])), dtype), s
        )
        for dtype in ("float32", "float64", "int8", "uint64")
        for name, call in {
            "sort": lambda a, s: clgeom.sort(a, device=s),
            "argsort": lambda a, s: clgeom.argsort(a, descending=True, device=s),
            "topk": lambda a, s: clgeom.topk(a, min(len(a), 2), device=s),
            "unique": lambda a, s: clgeom.unique(
                a, return_index=True, return_inverse=True, return_counts=True, device=s
            ),
            "shellsort": lambda a, s: clgeom.shellsort(a, device=s).keys,
            "searchsorted": lambda a, s: clgeom.searchsorted(np.sort(a), a, side="right", device=s),
        }.items()
    },
    "bincount": lambda r, s: clgeom.bincount(
        r.integers(0, 9, 500), weights=r.choice([1e16, 1, -1e16, 0.1], 500), device=s
    ),
    "histogram": lambda r, s: clgeom.histogram(
        r.standard_normal(500), 7, weights=r.choice([1e16, 1, -1e16, 0.1], 500), device=s
    ),
    "scans": lambda r, s: [scan(floats(r, 900, "int32"), device=s) for scan in (inclusive_scan, exclusive_scan)],
    "compact": lambda r, s: compact(r.random(700) < 0.5, device=s),
    "partition": lambda r, s: partition(r.integers(0, 5, 700).astype("u1"), 3, device=s),
    **{
        f"adaptive_region {cuts}": lambda r, s, cuts=cuts: clgeom.adaptive_region(
            r.standard_normal((400, 2)).astype("f4"), 6, cuts=cuts, device=s
        )
        for cuts in ("count", "width")
    },
    **{
        f"coverage_regions {options}": lambda r, s, options=options: clgeom.coverage_regions(
            r.integers(0, 3, (17, 23)).astype("f4"), [1, 2], device=s, **options
        )
        for options in ({"segments": 4}, {"outline": "cells"}, {"segments": 4, "parts": False})
    },
}


@pytest.mark.settings(*SHAPES)
def test_adversarial_values(any_session, reference, setting):
    """Ties, empty inputs, one element, both zeros, NaN and the ends of types, with all kinds of options."""
    names = sorted(CALLS)
    for name in names if LONG else names[SHAPES.index(setting) :: 20]:
        for seed in range(12 if LONG else 1):
            found = [
                answers.answer(
                    functools.partial(CALLS[name], np.random.default_rng([34, names.index(name), seed]), one)
                )
                for one in (reference, any_session)
            ]
            assert not answers.differences(*found), (name, seed)
