"""Devices, limited sessions and policies as parameters of tests; Hypothesis profiles.

    python -m pytest --device nvidia --device pocl      # devices by part of their name; default: all present

`session` is each device as it is. `any_session` is each device in every setting of ``SETTINGS``, or in those that
``@pytest.mark.settings`` names, where ``...`` stands for the usual ones: smaller limits, other work-group shapes,
flushed subnormal numbers. None of them may change an answer.
"""

import contextlib
import os
import tempfile
import zlib
from dataclasses import replace

import hypothesis
import numpy as np
import pytest

from clgeom.errors import DeviceLimit, NoDevice
from clgeom.runtime import build
from clgeom.runtime.device import Session, all_devices, as_session, describe, named
from clgeom.runtime.drivers import install_hint
from clgeom.runtime.tuning import TABLE, overridden, override

# No test, and no child of one, uses policies that the developer measured, or adds to them.
_own_data = tempfile.TemporaryDirectory(prefix="clgeom-tests-")
os.environ["CLGEOM_DATA_DIR"] = _own_data.name
os.environ.pop("CLGEOM_POLICIES", None)

# so that their failures show what they compared
pytest.register_assert_rewrite(
    "command_line", "damaged", "dp_tables", "hulls", "point_chunks", "region_commands", "sort_keys", "sorted_files"
)

# Fixtures here hold no state that an example could change, so examples may share them.
COMMON = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}
hypothesis.settings.register_profile("default", max_examples=15, **COMMON)
hypothesis.settings.register_profile("ci", max_examples=5, derandomize=True, **COMMON)
hypothesis.settings.register_profile("long", max_examples=2000, **COMMON)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default")
#: Whether to try as much as possible, for however long it takes.
LONG = PROFILE == "long"
hypothesis.settings.load_profile(PROFILE)


def thinned(values, step):
    """Each `step`-th of a test's values in CI, which has few minutes; all of them elsewhere."""
    return values[::step] if PROFILE == "ci" else values


#: A GPU of AMD, whose groups have at most 256 work-items.
AMD = {
    "name": "gfx1100",
    "platform": "AMD Accelerated Parallel Processing",
    "vendor": "Advanced Micro Devices, Inc.",
    "architecture": "gfx1100",
    "kind": "gpu",
    "max_wg_size": 256,
    "local_mem_bytes": 64 << 10,
}
#: What a session is made to be, and the policies to use in it. "as_gpu" takes the paths of devices with memory of
#: their own: copies, aligned loads, the shapes of GPUs.
SETTINGS = {
    "as_is": ({}, None),
    "no_fp64": ({"fp64": False}, None),
    "small_allocations": ({"max_alloc_bytes": 1 << 20}, None),
    "as_gpu": ({"kind": "gpu"}, None),
    "cpu_shapes": ({}, lambda: policies("cpu")),
    "odd_shapes": ({}, lambda: policies("any", wg_sizes=(32, 1, 128))),
    "small_groups": ({"max_wg_size": 64, "local_mem_bytes": 8 << 10}, None),
    "flushed": ({"denormals": False}, None),
    "as_amd": (AMD, None),
}
#: Kernels that PoCL builds without optimisations, but in tests whose names have parts of `OPTIMISED`.
QUICK = ("dp/", "alignment/", "region/", "radio/", "hull/", "sorting/", "primitives/")
OPTIMISED = (
    *("test_align_random_pairs", "test_align_rivals", "test_pairs_of_any_code_points", "test_dp_random"),
    *("test_dp_problems", "test_dp_books", "test_dp_sequences", "test_dp_rows", "test_dp_launches"),
    *("test_rough_maps_are_those_of_the_reference", "test_region_is_the_union_of_neighbours_hulls"),
    *("test_convex_hull_clouds", "test_sort_matches_numpy", "test_convex_hull_large", "test_shellsort"),
    "test_answers_are_the_known_ones",  # which .ci/run asks again, of the wheel
)
#: Settings of tests that name them only.
BY_NAME = ("flushed", "as_amd")
#: Settings in which tests of several types try one, float32 if they can: to build kernels for more takes long.
ONE_TYPE = ("cpu_shapes", "odd_shapes", "small_groups")


