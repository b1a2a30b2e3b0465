"""Choosing a device, its profile, imposed limits, and what is said when there is none."""

import ctypes
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from clouds import cloud
from device_settings import AMD, assert_kernels_fit, imposed_session
from sort_keys import device_array

import clgeom
from clgeom import caches
from clgeom.core import device as runtime
from clgeom.core import profile as profiles
from clgeom.core.device import Session, as_session, default_session, devices
from clgeom.core.families import all_rows
from clgeom.core.policies import Policy, within_limits
from clgeom.core.profile import DeviceProfile, describe
from clgeom.core.tuning import override
from clgeom.errors import DeviceLimit, InvalidInput, NoDevice
from clgeom.quirks.drivers import gpu_hint
from clgeom.quirks.pocl_cpu import PROCESSORS, RECORD_BYTES, best_processor, name_cpu

FIELDS = {
    "name": str,
    "platform": str,
    "vendor": str,
    "version": str,
    "driver": str,
    "kind": str,
    "compute_units": int,
    "max_wg_size": int,
    "local_mem_bytes": int,
    "global_mem_bytes": int,
    "max_alloc_bytes": int,
    "fp64": bool,
    "unified_memory": bool,
    "denormals": bool,
    "quirks": frozenset,
}


def in_new_process(code, **env):
    env = {key: value for key, value in {**os.environ, **env}.items() if value is not None}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**env, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_devices_are_profiles():
    found = devices()
    assert isinstance(found, tuple) and found
    for profile in found:
        assert isinstance(profile, DeviceProfile)
        for name, kind in FIELDS.items():
            assert isinstance(getattr(profile, name), kind), name
        assert profile.kind in ("gpu", "cpu", "accelerator")
        assert profile.compute_units > 0 and 0 < profile.max_alloc_bytes <= profile.global_mem_bytes
        assert profile.is_cpu == (profile.kind == "cpu")


def test_profile_is_a_value_and_json(session):
    profile = session.profile
    assert profile == describe(session.device) and hash(profile) == hash(describe(session.device))
    plain = json.loads(json.dumps(profile.asdict()))
    assert set(FIELDS) <= set(plain) and plain["name"] == profile.name and plain["quirks"] == sorted(profile.quirks)
    with pytest.raises(AttributeError):
        profile.fp64 = False


@pytest.mark.parametrize(
    "platform, vendor, runtime_name",
    [
        ("Portable Computing Language", "AuthenticAMD", "pocl"),
        ("NVIDIA CUDA", "NVIDIA Corporation", "nvidia"),
        ("Intel(R) OpenCL", "Intel(R) Corporation", "intel"),
        ("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc.", "amd"),
        ("Apple", "Apple", "apple"),
        ("rusticl", "Mesa", "rusticl"),
        ("rusticl", "AMD", "rusticl"),  # whose compiler is not AMD's
        ("Clover Mesa", "X", "clover"),
        ("", "X", "unknown"),
    ],
)
def test_runtime_name(platform, vendor, runtime_name):
    sizes = dict.fromkeys([name for name, kind in FIELDS.items() if kind is int], 1)
    flags = dict.fromkeys([name for name, kind in FIELDS.items() if kind is bool], True)
    profile = DeviceProfile(
        name="n", platform=platform, vendor=vendor, version="", driver="", kind="gpu", **sizes, **flags
    )
    assert profile.runtime == runtime_name


class Pretended:
    """What `describe` asks a device for; others of its drivers' extensions are not there."""

    def __init__(self, name="Some GPU", extensions="", kind=4, **more):
        self.name, self.extensions, self.type = name, f"cl_khr_fp64 {extensions}", kind
        self.platform = SimpleNamespace(name="Some OpenCL", version="1", get_devices=lambda: [self])
        self.vendor = self.version = self.driver_version = "1"
        self.max_compute_units = self.max_work_group_size = self.local_mem_size = self.global_mem_size = 1
        self.max_mem_alloc_size = self.host_unified_memory = self.single_fp_config = 1
        vars(self).update(more)


