"""The choice of a device, and the session that uses it.

A :class:`Session` is a device in use: its context, queue, compiled programs and memory pool. Sessions are made once per
device and shared by threads.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clgeom import caches, quirks
from clgeom.arguments import boolean, instance, integer
from clgeom.core import trust
from clgeom.core.cache import MOST, Cache
from clgeom.core.failures import failures
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.memory import Pool, trim_heap
from clgeom.core.profile import DeviceProfile, describe
from clgeom.errors import ClgeomError, InvalidInput, NoDevice, short
from clgeom.markup import card
from clgeom.quirks import drivers

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.intake.typing import DeviceLike, DevicesLike
else:  # they are of a layer above this one
    DeviceLike = DevicesLike = Any


class Session:
    """A device in use: its context, in-order queue, programs and memory pool.

    Parameters
    ----------
    device : str, pyopencl.Device, Session or None
        As for every ``device=`` argument. None takes ``CLGEOM_DEVICE``, else the fastest kind of device present. Text
        is part of a device's name, vendor or kind; the second of several devices with that text is "text:1". A session
        stands for its device and context, with the limits imposed there; the new one has its own memory and programs.
    context : pyopencl.Context, optional
        A context with the device, to use instead of a new one.
    fp64 : bool, optional
        False switches float64 off, to simulate a device without it. True is refused for a device without it.
    denormals : bool, optional
        False flushes subnormal numbers to zero, also in float64, to simulate a device that does so. True is refused for
        a device that does so.
    max_alloc_bytes, max_wg_size, local_mem_bytes : int, optional
        Limits to impose below the device's own, at least 1, to simulate a smaller device. A limit above that has no
        effect.

    Raises
    ------
    NoDevice
        No device that is present has this name.
    InvalidInput
        A limit is no integer of at least 1, or an ability is asked for that the device lacks.
    DeviceError
        The driver cannot open a context.

    Notes
    -----
    All public functions may be called from several threads at once with one session. A session does not outlive a fork:
    drivers cannot restart in a forked child, so use the "spawn" start method.

    Examples
    --------
    >>> import clgeom
    >>> session = clgeom.Session(fp64=False)
    >>> session.profile.fp64
    False
    >>> clgeom.sort([3, 1, 2], device=session).tolist()
    [1, 2, 3]
    """

    @keeps_subnormals
    def __init__(
        self,
        device: DeviceLike = None,
        *,
        context: Any = None,
        fp64: bool | None = None,
        denormals: bool | None = None,
        max_alloc_bytes: int | None = None,
        max_wg_size: int | None = None,
        local_mem_bytes: int | None = None,
    ) -> None:
        begin()
        import pyopencl as cl

        within = None
        if isinstance(device, Session):
            context = device.context if context is None else context
            within, device = device.profile, device.device
        if context is not None:
            instance(context, cl.Context, "a pyopencl.Context", "context", caller="Session")
        self.device: cl.Device = _choose(device)
        profile = describe(self.device)
        within = within or profile
        self.own_profile: DeviceProfile = profile  # without imposed limits
        self.profile: DeviceProfile = replace(
            within,
            fp64=_ability(within, "fp64", fp64),
            denormals=_ability(within, "denormals", denormals),
            max_alloc_bytes=_imposed(within, "max_alloc_bytes", max_alloc_bytes),
            max_wg_size=_imposed(within, "max_wg_size", max_wg_size),
            local_mem_bytes=_imposed(within, "local_mem_bytes", local_mem_bytes),
        )
        flushed = profile.denormals and not self.profile.denormals
        self.build_options: tuple[str, ...] = ("-cl-denorms-are-zero",) if flushed else ()
        self.kernel_files: quirks.KernelFiles | None = quirks.before_context(self.device, profile)
        with failures(self.device, "open a context and a queue"):
            self.context: cl.Context = context or cl.Context([self.device])
            self.queue: cl.CommandQueue = cl.CommandQueue(self.context, self.device)
        self.pool = Pool(self.context, self.queue)
        self.trusted: set[Any] = set()
        self.lock = threading.RLock()
        self.cache = Cache(self.lock)
        self.threads = threading.local()

    @functools.cached_property
    def profiling_queue(self) -> cl.CommandQueue:
        """A second queue whose events carry times; only profiled runs use it."""
        import pyopencl as cl

        profiling = cl.command_queue_properties.PROFILING_ENABLE
        with failures(self.device, "open a queue that takes times"):
            return cl.CommandQueue(self.context, self.device, properties=profiling)

    @functools.cached_property
    def shuffle(self) -> str | None:
        """How work-items of a sub-group exchange registers: "subgroup", "ptx" or None. CPUs do not need it."""
        from clgeom.core.build import SHUFFLE_PROBES, compiles

        if self.profile.is_cpu:  # whose compilers warn about unknown extensions
            return None
        return next((name for name, source in SHUFFLE_PROBES.items() if compiles(self, source)), None)

    @functools.cached_property
    def copy_queue(self) -> cl.CommandQueue:
        """A queue beside the others, for copies while kernels run."""
        import pyopencl as cl

        with failures(self.device, "open a queue for copies"):
            return cl.CommandQueue(self.context, self.device)

    def cached(self, key: tuple[Any, ...], make: Callable[[], Any], *, most: int = MOST, policies: bool = False) -> Any:
        """Return the result of ``make()`` for this key, cached for all calls and threads of the session.

        The first entry of a key names the kind of value. When a kind has `most` values, the older half is dropped. With
        `policies`, the value is for the policies in force only, as plans are.
        """
        return self.cache.get(key, make, most=most, policies=policies)

    def known(self, key: tuple[Any, ...], *, policies: bool = False) -> Any:
        """Return the cached value of a key, without making one.

        Parameters
        ----------
        key : tuple
            As of `cached`.
        policies : bool
            As of `cached`.

        Returns
        -------
        object
            The value of `cached` for this key; None where there is none.

        Raises
        ------
        IndexError
            The key is empty.
        """
        return self.cache.known(key, policies=policies)

    @property
    def thread_cache(self) -> Cache:
        """The cache of this thread, for kernel objects, which hold their arguments."""
        try:
            cache: Cache = self.threads.cache
        except AttributeError:
            cache = self.threads.cache = Cache()
        return cache

    def release(self) -> None:
        """Give pooled scratch memory, and programs of equations, back to the driver and the system."""
        from clgeom.core.build import release

        release(self)
        with failures(self.device, "end what was launched"):
            self.queue.finish()
        self.pool.free_held()
        trim_heap()

    # for trials of devices, which know no other session
    def unlimited(self) -> Session:
        """Return the session of this device without imposed limits."""
        return self if self.profile == self.own_profile else as_session(self.device)

    def rank_again(self) -> None:
        """Forget the ranking of devices, since this one has failed a trial."""
        forget_order()

    def others(self) -> list[DeviceProfile]:
        """Return the other devices of this machine."""
        return [describe(other) for other in all_devices() if other != self.device]

    def __repr__(self) -> str:
        return f"Session({self.profile.name!r}, {self.profile.platform!r}, {self.profile.kind})"

    def _repr_html_(self) -> str:
        profile = self.profile
        facts = [
            ("device", profile.name),
            ("platform", f"{profile.platform}, driver {profile.driver}"),
            ("kind", profile.kind),
            ("compute units", profile.compute_units),
            ("memory", f"{profile.global_mem_bytes / 2**30:.1f} GiB"),
            ("largest buffer", f"{profile.max_alloc_bytes / 2**30:.3g} GiB"),
            ("local memory", f"{profile.local_mem_bytes / 2**10:.4g} KiB"),
            ("largest work-group", f"{profile.max_wg_size:,} work-items"),
            ("float64", "yes" if profile.fp64 else "no"),
        ]
        return card("Session", facts)


def _ability(profile: DeviceProfile, name: str, wanted: bool | None) -> bool:
    """Return whether a session's device shall have an ability: it can only be switched off."""
    own: bool = getattr(profile, name)
    if wanted is not None and boolean(wanted, name, caller="Session") and not own:
        raise InvalidInput(f"The '{name}' parameter of Session must be False, or left out, for {profile.name}.")
    return own and (wanted is None or bool(wanted))


