"""Trials: tests of a device with known answers, before it uses the kernels of a family.

Some OpenCL drivers compute wrong results without an error. The first time that a session needs a kernel of a family,
the family's trial runs: its public functions on small adversarial input with known answers. A device that fails is
refused with a `DeviceError`, and is the last choice for the default device. The verdict is noted in the user's cache
for this device, driver and kernels, so that later processes only look it up.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import importlib
import os
import sys
import threading

import numpy as np

from clgeom import caches
from clgeom.core import sources
from clgeom.core.cache import Cache
from clgeom.core.families import rows_of
from clgeom.core.stored_policies import stored_of
from clgeom.errors import ClgeomError, DeviceError, InvalidInput
from clgeom.quirks import BUILD_VARIABLES

#: The trial of a family or of a part of it, as (module, function), and its kernels: names of families, or of kernels,
#: which are looked up first. "kernel payload" is a kernel that moves a payload, by its parameter of that name. A trial
#: is a function of a session and of the type of coordinates, and returns whether all results were correct. Trials are
#: imported by name when they run, so this module does not import the layers above.
TRIALS = {
    ("clgeom.primitives.known", "long_loops"): ("primitives/long_loops",),  # and before all others
    ("clgeom.primitives.known", "scans"): ("primitives",),
    ("clgeom.hull.known", "few_points"): ("hull/sieve/tile_hull",),
    ("clgeom.hull.known", "sieve"): ("hull/sieve", "hull/lexsort"),
    ("clgeom.hull.known", "hoods"): ("hull/wagener",),
    ("clgeom.hull.known", "octagon"): ("hull/heaphull_label",),
    ("clgeom.hull.known", "batches"): ("hull/batch",),
    ("clgeom.sorting.known", "radix"): ("sorting/radix",),
    ("clgeom.sorting.known", "payloads"): (
        "sorting/radix/radix_scatter payload",
        "sorting/radix/radix_onesweep payload",
    ),
    ("clgeom.sorting.known", "narrow"): ("sorting/radix/radix_values", "sorting/radix/radix_runs"),
    ("clgeom.sorting.known", "segments"): ("sorting/radix/radix_segments",),
    ("clgeom.sorting.known", "rows"): ("sorting/row_indices",),
    ("clgeom.sorting.known", "takes"): ("sorting/take_rows",),
    ("clgeom.sorting.known", "uniques"): ("sorting/unique_count", "sorting/unique_emit", "sorting/unique_runs"),
    ("clgeom.sorting.known", "firsts"): ("sorting/select_digits", "sorting/select_count", "sorting/select_emit"),
    ("clgeom.sorting.known", "searches"): ("sorting/search_sorted",),
    ("clgeom.sorting.known", "bins"): ("sorting/bin_counts", "sorting/bin_sums", "sorting/key_range"),
    ("clgeom.sorting.known", "shellsorts"): ("sorting/shellsort",),
    ("clgeom.region.known", "points"): ("region/arc",),
    ("clgeom.region.known", "raster"): ("region/coverage",),
    ("clgeom.region.known", "rings"): ("region/rings",),
    ("clgeom.radio.known", "free_space_loss"): ("radio",),
    ("clgeom.sequences.known", "alignments"): ("sequences",),
    ("clgeom.sequences.known", "pairs"): ("sequences/pairs_bits", "sequences/pairs_letters"),
    ("clgeom.sequences.known", "bits"): (
        "sequences/bits_masks",
        "sequences/bits_sweep",
        "sequences/bits_tiles",
        "sequences/bits_traceback",
    ),
    ("clgeom.dp.known", "stages"): ("dp",),
    ("clgeom.dp.known", "tiles"): ("dp/paths/tile_sweep",),
    ("clgeom.dp.known", "rows"): ("dp/paths/rows_direct", "dp/paths/rows_fused"),
    ("clgeom.dp.known", "splits"): ("dp/paths/split_empty", "dp/paths/split_finish", "dp/paths/split_product"),
    ("clgeom.dp.known", "tables"): ("dp/batch",),
    ("clgeom.dp.known", "cells"): (
        "dp/table/reduce_cells",
        "dp/table/reduce_across",
        "dp/table/select_cells",
        "dp/table/take_cells",
    ),
}
ALWAYS = next(iter(TRIALS))
_BY_KERNEL = {kernel: trial for trial, kernels in TRIALS.items() for kernel in kernels}
#: Trials that run for each type of coordinates, since kernels are built for one type.
TYPED = ("clgeom.hull.known", "clgeom.region.known")
TYPES = {"float": np.dtype(np.float32), "double": np.dtype(np.float64), "int": np.dtype(np.int32)}
NOTE = "trials"
#: Exceptions from these packages that may follow from wrong results. Others do not count: too deep recursion, missing
#: files and modules, the end of the interpreter.
FROM_WRONG_RESULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
OURS = {"clgeom", "numpy", "pyopencl", "mako", *sys.stdlib_module_names}


_verdicts: dict = {}  # of this process: (device, trial, type) -> whether all results were correct
_trying = threading.local()


def require(session, key: tuple) -> None:
    """Raise `DeviceError` unless the session's device passes the trials for a kernel with this `Step.key`."""
    if getattr(_trying, "now", False):
        return
    needed = _needed(key)
    if needed <= session.trusted:
        return
    with session.lock:
        for trial, dtype in sorted(needed - session.trusted, key=lambda one: one[0] != ALWAYS):
            if not passes(session, trial, dtype):
                raise DeviceError(_refusal(session, trial))
            session.trusted.add((trial, dtype))


