"""Which policy each phase of a call gets on a device, where it is from, and what was measured.

>>> import clgeom
>>> from clgeom.tuner.explain import explain
>>> session = clgeom.default_session()
>>> hull = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)], device=session, profile=True)
>>> [(choice.kernel, choice.step, choice.key) for choice in explain(session.profile, hull.phases)]
[('hull/sieve/tile_hull', 'default', 'any')]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from clgeom.core import sources
from clgeom.core.families import all_rows, all_spaces, rows_of
from clgeom.core.plan import Phase
from clgeom.core.policies import Policy
from clgeom.core.profile import DeviceProfile
from clgeom.core.stored_policies import all_stored, stored_by_itemsize
from clgeom.core.tuning import find_row, is_overridden, select, shipped_policy

#: The steps of the look-up, in order, and what has a policy there.
STEPS = {
    "override": "the caller, by clgeom.core.tuning.override",
    "measured": "measured on this machine by clgeom tune",
    "device": "shipped, for part of the device's name",
    "architecture": "shipped, for the architecture",
    "vendor": "shipped, for the runtime",
    "kind": "shipped, for CPUs, GPUs or accelerators",
    "default": "shipped, for all devices",
    "fixed": "the algorithm itself, which has only this shape",
}
#: What a policy is based on, in words.
HERE, THERE, COMPUTED, GUESS = "measured here", "measured on that device", "computed from resources", "guess"
#: The advice for a device that is unmeasured.
OFFER = (
    "clgeom has no measured work-group sizes for this GPU. 'clgeom tune --quick' tunes the kernels that matter most."
)


@dataclasses.dataclass(frozen=True)
class Choice:
    """The policy of a kernel ("family/kernel"), and the step of the look-up that gave it."""

    kernel: str
    policy: Policy  #: with which the kernel is launched; a plan may shrink that of the row to fit in local memory
    step: str  #: a key of `STEPS`
    key: str | None = None  #: of the row; None where there is no row
    basis: str = GUESS  #: what the policy is based on, in words; see :doc:`/explanation/policies`
    #: Milliseconds, case and date of a policy of ``clgeom tune``; else empty.
    measured: dict[str, Any] = dataclasses.field(default_factory=dict)
    seconds: float | None = None  #: time of the kernel in the call; None where the call was not profiled

    def asdict(self) -> dict[str, Any]:
        """Return the choice as plain values, ready for JSON."""
        return {**vars(self), "policy": plain_policy(self.policy)}


def plain_policy(policy: Policy) -> dict[str, Any]:
    """Return the fields of a policy and its class, for JSON."""
    return {"class": type(policy).__name__, **dataclasses.asdict(policy)}


def explain(profile: DeviceProfile, phases: Iterable[Phase | str]) -> list[Choice]:
    """Return how each phase of a call came to its policy on a device.

    Parameters
    ----------
    profile : DeviceProfile
    phases : iterable of Phase or str
        Phases of a result, or names of kernels as "family/kernel".

    Returns
    -------
    list of Choice
        One for each kernel, policy and size of a type, in the order of their first launches; the times of several
        launches are added.
    """
    choices: dict[tuple[str, Policy, int | None], Choice] = {}
    for phase in phases:
        key: tuple[str, Policy, int | None]
        if isinstance(phase, str):
            key, seconds = (phase, select(profile, phase), None), None
        else:
            key, seconds = (sources.kernels_by_name()[phase.name], phase.policy, phase.itemsize), phase.seconds
        known = choices.get(key)
        if known is None:
            choices[key] = _choice(profile, *key, seconds)
        elif seconds is not None:
            choices[key] = dataclasses.replace(known, seconds=seconds + (known.seconds or 0))
    return list(choices.values())


def _choice(profile: DeviceProfile, kernel: str, policy: Policy, itemsize: int | None, seconds: float | None) -> Choice:
    if is_overridden(kernel):
        return Choice(kernel, policy, "override", basis="the caller", seconds=seconds)
    if not rows_of(kernel):
        return Choice(kernel, policy, "fixed", basis="the algorithm", seconds=seconds)
    stored = stored_by_itemsize(profile, kernel)
    if itemsize is not None:  # the type that the policy was selected for
        one = stored.get(itemsize) or stored.get(None)
        stored = {None: one} if one else {}
    same = [one for one in stored.values() if one.policy == policy]
    if not same and (None in stored or policy != shipped_policy(profile, kernel)):  # shrunk by its plan
        same = [stored[None]] if None in stored else list(stored.values())
    if same:
        return Choice(kernel, policy, "measured", basis=HERE, measured=same[0].measured, seconds=seconds)
    step, key = find_row(profile, rows_of(kernel))
    return Choice(kernel, policy, step, key, basis=_basis(profile, kernel, step, key), seconds=seconds)


def _basis(profile: DeviceProfile, kernel: str, step: str, key: str) -> str:
    """Return what a shipped row is based on, in words."""
    if step == "vendor" and key in ("amd", "intel"):
        return COMPUTED
    # kernels without shapes to try have rows that nobody has compared with others
    space = all_spaces().get(kernel)
    tuned = space is not None and bool(space.products(profile))
    has_tuned = profile.architecture == "sm_90" or (profile.is_cpu and profile.runtime == "pocl")
    return THERE if step in ("device", "architecture") or (tuned and has_tuned) else GUESS


def is_unmeasured(profile: DeviceProfile) -> bool:
    """Return whether a device is a GPU without rows of its name or architecture and without stored policies."""
    if profile.kind != "gpu":
        return False
    steps = {find_row(profile, rows)[0] for rows in all_rows().values()}
    return steps.isdisjoint({"device", "architecture"}) and not all_stored(profile)
