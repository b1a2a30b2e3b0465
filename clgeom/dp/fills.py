"""`Fill`: the checked arguments of a fill, bound to a device; the input of every path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clgeom.arguments import is_masked_array, one_of, rows_and_columns, wrong
from clgeom.core.cache import Cache
from clgeom.core.device import as_session
from clgeom.core.launch import Result, allocate, copy, read_all, run
from clgeom.core.plan import Plan
from clgeom.dp.analysis import bands
from clgeom.dp.codegen.cell import Form
from clgeom.dp.language.cells import record_in_c
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.parameters import GIVEN, Parameter, declaration, require_given
from clgeom.dp.patterns import Pattern
from clgeom.errors import InvalidInput, short
from clgeom.intake.arrays import most_of_chunk, to_device
from clgeom.intake.arrays import session_of as session_of_array
from clgeom.intake.device_arrays import fetched, in_buffer, is_device_array, let_change, native_array
from clgeom.intake.interop.objects import values_of
from clgeom.intake.typing import NDArray

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.dp.initial import Initial
    from clgeom.dp.language.traced import EquationBase
    from clgeom.intake.typing import CLArray

#: CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, of a device's single_fp_config.
ROUNDED_DIVIDE = 1 << 7
LONGEST_SIDE = 2**31 - 2
KEEPS = ("table", "last", "corner", "decisions")


@dataclass(eq=False)
class Fill:
    """The checked arguments of a fill.

    `values`: The parameters on the host, by name: arrays, and NumPy scalars.
    `arguments`, `buffers`: The result of `bind`; a fill without them is for proofs.
    `layout`: None if the path may choose.
    `stop`: Stages start <= s < stop are filled; 0 for all.
    `wraps`: Whether integers in indices or conditions may wrap around; then only the path "stages" applies.
    `traps`: Whether kernels note cells whose value goes beyond their type.
    `band`: Of a banded equation, the ends of j - i.
    `initial`: The cells before the stage `start`; None if they are 0.
    `cache`: What the path makes once for all fills with the same `clgeom.dp.filling.Choice`.
    `params`, `options`: Template parameters and build options of every kernel with the equation in it.
    """

    equation: Equation
    shape: tuple[int, int]
    pattern: Pattern
    session: Session
    values: Mapping[str, Any]
    arguments: tuple[Any, ...] = ()
    buffers: dict[str, Any] = field(default_factory=dict)
    layout: str | None = None
    keep: str = "corner"
    start: int = 0
    stop: int = 0
    check: bool = False
    watch: Callable[[float], object] | None = None
    wraps: bool = False
    traps: bool = False
    band: tuple[int, int] | None = None
    initial: Initial | None = None
    cache: Cache = field(default_factory=Cache)

    def __post_init__(self) -> None:
        self.stages = self.pattern.stages(*self.shape)
        self.stop = self.stop or self.stages
        self.whole = self.start == 0 and self.stop == self.stages
        self.keeps_choices = self.equation.decisions is not None and self.keep in ("table", "decisions")

    @property
    def params(self) -> dict[str, Any]:
        record = record_in_c(self.equation.dtype)
        return {"rounded": bool(self.options), **({"record": record} if record else {})}

    @property
    def options(self) -> tuple[str, ...]:
        return build_options(self.session)

    def text(self, **options: Any) -> str:
        """`Equation.text` for the kernels of this fill; the options are those of `Form`."""
        return self.equation.text(Form(wraps=self.wraps, notes=self.traps, **options))

    def planned(self, key: tuple[Any, ...], make: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the result of `make`, a plan and its companions, computed once for all fills with the same `cache`.

        Threads keep launches of the plan from the second of these fills on: most equations are filled once.
        """
        result: tuple[Any, ...] | None = self.cache.known(key)
        if result is None:
            result = self.cache.get(key, make)
        elif not result[0].is_kept:
            result[0].kept(memory=True)
        return result

    def run(self, plan: Plan, **buffers: Any) -> Result:
        """Run a plan with the parameters bound."""
        return run(self.session, plan, watch=self.watch, **self.buffers, **buffers)


def check_options(
    equation: EquationBase, keep: Any, check: Any, *, keeps: tuple[str, ...] = KEEPS, caller: str
) -> bool | Literal["auto"]:
    """Check the `keep` and `check` parameters of a function; return `check`."""
    one_of(keep, keeps, "keep", caller=caller)
    one_of(check, ("auto", True, False), "check", caller=caller)
    if keep == "decisions" and getattr(equation, "decisions", None) is None:
        raise InvalidInput(f"keep='decisions' needs an equation that returns decisions, and {equation.name} has none.")
    return "auto" if isinstance(check, str) else bool(check)


def in_band(
    equation: Equation, values: dict[str, Any], band: Any, outside: Any, shape: tuple[int, int], *, caller: str
) -> tuple[Equation, dict[str, Any], tuple[int, int] | None]:
    """Return the equation in a band with its parameters, and the checked band; None for the whole table."""
    if band is None and type(outside) is int and not outside:
        return equation, values, None
    checked = bands.checked_band(band, shape, outside, caller=caller)
    if checked is None:
        return equation, values, None
    equation, more = bands.with_band(equation, checked, outside, caller=caller)
    return equation, values | more, checked


