"""Devices, their settings and policies as parameters of tests.

    python -m pytest --device nvidia --device pocl      # devices by part of their name; default: all present

`session` is each device as it is. `any_session` is each device in every setting of ``device_settings.py``, or in those
that ``@pytest.mark.settings`` names, where ``...`` stands for the usual ones. ``effort.py`` says how much is tried.
"""

import gc
import os
import tempfile

import numpy as np
import pytest
from device_settings import AS_IS, BY_NAME, OF_PROPERTIES, ONE_TYPE, SETTINGS, assert_kernels_fit, in_setting
from effort import LONG, PROFILE, QuickBuilds, left_out_in_ci

from clgeom.core.device import all_devices, as_session, describe, named
from clgeom.errors import DeviceLimit, NoDevice
from clgeom.quirks.drivers import install_hint

# No test, and no child of one, uses policies that the developer measured, or adds to them.
_own_data = tempfile.TemporaryDirectory(prefix="clgeom-tests-")
os.environ["CLGEOM_DATA_DIR"] = _own_data.name
os.environ.pop("CLGEOM_POLICIES", None)

# so that their failures show what they compared
pytest.register_assert_rewrite(
    "command_line", "damaged", "dp_tables", "hulls", "point_chunks", "region_commands", "sort_keys", "sorted_files"
)

_builds = QuickBuilds()


def pytest_configure(config):
    if not LONG:
        _builds.install()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    gc.disable()  # hundreds of thousands of objects are made, and all stay
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item):
    mark = item.get_closest_marker("optimised")
    _builds.optimised, _builds.groups = mark is not None, mark is not None and mark.kwargs.get("groups", False)


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


def pytest_generate_tests(metafunc):
    if "session" in metafunc.fixturenames:
        found = _devices(metafunc.config)
        metafunc.parametrize("session", [d for d, _ in found], ids=[name for _, name in found], indirect=True)
    if "any_session" in metafunc.fixturenames:
        cases = {
            f"{name}-{setting}": (device, setting)
            for device, name in _devices(metafunc.config)
            for setting in [s for s in _settings(metafunc) if s != AS_IS.get(describe(device).kind)] or ["as_is"]
        }
        metafunc.parametrize("any_session", list(cases.values()), ids=list(cases), indirect=True)


def _settings(metafunc):
    """The names of the settings that a test takes."""
    few = not LONG and not hasattr(metafunc.function, "hypothesis")
    usual = [name for name in SETTINGS if name not in BY_NAME and not (few and name in OF_PROPERTIES)]
    wanted = next((mark.args for mark in metafunc.definition.iter_markers("settings")), (...,))
    return [name for one in wanted for name in (usual if one is ... else [one])]


def pytest_collection_modifyitems(config, items):
    """But in the long profile: leave out other types in the settings of ONE_TYPE, and most cases in CI."""
    if LONG:
        return
    gone = left_out_in_ci(items, slow="slow" in config.option.markexpr) if PROFILE == "ci" else set()
    types = {}  # of each test, by its function
    for item in items:
        if item not in gone and parameters(item).get("dtype") is not None:
            types.setdefault(item.function, []).append(np.dtype(parameters(item)["dtype"]))
    for item in items:
        if item.function in types and parameters(item).get("any_session", (None, None))[1] in ONE_TYPE:
            single = np.dtype(np.float32)
            one = single if single in types[item.function] else types[item.function][0]
            if np.dtype(parameters(item)["dtype"]) != one:
                gone.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item in gone])
    items[:] = optimised_first([item for item in items if item not in gone])


def optimised_first(items) -> list:
    """Files with optimised tests first, and these tests first in them: others then find their programs."""
    places = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    optimised = {item: item.get_closest_marker("optimised") is not None for item in items}
    first = {item.path for item in items if optimised[item]}
    return sorted(items, key=lambda item: (item.path not in first, places[item.path], not optimised[item]))


def parameters(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


@pytest.fixture
def session(request):
    """The shared session of a device."""
    session = as_session(request.param)
    if request.node.get_closest_marker("fp64") and not session.profile.fp64:
        pytest.skip("float64 points on a device without float64 are refused, which other tests hold")
    return session


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

    test_host_sort.py and test_host_rows.py are about those.
    """
    path = request.path
    if (path.parent.name == "sorting" or path.name == "test_faults.py") and not path.name.startswith("test_host_"):
        monkeypatch.setattr("clgeom.sorting.radix.host.host_may_sort", lambda: False)
        monkeypatch.setattr("clgeom.sorting.unique.distinct_on_host", lambda *_: None)
        monkeypatch.setattr("clgeom.sorting.select.first_on_host", lambda *_: None)
        monkeypatch.setattr("clgeom.sorting.radix.rows.rows_on_host", lambda *_: None)
        monkeypatch.setattr("clgeom.sorting.parts.host_may_sort", lambda: False)
