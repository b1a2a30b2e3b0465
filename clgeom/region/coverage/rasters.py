"""Rasters for the device: types, levels, pieces that fit in one allocation."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import held, one_of, unmasked, wrong
from clgeom.core.device import Session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.launch import read
from clgeom.core.profile import DeviceProfile
from clgeom.errors import DeviceLimit, InvalidInput, short
from clgeom.intake.arrays import c_name, most_of_chunk, to_device
from clgeom.intake.device_arrays import buffer_of, fetched, is_device_array, native_array
from clgeom.intake.interop.objects import values_of
from clgeom.intake.interop.strips import Strips
from clgeom.intake.typing import FloatLike

if TYPE_CHECKING:
    import pyopencl as cl

#: Types that kernels read, and for each the type in which values and levels are compared.
THRESHOLDS = {
    "float32": "float32",
    "float64": "float64",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int64",
    "uint32": "int64",
}
#: Types in which kernels read the bits of floats.
BITS = {"float": "uint", "double": "ulong"}
#: Most columns or rows: float32 counts them exactly.
LARGEST_SIDE = 1 << 23


@dataclass(frozen=True)
class Piece:
    """Rows from `first_row` on of `maps` maps from `first_map` on, in one buffer. Value `start` is their first."""

    buffer: cl.Buffer
    start: int
    first_map: int
    maps: int
    first_row: int
    rows: int


@dataclass(frozen=True, eq=False)
class Stack:
    """Maps of equal size: on the host (`array`, three-dimensional), on the device (`buffer`), or one in a file.

    `caller` is the public function, for messages. `integers` tells that cells are integers as floats, since some are
    masked.
    """

    session: Session
    caller: str
    dtype: np.dtype
    maps: int
    rows: int
    columns: int
    array: np.ndarray | None
    buffer: cl.Buffer | None = None
    strips: Strips | None = None
    integers: bool = False

    def map(self, number: int) -> np.ndarray:
        """One of the maps on the host."""
        if self.array is not None:
            one: np.ndarray = self.array[number]
            return one
        if self.strips is not None:
            return _converted(canonical_raster(self.strips.whole(), caller=self.caller)[0], self.dtype)
        cells, buffer = self.rows * self.columns, self.buffer
        assert buffer is not None
        return read(self.session, buffer, self.dtype, cells, number * cells).reshape(self.rows, self.columns)

    def turned(self, first_map: int, maps: int) -> Stack:
        """Return some of the maps with rows and columns exchanged, on the host."""
        if self.strips is not None:
            return replace(self, rows=self.columns, columns=self.rows, strips=self.strips.turned())
        array = np.stack([self.map(number) for number in range(first_map, first_map + maps)])
        turned = np.ascontiguousarray(array.swapaxes(1, 2))
        return replace(self, maps=maps, rows=self.columns, columns=self.rows, array=turned, buffer=None)

    def pieces(self, first_map: int, maps: int, *, halo: int) -> Iterator[Piece]:
        """Pieces of some of the maps, whole maps or whole rows of one map, none larger than allowed.

        With `halo` the buffer of a piece also has the rows above and below it.
        """
        if self.buffer is not None:
            yield Piece(self.buffer, first_map * self.rows * self.columns, first_map, maps, 0, self.rows)
            return
        array, fitting = self.array, self._most_cells // (self.rows * self.columns)
        if array is not None and fitting:
            for first in range(first_map, first_map + maps, fitting):
                count = min(fitting, first_map + maps - first)
                yield Piece(self.upload(array[first : first + count]), 0, first, count, 0, self.rows)
            return
        height = self._fitting_rows(halo)
        if self.strips is not None:
            height = min(self.strips.height, height)
        for one in range(first_map, first_map + maps):
            for first in range(0, self.rows, height):
                last = min(first + height, self.rows)
                above, below = min(halo, first), min(halo, self.rows - last)
                part = self._rows_of(one, first - above, last + below)
                yield Piece(self.upload(part), above * self.columns, one, 1, first, last - first)

    def _rows_of(self, number: int, begin: int, end: int) -> np.ndarray:
        """Return some rows of a map on the host, or of the only one in a file."""
        if self.strips is not None:
            part = canonical_raster(self.strips.rows(begin, end), caller=self.caller)
            return np.require(_converted(part, self.dtype), requirements=["C", "A"])
        assert self.array is not None
        rows: np.ndarray = self.array[number, begin:end]
        return rows

    @property
    def _most_cells(self) -> int:
        """The most cells of a piece, which is sent in one chunk."""
        profile, size = self.session.profile, self.dtype.itemsize
        return int(min(profile.max_alloc_bytes // size, most_of_chunk(profile, size)))

    def _fitting_rows(self, halo: int) -> int:
        """Return the most rows of a piece beside its halo."""
        rows, profile = self._most_cells // self.columns, self.session.profile
        if rows <= 2 * halo:
            raise DeviceLimit(
                f"One row of the raster of {self.caller} is {self.columns * self.dtype.itemsize:,} bytes, and "
                f"{profile.name} allows buffers of {profile.max_alloc_bytes:,}."
            )
        return rows - 2 * halo

    def upload(self, values: np.ndarray) -> cl.Buffer:
        """Return a buffer with these values, which kernels only read."""
        flat = np.ascontiguousarray(values).reshape(-1)
        return to_device(self.session, flat, caller=self.caller).one_buffer(f"A strip of a map of {self.caller}")


def as_stack(raster: Any, session: Session, *, caller: str) -> Stack:
    """Return the `raster` parameter of a public function as a Stack of one or more maps."""
    if isinstance(raster, Strips):
        return _as_strips(raster, session, caller)
    if type(raster) is not np.ndarray and is_device_array(raster):
        return _stack_on_device(session, raster, caller)
    array, integers = canonical_cells(raster, caller=caller)
    if array.dtype == np.float64:
        session.profile.require_fp64(caller)
    maps, rows, columns = array.shape
    return Stack(session, caller, array.dtype, maps, rows, columns, array, integers=integers)


def _as_strips(strips: Strips, session: Session, caller: str) -> Stack:
    """Return a stack that is read by strips, of the type that the whole raster would have."""
    _check_shape(strips.shape, caller)
    integers = False
    if strips.plain:
        dtype = canonical_raster(np.zeros((1, 1), strips.dtype), caller=caller).dtype
    else:
        kinds = set()
        for _, values in strips:
            array, whole = canonical_cells(values, caller=caller)
            kinds.add((array.dtype, whole))
        found, integers = {dtype for dtype, _ in kinds}, all(whole for _, whole in kinds)
        if found == {np.dtype(np.float32), np.dtype(np.float64)}:  # some values, scaled, are beyond float32
            return as_stack(strips.whole(), session, caller=caller)
        dtype = np.result_type(*found)
    if dtype == np.float64:
        session.profile.require_fp64(caller)
    rows, columns = strips.shape
    return Stack(session, caller, dtype, 1, rows, columns, None, strips=strips, integers=integers)


def canonical_raster(raster: Any, *, caller: str, name: str = "raster") -> np.ndarray:
    """Return a native contiguous array (maps, rows, columns) of a type that kernels read; masked cells are NaN."""
    return canonical_cells(raster, caller=caller, name=name)[0]


def canonical_cells(raster: Any, *, caller: str, name: str = "raster") -> tuple[np.ndarray, bool]:
    """`canonical_raster`, and whether the cells are integers, of which some may be masked."""
    try:
        if type(raster) is np.ndarray:
            held(given := raster, name, caller=caller)
        else:
            given = values_of(raster, caller=caller, name=name)
        array = np.asarray(np.ma.getdata(given) if isinstance(given, np.ma.MaskedArray) else given)
    except (ValueError, TypeError) as error:  # ragged lists and the like
        raise InvalidInput(f"The '{name}' parameter of {caller} must be an array of numbers. {error}") from error
    _check_shape(array.shape, caller, name)
    if array.dtype.kind not in "biuf":
        raise wrong(name, caller, "numbers", array.dtype, verb="hold")
    integers = array.dtype.kind != "f"
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == bool:
        array = array.view(np.uint8)
    elif array.dtype == np.float16:
        array = _converted(array, np.float32)
    elif array.dtype.name not in THRESHOLDS:
        wide = array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > 1 << 53
        if wide:
            raise InvalidInput(f"The '{name}' parameter of {caller} must hold integers within 2**53.")
        array = _converted(array, np.float64)
    if np.ma.is_masked(raster):
        unknown = np.ma.getmaskarray(raster)
        array = _converted(np.where(unknown, np.nan, array), np.result_type(array.dtype, np.float32))
    return np.require(array.reshape((-1, *array.shape[-2:])), requirements=["C", "A"]), integers


def _converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array converted to another type, without a warning for signalling NaNs, which files may hold."""
    with np.errstate(invalid="ignore"):
        return array.astype(dtype, copy=False)


