"""Hoods against a chain over exact integers: both methods, every stage, each limit of the published program lifted."""

import numpy as np
import pytest
from clouds import CLOUDS, DTYPES, cloud
from reference import hoods as reference

import clgeom
from clgeom import lower_hood, upper_hood
from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit, InvalidInput
from clgeom.hull.predicates import orient2d
from clgeom.hull.wagener.hoods import LARGEST_BLOCK, UPPER, block_policy, matching_plan

HOODS = {"upper": upper_hood, "lower": lower_hood}
METHODS = ("published", "runs")
CHOICES = ("drop", "keep")
BLOCKS, MATCH = "hull/wagener/hood_match_blocks", "hull/wagener/hood_match"
#: Blocks of 1, 8 and 64 points; groups smaller and larger than the samples; one and several groups to a pair.
SHAPES = {
    "as_tuned": {},
    "no_local_block": {BLOCKS: Policy("group", 1, 1), MATCH: Policy("group", 1, 1)},
    "small": {BLOCKS: Policy("group", 2, 4), MATCH: Policy("group", 4, 1, groups_per_unit=0)},
    "odd": {BLOCKS: Policy("group", 32, 3), MATCH: Policy("group", 32, 1, groups_per_unit=16)},
}


def check(points, session, *, methods=METHODS, choices=CHOICES):
    """Both hoods of points in order, by all methods, are those of the reference."""
    for side, hood in HOODS.items():
        for collinear in choices:
            expected = reference.hood(points, side, collinear=collinear)
            for method in methods:
                found = hood(points, collinear=collinear, method=method, device=session)
                assert found.vertices.dtype == np.int64 and found.n == len(points)
                assert found.vertices.tolist() == expected, (side, collinear, method, len(points))
                assert np.array_equal(found.points, points[expected])


def types(session):
    return DTYPES if session.profile.fp64 else tuple(t for t in DTYPES if t != np.float64)


# Every cloud, every shape -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLOUDS)
def test_hoods_of_clouds(session, name):
    for dtype in types(session):
        check(reference.in_order(cloud(name, 200, dtype)), session)


@pytest.mark.parametrize("shape", SHAPES)
def test_hoods_around_the_edges_of_blocks(subtests, session, shape):
    sizes = (
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        65,
        96,
        127,
        128,
        129,
        192,
        193,
        255,
        256,
        300,
    )
    with override(SHAPES[shape]):
        for n in sizes:
            with subtests.test(n=n):
                for name in ("circle", "parabola", "grid"):
                    check(reference.in_order(cloud(name, n, np.float32)), session, methods=("published",))


@pytest.mark.parametrize("shape", SHAPES)
def test_hoods_of_clouds_in_other_shapes(session, shape):
    with override(SHAPES[shape]):
        for name in (
            "near_line",
            "duplicates",
            "vertical",
            "mixed_magnitudes",
            "lattice_edges",
            "signed_zeros",
        ):
            check(reference.in_order(cloud(name, 277, np.float32)), session, methods=("published",))


def test_hoods_of_other_devices(any_session):
    for name in ("circle", "duplicates", "grid", "small"):
        check(reference.in_order(cloud(name, 1500, np.float32)), any_session, choices=("keep",))


def test_hoods_of_every_set_of_a_small_lattice(session):
    """Every third subset of 3 x 3 points: the ways in which tangents can tie."""
    lattice = np.array([(x, y) for x in range(3) for y in range(3)], np.int32)
    for bits in range(0, 512, 3):
        check(lattice[[bits >> k & 1 == 1 for k in range(9)]], session, methods=("published",))


# What the published program could not do -------------------------------------------------------------------------


def test_points_may_be_collinear(session):
    for dtype in types(session):
        for name in ("line", "horizontal", "lattice_edges", "lattice_star"):
            check(reference.in_order(cloud(name, 700, dtype)), session)


def test_points_may_share_x(session):
    rng = np.random.default_rng(1)
    points = np.stack([rng.integers(0, 9, 800), rng.integers(-40, 40, 800)], axis=1).astype(np.float32)
    check(reference.in_order(points), session)
    check(reference.in_order(cloud("vertical", 800, np.float32)), session)


def test_x_may_be_anything(session):
    for dtype in types(session):
        for name in ("huge", "tiny", "mixed_magnitudes", "far_from_origin"):
            check(reference.in_order(cloud(name, 600, dtype)), session)