def _needed(key):
    """The trials, with the type of coordinates, for a kernel."""
    kernel, params = key[0], dict(key[1])
    trial = params.get("payload") and _BY_KERNEL.get(f"{kernel} payload") or _trial_of(kernel)
    real = TYPES.get(params.get("real")) if trial and trial[0] in TYPED else None
    return {(ALWAYS, None)} if trial is None else {(ALWAYS, None), (trial, real)}


def passes(session, trial, dtype=None) -> bool:
    """Whether the session's device passes a trial: known in this process, noted in the cache, or tried now."""
    profile = session.own_profile
    right = verdict(session.device, profile, trial, dtype)
    if right is None:
        right = _verdicts[session.device, trial, dtype] = _try(session.unlimited(), trial, dtype)  # the device is tried
        _keep(profile, _name(trial, dtype), [_digest(trial, profile), right])
        if not right:
            session.rank_again()
    return right


def verdict(device, profile, trial, dtype=None) -> bool | None:
    """Whether a device has passed a trial, in this process or by the cache's note; None where it was not tried."""
    known = device, trial, dtype
    if known not in _verdicts:
        noted = _noted(profile).get(_name(trial, dtype))
        if not noted or noted[0] != _digest(trial, profile):
            return None
        _verdicts[known] = noted[1]
    return _verdicts[known]


def holds(session, name: str, kernel: str, ask) -> bool:
    """Whether ``ask()`` is true for a kernel on this device: as noted in the cache, or asked now.

    Only True is noted. Sessions with imposed limits always ask. As in trials, the caller's policies are not in force.
    """
    if session.profile != session.own_profile:
        return contextvars.Context().run(ask)
    digest = _digest_of([kernel], session.profile)
    right = _noted(session.profile).get(name) == [digest, True]
    if not right and contextvars.Context().run(ask):
        _keep(session.profile, name, [digest, True])
        right = True
    return right


def is_refused(profile) -> bool:
    """Whether a device has failed a trial of the current kernels."""
    failed = {name.split()[0]: digest for name, (digest, right) in _noted(profile).items() if not right}
    return any(_digest(trial, profile) == failed[_name(trial)] for trial in TRIALS if _name(trial) in failed)


def noted_verdicts(profile) -> dict[str, bool]:
    """The cache's verdicts on a device by the name of the trial, for the current kernels."""
    digests = {_name(trial): _digest(trial, profile) for trial in TRIALS}
    noted = _noted(profile)
    return {name: right for name, (digest, right) in noted.items() if digests.get(name.split()[0]) == digest}


