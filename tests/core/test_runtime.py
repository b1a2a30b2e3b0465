"""Policies, tuning, sources, rendering, building and launching."""

import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from profiles import imaginary as profile

from clgeom.core import sources, tuning
from clgeom.core.build import build, compiles, kernel_of, program_keys
from clgeom.core.call import Call, current, recording, unrecorded
from clgeom.core.device import Session
from clgeom.core.families import all_rows, policies_of, require_shape, rows_of
from clgeom.core.launch import allocate, fill, read, run, write
from clgeom.core.plan import Number, Phase, Plan, Scratch, Step
from clgeom.core.policies import Policy, ceil_div
from clgeom.core.render import render, render_text
from clgeom.core.spaces import Space, candidates
from clgeom.dp import LAYOUTS
from clgeom.dp.policies import StagePolicy, TilePolicy
from clgeom.errors import ClgeomError, DeviceLimit, InvalidInput, KernelBuildError, NoDevice
from clgeom.primitives.policies import POLICIES

SET = "primitives/set_value"


# Errors ---------------------------------------------------------------------------------------------------------


def test_errors_have_one_base():
    for error in (InvalidInput, DeviceLimit, KernelBuildError, NoDevice):
        assert issubclass(error, ClgeomError)
    assert issubclass(InvalidInput, ValueError)


# Policies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wg_size", (0, -1, 3, 96, 1000))
def test_policy_refuses_group_sizes(wg_size):
    with pytest.raises(ValueError, match="wg_size must be a power of two"):
        Policy("group", wg_size=wg_size)


def test_policy_refuses_variants():
    with pytest.raises(ValueError, match="variant must be 'group' or 'serial', not 'warp'"):
        Policy("warp")
    with pytest.raises(ValueError, match="groups of one work-item, not 64"):
        Policy("serial", wg_size=64)


@pytest.mark.parametrize("field, value", [("items_per_thread", 0), ("items_per_thread", -4), ("groups_per_unit", -1)])
def test_policy_refuses_numbers_that_cannot_be(field, value):
    with pytest.raises(ValueError, match=field):
        Policy(**{field: value})


@pytest.mark.parametrize("field, value", [("block_rows", 0), ("steps", -64), ("strips", 0), ("steps", 1 << 40)])
def test_tile_policy_refuses_numbers_that_cannot_be(field, value):
    with pytest.raises(ValueError, match="block_rows, block_columns, steps, strips must be in 1 .. "):
        TilePolicy(**{field: value})


def test_stage_policy_knows_the_layouts_of_tables():
    assert [StagePolicy(layout=one).layout for one in ("stages", *LAYOUTS)] == ["stages", *LAYOUTS]
    with pytest.raises(ValueError, match="layout must be one of stages, ROWS, .* not 'DIAGONALS'"):
        StagePolicy(layout="DIAGONALS")


@pytest.mark.parametrize(
    "kernel, variant",
    [
        ("sequences/align_pairs", "group"),
        ("sequences/align_tiles", "group"),
        ("sequences/align_tiles", "serial"),
        ("sequences/pairs_bits", "serial"),
    ],
)
def test_shapes_that_a_kernel_does_not_have_are_refused(kernel, variant):
    """By the context and by the tuner's candidates alike."""
    present = replace(rows_of(kernel)["any"], variant=variant, wg_size=1, items_per_thread=8)
    require_shape(kernel, present)
    tried = ({"items_per_thread": (1, 2, 4, 6, 12)},)
    space = Space((), tried, tried)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(policies_of(kernel.partition("/")[0]).SPACES, kernel, space)
        found = [one.items_per_thread for one in candidates(profile(), kernel, present)]
    assert found == [4, 12]
    for items in (1, 2, 6):
        with pytest.raises(InvalidInput, match=f"items_per_thread of {kernel} must be a multiple of 4.* Got {items} "):
            with tuning.override({kernel: replace(present, items_per_thread=items)}):
                pass
        assert not tuning.is_overridden()