def _imposed(profile: DeviceProfile, name: str, limit: int | None) -> int:
    """Return the device's limit, or a lower one of the caller."""
    own: int = getattr(profile, name)
    return own if limit is None else min(own, integer(limit, name, caller="Session"))


# Which device ---------------------------------------------------------------------------------------------------


@keeps_subnormals
def devices() -> tuple[DeviceProfile, ...]:
    """Return all OpenCL devices of this machine, the default one first.

    Returns
    -------
    tuple of DeviceProfile
        Empty when there is none.

    See Also
    --------
    default_session : The device that calls use by default.
    Session : A device with its caches.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.devices()[0] == clgeom.default_session().profile
    True
    """
    present = all_devices()
    first = _first_right(present) if present else None
    return tuple(map(describe, sorted(present, key=lambda device: device != first)))


def all_devices() -> tuple[cl.Device, ...]:
    """Return all OpenCL devices of this machine as ``pyopencl.Device``, in the order of `devices`."""
    begin()
    return _ranked()


@keeps_subnormals
def default_session() -> Session:
    """Return the session of the default device: ``CLGEOM_DEVICE`` if set, else the fastest kind present.

    Returns
    -------
    Session
        Always the same one, until `CLGEOM_DEVICE` changes.

    Raises
    ------
    NoDevice
        There is no OpenCL device, or none that ``CLGEOM_DEVICE`` names.

    See Also
    --------
    devices : All devices.

    Examples
    --------
    >>> import clgeom
    >>> clgeom.default_session() is clgeom.default_session()
    True
    """
    return as_session(None)


