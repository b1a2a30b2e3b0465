"""What is said of the policies of a call: the step that gave each, and its measurement."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from command_line import done
from device_settings import imposed_session
from profiles import imaginary

import clgeom
from clgeom.commands.tune_explain import choices_of, measured_words
from clgeom.core import sources, stored_policies, tuning
from clgeom.core.families import policy_class, rows_of
from clgeom.core.plan import Phase
from clgeom.core.policies import Policy
from clgeom.primitives.policies import POLICIES
from clgeom.sorting.policies import ChainPolicy
from clgeom.tuner.explain import STEPS, explain

SCAN, TILES = "primitives/scan_tiles", "hull/sieve/tile_hoods"
GPU = imaginary()
HOPPER = imaginary(name="H200", vendor="NVIDIA Corporation", architecture="sm_90")
AMD = imaginary(name="x", platform="AMD Accelerated Parallel Processing", architecture="gfx90a")
MEASURED = {"case": "some call", "default_ms": 2.0, "policy_ms": 1.5}


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path))
    stored_policies.reload_store()
    yield
    stored_policies.reload_store()


def keep(policy, **more):
    stored_policies.store_policy(GPU, SCAN, policy, measured=MEASURED, **more)
    stored_policies.reload_store()


def phase(kernel, policy, seconds=None):
    return Phase(kernel.rpartition("/")[2], seconds, 0, 1, policy.wg_size, policy)


def step_of(profile, kernel, policy=None):
    (choice,) = explain(profile, [kernel if policy is None else phase(kernel, policy)])
    assert choice.kernel == kernel and choice.step in STEPS
    return choice.step, choice.key


def test_kernels_have_names_of_their_own():
    """A phase has the last part of a kernel's name."""
    assert len({kernel.rpartition("/")[2] for kernel in sources.kernels()}) == len(sources.kernels())


def test_steps(monkeypatch):
    rows = {key: Policy(items_per_thread=at) for at, key in enumerate(("9000", "sm_90", "nvidia", "gpu", "any"), 1)}
    monkeypatch.setitem(POLICIES, SCAN, rows)
    for profile, expected in (
        (GPU, ("device", "9000")),
        (HOPPER, ("architecture", "sm_90")),
        (replace(HOPPER, architecture="sm_75"), ("vendor", "nvidia")),
        (imaginary(name="x"), ("kind", "gpu")),
        (imaginary(name="x", kind="cpu"), ("default", "any")),
    ):
        assert step_of(profile, SCAN) == expected
        assert step_of(profile, SCAN, rows[expected[1]]) == expected
    intel = imaginary(name="x", platform="Intel(R) OpenCL")
    monkeypatch.setitem(POLICIES, SCAN, {**rows, "intel": Policy(items_per_thread=9)})
    assert step_of(intel, SCAN) == ("vendor", "intel")
    assert step_of(replace(intel, kind="cpu"), SCAN) == ("default", "any")  # a vendor's rows are for GPUs
    with tuning.override({SCAN: Policy(wg_size=2)}):
        assert step_of(GPU, SCAN) == ("override", None)
    assert step_of(GPU, "sorting/shellsort/shell_0", Policy()) == ("fixed", None)


@pytest.mark.parametrize(
    "profile, kernel, basis",
    [
        (AMD, "sequences/bits_sweep", "computed from resources"),
        (AMD, SCAN, "guess"),
        (imaginary(name="x"), TILES, "guess"),
        (HOPPER, TILES, "measured on that device"),
        (HOPPER, SCAN, "measured on that device"),  # no other shape was faster
        (HOPPER, "primitives/set_value", "guess"),  # there are no others to try
        (replace(HOPPER, architecture="sm_75"), "sorting/radix/radix_onesweep", "guess"),
        (imaginary(name="x", kind="cpu", platform="Portable Computing Language"), SCAN, "measured on that device"),
        (imaginary(name="x", kind="cpu", platform="Intel(R) OpenCL"), SCAN, "guess"),
        (HOPPER, "sorting/shellsort/shell_0", "the algorithm"),
    ],
)
def test_bases(profile, kernel, basis):
    (choice,) = explain(profile, [kernel if rows_of(kernel) else phase(kernel, Policy())])
    assert choice.basis == basis
    with tuning.override({SCAN: Policy(wg_size=2)}):
        (choice,) = explain(profile, [SCAN])
    assert choice.basis == "the caller"


def test_measured_policies():
    shipped, found, wide = tuning.shipped_policy(GPU, SCAN), Policy(wg_size=32), Policy(wg_size=64)
    keep(wide, dtype=np.float64)
    assert step_of(GPU, SCAN, wide) == ("measured", None) and step_of(GPU, SCAN, shipped)[0] == "default"
    assert step_of(GPU, SCAN, replace(wide, wg_size=16))[0] == "measured"  # shrunk by its plan
    keep(found)
    for policy in (found, wide, replace(found, wg_size=8)):
        (choice,) = explain(GPU, [phase(SCAN, policy)])
        assert (choice.step, choice.basis) == ("measured", "measured here")
        assert choice.measured.items() > MEASURED.items() and choice.policy == policy
    assert measured_words(choice.measured) == f"2 -> 1.5 ms, some call, {choice.measured['date']}"
    assert measured_words({"case": "a\x1b[2J\nb"}) == r"a\x1b[2J\nb"
    (choice,) = explain(GPU, [SCAN])
    assert choice.policy == found and choice.seconds is None