NV = {"extensions": "cl_nv_device_attribute_query"}
BOARD = {"extensions": "cl_amd_device_attribute_query", "board_name_amd": "AMD Instinct MI250X"}
INTEL = {"extensions": "cl_intel_device_attribute_query"}


@pytest.mark.parametrize(
    "facts, architecture",
    [
        ({"compute_capability_major_nv": 9, "compute_capability_minor_nv": 0, **NV}, "sm_90"),
        ({"compute_capability_major_nv": 12, "compute_capability_minor_nv": 1, **NV}, "sm_121"),
        (NV, None),
        ({"name": "gfx1100", **BOARD}, "gfx1100"),
        ({"name": "gfx90a:sramecc+:xnack-", **BOARD}, "gfx90a"),
        ({"name": "AMD Radeon", **BOARD, "board_name_amd": "board gfx906"}, "gfx906"),
        ({"name": "Hawaii", **BOARD}, None),
        ({"name": "gfx90a", "extensions": "cl_amd_device_attribute_query"}, "gfx90a"),
        ({"extensions": "cl_amd_device_attribute_query"}, None),
        ({"name": "gfx90a"}, "gfx90a"),
        ({"name": "gfx90a", "kind": 2}, None),
        ({"name": "gfxgfx1x"}, None),
        ({"version_number": 0x030DC008, **INTEL}, "ip_12.55"),
        ({"version_number": 0x05010004, **INTEL}, "ip_20.4"),
        ({"version_number": 0, **INTEL}, None),
        ({"version_number": None, **INTEL}, None),
    ],
)
def test_architecture(monkeypatch, facts, architecture):
    monkeypatch.setattr(profiles, "_number", lambda device, parameter: device.version_number)
    found = profiles.describe(Pretended(**facts))
    assert found.architecture == architecture and found.asdict()["architecture"] == architecture


def test_numbers_that_pyopencl_does_not_know(session):
    """Asked past pyopencl: CL_DEVICE_VENDOR_ID and CL_DEVICE_MAX_COMPUTE_UNITS, which it knows, and no parameter."""
    assert profiles._number(session.device, 0x1001) == session.device.vendor_id
    assert profiles._number(session.device, 0x1002) == session.device.max_compute_units
    assert profiles._number(session.device, 0x7FFF) is None


def test_device_argument_takes_names_devices_and_sessions(session):
    profile = session.profile
    same = as_session(session.device)
    assert as_session(session) is session and same is session
    for word in (profile.name, profile.name[:6].upper(), profile.platform.lower()):
        found = as_session(word)
        assert word.lower() in f"{found.profile.name} {found.profile.platform}".lower()
    assert as_session(profile.kind).profile.kind == profile.kind
    assert as_session(profile.runtime).profile.runtime == profile.runtime


def test_names_of_one_device_share_a_session(monkeypatch):
    monkeypatch.delenv("CLGEOM_DEVICE", raising=False)
    first = devices()[0]
    assert as_session(first.name) is as_session(first.name.upper()) is as_session(None)


def test_threads_share_a_session():
    with ThreadPoolExecutor(4) as pool:
        assert len({id(session) for session in pool.map(lambda _: default_session(), range(16))}) == 1


def test_unknown_device_lists_what_is_present():
    with pytest.raises(NoDevice) as caught:
        as_session("no such device")
    text = str(caught.value)
    assert text.startswith("The 'device' parameter must name a device that is present. Got 'no such device'; present: ")
    for profile in devices():
        assert profile.name in text and profile.platform in text
    assert "\n" not in text


@pytest.mark.parametrize("something", (5, 1.5, True, b"pocl", [], {}, ["pocl"], ([],)))
def test_session_of_something_else(something):
    wanted = "name one device here" if isinstance(something, (list, tuple)) else "be part of a device's name"
    with pytest.raises(InvalidInput, match=f"^The 'device' parameter must {wanted}.* Got .* instead"):
        as_session(something)
    with pytest.raises(InvalidInput):
        Session(something)