_sessions: dict[Any, Session] = {}
_sessions_lock = threading.Lock()
_opencl_pid: int | None = None


def as_session(device: DevicesLike = None) -> Session:
    """Return the session for a ``device=`` argument: None, part of a name, a ``pyopencl.Device`` or a Session."""
    begin()
    if isinstance(device, Session):
        return device
    key = os.environ.get("CLGEOM_DEVICE") if device is None else device
    try:
        session = _sessions.get(key)
    except TypeError:  # `_choose` says what a device may be
        session = None
    if session is None:
        chosen = _choose(device)
        with _sessions_lock:
            session = _sessions.get(chosen) or Session(chosen)
            _sessions[chosen] = _sessions[key] = session
    return session


def session_of_context(context: cl.Context | None, device: cl.Device | None = None) -> Session:
    """Return the session of a context of the caller, for one of its devices or for its first."""
    begin()
    if context is None:
        raise InvalidInput("An array on a device must have a context. Got one without a context and without a queue.")
    key = context, device or context.devices[0]
    with _sessions_lock:
        for session in _sessions.values():
            if (session.context, session.device) == key:
                return session
        _sessions[key] = Session(key[1], context=context)
        return _sessions[key]


def begin() -> None:
    """Prepare the first use of OpenCL and import pyopencl; raise `NoDevice` in a forked child that cannot use it."""
    global _opencl_pid
    if _opencl_pid is None:
        caches.prepare()
        _import_pyopencl()
        _opencl_pid = os.getpid()
    elif _opencl_pid != os.getpid():
        raise NoDevice(
            "This process was forked from one that had already used OpenCL, and OpenCL drivers cannot restart in a "
            "forked child. Start it with multiprocessing.get_context('spawn') (or 'forkserver')."
        )


def _import_pyopencl() -> None:
    """Import pyopencl, which opens tables in the user's cache then."""
    import sqlite3

    try:
        try:
            import pyopencl  # noqa: F401
        except sqlite3.DatabaseError:
            caches.remove_tables()
            for name in [name for name in sys.modules if name.split(".")[0] == "pyopencl" and name != "pyopencl._cl"]:
                del sys.modules[name]  # what is left of the failed import
            import pyopencl  # noqa: F401
    except (OSError, sqlite3.Error) as error:
        raise NoDevice(caches.what_about_tables(error)) from error


