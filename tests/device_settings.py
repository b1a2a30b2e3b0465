"""Settings of a device: smaller limits, other work-group shapes, flushed subnormal numbers. None changes an answer."""

import contextlib
from dataclasses import replace

from clgeom.core.build import program_keys
from clgeom.core.device import Session, as_session
from clgeom.core.families import all_rows
from clgeom.core.tuning import override

#: A GPU of AMD, whose groups have at most 256 work-items, in waves of 64.
AMD = {
    "name": "gfx90a",
    "platform": "AMD Accelerated Parallel Processing",
    "vendor": "Advanced Micro Devices, Inc.",
    "architecture": "gfx90a",
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
#: Settings of tests that name them only.
BY_NAME = ("flushed", "as_amd")
#: Settings of properties only, but in the long profile: to build kernels for more tests takes long.
OF_PROPERTIES = ("odd_shapes", "no_fp64")
#: Settings in which tests of several types try one, float32 if they can, but in the long profile.
ONE_TYPE = ("cpu_shapes", "odd_shapes", "small_groups")
#: The setting that a device is in as it is, by its kind.
AS_IS = {"cpu": "cpu_shapes", "gpu": "as_gpu"}


def policies(row, wg_sizes=None):
    """For every kernel the policy of this row of the table, in groups of one size after the other of `wg_sizes`."""
    found = {}
    for i, (kernel, rows) in enumerate(sorted(all_rows().items())):
        policy = rows.get(row, rows["any"])
        if callable(policy):
            continue
        changes = wg_sizes and policy.variant != "serial"
        found[kernel] = replace(policy, wg_size=wg_sizes[i % len(wg_sizes)]) if changes else policy
    return found


def imposed_session(device, **imposed):
    """A session of its own with these limits, whose device has these facts in its profile, such as a `kind`."""
    facts = {
        name: imposed.pop(name) for name in ("name", "platform", "vendor", "architecture", "kind") if name in imposed
    }
    session = Session(device, context=as_session(device).context, **imposed)  # each takes 0.5 GB of an H100
    session.profile = replace(session.profile, **facts)
    return session


_sessions = {}


@contextlib.contextmanager
def in_setting(device, setting):
    """A session of a device with the limits of a setting, and its policies in force.

    For tests that need several settings in one case, too: CI leaves out most cases of a test.
    """
    imposed, chosen = SETTINGS[setting]
    session = as_session(device)
    if imposed:
        session = _sessions.get((device, setting)) or _sessions.setdefault(
            (device, setting), imposed_session(device, **imposed)
        )
    with override(chosen() if chosen else {}):
        yield session


def assert_kernels_fit(session):
    """No program of a session has larger groups, and no kernel of this thread more local memory, than the profile."""
    import pyopencl as cl

    profile, ask = session.profile, cl.kernel_work_group_info.LOCAL_MEM_SIZE
    sizes = {(key[0], dict(key[1]).get("wg_size", 1)) for key in program_keys(session)}
    assert sizes, "the session built no program"
    assert not [one for one in sizes if one[1] > profile.max_wg_size], sizes
    kernels = [*map(session.thread_cache.of, ("programs", "programs of users"))]
    for key, kernel in (entry for kind in kernels for entry in kind.items()):
        used = kernel.get_work_group_info(ask, session.device)
        assert used <= profile.local_mem_bytes, f"{key} takes {used} bytes of local memory"