def test_session_of_an_array(session):
    """Arrays have a hash function that fails."""
    with pytest.raises(
        InvalidInput, match="^The 'device' parameter must be part of a device's name.* Got Array instead"
    ):
        as_session(device_array(session, np.zeros(2)))


@pytest.mark.parametrize("name, is_gpu", [("gpu:99", True), ("NVIDIA no. 7", True), ("imaginary", False)])
def test_missing_gpu_names_the_drivers(name, is_gpu):
    with pytest.raises(NoDevice, match="must name a device that is present") as caught:
        Session(name)
    assert str(caught.value).endswith(gpu_hint()) == is_gpu


def test_environment_names_the_default_device(monkeypatch):
    last = devices()[-1].name
    profile = next(one for one in devices() if one.name == last)  # of equal devices the first
    monkeypatch.setenv("CLGEOM_DEVICE", last)
    assert default_session().profile == profile
    assert as_session(None).profile == profile and Session().profile == profile
    monkeypatch.setenv("CLGEOM_DEVICE", "")
    assert default_session().profile == devices()[0]
    monkeypatch.setenv("CLGEOM_DEVICE", "imaginary")
    with pytest.raises(NoDevice, match="environment variable CLGEOM_DEVICE must name .* Got 'imaginary'; present: "):
        clgeom.convex_hull([[0, 0]])
    assert as_session(devices()[0].name).profile == devices()[0]  # an argument wins over the environment


def test_environment_in_a_new_process():
    code = "import clgeom\ntry: clgeom.convex_hull([[0, 0]])\nexcept clgeom.errors.NoDevice as error: print(error)"
    result = in_new_process(code, CLGEOM_DEVICE="imaginary")
    assert result.stdout.startswith("The environment variable CLGEOM_DEVICE must name"), result.stderr


def test_default_is_the_fastest_kind():
    order = {("gpu", False): 0, ("gpu", True): 1, ("accelerator", True): 2, ("accelerator", False): 2}
    ranks = [order.get((p.kind, p.unified_memory), 3) for p in devices()]
    assert ranks == sorted(ranks)


def test_no_device_at_all_says_what_to_install(monkeypatch):
    monkeypatch.setattr(runtime, "_ranked", lambda: ())
    monkeypatch.setattr(runtime, "all_platforms", lambda: [])
    assert devices() == ()
    with pytest.raises(NoDevice, match="No OpenCL device was found.*pip install pocl-binary-distribution"):
        Session()
    with pytest.raises(NoDevice, match="No OpenCL device was found"):
        Session("pocl")


