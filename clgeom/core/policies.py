"""Work-group policies: the shape of a launch on a device. A policy changes speed, never results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from clgeom.errors import InvalidInput

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: Most items of a work-item, and groups of a compute unit: more are no shape but a mistake.
MOST_ITEMS, MOST_GROUPS = 1 << 24, 1 << 24
#: Multiples of four, for kernels that take items by vectors of four.
FOURS = range(4, MOST_ITEMS + 1, 4)


@dataclass(frozen=True)
class Policy:
    """The shape of one phase (one kernel) on one kind of device.

    Parameters
    ----------
    variant : {"group", "serial"}
        "group": the work-items of a group share a tile (GPUs). "serial": one work-item walks a tile alone with a
        vectorisable inner loop (CPUs); `wg_size` is then 1.
    wg_size : int
        Work-items per group, a power of two.
    items_per_thread : int
        Elements that a work-item takes of each tile.
    groups_per_unit : int
        Groups launched per compute unit, each walking its share of the tiles; 0 launches one group per tile.
    """

    #: Whether groups may have three times a power of two work-items, too.
    THREES: ClassVar[bool] = False

    variant: str = "group"
    wg_size: int = 256
    items_per_thread: int = 1
    groups_per_unit: int = 0

    def __post_init__(self) -> None:
        if self.variant not in ("group", "serial"):
            raise ValueError(f"variant must be 'group' or 'serial', not {self.variant!r}")
        size = self.wg_size // 3 if self.THREES and self.wg_size % 96 == 0 else self.wg_size
        if size < 1 or size & (size - 1):
            also = ", or three times one from 32 on" if self.THREES else ""
            raise ValueError(f"wg_size must be a power of two{also}, not {self.wg_size}")
        if not (1 <= self.items_per_thread <= MOST_ITEMS and 0 <= self.groups_per_unit <= MOST_GROUPS):
            raise ValueError(
                f"items_per_thread must be in 1 .. {MOST_ITEMS} and groups_per_unit in 0 .. {MOST_GROUPS}, "
                f"not {self.items_per_thread} and {self.groups_per_unit}"
            )
        if self.variant == "serial" and self.wg_size != 1:
            raise ValueError(f"the serial variant has groups of one work-item, not {self.wg_size}")

    @property
    def tile(self) -> int:
        """Elements per tile."""
        return self.wg_size * self.items_per_thread

    def groups(self, tiles: int, compute_units: int) -> int:
        """Return the number of groups to launch for so many tiles."""
        if not self.groups_per_unit:
            return max(tiles, 1)
        return max(min(tiles, self.groups_per_unit * compute_units), 1)

    def parameters(self) -> dict[str, Any]:
        """Return the template parameters of the policy."""
        hidden = ("groups_per_unit", "launches")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in hidden}


#: The shapes of a kernel: by key a policy, or a function ``(profile, dtype, n)`` that returns one. A key is part of a
#: device's name, an architecture ("sm_90", "gfx1100", "ip_12.55"), the runtime of a GPU ("nvidia", "amd", "intel"), a
#: kind ("gpu", "cpu") or "any".
Rows = dict[str, Any]


def by_wave(of_64: Policy, of_32: Policy) -> Callable[..., Policy]:
    """Return the row of an AMD GPU: a policy for waves of 64 work-items, and one for waves of 32."""
    return lambda profile, dtype, n: of_64 if profile.has_wide_waves else of_32


#: Rows of kernels whose work-items take an element each; on CPUs a share of the elements.
ELEMENTWISE: Rows = {
    "cpu": Policy("serial", wg_size=1, items_per_thread=512, groups_per_unit=4),
    "any": Policy("group", wg_size=256),
}
#: Rows of kernels whose groups take tiles of a fixed size.
TILEWISE: Rows = {"cpu": Policy("serial", wg_size=1, groups_per_unit=4), "any": Policy("group", wg_size=256)}


@dataclass(frozen=True)
class Limit:
    """The values that a kernel has for a field, in `words` as "at most 32", in one `variant` or both."""

    field: str
    allowed: Any
    words: str
    variant: str | None = None

    def require(self, kernel: str, policy: Policy) -> None:
        """Raise `InvalidInput` if the policy of a kernel is beyond the limit."""
        found = getattr(policy, self.field)
        if self.variant in (None, policy.variant) and found not in self.allowed:
            of_variant = f" in the variant {self.variant!r}" if self.variant else ""
            raise InvalidInput(f"The {self.field} of {kernel} must be {self.words}{of_variant}. Got {found} instead.")


def within_limits(policy: Policy, profile: DeviceProfile) -> Policy:
    """Return the policy with no more work-items per group than the device allows."""
    largest = 1 << (profile.max_wg_size.bit_length() - 1)
    return policy if policy.wg_size <= largest else replace(policy, wg_size=largest)


def ceil_div(a: int, b: int) -> int:
    """a / b rounded up, in integers."""
    return -(-a // b)
