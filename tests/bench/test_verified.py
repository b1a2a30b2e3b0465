"""Benches refuse wrong results, of ours and of rivals, before they time anything."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import agreement
import bench_align
import bench_batch
import bench_differences
import bench_dp
import bench_hull
import bench_region
import bench_roofline
import bench_sort
import certify
import common
from effort import LONG

import clgeom
from clgeom.core.call import recording
from clgeom.sequences import align_tiles

EPS = np.finfo(np.float64).eps


@pytest.fixture
def quiet(monkeypatch):
    """Nothing is timed: a bench that comes so far fails the test."""

    def timed(candidates, *how, check=None, **more):
        check = check or next((one for one in how if callable(one)), None)
        for name, call in candidates.items():
            found = call()
            check(name, found.result if isinstance(found, common.Seconds) else found)
        raise LookupError("all were accepted")

    monkeypatch.setattr(common, "interleaved", timed)


def circle(n, dtype=np.float64):
    angle = np.random.default_rng(3).random(n) * 2 * np.pi
    return (np.stack([np.cos(angle), np.sin(angle)], axis=1) * 1e6).astype(dtype)


# Interleaved calls --------------------------------------------------------------------------------------------------


def test_interleaved_checks_the_first_result_of_each_and_times_none_after_a_wrong_one():
    calls, seen = [], []

    def call(name):
        calls.append(name)
        return common.Seconds.of(2.0, name) if name == "own" else name

    candidates = {name: lambda name=name: call(name) for name in ("own", "other")}
    assert common.interleaved(candidates, 2, check=lambda *found: seen.append(found))["own"] == 2.0
    assert seen == [("own", "own"), ("other", "other")]
    assert sorted(calls) == ["other"] * 5 + ["own"] * 3  # each short call follows one that is not timed
    calls.clear()

    def check(name, found):
        assert name == "own", "wrong"

    with pytest.raises(AssertionError, match="wrong"):
        common.interleaved(candidates, 2, check=check)
    assert calls == ["own", "other"]


# Hulls --------------------------------------------------------------------------------------------------------------


def test_check_hull_takes_rotated_and_reversed_rings_and_misses_within_rounding():
    points = circle(500)
    hull = points[clgeom.convex_hull(points).vertices]
    for ring in (hull, np.roll(hull, 7, axis=0), hull[::-1]):
        agreement.check_hull(ring, hull, points, "other", eps=EPS)
    flat = np.array([(0, 0), (5, -1e-9), (10, 0), (10, 10), (0, 10)], float)
    agreement.check_hull(np.delete(flat, 1, 0), flat, flat, "other", eps=EPS * 1e6)
    with pytest.raises(AssertionError, match="another hull: a vertex is 1e-09"):
        agreement.check_hull(np.delete(flat, 1, 0), flat, flat, "other", eps=EPS)


@pytest.mark.parametrize(
    "wrong",
    (
        lambda hull, points: hull[:1],
        lambda hull, points: np.empty((0, 2)),
        lambda hull, points: points,
        lambda hull, points: np.delete(hull, 3, axis=0),
        lambda hull, points: hull[: len(hull) // 2],
        lambda hull, points: np.concatenate([hull, hull[:4]]),
        lambda hull, points: np.insert(hull, 2, points.mean(axis=0), axis=0),
        lambda hull, points: hull * 1.001,
        lambda hull, points: hull[np.random.default_rng(0).permutation(len(hull))],
    ),
)
def test_check_hull_refuses_other_rings(wrong):
    points = np.concatenate([circle(60), np.random.default_rng(1).normal(size=(200, 2))])
    hull = points[clgeom.convex_hull(points).vertices]
    with pytest.raises(AssertionError, match="other"):
        agreement.check_hull(wrong(hull, points), hull, points, "other", eps=EPS)


OPTIONS = {"rival_limit": 1e9, "rivals": "scipy,shapely,cv2", "on_device": False, "from_host": False, "repeat": 1}


def options(**more):
    return types.SimpleNamespace(**{**OPTIONS, "phases": False, "budget": 1.0, **more})


def wrong_hull(package, points):
    """What a package that answers its input, or one point, returns."""
    if package == "scipy":
        return types.SimpleNamespace(vertices=np.arange(len(points)), volume=1.0)
    return points[:1, None] if package == "cv2" else pytest.importorskip("shapely").multipoints(points)


@pytest.mark.parametrize("package", ("scipy", "shapely", "cv2"))
def test_hull_and_batch_benches_refuse_wrong_rivals(session, quiet, monkeypatch, package):
    monkeypatch.setattr(bench_hull, "rivals", lambda points, limit: {package: lambda: wrong_hull(package, points)})
    with pytest.raises(AssertionError, match=package):
        bench_hull.row_of(session, "normal", 300, np.dtype(np.float32), options())
    batch = options(rival_hulls=3)
    monkeypatch.setattr(
        bench_batch, "rivals", lambda groups, dtype: {package: lambda: [wrong_hull(package, groups[0])]}
    )
    with pytest.raises(AssertionError, match="1 hulls, not 3"):
        bench_batch.row_of(session, "normal", "64", np.dtype(np.float32), 5, batch)
    monkeypatch.setattr(
        bench_batch, "rivals", lambda groups, dtype: {package: lambda: [wrong_hull(package, one) for one in groups]}
    )
    with pytest.raises(AssertionError, match=package):
        bench_batch.row_of(session, "normal", "64", np.dtype(np.float32), 5, batch)


def test_hull_bench_takes_the_rivals_that_are_installed(session, quiet):
    for name in ("normal", "circle"):
        for dtype in (np.float32, np.float64):
            with pytest.raises(LookupError):
                bench_hull.row_of(session, name, 3000, np.dtype(dtype), options())


def test_published_circle_is_compared_in_float64_only(session, monkeypatch):
    monkeypatch.setattr(
        common,
        "interleaved",
        lambda calls, repeat, check: [check(n, c()) for n, c in calls.items()] and {"clgeom": 1.0},
    )
    rows = list(bench_hull.published(session, 1, 1e4))
    circles = {row["table"]: row for row in rows if row["table"].startswith("V ")}
    assert circles["V circle, float32"].keys() & {"heaphull", "GPU heaphull/clgeom"} == set()
    if session.profile.fp64:
        exact = circles["V circle, float64"]
        assert exact["vertices"] == 10**4 and exact["GPU heaphull/clgeom"] == 1.64 / 1e3


def test_certify_all_refuses_wrong_hulls_anywhere(session):
    points = np.random.default_rng(7).normal(size=(640, 2)).astype(np.float32)
    batch = clgeom.convex_hulls(points, np.arange(0, 641, 64), device=session)
    vertices, offsets = np.asarray(batch.vertices), np.asarray(batch.offsets)
    groups = points.reshape(-1, 64, 2)
    certify.certify_all(groups, vertices, offsets)
    third = slice(offsets[3], offsets[4])
    for change in (lambda v: 0 * v, lambda v: v[::-1], lambda v: np.roll(v, 1), lambda v: v - 64):
        wrong = vertices.copy()
        wrong[third] = change(wrong[third])
        with pytest.raises(AssertionError):
            certify.certify_all(groups, wrong, offsets)
    fewer = np.delete(vertices, offsets[3] + 1)
    with pytest.raises(AssertionError):
        certify.certify_all(groups, fewer, offsets - (np.arange(len(offsets)) > 3))


# Sorts --------------------------------------------------------------------------------------------------------------


class There(np.ndarray):
    """An array of a package that computes on a device."""

    def get(self):
        return np.asarray(self)


def fake_cupy(argsort):
    cuda = types.SimpleNamespace(Device=lambda: types.SimpleNamespace(synchronize=lambda: None))
    there = {"asarray": lambda keys: np.asarray(keys).view(There), "sort": np.sort, "argsort": argsort}
    return types.SimpleNamespace(cuda=cuda, **there)


@pytest.mark.parametrize("argsort", (lambda keys: None, lambda keys: np.arange(len(keys)), lambda keys: 0 * keys))
def test_sort_bench_refuses_a_wrong_argsort(session, quiet, monkeypatch, argsort):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(argsort))
    monkeypatch.setattr(bench_sort, "pyopencl_candidates", lambda *_: {})
    with pytest.raises(AssertionError, match=r"cupy\.argsort"):
        bench_sort.measure(session, "device", 100, np.dtype(np.uint32), "random", options())


def test_sort_bench_accepts_right_candidates(session, quiet, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(lambda keys: np.argsort(keys, kind="stable")))
    # PoCL builds PyOpenCL's radix sort, which is a candidate for unsigned keys, for most of ten seconds
    dtype = np.dtype(np.uint32 if LONG else np.float32)
    for where in ("host", "device", "shellsort"):
        with pytest.raises(LookupError):
            bench_sort.measure(session, where, 128, dtype, "few", options())


def test_check_of_sorts_looks_at_keys_indices_and_stability():
    keys = np.array([2, 1, 2, 1], np.uint32)
    check = bench_sort.check_of(keys)
    check("torch.sort+indices", (np.sort(keys), np.array([1, 3, 0, 2])))
    check("np.argsort", np.array([3, 1, 0, 2]))
    for name, found in (
        ("np.argsort stable", np.array([3, 1, 0, 2])),
        ("torch.sort+indices", (np.sort(keys), np.array([3, 1, 0, 2]))),
        ("torch.sort+indices", (keys, np.array([1, 3, 0, 2]))),
        ("pyopencl radix pairs", (np.sort(keys), np.arange(4))),
        ("pyopencl bitonic", keys),
        ("cupy.sort", np.array([1, 1, 1, 2], np.uint32)),
    ):
        with pytest.raises(AssertionError, match=name.replace("+", r"\+")):
            check(name, found)


# Regions ------------------------------------------------------------------------------------------------------------


def test_check_region_refuses_other_segments(subtests, session):
    points = common.in_order(np.random.default_rng(5).normal(size=(3000, 2)).astype(np.float32))
    for segments in (1, 2, 40, 700):
        with subtests.test(segments=segments):
            region = clgeom.adaptive_region(points, segments, assume_sorted=True, device=session)
            bench_region.check_region(region, points, segments)
            for other in (1, 39):
                wrong = clgeom.adaptive_region(points, other, assume_sorted=True, device=session)
                if segments > 2:
                    with pytest.raises(AssertionError, match="ends elsewhere"):
                        bench_region.check_region(wrong, points, segments)


def test_points_benches_refuse_other_regions_and_chains(session, quiet, monkeypatch):
    true = bench_region.adaptive_region
    with monkeypatch.context() as patch:
        patch.setattr(bench_region, "adaptive_region", lambda points, segments, **how: true(points, 1, **how))
        with pytest.raises(AssertionError, match="ends elsewhere"):
            bench_region.points_rows(session, 20_000, options())
    with monkeypatch.context() as patch:
        low = np.arange(2, dtype=np.uint32)
        patch.setattr(bench_region, "numba_calls", lambda points: lambda: ((low, low), (2, 2)))
        for rows in (bench_region.points_rows, bench_region.published_rows):
            with pytest.raises(AssertionError, match="chain"):
                rows(session, 5000, options())


def test_outlines_of_rivals_are_compared_with_the_cells(quiet):
    cv2, shapely = pytest.importorskip("cv2"), pytest.importorskip("shapely")
    rng = np.random.default_rng(2)
    values = np.where(rng.random((24, 24)) < 0.7, 0.0, -200.0).astype(np.float32)
    values[4:9, 4:9] = 0.0
    found = bench_region.rivals(values, True)
    shapes = {name: shape for name, (_, shape) in found.items()}
    check = bench_region.Outlines(values >= bench_region.LEVEL, shapes)
    results = {name: call() for name, (call, _) in found.items()}
    for name, result in results.items():
        check(name, result)
    assert set(check.of) == set(found) and cv2
    wrong = {
        "cv2.findContours": [[], [one + 3 for one in results["cv2.findContours"]]],
        "cv2.findContours + approxPolyDP(2)": [[], [one[:1] * 0 for one in results["cv2.findContours"]]],
        "shapely.concave_hull(0.1)": [shapely.Point(5, 5).buffer(2), shapely.box(-50, -50, 90, 90)],
    }
    if "rasterio.shapes" in results:
        wrong["rasterio.shapes"] = [results["rasterio.shapes"][1:]]
    for name, others in wrong.items():
        for other in others:
            with pytest.raises(AssertionError):
                check(name, other)


# Dynamic programming and alignments -----------------------------------------------------------------------------------


def test_solutions_must_be_possible():
    a, b = (np.random.default_rng(k).integers(0, 4, 30).astype(np.int32) for k in (1, 2))
    table = bench_dp.fill(bench_dp.LCS, (31, 31), a=a, b=b).numpy()
    steps, length = bench_dp.traceback_lcs(table, a, b), table[30, 30]
    bench_dp.check_solution("lcs", steps, length, {"a": a, "b": b}, table.shape, "host")
    for wrong in (sorted(steps), steps[1:], steps[::-1], [*steps, 2], [1, *steps]):
        with pytest.raises(AssertionError, match="host"):
            bench_dp.check_solution("lcs", wrong, length, {"a": a, "b": b}, table.shape, "host")
    given = {"w": np.array([3, 4, 5]), "v": np.array([3, 4, 5])}
    bench_dp.check_solution("knapsack", [0, 1], 7, given, (4, 8), "host")
    for wrong, value in (([0, 1], 8), ([1, 2], 9), ([0, 0], 6)):
        with pytest.raises(AssertionError, match="host"):
            bench_dp.check_solution("knapsack", wrong, value, given, (4, 8), "host")
    d = {"d": np.array([2, 3, 4, 5])}
    bench_dp.check_solution("chain", [(0, 1, 2), (0, 0, 1)], 64, d, (3, 3), "host")
    for wrong in ([(0, 1, 2)], [(0, 0, 2), (0, 0, 1)], [(0, 1, 2), (0, 0, 1), (1, 1, 1)]):
        with pytest.raises(AssertionError, match="host"):
            bench_dp.check_solution("chain", wrong, 64, d, (3, 3), "host")


def test_dp_bench_refuses_wrong_stages_whether_numba_is_installed_or_not(session):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 4, 30).astype(np.int32) for _ in "ab")

    def filled(a, b, **how):
        return bench_dp.fill(bench_dp.LCS, (31, 31), a=a, b=b, device=session, **how)

    reference = filled(a, b, path="stages").numpy()
    right = {"table": lambda: filled(a, b), "corner": lambda: filled(a, b, keep="corner")}
    right |= {"numba": lambda: reference, "stages": lambda: filled(a, b, path="stages")}
    given = {"a": a, "b": b}
    bench_dp.verify(session, "lcs", right, (31, 31), given)
    inner = a.copy()
    inner[0] = 9  # a first row of zeros, and perhaps the same last cell
    for other in (a + 9, inner):
        wrong = {**right, "stages": lambda other=other: filled(other, b, path="stages")}
        with pytest.raises(AssertionError, match="stages"):
            bench_dp.verify(session, "lcs", wrong, (31, 31), given)


def test_pairs_bench_refuses_a_wrong_edit_distance_without_rivals(session, quiet, monkeypatch):
    a, b = (np.random.default_rng(k).integers(0, 4, size).astype(np.uint8) for k, size in ((1, 70), (2, 50)))
    expected = clgeom.dp.problems.edit_distance(a.tobytes(), b.tobytes(), operations=False, device=session).distance
    assert bench_dp.plain_edits(a, b) == bench_dp.plain_edits(b, a) == expected
    monkeypatch.setattr(bench_dp, "others", lambda texts: {})
    options = types.SimpleNamespace(repeat=1, budget=1.0)
    with pytest.raises(LookupError, match="all were accepted"):
        bench_dp.pairs(session, 128, options)
    wrong = types.SimpleNamespace(distance=7)
    monkeypatch.setattr(clgeom.dp.problems, "edit_distance", lambda *a, **how: wrong)
    with pytest.raises(AssertionError, match="edit"):
        bench_dp.pairs(session, 128, options)


def test_scores_by_a_matrix_and_of_one_pair_are_checked_without_rivals(session):
    for letters, count, length, asked in (
        (bench_align.PROTEIN, 60, 20, {"matrix": "BLOSUM62", "mode": "local", "path": False}),
        (bench_align.PROTEIN, 3, 40, {"matrix": "BLOSUM62", "path": False}),
        (b"ACGT", 1, 200, {"path": False}),
        (b"ACGT", 1, 200, {"path": False, "mode": "local", "gap_extend": 0}),
    ):
        pairs = bench_align.related(count, length, letters, 0.4)
        scores = np.asarray(clgeom.align(*map(bench_align.texts, pairs), device=session, **asked).scores)
        bench_align.check_of(scores, pairs, asked)("clgeom", scores)
        with pytest.raises(AssertionError, match="the scores are wrong"):
            bench_align.check_of(scores + 1, pairs, asked)


def test_plain_scores_are_those_of_align(session):
    a, b = bench_align.related(60, 20, b"ACGT", 0.4)
    given = [bench_align.texts(rows) for rows in (a, b)]
    for asked in ({}, {"mode": "local"}, {"match": 0, "mismatch": -1, "gap_open": 0, "gap_extend": 1}):
        scores = np.asarray(clgeom.align(*given, path=False, device=session, **asked).scores)
        np.testing.assert_array_equal(bench_align.plain_scores(a, b, **asked), scores)
        bench_align.check_of(scores, (a, b), asked)("clgeom", scores)
        with pytest.raises(AssertionError, match="the scores are wrong"):
            bench_align.check_of(scores + 1, (a, b), asked)
        for name, wrong in (("parasail nw", scores[:5] + 1), ("edlib path", []), ("kernels", scores[:5])):
            with pytest.raises((AssertionError), match=name):
                bench_align.check_of(scores, (a, b), asked)(name, wrong)


def test_scores_of_paths_are_counted(session, monkeypatch):
    options = types.SimpleNamespace(most=9.0, loops=2, repeat=1, budget=0.1)
    for kind, count in (("edit, path", 1), ("affine, path", 3)):
        row = bench_differences.row_of(session, kind, count, 60, 0.2, options)
        assert row["core"] > 0 and row["pairs"] == count
    true = bench_differences.scores_of_paths
    monkeypatch.setattr(bench_differences, "scores_of_paths", lambda *given: true(*given) + 1)
    with pytest.raises(AssertionError, match="the paths have other scores"):
        bench_differences.row_of(session, "affine, path", 3, 60, 0.2, options)
    operations = np.array([0, 0, 1, 2], np.uint8)
    costs = {"match": 2, "mismatch": -3, "gap_open": 5, "gap_extend": 2}
    assert true(["ACGT"], ["ACC"], operations, np.array([0, 4]), costs).tolist() == [2 + 2 - 3 - 7]
    for wrong, words in (([0, 0, 0, 2], "equal letters"), ([0, 0, 1], "all letters")):
        with pytest.raises(AssertionError, match=words):
            true(["ACGT"], ["ACC"], np.array(wrong, np.uint8), np.array([0, len(wrong)]), costs)


def test_align_bench_measures_the_long_pair_once_and_kernels_in_turn(session, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(common, "print_table", lambda rows: seen.extend(rows))
    words = "bench_align.py --pairs 3,5 --length 20 --long 40 --cases global --repeat 3 --rivals none"
    monkeypatch.setattr(sys, "argv", words.split())
    bench_align.main()
    assert [(row["case"], row["pairs"], row["letters"]) for row in seen if "score" in row["case"]] == [
        ("short, global score", 3, 60),
        ("long, global score", 1, 40),
        ("short, global score", 5, 100),
    ]
    assert all(row["kernel"] > 0 for row in seen)


def test_roofline_checks_what_it_times(session, monkeypatch):
    works = {work.name: work for work in bench_roofline.alignments(session, 10_000)}
    (work,) = works.values()
    work.check(work.call())
    true = clgeom.align
    added = {}

    def wrong(*sequences, **how):
        found = true(*sequences, **how)
        return types.SimpleNamespace(scores=np.asarray(found.scores) + added.setdefault("once", 1))

    monkeypatch.setattr(clgeom, "align", wrong)
    with pytest.raises(AssertionError, match="the alignment is wrong"):
        bench_roofline.rows_of(work, {}, 1)
    for family in (bench_roofline.hulls, bench_roofline.batches, bench_roofline.sorts, bench_roofline.regions):
        for work in family(session, 3000):
            work.check(work.call())
            assert callable(work.check)


def test_launches_that_do_not_say_their_bytes_have_no_rate(session, monkeypatch):
    def phase(moved):
        return types.SimpleNamespace(name="tile_hull", bytes_moved=moved, seconds=1e-3, launches=1)

    class Recording:
        def __init__(self, _):
            self.found = [phase(800), phase(0)]

        def __enter__(self):
            return self.found

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(bench_roofline, "recording", Recording)
    work = bench_roofline.Work("hull", "hull", lambda: None, lambda found: None)
    roof = {"read, GB/s": 1.0, "multiply-add, Gop/s": 1.0}
    (row,) = bench_roofline.rows_of(work, roof, 2)
    assert row["MB"] is None and "GB/s" not in row and row["launches"] == 2


def test_tiles_of_alignments_count_their_letters(session, monkeypatch):
    monkeypatch.setattr(align_tiles, "sweep_policy", lambda session: None)
    a, b = bench_align.related(40, 150, b"ACGT", 0.1)
    given = [bench_align.texts(rows) for rows in (a, b)]
    with recording(True) as phases:
        clgeom.align(*given, path=False, device=session)
    moved = sum(phase.bytes_moved for phase in phases if phase.name in ("align_tiles", "align_pairs"))
    assert a.size + b.size <= moved <= 3 * (a.size + b.size)


# Commands -----------------------------------------------------------------------------------------------------------


def test_command_is_one_that_a_shell_takes(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [f"{tmp_path}/bench_x.py", "--rivals", "", "--json", f"{tmp_path}/x-pocl.json"])
    assert common.command_line() == "python bench/bench_x.py --rivals '' --json bench/results/x-pocl.json"


def test_records_name_the_version_that_is_measured(session):
    assert common.environment(session)["versions"]["clgeom"] == clgeom.__version__


@pytest.mark.parametrize(
    "value, shown", ((999.7, "1000"), (1234.5, "1234"), (12.34, "12.3"), (1e-9, "1e-09"), (None, "-"))
)
def test_tables_show_three_digits_without_an_exponent(value, shown):
    assert common.show(value) == shown