@pytest.mark.parametrize(
    "kernel, policy, words",
    [
        *(
            (kernel, Policy("group", 64, items), f"must be at most 32 in the variant 'group'. Got {items} ")
            for kernel in ("hull/sieve/sieve", "hull/sieve/tile_hoods")
            for items in (33, 64, 100)
        ),
        *(
            (
                "region/arc/arc_hulls_blocks",
                Policy("group", 64, items),
                f"2, 4 or a multiple of 8, at most 64 in the variant 'group'. Got {items} ",
            )
            for items in (1, 3, 5, 12, 72)
        ),
        (
            "hull/batch/batch_hulls",
            Policy("serial", 1, 1024),
            "groups_per_unit of .* must be at least 1 in the variant 'serial'. Got 0 ",
        ),
        ("dp/paths/tile_sweep", TilePolicy("group", 64, strips=7), "strips of .* must be 1 in .* Got 7 "),
    ],
    ids=str,
)
def test_shapes_with_other_results_are_refused(kernel, policy, words):
    with pytest.raises(InvalidInput, match=words), tuning.override({kernel: policy}):
        pass
    assert not tuning.is_overridden()


def test_rows_are_shapes_that_their_kernels_have():
    for kernel, rows in all_rows().items():
        for policy in rows.values():
            if not callable(policy):
                require_shape(kernel, policy)


def test_policy_is_a_frozen_value():
    policy = Policy("group", wg_size=64, items_per_thread=4)
    assert policy == Policy("group", 64, 4) and hash(policy) == hash(Policy("group", 64, 4))
    assert policy != replace(policy, wg_size=128)
    with pytest.raises(FrozenInstanceError):
        policy.wg_size = 1
    assert policy.tile == 256
    assert policy.parameters() == {"variant": "group", "wg_size": 64, "items_per_thread": 4}
    assert repr(policy) == "Policy(variant='group', wg_size=64, items_per_thread=4, groups_per_unit=0)"


@pytest.mark.parametrize(
    "per_unit, tiles, groups",
    [(0, 0, 1), (0, 1, 1), (0, 77, 77), (4, 0, 1), (4, 3, 3), (4, 40, 40), (4, 41, 40), (4, 1 << 40, 40)],
)
def test_policy_groups(per_unit, tiles, groups):
    assert Policy(groups_per_unit=per_unit).groups(tiles, compute_units=10) == groups


