"""Shapes that kernels do not have: with them they would compute something else, in silence."""

from __future__ import annotations

from clgeom.core.policies import Policy, TilePolicy, require_legal
from clgeom.errors import InvalidInput

#: The most items of a work-item: they are the bits of a word.
MOST_ITEMS = {("hull/sieve/sieve", "group"): 32, ("hull/sieve/tile_hoods", "group"): 32}
#: Kernels whose work-items take runs of up to eight items, in pairs.
RUNS_OF_EIGHT = {("region/arc/arc_hulls_blocks", "group")}
#: Kernels that have as many groups as a device can hold, and so no group for each tile.
SOME_GROUPS = {("hull/batch/batch_hulls", "serial")}


def require_shape(kernel: str, policy: Policy) -> None:
    """Raise `InvalidInput` if a kernel has no such shape.

    Candidates of the tuner, policies of the store and of `clgeom.core.tuning.override` all come through here.

    Examples
    --------
    >>> from clgeom.core.limits import require_shape
    >>> from clgeom.core.policies import Policy
    >>> require_shape("hull/sieve/sieve", Policy("group", wg_size=256, items_per_thread=8))
    """
    require_legal(kernel, policy)
    shape, items = (kernel, policy.variant), policy.items_per_thread
    if items > MOST_ITEMS.get(shape, items):
        raise InvalidInput(
            f"The items_per_thread of {kernel} must be at most {MOST_ITEMS[shape]}. Got {items} instead."
        )
    if shape in RUNS_OF_EIGHT and items not in (2, 4, *range(8, 65, 8)):
        raise InvalidInput(
            f"The items_per_thread of {kernel} must be 2, 4 or a multiple of 8, at most 64. Got {items} instead."
        )
    if shape in SOME_GROUPS and not policy.groups_per_unit:
        raise InvalidInput(f"The groups_per_unit of {kernel} must be at least 1. Got 0 instead.")
    if isinstance(policy, TilePolicy) and policy.variant == "group" and policy.strips != 1:
        raise InvalidInput(f"The strips of {kernel} must be 1 in the variant 'group'. Got {policy.strips} instead.")
