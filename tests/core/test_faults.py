"""Whatever fails in a driver, and when, is one clear error, and the next call is right."""

import numpy as np
import pytest
from calls import CALLS, POINTS, hull
from effort import PROFILE, thinned
from faults import KINDS, Faults

import clgeom
from clgeom.errors import ClgeomError, DeviceError, DeviceLimit, KernelBuildError
from clgeom.hull import convex, stream

SOME = POINTS[:1100]


@pytest.fixture(autouse=True)
def few_points_by_kernels(monkeypatch):
    """Also on a CPU, where the host would take them."""
    monkeypatch.setattr(convex, "MOST_ON_HOST", 0)


#: Of a call with more steps of a kind than this, only some fail: the first, the last, and others in between.
MOST = {"long": 40, "ci": 2}.get(PROFILE, 3)
EXPECTED = {}


def numbers(count):
    return sorted(set(np.linspace(0, count - 1, MOST).astype(int).tolist())) if count > MOST else range(count)


def faulty(session, call, kind, error):
    """Let each step of a kind fail, one after the other."""
    expected = EXPECTED.setdefault((session, call), call(session))
    with Faults(session, kind) as counted:
        assert call(session) == expected
    for k in numbers(counted.calls):
        with Faults(session, kind, k, error=error) as faults:
            try:
                assert call(session) == expected  # there may be another way
            except ClgeomError as caught:
                text = str(caught)
                assert type(caught).__module__ == "clgeom.errors"
                if not isinstance(caught, KernelBuildError):
                    assert "\n" not in text
            assert faults.happened
        assert call(session) == expected, f"after fault {k} of {counted.calls}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_a_fault_of_the_driver_is_one_clear_error(session, name, kind):
    import pyopencl as cl

    faulty(session, CALLS[name], kind, cl.MemoryError)
    if kind in thinned(("copy", "launch", "wait", "map"), 2):
        faulty(session, CALLS[name], kind, cl.LogicError)


#: What goes other ways where the device has memory of its own.
COPIED = (
    "convex_hull of few",
    "convex_hull",
    "convex_hull, octagon",
    "convex_hulls",
    "sort",
    "sort of few",
    "sort_by_key",
    "shellsort",
    "adaptive_region",
    "coverage_regions",
    "free_space",
)


@pytest.mark.settings("as_gpu")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COPIED)
def test_a_fault_of_a_gpus_driver_is_one_clear_error(any_session, name, kind):
    import pyopencl as cl

    faulty(any_session, CALLS[name], kind, cl.MemoryError)
    if kind == "copy":
        faulty(any_session, CALLS[name], kind, cl.LogicError)


@pytest.mark.settings("as_gpu")
@pytest.mark.parametrize("kind", ("allocate", "launch", "copy", "map"))
def test_a_fault_while_chunks_are_copied(any_session, kind, monkeypatch, tmp_path):
    """Copies beside the launches, from an array and from a file through page-locked memory."""
    import pyopencl as cl

    monkeypatch.setattr(stream, "CHUNK_BYTES", 1 << 13)
    np.save(tmp_path / "points.npy", POINTS)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    for points in (POINTS, mapped):
        faulty(
            any_session,
            lambda s, points=points: hull(clgeom.convex_hull(points, device=s)),
            kind,
            cl.LogicError,
        )


def test_errors_name_the_device_and_what_it_did(session):
    import pyopencl as cl

    name = f"{session.profile.name} ({session.profile.platform})"
    kernel = "hull/sieve/tile_hull" if session.profile.is_cpu else "hull/sieve/tile_hoods"
    clgeom.convex_hull(SOME, device=session)
    with Faults(session, "launch", 0), pytest.raises(DeviceLimit) as limit:
        clgeom.convex_hull(SOME, device=session)
    assert str(limit.value).startswith(f"{name} has not enough memory left to launch {kernel} (")
    assert str(limit.value).endswith("bytes in all). OpenCL says: launch failed: MADE_UP_FAULT")
    with Faults(session, "copy", 0, error=cl.RuntimeError), pytest.raises(DeviceError) as failed:
        clgeom.convex_hull(SOME, device=session)
    did = "read results" if session.profile.is_cpu else "take data"
    assert str(failed.value) == f"{name} failed to {did}. OpenCL says: copy failed: MADE_UP_FAULT"
    with Faults(session, "kernel", 0), pytest.raises(KernelBuildError) as unmade:
        clgeom.convex_hull(SOME, device=session)
    assert f"{kernel} was built, and {name} cannot make a kernel of it" in str(unmade.value)


def test_a_kernel_that_a_built_program_has_not_is_built_again(session):
    """So it is with damaged caches of drivers."""
    import pyopencl as cl

    expected = hull(clgeom.convex_hull(SOME, device=session))
    with Faults(session, "kernel", 0, many=1, error=cl.LogicError) as faults:
        assert hull(clgeom.convex_hull(SOME, device=session)) == expected
    assert faults.happened


def test_opening_a_device_that_fails(session, monkeypatch):
    import pyopencl as cl

    def fails(*args, **kwargs):
        raise cl.RuntimeError("clCreateContext failed: OUT_OF_RESOURCES")

    for name in ("Context", "CommandQueue"):
        with monkeypatch.context() as patched:
            patched.setattr(cl, name, fails)
            with pytest.raises(DeviceError, match="failed to open a context and a queue"):
                clgeom.Session(session.device)
    opened = clgeom.Session(session.device)
    monkeypatch.setattr(cl, "CommandQueue", fails)
    for queue in ("profiling_queue", "copy_queue"):
        with pytest.raises(DeviceError, match="failed to open a queue"):
            getattr(opened, queue)