def test_loader_without_any_driver_has_no_devices(monkeypatch):
    import pyopencl as cl

    def no_platforms():
        raise cl.LogicError("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(cl, "get_platforms", no_platforms)
    assert runtime._ranked.__wrapped__() == ()

    def out_of_memory():
        raise cl.LogicError("clGetPlatformIDs failed: OUT_OF_HOST_MEMORY")

    monkeypatch.setattr(cl, "get_platforms", out_of_memory)
    with pytest.raises(NoDevice, match="cannot be listed. OpenCL says: .*OUT_OF_HOST_MEMORY"):
        runtime._ranked.__wrapped__()


def test_missing_linker_is_named(session):
    if "needs_ld" not in session.profile.quirks:
        pytest.skip(f"{session.profile.platform} needs no 'ld'")
    code = (
        "import clgeom\nprint(len(clgeom.devices()))\n"
        "try: clgeom.convex_hull([[0, 0]])\nexcept clgeom.errors.NoDevice as error: print(error)"
    )
    result = in_new_process(code, PATH="/nonexistent", CLGEOM_DEVICE=session.profile.name)
    lines = result.stdout.splitlines()
    assert int(lines[0]) == len(devices()), result.stderr  # the table of devices still works
    assert "'ld'" in lines[1] and "binutils" in lines[1], result.stdout + result.stderr


# Limits ---------------------------------------------------------------------------------------------------------


def test_imposed_limits_only_lower(session):
    own = session.profile
    limited = Session(session.device, fp64=False, max_alloc_bytes=1 << 16, max_wg_size=16, local_mem_bytes=4096).profile
    assert (limited.fp64, limited.max_alloc_bytes, limited.max_wg_size, limited.local_mem_bytes) == (
        False,
        1 << 16,
        16,
        4096,
    )
    assert (limited.name, limited.global_mem_bytes) == (own.name, own.global_mem_bytes)
    wide = Session(
        session.device, fp64=own.fp64 or None, max_alloc_bytes=1 << 62, max_wg_size=1 << 30, local_mem_bytes=1 << 40
    ).profile
    assert wide == own


def test_session_of_a_session_takes_its_arrays(session):
    points = device_array(session, np.random.default_rng(34).random((99, 2), np.float32))
    found = clgeom.convex_hull(points, device=Session(session))
    assert found.vertices.tolist() == clgeom.convex_hull(points.get(), device=session).vertices.tolist()


def test_session_of_a_session_has_its_limits(session):
    limited = Session(session.device, fp64=False, denormals=False, max_wg_size=16)
    again = Session(limited)
    assert again is not limited and again.device == limited.device and again.pool is not limited.pool
    assert again.profile == limited.profile and again.own_profile == limited.own_profile
    assert again.build_options == limited.build_options
    smaller = Session(limited, max_wg_size=8).profile
    assert (smaller.max_wg_size, smaller.fp64) == (8, False) and Session(session).profile == session.profile
    assert clgeom.sort([3, 1, 2], device=Session(session)).tolist() == [1, 2, 3]


def test_session_refuses_abilities_that_a_device_lacks(session):
    limited = Session(session.device, fp64=False, denormals=False)
    for name in ("fp64", "denormals"):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of Session must be False, or left out, for "):
            Session(limited, **{name: True})
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of Session must be True or False. Got 'no'"):
            Session(session, **{name: "no"})


@pytest.mark.parametrize("shape", (0, (0,), (0, 2), (3, 0), (), 5, (2, 3)))
@pytest.mark.parametrize("dtype", ("float32", "uint8", [("x", "f4"), ("y", "i2")], "V0", "S3"))
def test_pinned_empty_of_any_shape(session, shape, dtype):
    made, like = clgeom.pinned_empty(shape, dtype, device=session), np.empty(shape, dtype)
    assert (made.shape, made.dtype) == (like.shape, like.dtype) and made.flags.writeable
    made[...] = np.zeros((), dtype)
    assert np.array_equal(made, np.zeros(shape, dtype))


def test_require_fp64(session):
    limited = Session(session.device, fp64=False).profile
    with pytest.raises(
        DeviceLimit, match="^this needs float64, which .* cannot compute. Pass float32, or another device"
    ):
        limited.require_fp64("this")


@pytest.mark.parametrize("max_wg_size", (24,))
def test_small_work_groups_compute(session, max_wg_size):
    """A device of small groups gets the GPU shapes cut down to its limit, and the same answer."""
    limited = Session(session.device, max_wg_size=max_wg_size)
    points = cloud("disc", 5000, np.float32)
    expected = clgeom.convex_hull(points, device=session).vertices
    cut = {
        kernel: within_limits(rows["any"], limited.profile)
        for kernel, rows in all_rows().items()
        if not callable(rows["any"])
    }
    np.testing.assert_array_equal(clgeom.convex_hull(points, device=limited).vertices, expected)
    with override(cut):
        np.testing.assert_array_equal(clgeom.convex_hull(points, device=limited).vertices, expected)


def test_tests_find_kernels_that_exceed_a_device(session):
    if session.profile.max_wg_size < 512:
        pytest.skip("the device has no groups of 512")
    sign = {"a": [(0, 0)], "b": [(4, 0)], "c": [(2, 1)]}
    amd = imposed_session(session.device, **AMD)
    assert amd.profile.runtime == "amd" and amd.profile.architecture == "gfx90a"
    clgeom.orient2d(**sign, device=amd)
    assert_kernels_fit(amd)
    with override({"hull/orient2d_signs": Policy("group", wg_size=512)}):
        clgeom.orient2d(**sign, device=amd)
    with pytest.raises(AssertionError, match="512"):
        assert_kernels_fit(amd)


@pytest.mark.parametrize("name", ("max_wg_size", "max_alloc_bytes", "local_mem_bytes"))
@pytest.mark.parametrize("limit", (0, -1, "a", 2.5, True, [64]))
def test_session_refuses_limits(session, name, limit):
    with pytest.raises(InvalidInput, match=f"The '{name}' parameter of Session must be an integer from 1. Got"):
        Session(session.device, **{name: limit})


def test_session_repr_and_probe(session):
    assert repr(session).startswith("Session('") and session.profile.name in repr(session)
    assert session.shuffle in ("subgroup", "ptx", None)
    assert session.shuffle == session.shuffle  # probed once


@pytest.mark.parametrize(
    "instructions, name",
    [
        ("avx512f avx512bw avx512cd avx512dq avx512vl avx2 fma bmi2 avx f16c sse4_1 ssse3", "skylake-avx512"),
        ("avx512f avx2 fma bmi2 avx f16c sse4_1 ssse3", "haswell"),
        ("avx f16c sse4_1 ssse3", "ivybridge"),
        ("avx sse4_1 ssse3", "sandybridge"),
        ("sse4_1 ssse3", "penryn"),
        ("ssse3", "core2"),
        ("sse2", "x86-64"),
    ],
)
def test_best_processor_has_no_instructions_beyond_those_present(instructions, name):
    assert best_processor(set(instructions.split())) == name


def test_name_cpu_refuses_a_record_without_the_name():
    """Memory that holds no pointer to "generic" is left as it is, and the error says what to install."""
    memory = (ctypes.c_uint64 * (2 * RECORD_BYTES // 8))(*range(1, 2 * RECORD_BYTES // 8 + 1))
    device = SimpleNamespace(int_ptr=ctypes.addressof(memory), platform=SimpleNamespace(version="PoCL 3.0"))
    with pytest.raises(NoDevice, match="PoCL 3.0.*older than this processor.*PoCL 3.1 or newer"):
        name_cpu(device)
    assert list(memory) == list(range(1, 2 * RECORD_BYTES // 8 + 1))


def test_name_cpu_writes_a_known_name_once():
    unknown = ctypes.create_string_buffer(b"generic")
    memory = (ctypes.c_uint64 * (RECORD_BYTES // 8))()
    memory[80] = ctypes.addressof(unknown)
    device = SimpleNamespace(int_ptr=ctypes.addressof(memory), platform=SimpleNamespace(version="PoCL 3.0"))
    name = name_cpu(device)
    assert ctypes.string_at(memory[80]).decode() == name and name in {name for _, name in PROCESSORS}
    assert unknown.value == b"generic" and name_cpu(device) == name
    assert sum(map(bool, memory)) == 1


# Contexts of callers --------------------------------------------------------------------------------------------

SECOND = """
import numpy as np, pyopencl as cl, pyopencl.array as cl_array
import clgeom
from clgeom.intake.arrays import session_of

platform = next(p for p in cl.get_platforms() if "Portable Computing" in p.name)
first, second = platform.get_devices()
context = cl.Context([first, second])
points = np.random.default_rng(0).standard_normal((300, 2)).astype(np.float32)
for device in (second, first):
    queue = cl.CommandQueue(context, device)
    there = cl_array.to_device(queue, points)
    hull = clgeom.convex_hull(there)
    assert hull.session.device == device and hull.session.context == context
    assert session_of(there, None) is hull.session and session_of(there, hull.session) is hull.session
    for queue in (hull.session.queue, hull.session.profiling_queue, hull.session.copy_queue):
        assert queue.device == device
    assert hull.on_device()[0].queue.device == device
    assert hull.vertices.tolist() == clgeom.convex_hull(points, device=first).vertices.tolist()
assert session_of(there.with_queue(None), None).device == first
try:
    clgeom.convex_hull(there, device=session_of(cl_array.to_device(cl.CommandQueue(context, second), points), None))
except clgeom.errors.InvalidInput as error:
    print(error)
"""


def test_an_array_on_the_second_device_of_a_context_runs_there(session):
    if session.profile.runtime != "pocl":
        pytest.skip("PoCL shows two devices when it is asked to")
    result = in_new_process(SECOND, POCL_DEVICES="pthread pthread")
    said = "The 'device' parameter must be the device that the array is on"
    assert result.stdout.startswith(said), result.stderr[-1000:]


# Equal devices --------------------------------------------------------------------------------------------------

EQUAL = """
import numpy as np, clgeom
from clgeom import selftest
from clgeom.core import trust
from clgeom.core.device import all_devices, as_session
from clgeom.intake.several import as_sessions
from clgeom.selftest import answers

__name__ = "clgeom.example"  # a failure of other code than that of clgeom is no verdict
opened, init = [], clgeom.Session.__init__
def watched(self, *args, **options):
    init(self, *args, **options)
    opened.append(self.device)
clgeom.Session.__init__ = watched

first, second = all_devices()
tried = []
def attempt(session, trial, dtype):
    tried.append(session.device)
    assert session.device != {refused}
trust._attempt = attempt
right = second if {refused} == first else first

zero, one = clgeom.devices()
assert zero.name == one.name and {{zero.number, one.number}} == {{0, 1}} and zero != one
assert zero.number == (right == second) and opened == tried[:1] + [second] * (right == second), opened
word = zero.name[:7]
assert as_session(word) is as_session(word + ":0") is as_session(right) is clgeom.default_session()
other = as_session(word + ":1")
assert {{as_session(word).device, other.device}} == {{first, second}} and other.context != as_session(word).context
for wrong in (word + ":2", "nonesuch:0", word + ":", ":0", word + ":-1"):
    try:
        as_session(wrong)
    except clgeom.errors.NoDevice as error:
        assert repr(wrong) in str(error)
    else:
        assert False, wrong
assert [found.number for found in as_session(first).others()] == [1]
points = np.random.default_rng(0).normal(size=(9000, 2))
sessions = [as_session(word), other]
assert list(as_sessions(points, [word, word + ":1"], caller="x")) == sessions
if {refused} is None:
    assert set(as_sessions(points, "all", caller="x")) == set(sessions)
    hulls = [clgeom.convex_hull(points, device=one).vertices.tolist() for one in (*sessions, "all", sessions)]
    assert hulls[1:] == hulls[:1] * 3
    selftest.checks, selftest.QUESTIONS = list, answers.QUESTIONS[-1:]
    found = list(selftest.check_all())
    assert len(found) == 2 and all(device.ok and len(device.outcomes) == 1 for device in found)
    assert opened == [first, second], opened  # one context for each
else:
    assert set(as_sessions(points, "all", caller="x")) == {{as_session(right)}}
print("right")
"""


@pytest.mark.parametrize("refused", ("None", "first"))
def test_equal_devices(session, tmp_path, refused):
    """Each has a session, a verdict and a name of its own, and the second is opened when it is used."""
    if session.profile.runtime != "pocl" or len(devices()) > 1:
        pytest.skip("about two devices of one PoCL and no other")
    env = {"POCL_DEVICES": "pthread pthread", "CLGEOM_DEVICE": None, "POCL_CACHE_DIR": str(caches.pocl_folder())}
    result = in_new_process(EQUAL.format(refused=refused), XDG_CACHE_HOME=str(tmp_path), **env)
    assert result.stdout == "right\n", result.stderr