def _stack_on_device(session: Session, raster: Any, caller: str) -> Stack:
    """Return the maps of a raster on the device, in place where kernels take its type."""
    _check_shape(raster.shape, caller)
    if raster.dtype.name not in THRESHOLDS:
        return as_stack(fetched(raster), session, caller=caller)
    raster = native_array(session, raster, caller=caller, name="raster")
    if raster.dtype == np.float64:
        session.profile.require_fp64(caller)
    maps, rows, columns = (1, *raster.shape)[-3:]
    return Stack(session, caller, raster.dtype, maps, rows, columns, None, buffer_of(raster))


def _check_shape(shape: tuple[int, ...], caller: str, name: str = "raster") -> None:
    if len(shape) not in (2, 3) or 0 in shape:
        raise wrong(name, caller, "shape (rows, columns) or (maps, rows, columns), none of them 0", shape, verb="have")
    if max(shape[-2:]) > LARGEST_SIDE:
        raise wrong(name, caller, f"at most {LARGEST_SIDE:,} rows and columns", shape, verb="have")


@keeps_subnormals
def covered_mask(
    raster: Any, level: FloatLike, *, direction: str = ">=", nodata: Any = None, caller: str = "covered_mask"
) -> np.ndarray:
    """Return a mask of the cells that reach a level, by the same comparison as in the kernels.

    Parameters
    ----------
    raster : array_like, shape (rows, columns) or (maps, rows, columns)
        As for `coverage_regions`, on the host.
    level, direction, nodata
        As for `coverage_regions`; one level.

    Returns
    -------
    ndarray of bool, of the raster's shape

    Raises
    ------
    InvalidInput
        As for `coverage_regions`.

    Examples
    --------
    >>> from clgeom.region.coverage.rasters import covered_mask
    >>> covered_mask([[-80, -90], [-100, -85]], -85).tolist()
    [[True, False], [False, True]]
    """
    array, integers = canonical_cells(raster, caller=caller)
    levels = as_levels(level, direction, nodata, array.dtype, caller=caller, integers=integers)
    return levels.mask(array, 0).reshape(np.shape(raster))