def test_ceil_div():
    assert [ceil_div(n, 4) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
    assert ceil_div((1 << 62) + 1, 2) == (1 << 61) + 1


# Tuning ---------------------------------------------------------------------------------------------------------


def test_every_kernel_has_a_safe_default():
    assert set(all_rows()) <= set(sources.kernels())
    # whose variants are shapes
    fixed = {kernel for kernel in sources.kernels() if kernel.startswith("sorting/shellsort/")}
    assert set(sources.kernels()) - set(all_rows()) <= fixed
    for kernel, rows in all_rows().items():
        assert "any" in rows, kernel
        assert callable(rows["any"]) or isinstance(rows["any"], Policy)


def test_select_names_a_kernel_without_a_row():
    with pytest.raises(KeyError, match="the kernel primitives/nothing has no row in clgeom/primitives/policies.py"):
        tuning.select(profile(), "primitives/nothing")


def test_select_goes_from_the_particular_to_the_general(monkeypatch):
    names = {"Imaginary 9000": 2, "sm_90": 3, "nvidia": 4, "gpu": 8, "any": 16}
    nvidia = profile(name="H1", vendor="NVIDIA Corporation")
    hopper, older = replace(nvidia, architecture="sm_90"), replace(nvidia, architecture="sm_70")
    for left_out, device, expected, step, key in (
        ((), profile(), 2, "device", "Imaginary 9000"),
        ((), replace(profile(), architecture="sm_90"), 2, "device", "Imaginary 9000"),
        ((), hopper, 3, "architecture", "sm_90"),
        (("sm_90",), hopper, 4, "vendor", "nvidia"),
        ((), older, 4, "vendor", "nvidia"),
        ((), nvidia, 4, "vendor", "nvidia"),
        (("nvidia",), older, 8, "kind", "gpu"),
        (("nvidia", "gpu"), nvidia, 16, "default", "any"),
        ((), profile(name="x", kind="cpu"), 16, "default", "any"),
    ):
        rows = {key: Policy(items_per_thread=size) for key, size in names.items() if key not in left_out}
        monkeypatch.setitem(POLICIES, SET, rows)
        assert tuning.select(device, SET).items_per_thread == expected
        assert tuning.find_row(device, rows) == (step, key)
    monkeypatch.setitem(POLICIES, SET, {"any": lambda p, dtype, n: Policy(wg_size=64 if n > 10 else 32)})
    assert tuning.select(profile(), SET, np.float32, 11).wg_size == 64
    assert tuning.select(profile(), SET, np.float32, 10).wg_size == 32


@pytest.mark.parametrize(
    "name, architecture, step",
    [
        ("gfx1100", "gfx1100", "architecture"),
        ("gfx1100:sramecc+", "gfx1100", "architecture"),
        ("gfx1100", None, "device"),
        ("cpu-haswell-any amd gpu", None, "default"),  # as PoCL names devices
    ],
)
def test_words_of_names_that_are_other_keys(name, architecture, step):
    rows = dict.fromkeys(("gpu", "amd", "gfx1100", "any"), Policy())
    device = profile(name=name, kind="cpu", architecture=architecture)
    assert tuning.find_row(device, rows)[0] == step


@pytest.mark.parametrize("limit, wg_size", [(1024, 256), (256, 256), (255, 128), (100, 64), (1, 1)])
def test_select_keeps_to_the_devices_limits(limit, wg_size):
    policy = tuning.select(profile(max_wg_size=limit), "primitives/scan_tiles")
    assert policy.wg_size == wg_size


def test_select_unknown_kernel():
    with pytest.raises(KeyError):
        tuning.select(profile(), "primitives/nonesuch")


def test_override_nests_and_ends():
    before = tuning.select(profile(), SET)
    with tuning.override({SET: Policy(wg_size=2)}):
        assert tuning.select(profile(), SET).wg_size == 2
        with tuning.override({SET: Policy(wg_size=4)}):
            assert tuning.select(profile(), SET).wg_size == 4
        with tuning.override({"primitives/scan_tiles": Policy(wg_size=8)}):
            assert tuning.select(profile(), SET).wg_size == 2
        assert tuning.select(profile(), SET).wg_size == 2
        with ThreadPoolExecutor(1) as pool:  # other threads have their own context
            assert pool.submit(tuning.select, profile(), SET).result() == before
    assert tuning.select(profile(), SET) == before
    with pytest.raises(RuntimeError), tuning.override({SET: Policy(wg_size=2)}):
        raise RuntimeError
    assert tuning.select(profile(), SET) == before


def test_override_refuses_unknown_kernels():
    with pytest.raises(KeyError, match="no such kernel: primitives/nonesuch; known: .*primitives/set_value"):
        with tuning.override({"primitives/nonesuch": Policy()}):
            pass


# Sources and rendering ------------------------------------------------------------------------------------------


def test_headers_are_inlined_once():
    text = sources.inline_headers('#include "portable.h"\n  # include "portable.h"  // again\nint x;')
    assert text.count("#pragma OPENCL FP_CONTRACT OFF") == 1
    assert "// portable.h: included above" in text and text.endswith("int x;")
    assert "#include" not in render("primitives/extremes_partial")


def test_unknown_header_and_template():
    with pytest.raises(FileNotFoundError, match="nonesuch.h"):
        sources.inline_headers('#include "nonesuch.h"')
    with pytest.raises(FileNotFoundError, match="nonesuch"):
        sources.template("primitives/nonesuch")


def test_render_is_strict():
    assert render_text("int x = ${value};", value=3) == "int x = 3;"
    with pytest.raises(KernelBuildError, match="The template of family/kernel needs a parameter .*'value'"):
        render_text("int x = ${value};", "family/kernel")


def test_render_uses_defaults_and_parameters():
    assert "global uint *out" in render(SET)
    assert "global float *out" in render(SET, value="float")
    assert "reqd_work_group_size(8, 1, 1)" in render(SET, wg_size=8)


# Building -------------------------------------------------------------------------------------------------------


def test_build_failure_shows_source_options_and_log(session):
    source = "kernel void broken(global int *out)\n{\n    out[0] = undeclared_name;\n}\n"
    with pytest.raises(KernelBuildError) as caught:
        build(session, source, ("-DSOME_OPTION=7",), caller="family/broken")
    text = str(caught.value)
    assert text.startswith(f"family/broken did not compile on {session.profile.name}")
    assert re.search(r"^ +1  kernel void broken", text, re.MULTILINE)
    assert re.search(r"^ +3      out\[0\] = undeclared_name;$", text, re.MULTILINE)
    assert "-DSOME_OPTION=7" in text and "-cl-std=CL1.2" in text
    assert "undeclared_name" in text.split("The compiler said:")[1]


def test_compiles(session):
    assert compiles(session, "kernel void probe(global int *out) { out[0] = 1; }")
    assert not compiles(session, "kernel void probe(global int *out) { out[0] = nothing; }")
    assert not compiles(session, "kernel void other(global int *out) { out[0] = 1; }")


def key_of(to="5", options=(), reverse=False):
    params = {"value": "uint", "to": to}
    params = dict(reversed(params.items())) if reverse else params
    return Step(SET, Policy("group", 1), (), 1, params, options=options).key


def test_kernels_and_programs_are_cached(session):
    kernel = kernel_of(session, key_of())
    assert kernel_of(session, key_of(reverse=True)) is kernel
    assert kernel_of(session, key_of(to="6")) is not kernel
    assert kernel_of(session, key_of(options=("-DX=1",))) is not kernel
    programs = len(program_keys(session))
    with ThreadPoolExecutor(1) as pool:  # another thread: the same program, a kernel of its own
        other = pool.submit(kernel_of, session, key_of()).result()
    assert other is not kernel and len(program_keys(session)) == programs
    assert other.program == kernel.program


def test_kernels_of_threads_without_warnings(session):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel_of(session, key_of(to="77"))
        with ThreadPoolExecutor(1) as pool:
            pool.submit(kernel_of, session, key_of(to="77")).result()


def test_builds_know_the_devices_switches(session):
    source = "kernel void probe(global int *out) { out[0] = CLGEOM_FP64 * 2 + CLGEOM_DENORMALS; }"
    limited = Session(session.device, fp64=False)
    for each in (session, limited):
        buffer = allocate(each, 4)
        program = build(each, source)
        program.probe(each.queue, (1,), (1,), buffer)
        assert read(each, buffer, np.int32, 1)[0] == 2 * each.profile.fp64 + each.profile.denormals


# Launching ------------------------------------------------------------------------------------------------------


def step(out, to="1", **changed):
    return Step(SET, Policy("group", wg_size=1), (out,), 1, params={"value": "uint", "to": to}, **changed)


def test_run_and_read(session):
    out = Scratch("out", np.dtype(np.uint32), 4)
    result = run(session, Plan(step(out, "41")))
    assert result.read(out, 1).tolist() == [41]
    assert result["out"] is result[out] and result.read(out, 0).shape == (0,)
    mine = allocate(session, 16)
    write(session, mine, np.arange(4, dtype=np.uint32))
    run(session, Plan(step("mine", "9")), mine=mine)
    assert read(session, mine, np.uint32, 4).tolist() == [9, 1, 2, 3]
    assert read(session, mine, np.uint32, 2, 1).tolist() == [1, 2]
    fill(session, mine, np.uint32(5), 3)
    assert read(session, mine, np.uint32, 4).tolist() == [5, 5, 5, 3]


def test_phases_with_and_without_profiling(session):
    out = Scratch("out", np.dtype(np.uint32), 1)
    plan = Plan(step(out, bytes_moved=4), step(out, "2", bytes_moved=8))
    with recording() as quiet:
        run(session, plan)
    with recording(profile=True) as timed:
        run(session, plan)
    assert quiet[0] == Phase("set_value", None, 4, 1, 1, Policy("group", wg_size=1))
    assert [p.bytes_moved for p in timed] == [4, 8] and all(p.seconds > 0 for p in timed)
    assert timed[1].gb_per_s == pytest.approx(8 / timed[1].seconds / 1e9) and quiet[0].gb_per_s is None


def test_sessions_keep_what_was_made(session):
    fresh, made = Session(session.device), []

    def make():
        made.append(len(made))
        return made[-1]

    assert [fresh.cached(("a", k), make) for k in (1, 2, 1, 2)] == [0, 1, 0, 1]
    assert fresh.cached(("b", 1), make) == 2 and fresh.cached(("a", 1), make) == 0
    assert [fresh.cached(("c", k), make, most=2) for k in (1, 2, 3, 2, 3, 1)] == [3, 4, 5, 4, 5, 6]
    with pytest.raises(ZeroDivisionError):
        fresh.cached(("d",), lambda: 1 / 0)
    assert fresh.cached(("d",), make) == 7


def test_recordings_join_those_around_them(session):
    plan = Plan(step(Scratch("out", np.dtype(np.uint32), 1)))
    run(session, plan)  # outside of all
    with recording(profile=True) as outer:
        run(session, plan)
        with recording() as inner:
            run(session, plan)
            with unrecorded():
                run(session, plan)
        with pytest.raises(ZeroDivisionError), recording() as failed:
            run(session, plan)
            raise ZeroDivisionError
    assert [len(phases) for phases in (outer, inner, failed)] == [3, 1, 1]
    assert all(phase.seconds > 0 for phase in outer)


def test_calls_within_others(session):
    """They are timed and leave nothing to the host if those around them do; what the user asked for stays."""
    inner = Call("inner")
    with Call("outer", profile=True, kernels_only=True) as outer, inner:
        assert current() is inner and inner.timed and inner.kernels_only and not inner.profile
        run(session, Plan(step(Scratch("out", np.dtype(np.uint32), 1))))
    assert current() is None and inner.phases == outer.phases and len(outer.phases) == 1
    assert str(inner.wrong("x", "odd", "2")) == "The 'x' parameter of inner must be odd. Got 2 instead."
    assert current() is None


def test_threads_have_recordings_of_their_own(session):
    plan = Plan(step(Scratch("out", np.dtype(np.uint32), 1)))
    with recording() as phases:
        thread = threading.Thread(target=run, args=(session, plan))
        thread.start()
        thread.join()
    assert phases == []


def test_plans_are_values_without_a_device():
    out, tmp = Scratch("out", np.dtype(np.uint32), 3), Scratch("tmp", np.dtype(np.float64), 0)
    plan = Plan(step(out)) + Plan(step(tmp))
    assert isinstance(plan, Plan) and len(plan) == 2 and plan.scratch == {"out": out, "tmp": tmp}
    assert out.nbytes == 12 and tmp.nbytes == 1
    with pytest.raises(TypeError, match="argument of primitives/set_value must be .* not 7"):
        step(7)


def test_allocate_refuses_what_the_device_cannot_hold(session):
    limited = Session(session.device, max_alloc_bytes=1000)
    assert allocate(limited, 1000).size >= 1000
    with pytest.raises(DeviceLimit, match="1,001 bytes is needed, and .* allows 1,000"):
        allocate(limited, 1001)
    assert allocate(session, 0).size >= 1


def test_release_gives_memory_back(session):
    fresh = Session(session.device)
    allocate(fresh, 1 << 20)
    fresh.release()
    assert fresh.pool.held_blocks == 0 and fresh.pool.active_blocks == 0


def test_scratch_of_a_result_is_not_reused_while_it_lives(session):
    out = Scratch("out", np.dtype(np.uint32), 1)
    results = [run(session, Plan(step(out, str(k)))) for k in range(6)]
    assert [int(result.read(out)[0]) for result in results] == list(range(6))


def test_numbers_of_a_run(session):
    """A plan that is kept, or not, takes other numbers in each run."""
    ones = np.ones(9, np.uint32)
    for plan in (
        Plan(clear_words(session)).kept(memory=True),
        Plan(clear_words(session)).kept(),
        Plan(clear_words(session)),
    ):
        for n in (0, 3, 9, 1):
            buffer = allocate(session, ones.nbytes)
            write(session, buffer, ones)
            made = run(session, plan, numbers={"count": np.uint64(n)}, words=buffer)
            assert read(session, made["words"], np.uint32, 9).tolist() == [0] * n + [1] * (9 - n)


def clear_words(session):
    return Step.over(session.profile, "primitives/clear_words", ("words", Number("count")), 9)