def test_points_may_be_equal(session):
    for name in ("one_point", "duplicates", "three_positions", "signed_zeros"):
        points = reference.in_order(cloud(name, 1100, np.float32))
        check(points, session)
    assert upper_hood(np.ones((5, 2)), device=session).vertices.tolist() == [0]


def test_equal_points_at_the_seam_of_two_blocks(subtests, session):
    """The last point of P is the first of Q again, and may be all of Q."""
    for n in range(2, 10):
        for k in range(1, n):
            with subtests.test(n=n, k=k):
                x = np.r_[np.arange(k), np.full(min(2, n - k), k - 1), np.arange(k, n)][:n].astype(np.float32)
                check(np.stack([x, x * x], axis=1), session, methods=("published",))


def test_a_hood_may_be_larger_than_a_work_group(session):
    points = reference.in_order(cloud("parabola", 3000, np.float64 if session.profile.fp64 else np.int32))
    with override({BLOCKS: Policy("group", 16, 2), MATCH: Policy("group", 16, 1)}):
        check(points, session, methods=("published",))


def test_there_may_be_more_points_than_16_bits_count(session):
    """Every point is a corner of the lower hood; the published program counts in 16-bit integers."""
    n = 70_001
    points = reference.in_order(cloud("parabola", n, np.int32))
    assert n > LARGEST_BLOCK
    check(points, session, choices=("drop",))
    assert len(lower_hood(points, method="published", device=session)) == n


def test_signs_are_exact(session):
    """Points one step of the format beside a line."""
    points = reference.in_order(cloud("near_line", 2000, np.float32))
    check(points, session)
    found = upper_hood(points, method="published", collinear="drop", device=session).points
    assert (orient2d(found[:-2], found[1:-1], found[2:], device=session) == -1).all()


# Traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("circle", "grid", "duplicates"))
@pytest.mark.parametrize("side", HOODS)
def test_every_stage_holds_the_hoods_of_its_blocks(subtests, session, side, name):
    for n in (1, 2, 5, 64, 201):
        with subtests.test(n=n):
            points = reference.in_order(cloud(name, n, np.float32))
            for collinear in CHOICES:
                found = HOODS[side](points, trace=True, collinear=collinear, device=session)
                stages = [[hood.tolist() for hood in stage] for stage in found.stages]
                assert stages == reference.stages(points, side, collinear=collinear)
                assert stages[-1] == [found.vertices.tolist()]


def check_merges(points, found, side, collinear):
    """Every phase of every merge of a traced hood is what trying all corners finds; returns how many have a Q."""
    assert len(found.merges) == len(found.stages) - 1
    tried = 0
    for r, (hoods, merges, after) in enumerate(zip(found.stages, found.merges, found.stages[1:])):
        assert len(merges) == len(after) == (len(hoods) + 1) // 2
        for k, merge in enumerate(merges):
            left, *rest = [hood.tolist() for hood in hoods[2 * k : 2 * k + 2]]
            expected = reference.merge(points, left, rest[0] if rest else [], side, r, collinear=collinear)
            assert merge.left.tolist() == left and np.array_equal(merge.merged, after[k])
            if expected is None:
                assert (merge.first, merge.p, merge.q, len(merge.right)) == (-1, -1, -1, 0)
                assert merge.merged.tolist() == left and len(merge.brackets) == len(merge.candidates) == 0
                continue
            tried += 1
            values = {name: getattr(merge, name) for name in expected}
            values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
            assert values == expected, (side, collinear, r, k)
            assert merge.merged.tolist() == left[: merge.p + 1] + merge.right[merge.q :].tolist()
    return tried


@pytest.mark.parametrize("side", HOODS)
def test_every_phase_of_every_merge(subtests, session, side):
    clouds = {"circle": (1, 2, 3, 64, 201), "grid": (49, 130), "duplicates": (2, 90), "line": (40,), "parabola": (150,)}
    for name, sizes in clouds.items():
        for n in sizes:
            with subtests.test(name=name, n=n):
                points = reference.in_order(cloud(name, n, np.float32))
                for collinear in CHOICES:
                    found = HOODS[side](points, trace=True, collinear=collinear, device=session)
                    tried = check_merges(points, found, side, collinear)
                    assert tried <= n - 1 and (tried == n - 1 or len(np.unique(points, axis=0)) < n)


