"""Shapes that kernels do not have: with them they would compute something else, in silence."""

from __future__ import annotations

import math

from clgeom.errors import InvalidInput
from clgeom.runtime.policies import Policy, TilePolicy, require_legal

#: The most items of a work-item: those of the sieve and of its hoods are the bits of a word.
MOST_ITEMS = {
    ("hull/sieve/sieve", "group"): 32,
    ("hull/sieve/tile_hoods", "group"): 32,
    ("region/arc/arc_hulls_blocks", "group"): 64,
}
#: What the number of items must be a multiple of, beside what `require_legal` knows.
MULTIPLES = {("region/arc/arc_hulls_blocks", "group"): 8}
#: Kernels that have as many groups as a device can hold, and so no group for each tile.
SOME_GROUPS = {("hull/batch/batch_hulls", "serial")}


def require_shape(kernel: str, policy: Policy) -> None:
    """Raise `InvalidInput` if a kernel has no such shape.

    Candidates of the tuner, policies of the store and of `clgeom.runtime.tuning.override` all come through here.

    Examples
    --------
    >>> from clgeom.runtime.limits import require_shape
    >>> from clgeom.runtime.policies import Policy
    >>> require_shape("hull/sieve/sieve", Policy("group", wg_size=256, items_per_thread=8))
    """
    require_legal(kernel, policy)
    shape, items = (kernel, policy.variant), policy.items_per_thread
    multiple, most = MULTIPLES.get(shape, 1), MOST_ITEMS.get(shape, math.inf)
    if items % multiple or items > most:
        allowed = f"a multiple of {multiple}, " if multiple > 1 else ""
        raise InvalidInput(
            f"The items_per_thread of {kernel} must be {allowed}at most {most} in the variant {policy.variant!r}. "
            f"Got {items} instead."
        )
    if shape in SOME_GROUPS and not policy.groups_per_unit:
        raise InvalidInput(f"The groups_per_unit of {kernel} must be at least 1. Got 0 instead.")
    if isinstance(policy, TilePolicy) and policy.variant == "group" and policy.strips != 1:
        raise InvalidInput(f"The strips of {kernel} must be 1 in the variant 'group'. Got {policy.strips} instead.")