def _choose(device: DevicesLike) -> cl.Device:
    """Return the ``pyopencl.Device`` that a ``device=`` argument selects."""
    import pyopencl as cl

    if isinstance(device, cl.Device):
        return device
    wanted, source = device, "The 'device' parameter"
    if device is None:
        wanted, source = os.environ.get("CLGEOM_DEVICE"), "The environment variable CLGEOM_DEVICE"
    if isinstance(device, (list, tuple)) or (isinstance(device, str) and device.lower() == "all"):
        must = "name one device here: this call does not share its work out"
        raise InvalidInput(f"The 'device' parameter must {must}. Got {short(device)} instead.")
    if wanted is not None and not isinstance(wanted, str):
        must = "be part of a device's name, a pyopencl.Device or a clgeom.Session"
        raise InvalidInput(f"The 'device' parameter must {must}. Got {type(wanted).__name__} instead.")
    present = _ranked()
    if not present:
        raise NoDevice(why_none())
    if not wanted:
        return _first_right(present)
    fit = fitting(wanted)
    if fit is not None:
        return fit
    there = "; ".join(f"{d.name} ({d.platform}, {d.kind})" for d in map(describe, present))
    text = f"{source} must name a device that is present. Got {wanted!r}; present: {there}."
    raise NoDevice(f"{text} {drivers.gpu_hint()}" if drivers.GPU_WORDS.search(wanted) else text)


def fitting(wanted: str) -> cl.Device | None:
    """Return the first device with this text in its words, with "text:1" the second, and so on; else None."""
    devices, number = named(wanted), 0
    numbered = re.fullmatch(r"(.+):(\d+)", wanted)
    if not devices and numbered is not None:
        devices, number = named(numbered[1]), int(numbered[2])
    return devices[number] if number < len(devices) else None


def unfit_setting() -> str | None:
    """Return the fault of CLGEOM_DEVICE in words, where it fits no device; else None."""
    wanted = os.environ.get("CLGEOM_DEVICE")
    if not wanted or fitting(wanted) is not None:
        return None
    return f"The environment variable CLGEOM_DEVICE is {wanted!r} and fits no device: calls without device= fail."


def named(wanted: str) -> list[cl.Device]:
    """Return the devices with this text in their words, as ``pyopencl.Device``, in the order of `devices`."""
    words = operator.attrgetter("name", "platform", "vendor", "kind", "runtime", "driver")
    return [device for device in _ranked() if wanted.lower() in " ".join(words(describe(device))).lower()]


def all_platforms() -> list[cl.Platform]:
    """Return all OpenCL platforms of this machine as ``pyopencl.Platform``."""
    begin()
    import pyopencl as cl

    try:
        with drivers.platform_discovery():
            return cl.get_platforms()
    except cl.Error as error:  # the ICD loader raises PLATFORM_NOT_FOUND_KHR when there is no driver at all
        if "PLATFORM_NOT_FOUND" in str(error):
            return []
        raise NoDevice(f"The OpenCL drivers cannot be listed. OpenCL says: {error}") from error


def why_none() -> str:
    """Return the message for a machine without a device."""
    return drivers.no_device_message([f"{platform.name} ({platform.version})" for platform in all_platforms()])


@functools.cache
def _ranked() -> tuple[cl.Device, ...]:
    """Return all devices, refused ones last: discrete GPUs, GPUs, accelerators, CPUs; more compute units first."""
    begin()
    import pyopencl as cl

    present: list[cl.Device] = []
    for platform in all_platforms():
        with contextlib.suppress(cl.Error):  # a driver that fails must not hide the others
            present += platform.get_devices()

    def rank(device: cl.Device) -> tuple[bool, bool, int, int]:
        profile = describe(device)
        discrete = profile.kind == "gpu" and not profile.unified_memory
        kind = ["gpu", "accelerator", "cpu"].index(profile.kind)
        return (trust.is_refused(profile), not discrete, kind, -profile.compute_units)

    return tuple(sorted(present, key=rank))


def _first_right(present: Sequence[cl.Device]) -> cl.Device:
    """Return the first of several devices that passes the shortest trial. A device that has passed it is not opened."""
    for device in present if len(present) > 1 else ():
        right = trust.verdict(device, describe(device), trust.first_trial())
        try:
            if trust.passes(as_session(device), trust.first_trial()) if right is None else right:
                return device
        except ClgeomError:  # the error is raised where the device is used
            return device
    return present[0]


def forget_order() -> None:
    """Forget the order of the devices and the default device; both are determined again when needed."""
    _ranked.cache_clear()
    for unnamed in (None, ""):
        _sessions.pop(unnamed, None)