def test_merges_do_not_depend_on_shapes(session):
    points = reference.in_order(cloud("circle_noise", 140, np.float32))
    for shape in SHAPES.values():
        with override(shape):
            check_merges(points, lower_hood(points, trace=True, device=session), "lower", "drop")


def test_hoods_without_a_trace_have_no_merges(session):
    assert upper_hood([(0, 0), (1, 1)], device=session).merges is None
    assert upper_hood(np.empty((0, 2)), trace=True, device=session).merges == ()
    assert upper_hood([(0, 0)], trace=True, device=session).merges == ()
    merge = upper_hood([(0, 0), (0, 0)], trace=True, device=session).merges[0][0]
    assert repr(merge) == "HoodMerge(1 and 0 corners: nothing to merge)"


def test_stages_do_not_depend_on_shapes(session):
    points = reference.in_order(cloud("circle_noise", 333, np.float32))
    expected = reference.stages(points, "upper")
    for shape in SHAPES.values():
        with override(shape):
            found = upper_hood(points, trace=True, device=session).stages
            assert [[hood.tolist() for hood in stage] for stage in found] == expected


def test_trace_of_nothing(session):
    found = upper_hood(np.empty((0, 2)), trace=True, device=session)
    assert found.stages == () and len(found) == 0 and found.points.shape == (0, 2)
    assert upper_hood([(1, 2)], device=session).stages is None


# What comes in ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", (1, 700, 4999))
def test_points_out_of_order_are_refused(session, at):
    points = np.stack([np.arange(5000), np.zeros(5000)], axis=1).astype(np.float32)
    points[at, 0] = points[at - 1, 0]
    points[max(at - 5, 0) : max(at - 2, 1), 0] = points[max(at - 5, 0), 0]
    upper_hood(points, device=session)  # equal points are in order
    points[at, 1] = -1
    with pytest.raises(InvalidInput, match=rf"'points' parameter of upper_hood .* at index {at} after"):
        upper_hood(points, device=session)
    points[at:, 0] *= -1  # the first is named
    with pytest.raises(InvalidInput, match=rf"at index {at} after"):
        lower_hood(points, device=session)


@pytest.mark.parametrize("value", (np.nan, np.inf, -np.inf))
def test_nonfinite_points_are_refused(session, value):
    points = np.stack([np.arange(3000), np.zeros(3000)], axis=1).astype(np.float32)
    points[1234, 1] = value
    with pytest.raises(InvalidInput, match=r"must be finite.*\[1234, 1\] instead\.$"):
        upper_hood(points, device=session)


def test_choices_are_checked(session):
    for wrong in ({"collinear": "all"}, {"method": "fast"}, {"method": "runs", "trace": True}):
        with pytest.raises(InvalidInput, match="of lower_hood must be"):
            lower_hood([(0, 0)], device=session, **wrong)
    with pytest.raises(InvalidInput, match="shape"):
        upper_hood([1, 2, 3], device=session)


def test_points_on_the_device(session):
    import pyopencl.array

    points = reference.in_order(cloud("circle", 999, np.float32))
    there = pyopencl.array.to_device(session.queue, points)
    for method in METHODS:
        assert upper_hood(there, method=method).vertices.tolist() == reference.hood(points, "upper")


def test_points_beyond_one_allocation(session):
    """Chunks have hoods of their own, and those one hood; order holds across chunks."""
    small = Session(session.device, max_alloc_bytes=1 << 19)
    points = reference.in_order(cloud("normal", 150_000, np.float32))
    expected = upper_hood(points, device=session).vertices
    for method in METHODS:
        assert np.array_equal(upper_hood(points, method=method, device=small).vertices, expected)
    seam = (1 << 19) // 8
    points[seam], points[seam - 1] = points[seam - 1].copy(), points[seam].copy()
    with pytest.raises(InvalidInput, match=rf"at index {seam} after"):
        upper_hood(points, device=small)
    with pytest.raises(DeviceLimit, match="A trace of 150,000 points"):
        upper_hood(reference.in_order(points), trace=True, device=small)


# Plans ------------------------------------------------------------------------------------------------------------


def test_blocks_fit_into_local_memory(session):
    limited = Session(session.device, local_mem_bytes=4096)
    with override({BLOCKS: Policy("group", 256, 64)}):
        policy = block_policy(limited.profile, np.dtype(np.float64), 1 << 20)
        assert 32 <= policy.tile <= 4096 // 16
        points = reference.in_order(cloud("circle", 1000, np.float32))
        check(points, limited, methods=("published",))


