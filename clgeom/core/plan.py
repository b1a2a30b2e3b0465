"""Plans: which kernels to launch, with what shape, arguments and scratch memory. They need no device.

A plan is a list of steps; a step is one kernel launch::

    sums = Scratch("sums", np.uint32, groups)
    plan = Plan(Step("primitives/scan_totals", policy, args=("values[0]", np.uint64(n), sums), groups=groups))

`clgeom.core.launch.run` runs them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clgeom.core.policies import Policy, ceil_div
from clgeom.core.tuning import select

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.build import Key
    from clgeom.core.profile import DeviceProfile

#: The type of elements of memory.
DType: TypeAlias = np.dtype | type[np.generic]
#: Launches of a series from which on it is long: 64 take about 0.5 ms to enqueue.
LONG = 64


@dataclass(frozen=True)
class Scratch:
    """Device memory that lives as long as the run's result. `count` elements of `dtype`."""

    name: str
    dtype: DType
    count: int

    @property
    def nbytes(self) -> int:
        return max(np.dtype(self.dtype).itemsize * int(self.count), 1)


@dataclass(frozen=True)
class Number:
    """A number that differs from run to run: ``run(session, plan, numbers={name: numpy.uint32(5)})``."""

    name: str


#: An argument of a kernel: the name of a buffer, scratch memory, or a number.
Argument: TypeAlias = str | Scratch | Number | np.generic


@dataclass(frozen=True)
class Step:
    """One launch: a kernel, its shape, its template parameters, its arguments.

    `args` are names of buffers bound by `run`, `Scratch` memory, NumPy scalars, or names of numbers as `Number`.
    `groups` work-groups of ``policy.wg_size`` items are launched. `bytes_moved` is what the step reads and writes of
    global memory. `itemsize` is that of the type that the policy was selected for, None where none was named.
    """

    kernel: str
    policy: Policy
    args: tuple[Argument, ...]
    groups: int
    params: dict[str, Any] = field(default_factory=dict)
    bytes_moved: int = 0
    options: tuple[str, ...] = ()
    itemsize: int | None = None

    def __post_init__(self) -> None:
        for arg in self.args:
            if not isinstance(arg, (str, Scratch, np.generic, Number)):
                raise TypeError(
                    f"an argument of {self.kernel} must be a buffer's name, a Scratch, a NumPy scalar or a Number, "
                    f"not {arg!r}"
                )

    @classmethod
    def over(
        cls,
        profile: DeviceProfile,
        kernel: str,
        args: tuple[Argument, ...],
        n: int,
        *,
        dtype: np.dtype | None = None,
        tile: int | None = None,
        most: int | None = None,
        params: dict[str, Any] | None = None,
        bytes_moved: int = 0,
        options: tuple[str, ...] = (),
    ) -> Step:
        """Return the launch of a kernel over `n` elements, with the policy and the number of groups for this device.

        `dtype` is the type of the elements, for policies that depend on it. `tile` are the elements of a group's tile,
        if it is fixed; by default the policy's. The policy is chosen for `most` elements, if this is one launch of
        several.
        """
        policy = select(profile, kernel, dtype, n if most is None else most)
        groups = policy.groups(ceil_div(n, tile or policy.tile), profile.compute_units)
        itemsize = None if dtype is None else np.dtype(dtype).itemsize
        return cls(kernel, policy, args, groups, params or {}, bytes_moved, options, itemsize)

    @functools.cached_property
    def key(self) -> Key:
        """The key of the kernel for `kernel_of`."""
        parameters = {**self.policy.parameters(), **self.params}
        return self.kernel, tuple(sorted(parameters.items())), self.options


@dataclass(frozen=True)
class Series:
    """Launches of one kernel with different numbers, for example the stages of a table.

    Launch r takes the values ``values[r]`` for the arguments at `indices` of the step, and ``groups[r]`` work-groups.
    The step's own values at `indices`, which give their types, and its own `groups` are not used.
    """

    step: Step
    indices: tuple[int, ...]
    values: np.ndarray
    groups: np.ndarray

    @property
    def args(self) -> tuple[Argument, ...]:
        return self.step.args

    @property
    def key(self) -> Key:
        return self.step.key


class Plan(tuple[Step | Series, ...]):
    """Steps, and Series of them, in the order they run."""

    def __new__(cls, *steps: Step | Series) -> Plan:
        return super().__new__(cls, steps)

    def __add__(self, other: Iterable[Step | Series]) -> Plan:  # type: ignore[override]  # no other tuples are added
        return Plan(*self, *other)

    def kept(self, *, memory: bool = False) -> Plan:
        """This plan, for a cached one that runs often: threads keep kernel objects with its numbers set.

        With `memory` they keep its scratch memory, too. No array of the caller may be in it, which would stay for long.
        A plan with a long series is not kept, since its numbers take more time and memory.
        """
        self.is_kept = not self.is_long
        self.keeps_memory = self.is_kept and memory
        return self

    is_kept = keeps_memory = False

    @functools.cached_property
    def is_long(self) -> bool:
        """Whether the plan has a series of more than `LONG` launches."""
        return any(isinstance(part, Series) and len(part.groups) > LONG for part in self)

    @functools.cached_property
    def scratch(self) -> dict[str, Scratch]:
        """All scratch memory of the steps, by name."""
        return {arg.name: arg for step in self for arg in step.args if isinstance(arg, Scratch)}

    @functools.cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the launches, without times."""
        return tuple(map(phase_of, self))


@dataclass(frozen=True)
class Phase:
    """Shape and time of one launch, or of a series.

    Attributes
    ----------
    name : str
        Of the kernel.
    seconds : float or None
        None unless the call was profiled.
    bytes_moved : int
        Bytes that the kernel reads and writes.
    global_size, local_size : int
        Work-items of the launch, and of a work-group; of a series those of its largest launch.
    policy : Policy
        The work-group size and variant that were chosen.
    launches : int
    longest : float or None
        Seconds of the longest single launch; None unless the call was profiled.
    itemsize : int or None
        Bytes of an element of the type that the policy was chosen for; None where no type was named.

    Examples
    --------
    >>> import clgeom
    >>> hull = clgeom.convex_hull([(0, 0), (4, 0), (4, 3)], profile=True)
    >>> all(phase.seconds > 0 for phase in hull.phases)
    True
    """

    name: str
    seconds: float | None
    bytes_moved: int
    global_size: int
    local_size: int
    policy: Policy
    launches: int = 1
    longest: float | None = None
    itemsize: int | None = None

    @property
    def gb_per_s(self) -> float | None:
        """Bytes moved per nanosecond, None when not profiled."""
        return self.bytes_moved / self.seconds / 1e9 if self.seconds else None


def phase_of(part: Step | Series, events: Sequence[cl.Event] = ()) -> Phase:
    """Return the phase of a Step or Series, timed from the start of its first event to the end of its last."""
    step = part.step if isinstance(part, Series) else part
    groups = int(part.groups.max(initial=0)) if isinstance(part, Series) else step.groups
    return Phase(
        step.kernel.rsplit("/", 1)[-1],
        (events[-1].profile.end - events[0].profile.start) * 1e-9 if events else None,
        step.bytes_moved,
        groups * step.policy.wg_size,
        step.policy.wg_size,
        step.policy,
        len(part.groups) if isinstance(part, Series) else 1,
        max(event.profile.end - event.profile.start for event in events) * 1e-9 if events else None,
        step.itemsize,
    )