def session_of(values: Mapping[str, Any], equation: EquationBase, device: Any, *, caller: str) -> Session:
    """Return the session of a device array among the parameters, or of `device`; it computes the cells' types."""
    arrays = (session_of_array(value, device) for value in values.values() if is_device_array(value))
    session: Session = next(arrays, None) or as_session(device)
    if any(cell.dtype == np.float64 for cell in equation.cell.scalars):
        session.profile.require_fp64(caller)
    return session


def too_large(fill: Fill, nbytes: int) -> str | None:
    """Why a path with a buffer of this size does not apply; None if the device allows it."""
    profile = fill.session.profile
    if nbytes <= profile.max_alloc_bytes:
        return None
    return f"it needs a buffer of {nbytes:,} bytes, and {profile.name} allows {profile.max_alloc_bytes:,}"


def build_options(session: Session) -> tuple[str, ...]:
    """Build options of kernels with an equation: correctly rounded float32 division if the device can."""
    rounded = bool(session.device.single_fp_config & ROUNDED_DIVIDE)
    return ("-cl-fp32-correctly-rounded-divide-sqrt",) if rounded else ()


def check_shape(shape: Any, *, caller: str) -> tuple[int, int]:
    """Return the `shape` parameter as (rows, columns), at least one of each."""
    n, m = rows_and_columns(shape, caller=caller)
    if max(n, m) > LONGEST_SIDE or n + m - 1 > LONGEST_SIDE:
        raise wrong("shape", caller, "below 2**31 rows and columns together", short(shape), verb="have")
    return n, m


def merge_values(values: Any, parameters: dict[str, Any], *, caller: str) -> dict[str, Any]:
    """Return the parameters of an equation from the `values` parameter of a function and its keywords."""
    if values is not None and not isinstance(values, Mapping):
        raise wrong("values", caller, "a dictionary of parameters by name", type(values).__name__)
    twice = [name for name in values or {} if name in parameters]
    if twice:
        raise InvalidInput(f"{caller} got the parameter {twice[0]!r} twice: in 'values' and by its name.")
    return {**(values or {}), **parameters}


def check_values(
    equation: EquationBase, values: dict[str, Any], *, caller: str, copies: Copies | None = None
) -> Mapping[str, Any]:
    """Return all parameters as arrays and numbers of the declared types; `copies` takes in those on the device."""
    require_given(equation, values, caller=caller)
    return some_values(equation, values, caller=caller, copies=copies)


def no_parameter(equation: EquationBase, name: str, value: Any) -> InvalidInput:
    """Return the error for a value of a parameter that the equation does not declare."""
    known = ", ".join(equation.parameters) or "none"
    return InvalidInput(
        f"{equation.name} has no parameter {name!r}. It has: {known}. An equation declares its parameters, such as "
        f"{declaration(name, value)}."
    )