def test_policies_of_types_are_told_apart():
    """By the type that the policy was selected for, also where policies are the same or shrunk by their plans."""
    kernel, mine = "sorting/radix/radix_onesweep", ChainPolicy(items_per_thread=16)
    other = {**MEASURED, "case": "other call"}
    nvidia = imaginary(name="A100", vendor="NVIDIA Corporation", platform="NVIDIA CUDA")

    def choice(policy, itemsize):
        stored_policies.reload_store()
        (found,) = explain(nvidia, [replace(phase(kernel, policy), itemsize=itemsize)])
        return found

    stored_policies.store_policy(nvidia, kernel, mine, dtype=np.uint32, measured=MEASURED)
    half = replace(tuning.shipped_policy(nvidia, kernel, np.dtype("u8")), items_per_thread=8)
    for policy in mine, half:
        assert (choice(policy, 8).step, choice(policy, 8).key) == ("vendor", "nvidia")
        assert choice(policy, 4).step == "measured"
    stored_policies.store_policy(nvidia, kernel, mine, dtype=np.uint64, measured=other)
    assert [choice(mine, size).measured["case"] for size in (4, 8)] == ["some call", "other call"]


def test_phases_of_sorts_know_their_types(session):
    from clgeom.core.call import recording

    own = imposed_session(session.device, kind="gpu")
    for dtype in np.uint32, np.uint64:
        with recording() as phases:
            clgeom.sort(np.arange(70_000, dtype=dtype)[::-1].copy(), device=own)
        sizes = {one.itemsize for one in phases if one.name in ("radix_scatter", "radix_onesweep")}
        assert sizes == {np.dtype(dtype).itemsize}


def test_times_of_a_kernel_are_added():
    one, other = Policy(wg_size=32), Policy(wg_size=64)
    choices = explain(
        GPU, [phase(SCAN, one, 1.0), phase(TILES, one, 2.0), phase(SCAN, other, 4.0), phase(SCAN, one, 8.0)]
    )
    assert [(c.kernel, c.policy, c.seconds) for c in choices] == [
        (SCAN, one, 9.0),
        (TILES, one, 2.0),
        (SCAN, other, 4.0),
    ]


def test_phases_of_a_call(session):
    hull = clgeom.convex_hull(np.random.default_rng(0).normal(size=(50_000, 2)), device=session, profile=True)
    choices = explain(session.profile, hull.phases)
    assert {choice.kernel.rpartition("/")[2] for choice in choices} == {phase.name for phase in hull.phases}
    assert all(choice.seconds for choice in choices)
    in_all = sum(phase.seconds or 0 for phase in hull.phases)
    assert sum(choice.seconds or 0 for choice in choices) == pytest.approx(in_all)
    for choice in choices:
        assert type(choice.policy) is policy_class(choice.kernel) and choice.step in STEPS
        facts = json.loads(json.dumps(choice.asdict()))
        assert facts["policy"]["wg_size"] == choice.policy.wg_size and facts["step"] == choice.step


# The command's part ---------------------------------------------------------------------------------------------


@pytest.fixture
def two_calls(monkeypatch):
    """A family of two calls, as those of the tuner."""
    from clgeom.tuner import cases

    def case(name, function):
        def prepare(session, n):
            values = np.arange(n, dtype=np.uint32)[::-1].copy()
            return lambda: function(values, device=session)

        return SimpleNamespace(name=name, family="some", fp64=False, size=lambda profile: 100_000, prepare=prepare)

    cases.all_cases()  # so that none are added later
    made = [case("sorted", clgeom.sort), case("ranked", clgeom.argsort)]
    monkeypatch.setattr(cases, "CASES", {one.name: one for one in made})
    return made


def test_explained(session, two_calls):
    text = done("tune", "--explain", "some", "--device", session.profile.name)
    choices = [choice for case in two_calls for choice in choices_of(session, case)]
    assert choices and session.profile.name in text and "\nsome\n" in text
    for choice in choices:
        line = next(line for line in text.splitlines() if line.startswith(f"{choice.kernel} "))
        assert f"{choice.step}: {choice.key}" in line


def test_explained_as_json(session, two_calls):
    told = json.loads(done("tune", "--explain", "--json", "--device", session.profile.name))
    assert told["device"]["name"] == session.profile.name and set(told["families"]) == {"some"}
    kernels = [one["kernel"] for one in told["families"]["some"]]
    called = {choice.kernel for case in two_calls for choice in choices_of(session, case)}
    shapes = {(one["kernel"], *one["policy"].values()) for one in told["families"]["some"]}
    assert len(kernels) == len(shapes) and set(kernels) == called
    assert any(kernel.startswith("sorting/radix/radix_") for kernel in kernels)
    for one in told["families"]["some"]:
        assert 0 < one["share"] <= 1 and one["case"] in ("sorted", "ranked") and one["step"] in STEPS
