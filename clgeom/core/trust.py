"""Trials: checks that a device passes before it uses the kernels of a family.

Some OpenCL drivers compute wrong results without an error. The first time that a session needs a kernel, its trial
runs: a check (`clgeom.core.checks`) of public functions on small adversarial input with known answers. A device that
fails is refused with a `DeviceError`, and is the last choice for the default device. The verdict is noted in the user's
cache for this device, driver and kernels, so that later processes only look it up.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom import caches, quirks
from clgeom.core import sources
from clgeom.core.cache import Cache
from clgeom.core.checks import TYPES, Check
from clgeom.core.families import all_checks, checks_of, rows_of
from clgeom.core.stored_policies import stored_by_itemsize
from clgeom.errors import ClgeomError, DeviceError, InvalidInput

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.build import Key
    from clgeom.core.device import Session
    from clgeom.core.profile import DeviceProfile

#: The family and the name of the trial that comes before all others.
FIRST = "primitives", "primitives.long_loops"
NOTE = "trials"
#: Exceptions from these packages that may follow from wrong results. Others do not count: too deep recursion, missing
#: files and modules, the end of the interpreter.
FROM_WRONG_RESULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
OURS = {"clgeom", "numpy", "pyopencl", "mako", *sys.stdlib_module_names}

#: Of this process: whether all results of a trial were correct.
_verdicts: dict[tuple[cl.Device, Check, np.dtype | None], bool] = {}
_trying = threading.local()


def require(session: Session, key: Key) -> None:
    """Raise `DeviceError` unless the session's device passes the trials for a kernel with this `Step.key`."""
    if getattr(_trying, "now", False):
        return
    needed = _needed(key)
    if needed <= session.trusted:
        return
    with session.lock:
        for trial, dtype in sorted(needed - session.trusted, key=lambda one: one[0] is not first_trial()):
            if not passes(session, trial, dtype):
                raise DeviceError(_refusal(session, trial))
            session.trusted.add((trial, dtype))


def _needed(key: Key) -> set[tuple[Check, np.dtype | None]]:
    """Return the trials, with the type of coordinates, for a kernel."""
    kernel, params = key[0], dict(key[1])
    trial = params.get("payload") and _trials_of(_family(kernel)).get(f"{kernel} payload") or _trial_of(kernel)
    first = first_trial(), None
    return {first} if trial is None else {first, (trial, TYPES.get(params.get("real", "")) if trial.by_type else None)}


@functools.cache
def first_trial() -> Check:
    """Return the trial that comes before all others."""
    family, name = FIRST
    return next(one for one in checks_of(family) if one.name == name)


def trials() -> list[Check]:
    """Return the trials of all families."""
    return [one for one in all_checks() if one.before]


def passes(session: Session, trial: Check, dtype: np.dtype | None = None) -> bool:
    """Return whether the session's device passes a trial: known in this process, noted in the cache, or tried now."""
    profile = session.own_profile
    right = verdict(session.device, profile, trial, dtype)
    if right is None:
        right = _verdicts[session.device, trial, dtype] = _try(session.unlimited(), trial, dtype)  # the device is tried
        _keep(profile, _name(trial, dtype), [_digest(trial, profile), right])
        if not right:
            session.rank_again()
    return right


def verdict(device: cl.Device, profile: DeviceProfile, trial: Check, dtype: np.dtype | None = None) -> bool | None:
    """Return whether a device has passed a trial, in this process or by the cache's note; None if not tried."""
    known = device, trial, dtype
    if known not in _verdicts:
        noted = _noted(profile).get(_name(trial, dtype))
        if not noted or noted[0] != _digest(trial, profile):
            return None
        _verdicts[known] = noted[1]
    return _verdicts[known]


def holds(session: Session, name: str, kernel: str, ask: Callable[[], bool]) -> bool:
    """Return whether ``ask()`` is true for a kernel on this device: if noted in the cache, else asked and noted."""
    if session.profile != session.own_profile:
        return contextvars.Context().run(ask)
    digest = _digest_of([kernel], session.profile)
    right = _noted(session.profile).get(name) == [digest, True]
    if not right and contextvars.Context().run(ask):
        _keep(session.profile, name, [digest, True])
        right = True
    return right


def is_refused(profile: DeviceProfile) -> bool:
    """Return whether a device has failed a trial of the current kernels."""
    failed = {name.split()[0]: digest for name, (digest, right) in _noted(profile).items() if not right}
    return bool(failed) and any(_digest(one, profile) == failed[one.name] for one in trials() if one.name in failed)


def noted_verdicts(profile: DeviceProfile) -> dict[str, bool]:
    """Return the cache's verdicts on a device by the name of the trial, for the current kernels."""
    digests = {trial.name: _digest(trial, profile) for trial in trials()}
    noted = _noted(profile)
    return {name: right for name, (digest, right) in noted.items() if digests.get(name.split()[0]) == digest}