class Copies:
    """Copies on the device, by name, of parameters that came there: kernels read these, whatever the caller does."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.buffers: dict[str, cl.Buffer] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def take(self, p: Parameter, array: CLArray) -> bool:
        """Copy a parameter; return whether that was done, as for arrays that kernels read as they are."""
        session = self.session
        fits = (
            array.dtype == p.dtype and array.ndim == p.ndim > 0 and 0 < array.size <= most_of_chunk(session.profile, 8)
        )
        if not fits or not in_buffer(array) or array.context != session.context:
            return False
        plain = native_array(session, array, caller="clgeom", name="array")
        memory: Any = plain.base_data
        buffer = self.buffers[p.name] = allocate(session, plain.nbytes)
        copy(session, memory, buffer, plain.nbytes, start=plain.offset)
        self.shapes[p.name] = array.shape
        if p.dtype.kind == "f":
            let_change(session, [array])  # for integers `read` waits, see `Values`
        return True

    def read(self, parameters: Sequence[Parameter]) -> list[NDArray[Any]]:
        """Return copied parameters on the host."""
        outs = [np.empty(self.shapes[p.name], p.dtype) for p in parameters]
        read_all(self.session, [self.buffers[p.name] for p in parameters], outs)
        return outs


class Values(Mapping[str, Any]):
    """Parameters on the host, by name. Floats that lie on the device are read when they are asked for.

    Checks before a fill depend on the values of integers, so these are read at once.
    """

    def __init__(self, known: dict[str, Any], later: dict[str, Parameter], copies: Copies) -> None:
        self._known, self._later, self._copies = known, later, copies

    def __getitem__(self, name: str) -> Any:
        p = self._later.get(name)
        if p is not None:
            (self._known[name],) = self._copies.read([p])
            self._later = {other: q for other, q in self._later.items() if other != name}
        return self._known[name]

    @property
    def unread(self) -> dict[str, tuple[int, ...]]:
        """The shapes of parameters that were not read yet."""
        return {name: self._copies.shapes[name] for name in self._later}

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def some_values(
    equation: EquationBase, values: dict[str, Any], *, caller: str, copies: Copies | None = None
) -> Mapping[str, Any]:
    """Return some of the parameters as arrays and numbers of the declared types."""
    extra = [name for name in values if name not in equation.parameters]
    if extra:
        raise no_parameter(equation, extra[0], values[extra[0]])
    checked: dict[str, Any] = {}
    later: dict[str, Parameter] = {}
    integers: list[Parameter] = []
    for name, p in equation.parameters.items():
        if name in values:
            value = values[name]
            if copies is None or not is_device_array(value) or not copies.take(p, value):
                checked[name] = checked_value(p, value, caller=caller)
            elif p.dtype.kind == "f":
                checked[name], later[name] = None, p
            else:
                checked[name] = None
                integers.append(p)
    if integers and copies is not None:
        checked |= zip((p.name for p in integers), copies.read(integers))
    return checked if copies is None else Values(checked, later, copies)


def checked_value(p: Parameter, value: Any, *, caller: str) -> Any:
    """Return the value of one parameter, as an array or number of its type."""
    what = ("a number", "an array of shape (n,)", "a table of shape (rows, columns)")[p.ndim]

    def refuse(got: Any) -> InvalidInput:
        return wrong(p.name, caller, f"{what} of {p.dtype.name}", got)

    if isinstance(value, (str, bytes, bytearray)) and p.ndim == 1 and p.dtype == np.uint8:
        try:
            value = np.frombuffer(value.encode("ascii") if isinstance(value, str) else bytes(value), np.uint8)
        except UnicodeEncodeError as error:
            raise refuse("text that is not ASCII") from error
    if is_device_array(value):
        value = fetched(value)
    value = values_of(value, caller=caller, name=p.name)
    typed = hasattr(value, "dtype")
    if is_masked_array(value) and np.ma.is_masked(value):
        raise refuse("an array with masked elements")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise refuse(f"{type(value).__name__} ({error})") from error
    except MemoryError as error:
        raise refuse(f"{type(value).__name__} that does not fit the memory") from error
    if array.size == 0 and not typed:
        array = array.astype(p.dtype)
    if array.dtype.kind not in "biuf":
        raise refuse(f"{array.dtype}" if typed else short(value))
    if array.ndim != p.ndim:
        raise refuse(f"shape {array.shape}" if array.ndim else short(value))
    if max(array.shape, default=0) > LONGEST_SIDE:
        raise refuse(f"shape {array.shape}")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if p.dtype.kind in "iu":
        if array.dtype.kind == "f":
            raise refuse(f"{array.dtype}" if typed and array.ndim else short(value))
        if array.size and array.dtype != p.dtype and array.dtype.kind != "b":
            info = np.iinfo(p.dtype)
            low, high = int(array.min()), int(array.max())
            if low < info.min or high > info.max:
                raise refuse(f"the value {low if low < info.min else high}")
    elif array.dtype.kind == "f" and array.dtype.itemsize > p.dtype.itemsize and typed and array.ndim:
        raise refuse(str(array.dtype))
    elif array.dtype.kind in "iu" and array.size and not (array.astype(p.dtype).astype(array.dtype) == array).all():
        raise refuse("integers that it cannot hold exactly")
    # values beyond the type are refused below; a NaN may be signalling
    with np.errstate(over="ignore", invalid="ignore"):
        # a copy: kernels may read it in place after the call has returned, when the caller may change the original
        held = np.array(array, p.dtype, order="C") if p.ndim else p.dtype.type(array[()])
    if p.dtype.kind == "f" and array.dtype.kind == "f":
        beyond = np.isfinite(array) & ~np.isfinite(held)
        if beyond.any():
            raise refuse(f"the value {array[beyond].flat[0]}")
    return held


def bind(
    session: Session, equation: EquationBase, values: Mapping[str, Any], *, caller: str, copies: Copies | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Kernel arguments of the parameters, in the order of DP_KERNEL_PARAMETERS, and the buffers that they name.

    `copies` are those that `check_values` has made.
    """
    arguments: list[Any] = []
    buffers: dict[str, Any] = {}
    for p in equation.parameters.values():
        name = f"{GIVEN}{p.name}"
        if p.ndim == 0:
            arguments.append(values[p.name])
            continue
        if copies and p.name in copies.buffers:
            if p.dtype == np.float64:
                session.profile.require_fp64(caller)
            buffers[name], shape = copies.buffers[p.name], copies.shapes[p.name]
        else:
            value = values[p.name]
            flat = value.ravel() if value.size else np.zeros(1, p.dtype)  # a buffer cannot be empty
            held = to_device(session, flat, caller=caller)
            buffers[name], shape = held.one_buffer(f"The {p.name!r} parameter of {caller}"), value.shape
        arguments += [name, *map(np.int32, shape)]
    return tuple(arguments), buffers