def build_quickly():
    """Let PoCL build kernels that it would not run by itself, and most of `QUICK`, without optimising them.

    These are kernels for groups of several work-items, those in other shapes than CPUs take, and all in sessions of
    devices that call themselves GPUs. To optimise them takes most of the time of the tests with a cold cache. Others
    are built as everywhere; ``clgeom selftest`` and the long profile build all so.
    """
    built = build._built

    def quickly(session, key):
        kernel, parameters, options = key
        imposed = not session.profile.is_cpu or overridden() or is_foreign(kernel, **dict(parameters))
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        quick = kernel.startswith(QUICK) and not any(name in test for name in OPTIMISED)
        if session.own_profile.runtime == "pocl" and (imposed or quick):
            key = kernel, parameters, (*options, "-cl-opt-disable")
        return built(session, key)

    build._built = quickly


def is_foreign(kernel, variant=None, wg_size=1, **_):
    """Whether CPUs run a kernel in another shape by themselves."""
    if wg_size > 1 or variant != "group" or kernel not in TABLE:
        return wg_size > 1
    policy = TABLE[kernel].get("cpu", TABLE[kernel]["any"])
    return not callable(policy) and policy.variant != "group"


def pytest_configure(config):
    if not LONG:
        build_quickly()


def policies(row, wg_sizes=None):
    """For every kernel the policy of this row of the table, in groups of one size after the other of `wg_sizes`."""
    found = {}
    for i, (kernel, rows) in enumerate(sorted(TABLE.items())):
        policy = rows.get(row, rows["any"])
        if callable(policy):
            continue
        changes = wg_sizes and policy.variant != "serial"
        found[kernel] = replace(policy, wg_size=wg_sizes[i % len(wg_sizes)]) if changes else policy
    return found


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        action="append",
        metavar="NAME",
        help="test on devices with NAME in their name; may be repeated",
    )


def _devices(config):
    """The ``pyopencl.Device`` objects to test on and a short name for each."""
    import pyopencl as cl

    if not all_devices():
        raise NoDevice(f"The tests need an OpenCL device. {install_hint()}")
    wanted = config.getoption("--device")
    if wanted:
        found = list(dict.fromkeys(device for name in wanted for device in named(name) or [as_session(name).device]))
    else:
        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    names = [f"{describe(d).runtime}-{describe(d).kind}" for d in found]
    return [(d, name if names.count(name) == 1 else f"{name}{i}") for i, (d, name) in enumerate(zip(found, names))]


def _as_is(device):
    """Settings that a device is in as it is."""
    return {"cpu": ("cpu_shapes",), "gpu": ("as_gpu",)}.get(describe(device).kind, ())


def pytest_generate_tests(metafunc):
    if "session" in metafunc.fixturenames:
        found = _devices(metafunc.config)
        metafunc.parametrize("session", [d for d, _ in found], ids=[name for _, name in found], indirect=True)
    if "any_session" in metafunc.fixturenames:
        usual = [name for name in SETTINGS if name not in BY_NAME]
        if not LONG and not hasattr(metafunc.function, "hypothesis"):
            # properties are tried in them; to build kernels for more takes long
            usual = [name for name in usual if name not in ("odd_shapes", "no_fp64")]
        wanted = next((mark.args for mark in metafunc.definition.iter_markers("settings")), usual)
        wanted = [name for one in wanted for name in (usual if one is ... else [one])]
        params = [
            (d, name, s)
            for d, name in _devices(metafunc.config)
            for s in [s for s in wanted if s not in _as_is(d)] or ["as_is"]
        ]
        metafunc.parametrize(
            "any_session",
            [(d, s) for d, _, s in params],
            ids=[f"{name}-{s}" for _, name, s in params],
            indirect=True,
        )