def _try(session: Session, trial: Check, dtype: np.dtype | None) -> bool:
    """Run a trial. It fails only if it fails twice, by a wrong result or by an error that may follow from one.

    Errors of the device, missing memory, and exceptions of other code (a signal handler) are no verdict. NumPy may turn
    such an exception into False, as `numpy.array_equal` does.
    """
    for _ in range(2):
        try:
            _attempt(session, trial, dtype)
            return True
        except InvalidInput:
            continue
        except (ClgeomError, MemoryError):
            raise
        except FROM_WRONG_RESULTS as error:
            if not _is_ours(error):
                raise
    return False


def _is_ours(error: BaseException) -> bool:
    """Return whether clgeom or a package that it calls raised an exception, and no code that interrupted it."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_globals.get("__name__", "").split(".")[0] in OURS


def _attempt(session: Session, trial: Check, dtype: np.dtype | None) -> None:
    # kernels of a trial are not kept: those of other families among them have not passed theirs
    kernels = session.thread_cache
    try:
        _trying.now, session.threads.cache = True, Cache()
        # without the caller's policies: verdicts are about those of the device
        contextvars.Context().run(trial.run, session, dtype)
    finally:
        _trying.now, session.threads.cache = False, kernels


def describe_driver(profile: DeviceProfile) -> str:
    """Return the device and driver of a verdict, as text. Equal devices have verdicts of their own."""
    number = f", number {profile.number}" if profile.number else ""
    return f"{profile.name}, {profile.platform} {profile.version}, driver {profile.driver}{number}"


def _name(trial: Check, dtype: np.dtype | None = None) -> str:
    return f"{trial.name} {dtype.name}" if dtype else trial.name


def _digest(trial: Check, profile: DeviceProfile) -> str:
    """Return a digest of a trial's kernels, their headers and their policies, and of options for all builds."""
    return _digest_of(_kernels_of(trial), profile)


def _digest_of(kernels: Iterable[str], profile: DeviceProfile) -> str:
    digest = hashlib.sha256(importlib.import_module("clgeom").__version__.encode())
    for name in filter(os.environ.get, quirks.BUILD_VARIABLES):
        digest.update(os.fsencode(f"{name}={os.environ[name]}"))
    for kernel in kernels:
        rows = [(key, getattr(row, "__qualname__", row)) for key, row in rows_of(kernel).items()]
        own = [(itemsize, one.policy) for itemsize, one in stored_by_itemsize(profile, kernel).items()]
        digest.update(
            repr((sources.digest(kernel), rows, own)).encode() + quirks.targeted(profile, kernel, "").encode()
        )
    return digest.hexdigest()[:32]


def _kernels_of(trial: Check) -> list[str]:
    """Return the kernels that a device uses only after a trial."""
    named = {kernel.removesuffix(" payload") for kernel in trial.before}
    of_family = (kernel for kernel in sources.kernels() if _family(kernel) == trial.family)
    return [kernel for kernel in of_family if kernel in named or _trial_of(kernel) is trial]


@functools.cache
def _trials_of(family: str) -> dict[str, Check]:
    """Return the trials of a family by what a device uses after them only."""
    return {name: one for one in checks_of(family) for name in one.before}


def _trial_of(kernel: str) -> Check | None:
    """Return the trial of a kernel, or of the innermost of its folders that has one."""
    by_name = _trials_of(_family(kernel))
    while kernel not in by_name and "/" in kernel:
        kernel = kernel.rpartition("/")[0]
    return by_name.get(kernel)


def _family(kernel: str) -> str:
    return kernel.partition("/")[0]


def _noted(profile: DeviceProfile) -> dict[str, list[Any]]:
    """Verdicts on a device by the name of the trial: (digest, whether all results were correct)."""
    found = caches.noted(NOTE).get(describe_driver(profile))
    if not isinstance(found, dict):
        return {}
    return {
        name: noted
        for name, noted in found.items()
        if name.split() and isinstance(noted, list) and len(noted) == 2 and isinstance(noted[1], bool)
    }


def _keep(profile: DeviceProfile, name: str, verdict: list[Any]) -> None:
    noted = {**_noted(profile), name: verdict}
    caches.note(NOTE, {**caches.noted(NOTE), describe_driver(profile): noted})


def _refusal(session: Session, trial: Check) -> str:
    profile = session.profile
    others = [f"{other.name} ({other.platform})" for other in session.others()]
    present = f"present: {'; '.join(others)}" if others else "there is no other"
    return (
        f"The device {profile.name} ({profile.platform}, driver {profile.driver}) computes wrongly: it failed the "
        f"trial '{trial.function.__name__}' of clgeom.{trial.family}, whose answer is known. Choose another device "
        f"with the 'device' parameter or the environment variable CLGEOM_DEVICE ({present}), or another driver. "
        f"{caches.folder() / NOTE}.json has noted it."
    )