def test_stages_take_one_launch_or_one_a_phase(session):
    with override({BLOCKS: Policy("group", 64, 1), MATCH: Policy("group", 64, 1, groups_per_unit=0)}):
        plan = matching_plan(session, "points[0]", 1000, np.dtype(np.float32), UPPER, keep_collinear=False).plan
        assert [step.groups for step in plan] == [16, 8, 4, 2, 1]
    with override({BLOCKS: Policy("group", 64, 1), MATCH: Policy("group", 16, 1, groups_per_unit=1000)}):
        plan = matching_plan(session, "points[0]", 1000, np.dtype(np.float32), UPPER, keep_collinear=False).plan
        assert len(plan) == 1 + 4 * 6


def test_phases_are_measured(session):
    points = reference.in_order(cloud("circle", 3000, np.float32))
    for method in METHODS:
        phases = upper_hood(points, method=method, profile=True, device=session).phases
        assert phases[0].name == "hood_order" and all(phase.seconds is not None for phase in phases)
    assert repr(upper_hood([(0, 0), (1, 1)], trace=True, device=session)) == (
        "Hood(upper: 2 vertices of 2 float64 points, 2 stages)"
    )


def test_hoods_make_the_hull(session):
    points = reference.in_order(cloud("disc", 5000, np.float32))
    lower, upper = (hood(points, device=session).vertices for hood in (lower_hood, upper_hood))
    hull = clgeom.convex_hull(points, device=session).vertices
    assert np.array_equal(np.r_[lower, upper[-2:0:-1]], hull)


# Pictures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cloud_file(tmp_path):
    np.save(tmp_path / "points.npy", cloud("disc", 200, np.float32))
    return tmp_path / "points.npy"


@pytest.mark.parametrize("suffix", (".gif", ".png"))
@pytest.mark.slow
def test_command_draws_the_stages(session, cloud_file, suffix, capsys):
    image = pytest.importorskip("PIL.Image")
    from clgeom.commands.main import cli

    target = cloud_file.with_name(f"trace{suffix}")
    with pytest.raises(SystemExit) as end:
        cli.main(["hull", str(cloud_file), "--trace", str(target), "--device", session.profile.name])
    assert end.value.code == 0 and str(target) in capsys.readouterr().out
    with image.open(target) as picture:
        assert picture.format == suffix[1:].upper()
        assert getattr(picture, "n_frames", 1) == (9 if suffix == ".gif" else 1)  # 1, 2 .. 256 points to a block
    assert len(list(cloud_file.parent.iterdir())) == 2  # nothing half-written is left


def test_counted_points_become_a_drawing(tmp_path, session):
    """The published program's input, and the picture that its companion draws of the hoods."""
    pytest.importorskip("matplotlib")
    from clgeom.commands.main import cli

    points = cloud("disc", 64, np.float32)
    points = points[np.lexsort(points.T[::-1])].tolist()
    counted, drawing = tmp_path / "points.txt", tmp_path / "hoods.svg"
    counted.write_text("64\n" + "".join(f"{x!r} {y!r}\n" for x, y in points))
    with pytest.raises(SystemExit) as end:
        cli.main(["hull", str(counted), "--trace", str(drawing), "--device", session.profile.name])
    assert end.value.code == 0
    assert drawing.read_text().startswith("<?xml") and "</svg>" in drawing.read_text()[-20:]


def test_command_refuses_other_pictures_first(cloud_file, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    from clgeom.commands.main import cli

    monkeypatch.setattr("clgeom.convex_hull", lambda *args, **kwargs: pytest.fail("computed"), raising=False)
    with pytest.raises(SystemExit) as end:
        cli.main(["hull", str(cloud_file), "--trace", str(cloud_file.with_name("trace.bmp"))])
    error = capsys.readouterr().err
    assert end.value.code == 2 and "must end in one of .gif, .pdf, .png, .svg" in error and error.count("\n") == 1


def test_too_many_points_are_not_traced(tmp_path):
    pytest.importorskip("matplotlib")
    from clgeom.plotting.hoods import TRACEABLE, save_trace

    with pytest.raises(InvalidInput, match="at most 200,000 points"):
        save_trace(np.zeros((TRACEABLE + 1, 2)), tmp_path / "trace.gif", [])