def pytest_collection_modifyitems(config, items):
    """Leave out other types in the settings of ONE_TYPE, but in the long profile; and most cases in CI."""
    if LONG:
        return
    if PROFILE == "ci":
        leave_out_cases(config, items)
    types = {}  # of each test, by its function
    for item in items:
        dtype = getattr(item, "callspec", None) and item.callspec.params.get("dtype")
        if dtype is not None:
            types.setdefault(item.function, []).append(np.dtype(dtype))

    def is_wanted(item):
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if item.function not in types or "any_session" not in params or params["any_session"][1] not in ONE_TYPE:
            return True
        single = np.dtype(np.float32)
        one = single if single in types[item.function] else types[item.function][0]
        return np.dtype(params["dtype"]) == one

    left_out = [item for item in items if not is_wanted(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_wanted(item)]


#: CI runs one of so many cases of a test on a device, and at least one.
CASES_A_RUN = 6


def leave_out_cases(config, items):
    """CI builds all kernels anew, on few cores in few minutes. The cases are mixed, and the same each time."""
    cases = {}
    for item in items:
        if is_on_device(item):
            cases.setdefault(item.function, []).append(item)
    gone = set()
    for mine in cases.values():
        mine.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        gone.update(mine[-(-len(mine) // CASES_A_RUN) :])
    if gone:
        config.hook.pytest_deselected(items=[item for item in items if item in gone])
        items[:] = [item for item in items if item not in gone]


def is_on_device(item):
    return not {"session", "any_session"}.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.fixture
def session(request):
    """The shared session of a device."""
    session = as_session(request.param)
    if request.node.get_closest_marker("fp64") and not session.profile.fp64:
        pytest.skip("float64 points on a device without float64 are refused, which other tests hold")
    return session


_sessions = {}


def imposed_session(device, **imposed):
    """A session of its own with these limits, whose device has these facts in its profile, such as a `kind`."""
    facts = {
        name: imposed.pop(name) for name in ("name", "platform", "vendor", "architecture", "kind") if name in imposed
    }
    session = Session(device, context=as_session(device).context, **imposed)  # each takes 0.5 GB of an H100
    session.profile = replace(session.profile, **facts)
    return session


def assert_kernels_fit(session):
    """No program of a session has larger groups, and no kernel of this thread more local memory, than the profile."""
    import pyopencl as cl

    profile, ask = session.profile, cl.kernel_work_group_info.LOCAL_MEM_SIZE
    sizes = {(key[0], dict(key[1]).get("wg_size", 1)) for key in session.programs}
    assert sizes and not [one for one in sizes if one[1] > profile.max_wg_size]
    for key, kernel in session.threads.__dict__.get("kernels", {}).items():
        if key != "plans":
            used = kernel.get_work_group_info(ask, session.device)
            assert used <= profile.local_mem_bytes, f"{key} takes {used} bytes of local memory"


@contextlib.contextmanager
def in_setting(device, setting):
    """A session of a device with the limits of a setting, and its policies in force.

    For tests that need several settings in one case: CI leaves out most cases of a test.
    """
    imposed, chosen = SETTINGS[setting]
    session = as_session(device)
    if imposed:
        session = _sessions.get((device, setting)) or _sessions.setdefault(
            (device, setting), imposed_session(device, **imposed)
        )
    with override(chosen() if chosen else {}):
        yield session


@pytest.fixture
def any_session(request):
    """A session of a device with limits imposed, and policies in force."""
    device, setting = request.param
    with in_setting(device, setting) as session:
        yield session
    if setting == "as_amd":
        assert_kernels_fit(session)


@pytest.fixture
def setting(request):
    """The name of the setting that `any_session` is in."""
    return request.node.callspec.params["any_session"][1]


@pytest.fixture
def refused():
    """refused(session, dtype, function, *args): whether the session has no such type, once its error is checked."""

    def check(session, dtype, function, *args):
        if np.dtype(dtype) != np.float64 or session.profile.fp64:
            return False
        with pytest.raises(DeviceLimit, match=f"{function.__name__} needs float64, which .* cannot compute"):
            function(*args, device=session)
        return True

    return check


@pytest.fixture(autouse=True)
def sorted_by_kernels(request, monkeypatch):
    """Let tests of sorts and of faults run kernels, also for keys that the host would sort.

    test_host_sort.py is about those.
    """
    path = request.path
    if (path.parent.name == "sorting" or path.name == "test_faults.py") and path.name != "test_host_sort.py":
        monkeypatch.setattr("clgeom.sorting.radix.way.sorted_on_host", lambda call: None)
        monkeypatch.setattr("clgeom.sorting.unique.distinct_on_host", lambda *_: None)
        monkeypatch.setattr("clgeom.sorting.select.first_on_host", lambda *_: None)
