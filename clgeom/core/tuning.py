"""The policy of a kernel on a device, looked up from specific to general.

A context's own policies come first (`override`), then the user's measurements (`clgeom.core.stored_policies`), then the
rows of the kernel's family (`clgeom.core.families`): that of part of the device's name, of its architecture, a GPU's
runtime, the kind, and "any", the safe default of every kernel.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clgeom.core import stored_policies
from clgeom.core.families import all_rows, require_shape, rows_of
from clgeom.core.policies import Policy, within_limits
from clgeom.core.profile import KINDS, RUNTIMES

if TYPE_CHECKING:
    import numpy as np

    from clgeom.core.profile import DeviceProfile

#: Keys of rows that are not part of a device's name.
GENERAL_KEYS = frozenset((*KINDS.values(), *(name for _, name in RUNTIMES), "any"))


class Overrides(dict[str, Policy]):
    """Policies that a context uses before all others, by kernel; `key` stands for them in the keys of caches."""

    def __init__(self, policies: Any = ()) -> None:
        super().__init__(policies)
        self.key = frozenset(self.items())


#: The policies that this context overrides.
overrides: contextvars.ContextVar[Overrides] = contextvars.ContextVar(
    "clgeom_policy_overrides",
    default=Overrides(),  # noqa: B039
)


def select(profile: DeviceProfile, kernel: str, dtype: np.dtype | None = None, n: int | None = None) -> Policy:
    """Return the policy of a kernel ("family/kernel") on a device, for `n` elements of a type, within limits."""
    if kernel in overrides.get():
        return overrides.get()[kernel]
    own = stored_policies.stored_policy(profile, kernel, dtype)
    return shipped_policy(profile, kernel, dtype, n) if own is None else within_limits(own.policy, profile)


def shipped_policy(profile: DeviceProfile, kernel: str, dtype: np.dtype | None = None, n: int | None = None) -> Policy:
    """Return the policy of a kernel by the rows of its family, within the device's limits."""
    rows = rows_of(kernel)
    if not rows:
        raise KeyError(f"the kernel {kernel} has no row in clgeom/{kernel.partition('/')[0]}/policies.py")
    policy = rows[find_row(profile, rows)[1]]
    if callable(policy):
        policy = policy(profile, dtype, n)
    return within_limits(policy, profile)


def find_row(profile: DeviceProfile, rows: Mapping[str, Any]) -> tuple[str, str]:
    """Return the step of the look-up, and the key, by which a device finds its row among those of a kernel."""
    architecture = profile.architecture
    for key in rows:
        if key not in GENERAL_KEYS and key != architecture and key in profile.name:
            return "device", key
    if architecture is not None and architecture in rows:
        return "architecture", architecture
    if profile.runtime in rows and not profile.is_cpu:
        return "vendor", profile.runtime
    if profile.kind in rows:
        return "kind", profile.kind
    return "default", "any"


def select_fitting(
    profile: DeviceProfile, kernel: str, dtype: np.dtype | None, local_bytes: Callable[[Any], int]
) -> Policy:
    """Return the policy of a kernel whose tiles are in local memory, halved until ``local_bytes(policy)`` fit there."""
    policy = select(profile, kernel, dtype)
    while local_bytes(policy) > profile.local_mem_bytes and policy.tile > 1:
        half = "wg_size" if policy.wg_size > 1 else "items_per_thread"
        policy = replace(policy, **{half: getattr(policy, half) // 2})
    return policy


def is_overridden(kernel: str | None = None) -> bool:
    """Return whether this context overrides policies, or that of a kernel."""
    return bool(overrides.get()) if kernel is None else kernel in overrides.get()


@contextlib.contextmanager
def override(policies: dict[str, Policy]) -> Iterator[None]:
    """Use these policies in this context; raise `InvalidInput` for shapes that a kernel does not have."""
    unknown = sorted(kernel for kernel in policies if not rows_of(kernel))
    if unknown:
        raise KeyError(f"no such kernel: {', '.join(unknown)}; known: {', '.join(sorted(all_rows()))}")
    for kernel, policy in policies.items():
        require_shape(kernel, policy)
    token = overrides.set(Overrides({**overrides.get(), **policies}))
    try:
        yield
    finally:
        overrides.reset(token)
