"""Results of a Shellsort."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic

from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import counted
from clgeom.intake.device_arrays import fetched, is_device_array
from clgeom.intake.typing import ArrayT, NDArray
from clgeom.markup import card, table


@dataclass(frozen=True)
class ShellPhase:
    """Shape, counts and time of one phase.

    Parameters
    ----------
    gaps : tuple of int
        The gap of the phase; several where "auto" runs the last ones in one launch.
    groups, items_per_group : int
        Work-groups, and the work-items of each that have elements (keys) to sort.
    elements_per_item : float
        Mean number of elements that a work-item sorts.
    passes : float or None
        Mean number of times that a group sorted its elements. With ``stats=True``; always 1 for "auto".
    reads, writes : int or None
        Keys read from and written to global memory, in all. With ``stats=True``; "auto" counts
        the keys that its launches load and store, not accesses to cached keys.
    halo : int or None
        Rows around each window that "auto" proved to be enough; None where h-subsequences are sorted whole.
    kernel : str
    seconds : float or None
        Time on the device, with ``profile=True``.
    """

    gaps: tuple[int, ...]
    groups: int
    items_per_group: int
    elements_per_item: float
    passes: float | None = None
    reads: int | None = None
    writes: int | None = None
    halo: int | None = None
    kernel: str = ""
    seconds: float | None = None

    @property
    def gap(self) -> int:
        """The (first) gap."""
        return self.gaps[0]

    @property
    def items(self) -> int:
        """Work-items in all."""
        return self.groups * self.items_per_group

    def asdict(self) -> dict[str, Any]:
        """Return the phase as plain values, ready for JSON."""
        return {**vars(self), "gaps": list(self.gaps)}


@keeps_subnormals
@dataclass(frozen=True)
class ShellsortResult(Generic[ArrayT]):
    """A sorted array, and the phases that sorted it.

    Parameters
    ----------
    keys : ndarray or pyopencl.array.Array, shape (n,)
        The sorted keys, of the given type, on the host or on the device as given.
    variant : str
    gaps : tuple of int
        All gaps used, largest first.
    is_sorted : bool
        Whether `keys` is in order: always, but for variants B and C.
    phases : tuple of ShellPhase
    stages : tuple of ndarray, or None
        With trace=True, the keys before the first phase and after each: ``stages[i + 1]`` is what ``phases[i]`` left.
        On the host.

    Examples
    --------
    >>> import clgeom
    >>> result = clgeom.shellsort([5, 3, 1, 4], variant="D", gaps=[2, 1], trace=True)
    >>> result.keys.tolist(), result.is_sorted, [phase.gap for phase in result.phases]
    ([1, 3, 4, 5], True, [2, 1])
    >>> [keys.tolist() for keys in result.stages]
    [[5, 3, 1, 4], [1, 3, 5, 4], [1, 3, 4, 5]]
    """

    keys: ArrayT
    variant: str
    gaps: tuple[int, ...]
    is_sorted: bool
    phases: tuple[ShellPhase, ...] = field(default=())
    stages: tuple[NDArray[Any], ...] | None = None

    def __getstate__(self) -> dict[str, Any]:  # arrays on a device live in their own process
        return {**self.__dict__, "keys": fetched(self.keys) if is_device_array(self.keys) else self.keys}

    def _repr_html_(self) -> str:
        facts = [("keys", f"{len(self.keys):,}"), ("type", self.keys.dtype), ("variant", self.variant)]
        facts += [("sorted", "yes" if self.is_sorted else "no")]
        if self.seconds is not None:
            facts.append(("time on the device", f"{self.seconds * 1e3:.4g} ms"))
        few = self.keys[:8]
        few = fetched(few) if is_device_array(few) else few
        numbers = few.dtype.kind in "iuf"
        facts.append(("first keys", ", ".join(f"{key:.6g}" if numbers else str(key) for key in few)))
        rows = [
            (
                ", ".join(map(str, phase.gaps)),
                f"{phase.groups:,}",
                f"{phase.items_per_group:,}",
                f"{phase.elements_per_item:.4g}",
                "" if phase.halo is None else phase.halo,
                "" if phase.passes is None else f"{phase.passes:.4g}",
                "" if phase.seconds is None else f"{phase.seconds * 1e3:.4g}",
            )
            for phase in self.phases
        ]
        headings = ("gap", "groups", "work-items of a group", "keys of a work-item", "halo", "passes", "ms")
        return card("ShellsortResult", facts, table(headings, rows) if rows else "")

    @property
    def seconds(self) -> float | None:
        """Device time of all phases, None when not profiled. Encoding and decoding are left out."""
        times = [phase.seconds for phase in self.phases if phase.seconds is not None]
        return sum(times) if self.phases and len(times) == len(self.phases) else None

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.gaps[:3])) + (", .. 1" if len(self.gaps) > 3 else "")
        took = "" if self.seconds is None else f", {self.seconds * 1e3:.3g} ms"
        return (
            f"ShellsortResult({len(self.keys):,} keys of {self.keys.dtype}, variant {self.variant!r}, "
            f"{counted(len(self.gaps), 'gap', 'gaps')} ({shown}), {len(self.phases)} phases, "
            f"{'sorted' if self.is_sorted else 'not sorted'}{took})"
        )