def _try(session, trial, dtype) -> bool:
    """Run a trial. It fails only if it fails twice, by a wrong result or by an error that may follow from one.

    Errors of the device, missing memory, and exceptions of other code (a signal handler) are no verdict. NumPy may turn
    such an exception into False, as `numpy.array_equal` does.
    """
    for _ in range(2):
        try:
            if _attempt(session, trial, dtype):
                return True
        except InvalidInput:
            continue
        except (ClgeomError, MemoryError):
            raise
        except FROM_WRONG_RESULTS as error:
            if not _of_ours(error):
                raise
    return False


def _of_ours(error) -> bool:
    """Whether an exception was raised by clgeom or by a package that it calls, not by code that interrupted it."""
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_globals.get("__name__", "").split(".")[0] in OURS


def _attempt(session, trial, dtype) -> bool:
    module, function = trial
    check = getattr(importlib.import_module(module), function)
    # kernels of a trial are not kept: those of other families among them have not passed theirs
    kernels = session.thread_cache
    try:
        _trying.now, session.threads.cache = True, Cache()
        # without the caller's policies: verdicts are about those of the device
        return bool(contextvars.Context().run(check, session, dtype or TYPES["float"]))
    finally:
        _trying.now, session.threads.cache = False, kernels


def describe_driver(profile) -> str:
    """The device and driver of a verdict, as text. Equal devices have verdicts of their own."""
    number = f", number {profile.number}" if profile.number else ""
    return f"{profile.name}, {profile.platform} {profile.version}, driver {profile.driver}{number}"


def _name(trial, dtype=None):
    return f"{trial[0]}.{trial[1]}" + (f" {dtype.name}" if dtype else "")


def _digest(trial, profile) -> str:
    """A digest of a trial's kernels, their headers and their policies, and of options for all builds."""
    return _digest_of(_kernels_of(trial), profile)


def _digest_of(kernels, profile) -> str:
    digest = hashlib.sha256(importlib.import_module("clgeom").__version__.encode())
    for name in filter(os.environ.get, BUILD_VARIABLES):
        digest.update(os.fsencode(f"{name}={os.environ[name]}"))
    for kernel in kernels:
        rows = [(key, getattr(row, "__qualname__", row)) for key, row in rows_of(kernel).items()]
        own = [(itemsize, one.policy) for itemsize, one in stored_of(profile, kernel).items()]
        digest.update(repr((sources.digest(kernel), rows, own)).encode())
    return digest.hexdigest()[:32]


def _kernels_of(trial) -> list:
    named = {kernel.removesuffix(" payload") for kernel in TRIALS[trial]}
    return [kernel for kernel in _all_kernels() if kernel in named or _trial_of(kernel) == trial]


def _trial_of(kernel):
    """The trial of a kernel, or of the innermost of its folders that has one."""
    while kernel not in _BY_KERNEL and "/" in kernel:
        kernel = kernel.rpartition("/")[0]
    return _BY_KERNEL.get(kernel)


@functools.cache
def _all_kernels():
    return sources.kernels()


def _noted(profile) -> dict:
    """Verdicts on a device by the name of the trial: (digest, whether all results were correct)."""
    found = caches.noted(NOTE).get(describe_driver(profile))
    if not isinstance(found, dict):
        return {}
    return {
        name: noted
        for name, noted in found.items()
        if name.split() and isinstance(noted, list) and len(noted) == 2 and isinstance(noted[1], bool)
    }


def _keep(profile, name, verdict):
    noted = {**_noted(profile), name: verdict}
    caches.note(NOTE, {**caches.noted(NOTE), describe_driver(profile): noted})


def _refusal(session, trial):
    profile = session.profile
    others = [f"{other.name} ({other.platform})" for other in session.others()]
    present = f"present: {'; '.join(others)}" if others else "there is no other"
    return (
        f"The device {profile.name} ({profile.platform}, driver {profile.driver}) computes wrongly: it failed the "
        f"trial '{trial[1]}' of {trial[0].removesuffix('.known')}, whose answer is known. Choose another device with "
        f"the 'device' parameter or the environment variable CLGEOM_DEVICE ({present}), or another driver. "
        f"{caches.folder() / NOTE}.json has noted it."
    )