def known_values(raster: Any, nodata: Any = None, *, caller: str = "known_values", name: str = "raster") -> np.ndarray:
    """Return the values of a raster as float64, NaN where they are unknown."""
    array, integers = canonical_cells(raster, caller=caller, name=name)
    absent = as_levels(0, ">=", nodata, array.dtype, caller=caller, integers=integers).nodata
    values = _converted(array, np.float64)
    return (values if absent is None else np.where(array == absent, np.nan, values)).reshape(np.shape(raster))


@dataclass(frozen=True)
class Levels:
    """Levels as the caller gave them, and as the device compares them.

    `thresholds` have the type `dtype`. For a raster of floats they are rounded to its type (float32 for float16), as
    NumPy does to compare with a Python float. For integers they are the nearest integers with the same cells covered.
    `nodata` is None where no value can equal it. With `by_bits` thresholds and `nodata` are `ordered_bits` of floats.
    """

    given: tuple[float, ...]
    below: bool
    thresholds: np.ndarray
    nodata: Any
    by_bits: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.thresholds.dtype

    @property
    def direction(self) -> str:
        return "<=" if self.below else ">="

    def on(self, profile: DeviceProfile) -> Levels:
        """Return the levels for kernels: by bits of floats if the device takes subnormal numbers for 0."""
        if profile.denormals or self.dtype.kind != "f":
            return self
        absent = None if self.nodata is None else ordered_bits(np.array(self.nodata, self.dtype))[()]
        return replace(self, thresholds=ordered_bits(self.thresholds), nodata=absent, by_bits=True)

    def params(self, raster_type: np.dtype[Any]) -> dict[str, Any]:
        """Template parameters of the kernels that compare."""
        value = c_name(raster_type)
        return {
            "value": BITS[value] if self.by_bits else value,
            "threshold": c_name(self.dtype),
            "below": self.below,
            "nodata": self.nodata is not None,
            "by_bits": self.by_bits,
        }

    def mask(self, array: np.ndarray, number: int) -> np.ndarray:
        """Return the values of an array that reach a level, by its number."""
        values, threshold = _converted(array, self.dtype), self.thresholds[number]
        mask: np.ndarray = values <= threshold if self.below else values >= threshold
        if self.nodata is not None:
            mask &= values != self.dtype.type(self.nodata)
        return mask

    def classes(self, array: np.ndarray) -> np.ndarray:
        """Return the number of levels that each value reaches, or misses if `below`; `of_classes` has the levels for
        them.
        """
        count = len(self.given)
        found = np.zeros(array.shape, np.uint8 if count < 256 else np.uint16)
        for number in range(count):
            found += self.mask(array, number)
        return count - found if self.below else found

    def of_classes(self) -> Levels:
        """Return the levels by which `classes` are compared."""
        ranks = np.empty(len(self.given), np.int32)
        ranks[np.argsort(self.given)] = np.arange(len(self.given))
        return replace(self, thresholds=ranks if self.below else ranks + 1, nodata=None)

    @property
    def nodata_or_zero(self) -> np.generic:
        value: np.generic = self.dtype.type(0 if self.nodata is None else self.nodata)
        return value


def ordered_bits(values: np.ndarray) -> np.ndarray:
    """Integers in the order of floats that are no NaN, from their bits, as kernels compute them; 0 and -0 are equal."""
    bits: Any = values.view(np.int32 if values.dtype == np.float32 else np.int64)
    sizes = bits & np.iinfo(bits.dtype).max
    return np.asarray(np.where(bits < 0, -sizes, sizes))


def level_index(level: Any, given: tuple[float, ...], *, caller: str) -> int:
    """Return the index of a level in `given`."""
    number = level[()] if isinstance(level, np.ndarray) and level.ndim == 0 else level
    if not (isinstance(number, numbers.Real) and number in given):
        raise wrong("level", caller, f"one of {given}", short(level))
    return given.index(number)


def as_levels(
    levels: Any, direction: str, nodata: Any, raster_type: np.dtype[Any], *, caller: str, integers: bool = False
) -> Levels:
    """Return the `levels`, `direction` and `nodata` parameters of a public function.

    `integers` tells that cells of a type of floats are integers: see `canonical_cells`.
    """
    one_of(direction, (">=", "<="), "direction", caller=caller)
    unmasked(levels, "levels", caller=caller)
    try:
        given = np.empty(0)
        if levels is not None:
            is_plain = isinstance(levels, (int, float, list, tuple))
            given = np.asarray(levels if is_plain else values_of(levels, caller=caller, name="levels"))
            given = np.empty(0) if given.dtype.kind in "SUMm" else np.atleast_1d(given.astype(np.float64))  # no text
    except (ValueError, TypeError, OverflowError):
        given = np.empty(0)
    if given.ndim != 1 or len(given) == 0:
        raise wrong("levels", caller, "one or more numbers", short(levels))
    found = _levels(tuple(given.tolist()), direction, raster_type, caller, integers)
    absent = as_nodata(nodata, raster_type, caller=caller, integers=integers)
    return found if absent is None else replace(found, nodata=absent)


@functools.lru_cache(maxsize=64)
def _levels(
    levels: tuple[float, ...], direction: str, raster_type: np.dtype[Any], caller: str, integers: bool
) -> Levels:
    """Return levels without a nodata value; calls with the same ones often follow each other."""
    given = np.array(levels)
    if not np.isfinite(given).all():
        bad = given[~np.isfinite(given)][0]
        raise wrong("levels", caller, "finite", bad)
    if len(np.unique(given)) < len(given):
        once, counts = np.unique(given, return_counts=True)
        raise wrong("levels", caller, "each level once", f"{once[counts > 1][0]} more than once", verb="name")
    threshold, thresholds = np.dtype(THRESHOLDS[raster_type.name]), given
    if integers or threshold.kind != "f":
        thresholds = np.floor(given) if direction == "<=" else np.ceil(given)
    if threshold.kind == "f":
        with np.errstate(over="ignore"):
            thresholds = thresholds.astype(threshold)
        most = np.finfo(threshold).max  # an infinity reaches no level, and no level but such that all values miss it
        thresholds = np.minimum(thresholds, most) if direction == "<=" else np.maximum(thresholds, -most)
    else:
        info = np.iinfo(np.int32 if threshold == np.int32 else np.int64)
        low, high = float(info.min) / 2, float(info.max) / 2  # far beyond any value, and whole numbers, both
        thresholds = np.clip(thresholds, low, high).astype(threshold)
    return Levels(levels, direction == "<=", thresholds, None)


def as_nodata(nodata: Any, raster_type: np.dtype[Any], *, caller: str, integers: bool = False) -> Any:
    """Return the value of cells without data; None where no cell of this type has it, and for NaN."""
    if nodata is None:
        return None
    try:
        number = float(nodata)
    except OverflowError:  # an integer beyond all types
        return None
    except (TypeError, ValueError):
        raise wrong("nodata", caller, "a number", short(nodata)) from None
    if math.isnan(number) or (integers and not number.is_integer()):
        return None
    if raster_type.kind == "f":
        with np.errstate(over="ignore"):
            return raster_type.type(number)
    info = np.iinfo(raster_type)
    if not number.is_integer():
        return None
    whole = int(nodata) if isinstance(nodata, (int, np.integer)) else int(number)  # 64 bits are more than floats have
    return whole if info.min <= whole <= info.max else None
