"""Coverage regions of rasters: for every map, level and part a polygon that covers all cells beyond the level.

Only the corners of cells matter, and of those on one vertical grid line only the highest and the lowest. So a raster
is read once, and leaves two numbers a column and level; `chains` makes outlines of them. Parts and holes come from runs
of covered cells in each column: their ends are found on the device, and a union-find over runs joins what touches.

Everything is decided in columns and rows, which are whole numbers; the transform comes last.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.primitives.compact import partition
from clgeom.primitives.operators import OPERATORS
from clgeom.primitives.scan import Piece as ScanPiece
from clgeom.primitives.scan import scan_plan
from clgeom.region.chains import CUTS, chains_of
from clgeom.region.contours import right_of, trace_runs, twice_area
from clgeom.region.polygons import CoverageRegions, Grid, as_grid
from clgeom.region.rasters import as_levels, as_stack
from clgeom.runtime.arrays import to_device
from clgeom.runtime.launch import Plan, Scratch, Step, allocate, run, write
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

#: Levels that one launch compares: each number costs a build, so a few stand for all.
LEVELS_AT_ONCE = (1, 2, 4, 8)
MOST_LEVELS = LEVELS_AT_ONCE[-1]
#: Coordinates are columns and rows: exact in float32.
REAL = np.dtype(np.float32)
#: Candidates and segments of one call of `chains_of`, so that its memory stays modest.
CANDIDATES_AT_ONCE, SEGMENTS_AT_ONCE = 1 << 24, 1 << 22
#: Cells of masks that are looked at together for parts.
CELLS_AT_ONCE = 1 << 26
#: Regions of up to so many candidates share a call: where each candidate is a segment, more segments change nothing.
SIZE_CLASSES = (4, 16, 64, 256)
NONE = np.iinfo(np.int32).max


def coverage_regions(
    raster,
    levels,
    *,
    direction=">=",
    transform=None,
    crs=None,
    nodata=None,
    segments=64,
    cuts="count",
    axis="x",
    parts=True,
    holes=None,
    device=None,
    profile=False,
) -> CoverageRegions:
    """Polygons around the cells of a raster that reach a level: valid, covering every cell, of few vertices.

    Parameters
    ----------
    raster : array_like or pyopencl.array.Array, shape (rows, columns) or (maps, rows, columns)
        Numbers of any real type, or bool. NaN, masked cells and `nodata` are covered at no level.
    levels : float or sequence of float
        Thresholds, such as -85 and -95 dBm.
    direction : {">=", "<="}
        Whether cells at or above a level are covered (received power), or those at or below it (path loss).
    transform : sequence of 6 floats or affine.Affine, optional
        (a, b, c, d, e, f): pixel corner (column, row) is at ``x = a column + b row + c, y = d column + e row + f``, as
        Rasterio has it; it may turn and shear. Without it x is the column and y the row.
    crs : optional
        Coordinate reference system of the transformed coordinates, as anything that pyproj takes; for areas in km2 and
        for export.
    nodata : float, optional
        Value of cells that hold nothing.
    segments : int
        Segments that each region is cut into: its resolution. 1 gives the convex hull. More segments than a region
        has columns are as good as one a column; ``region.segments`` says how many there were.
    cuts : {"count", "width"}
        Whether segments hold equally many occupied columns or are equally wide.
    axis : {"x", "both"}
        "both": what the region has in common with the one whose segments are of rows, which fills no bay; it may be in
        several pieces, and its polygons need Shapely. The raster is read a second time, turned on the host.
    parts : bool
        Give each connected part (cells that touch, corners included) a region of its own. Otherwise there is one
        region, maybe empty, for each map and level, which also covers what lies between its parts.
    holes : float, optional
        Cut out holes (areas that are not covered and that coverage encloses) of at least this area, exactly along
        their cells: in units of the transformed coordinates, that is in cells without a transform. 0 cuts all.
    device : optional
        As everywhere in clgeom.
    profile : bool
        Measure each phase with the device's clock.

    Returns
    -------
    CoverageRegions
        A sequence of CoverageRegion, ordered by map, by level as given, and by part from left to right. A region's
        polygon is made when it is asked for. A level that no cell reaches has no parts.

    Raises
    ------
    InvalidInput
        For another shape, type, level, direction or number of segments, or a transform without an inverse.
    DeviceLimit
        For a raster of float64 on a device that has none, or memory that does not suffice.

    Notes
    -----
    A region is the union of the convex hulls of neighbouring segments, as for `adaptive_region`, made of the cells'
    corners; it is the same on every device. Where two tangents cross, the crossing is rounded outward by at most one
    unit in the last place of float32.
    """
    of = "coverage_regions"
    segments = _count(segments, "segments", of)
    if cuts not in CUTS:
        raise InvalidInput(f"The 'cuts' parameter of {of} must be 'count' or 'width'. Got {cuts!r} instead.")
    if axis not in ("x", "both"):
        raise InvalidInput(f"The 'axis' parameter of {of} must be 'x' or 'both'. Got {axis!r} instead.")
    stack = as_stack(raster, device, of=of)
    chosen = as_levels(levels, direction, nodata, stack.dtype, of=of)
    grid = as_grid(transform, crs, (stack.rows, stack.columns), of=of)
    least = _least_cells(holes, grid, of)
    outline = Outlining(stack.session, segments, cuts, profile, stack.turned() if axis == "both" else None)
    finder = _by_extent if not parts and least is None else _by_runs
    groups, phases = [], ()
    for first, maps in _batches(stack, chosen, by_runs=finder is _by_runs):
        found = finder(stack, chosen, first, maps, outline, parts, least, of)
        groups += found.groups
        phases += found.phases
    return CoverageRegions.of(groups, grid, chosen.given, direction, stack.maps, phases)


def _count(value, name, of) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(
            f"The '{name}' parameter of {of} must be a whole number from 1 on. Got {value!r} instead."
        )
    return int(value)


def _least_cells(holes, grid: Grid, of):
    """The least area of a hole in cells, None where holes stay covered."""
    if holes is None or holes is False:
        return None
    try:
        area = float(holes)
    except (TypeError, ValueError):
        area = math.nan
    if not area >= 0:
        raise InvalidInput(
            f"The 'holes' parameter of {of} must be the least area of a hole, 0 or more. Got {holes!r} instead."
        )
    return area / grid.cell_area


def _batches(stack, levels, *, by_runs):
    """(first map, number of maps) of each part of the work, so that none of its memory is too large."""
    allowed = stack.session.profile.max_alloc_bytes
    each = len(levels.given) * (max(stack.columns, stack.rows) + 1)
    at_once = min(CANDIDATES_AT_ONCE // each, allowed // (8 * each))
    if by_runs:
        at_once = min(at_once, CELLS_AT_ONCE // (len(levels.given) * stack.rows * stack.columns))
    at_once = max(at_once, 1)
    for first in range(0, stack.maps, at_once):
        yield first, min(at_once, stack.maps - first)


@dataclass(frozen=True)
class Outlining:
    """How candidates become chains."""

    session: object
    segments: int
    cuts: str
    profile: bool
    turned: object = None  # the Stack with rows and columns exchanged, for axis="both"

    def chains(self, count, segments, **memory):
        return chains_of(
            self.session, REAL, count, segments=segments, cuts=self.cuts, profile=self.profile, **memory
        )


@dataclass(frozen=True)
class Group:
    """Regions whose chains were made together: region i of `chains` is of `maps`[i], `levels`[i] and `parts`[i]."""

    chains: object
    maps: np.ndarray
    levels: np.ndarray
    parts: np.ndarray
    cells: np.ndarray | None = None
    holes: dict | None = None
    across: list | None = None  # for axis="both": (chains, region number) of each region's segments of rows


@dataclass(frozen=True)
class Found:
    groups: list
    phases: tuple


# One region a map and level: extents of columns --------------------------------------------------------------------


def _by_extent(stack, levels, first_map, maps, outline, parts, least, of):
    """Candidates straight from the raster, on the device."""
    session, count = stack.session, len(levels.given)
    regions, lines = maps * count, stack.columns + 1
    pieces = list(stack.pieces(first_map, maps, halo=0, of=of))
    plan, extents, bands, buffers = _extents_plan(stack, levels, pieces, first_map, maps, of)
    spans = Scratch("coverage_spans", np.int32, 2 * regions * lines)
    ranks = Scratch("coverage_ranks", np.uint32, regions * lines)
    counts = Scratch("coverage_counts", np.uint32, regions + 1)
    starts = Scratch("coverage_starts", np.uint32, regions + 1)
    lower = Scratch("coverage_lower", REAL, 2 * regions * lines)
    upper = Scratch("coverage_upper", REAL, 2 * regions * lines)
    profile = session.profile
    columns = Step(
        "region/coverage_columns",
        select(profile, "region/coverage_columns", REAL, lines),
        args=(extents, np.uint32(stack.columns), np.uint32(bands), np.uint32(regions), spans, ranks, counts),
        groups=regions,
        bytes_moved=4 * extents.count + 12 * regions * lines,
    )
    scan = scan_plan(
        profile, [ScanPiece(counts, 0, regions + 1)], np.dtype(np.uint32), [starts], OPERATORS["sum"], exclusive=True,
        prefix="coverage",
    )  # fmt: skip
    policy = select(profile, "region/coverage_candidates", REAL, regions * lines)
    candidates = Step(
        "region/coverage_candidates",
        policy,
        args=(spans, ranks, starts, np.uint32(lines), np.uint64(regions * lines), lower, upper),
        groups=policy.groups(ceil_div(regions * lines, policy.tile), profile.compute_units),
        params={"real": "float"},
        bytes_moved=28 * regions * lines,
    )
    made = run(session, plan + Plan(columns) + scan + Plan(candidates), profile=outline.profile, **buffers)
    chains = outline.chains(
        regions * lines, outline.segments, lower=lower, upper=upper, starts=starts, regions=regions,
        **{s.name: made[s] for s in (lower, upper, starts)},
    )  # fmt: skip
    each, across, phases = np.arange(regions), None, made.phases + chains.phases
    if outline.turned is not None:
        other = _by_extent(
            outline.turned, levels, first_map, maps, replace(outline, turned=None), parts, least, of
        )
        across = [(other.groups[0].chains, i) for i in range(regions)]
        phases += other.phases
    group = Group(chains, first_map + each // count, each % count, np.zeros(regions, np.int64), across=across)
    return Found([group], phases)


def _extents_plan(stack, levels, pieces, first_map, maps, of):
    """A launch for every piece of the raster and few levels; the Scratch "extents" of all, in bands of rows."""
    profile, count = stack.session.profile, len(levels.given)
    kernel = "region/coverage_extents"
    policy = select(profile, kernel, stack.dtype, stack.rows * stack.columns)
    strips = 1 if policy.variant == "serial" else ceil_div(stack.columns, policy.wg_size)
    wanted = max(policy.groups_per_unit, 1) * profile.compute_units

    def bands_of(piece):
        enough = ceil_div(wanted, piece.maps * strips)
        return max(min(enough, piece.rows // (4 * policy.items_per_thread)), 1)

    whole = pieces[0].rows == stack.rows  # then every piece has all bands of its maps
    bands = [bands_of(pieces[0] if whole else piece) for piece in pieces]
    own = len(pieces) if whole else ceil_div(len(pieces), maps)  # pieces of one map
    all_bands = bands[0] if whole else sum(bands[:own])
    extents = Scratch("coverage_extents", np.int32, 2 * stack.columns * maps * count * all_bands)
    buffers = {f"raster_{i}": piece.buffer for i, piece in enumerate(pieces)}
    steps, first_level = [], 0
    for width in _level_widths(count):
        some = levels.thresholds[first_level : first_level + width]
        name = f"thresholds_{first_level}"
        buffers[name] = to_device(stack.session, np.ascontiguousarray(some), of=of).chunks[0].buffer
        for i, piece in enumerate(pieces):
            first_band = 0 if whole else sum(bands[i // own * own : i])
            steps.append(
                Step(
                    kernel,
                    policy,
                    args=(
                        f"raster_{i}", np.uint64(piece.start), np.uint64(stack.rows * stack.columns),
                        np.uint32(piece.maps), np.uint32(piece.first_row), np.uint32(piece.rows),
                        np.uint32(stack.columns), np.uint32(bands[i]), np.uint32(first_band), np.uint32(all_bands),
                        np.uint32(piece.first_map - first_map), np.uint32(count), np.uint32(first_level), name,
                        levels.nodata_or_zero, extents,
                    ),
                    groups=piece.maps * bands[i] * strips,
                    params={**levels.params(stack.value), "levels": width},
                    bytes_moved=piece.maps * (piece.rows * stack.columns * stack.dtype.itemsize
                                              + 8 * bands[i] * stack.columns * width),
                )
            )  # fmt: skip
        first_level += width
    return Plan(*steps), extents, all_bands, buffers


def _level_widths(count, most=MOST_LEVELS):
    """How many levels each launch takes, at most so many."""
    while count:
        width = max(w for w in LEVELS_AT_ONCE if w <= max(min(count, most), 1))
        yield width
        count -= width


# Parts and holes: runs of columns ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """Runs of cells in columns, sorted by column and row: rows `top` to `bottom` of a column.

    Columns of all masks are counted through: column c is column ``c % width`` of mask ``c // width``.
    """

    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    width: int
    columns: int
    rows: int

    def __len__(self) -> int:
        return len(self.column)

    @property
    def starts(self) -> np.ndarray:
        """Where each column's runs begin, and how many there are."""
        return np.searchsorted(self.column, np.arange(self.columns + 1))

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """Column and top in one ascending number."""
        return self.column * self.rows + self.top

    def between(self) -> Runs:
        """The runs between these, to the edges of the map."""
        first = np.r_[True, self.column[1:] != self.column[:-1]] if len(self) else np.empty(0, bool)
        above = np.where(first, 0, np.r_[0, self.bottom[:-1] + 1] if len(self) else 0)
        last = np.r_[first[1:], True] if len(self) else first
        empty = np.setdiff1d(np.arange(self.columns), self.column[first], assume_unique=True)
        column = np.concatenate([self.column, self.column[last], empty])
        top = np.concatenate([above, self.bottom[last] + 1, np.zeros_like(empty)])
        bottom = np.concatenate([self.top - 1, np.full(last.sum() + len(empty), self.rows - 1)])
        there = top <= bottom
        column, top, bottom = column[there], top[there], bottom[there]
        order = np.argsort(column * self.rows + top, kind="stable")
        return Runs(column[order], top[order], bottom[order], self.width, self.columns, self.rows)


def _by_runs(stack, levels, first_map, maps, outline, parts, least, of):
    """Regions of parts, or of whole masks with holes."""
    runs, phases = _covered_runs(stack, levels, first_map, maps, outline.profile, of)
    masks = runs.column // runs.width
    if parts:
        roots, joining = _components(stack.session, runs, 1, outline.profile, of)
        phases += joining
        _, owner = np.unique(
            roots, return_inverse=True
        )  # roots are first runs: parts come from left to right
        mask_of = masks[np.unique(roots)]
    else:
        owner, mask_of = masks, np.arange(maps * len(levels.given))
    cells = np.bincount(owner, runs.bottom - runs.top + 1, len(mask_of)).astype(np.int64)
    part = np.arange(len(mask_of)) - np.searchsorted(mask_of, mask_of)
    holes: dict = {}
    if least is not None:
        holes, joining = _holes(stack.session, runs, owner, least, outline.profile, of)
        phases += joining
    about = (first_map + mask_of // len(levels.given), mask_of % len(levels.given), part, cells)
    across = None
    if outline.turned is not None:
        across, more = _across(outline, levels, first_map, maps, parts, runs, owner, of)
        phases += more
    return _outlined(_lines(runs, owner, len(mask_of)), about, holes, outline, phases, across)


def _across(outline, levels, first_map, maps, parts, runs, owner, of):
    """For each region (chains, number) of its outline along the other axis; and the phases that found them."""
    turned, phases = _covered_runs(outline.turned, levels, first_map, maps, outline.profile, of)
    regions = int(owner.max(initial=-1)) + 1 if parts else turned.columns // turned.width
    if not parts:
        found = np.arange(regions)
        owner_there = turned.column // turned.width
    else:
        roots, joining = _components(outline.session, turned, 1, outline.profile, of)
        phases += joining
        _, owner_there = np.unique(roots, return_inverse=True)
        # the same part there: that of the first cell of the region's first run here
        first = np.unique(owner, return_index=True)[1]
        mask, column = np.divmod(runs.column[first], runs.width)
        keys = (mask * turned.width + runs.top[first]) * turned.rows + column
        found = owner_there[np.searchsorted(turned.keys, keys, side="right") - 1]
    about = tuple(np.zeros(regions, np.int64) for _ in range(3)) + (np.arange(regions),)
    made = _outlined(_lines(turned, owner_there, regions), about, {}, replace(outline, turned=None), ())
    where = {int(r): (group.chains, i) for group in made.groups for i, r in enumerate(group.cells.tolist())}
    return [where[r] for r in found.tolist()], phases + made.phases


def _covered_runs(stack, levels, first_map, maps, profile_it, of) -> tuple[Runs, tuple]:
    """The runs of covered cells of some maps at all levels, a mask for each; and the phases that found them."""
    import pyopencl.array as cl_array

    session, count = stack.session, len(levels.given)
    profile, rows, columns = session.profile, stack.rows, stack.columns
    kernel = "region/coverage_edges"
    policy = select(profile, kernel, stack.dtype, rows * columns)
    begins, ends, phases = [], [], ()
    for piece in stack.pieces(first_map, maps, halo=1, of=of):
        first_level, cells = 0, piece.maps * piece.rows * columns
        for width in _level_widths(count, profile.max_alloc_bytes // cells):
            some = np.ascontiguousarray(levels.thresholds[first_level : first_level + width])
            n = cells * width
            labels = Scratch("coverage_labels", np.uint8, n)
            step = Step(
                kernel,
                policy,
                args=("raster", np.uint64(piece.start), np.uint32(piece.maps), np.uint32(piece.first_row),
                      np.uint32(piece.rows), np.uint32(rows), np.uint32(columns), "thresholds", levels.nodata_or_zero,
                      labels),
                groups=policy.groups(piece.maps * piece.rows, profile.compute_units),
                params={**levels.params(stack.value), "levels": width},
                bytes_moved=cells * (stack.dtype.itemsize + width),
            )  # fmt: skip
            thresholds = to_device(session, some, of=of).chunks[0].buffer
            made = run(session, Plan(step), profile=profile_it, raster=piece.buffer, thresholds=thresholds)
            phases += made.phases
            flat = cl_array.Array(session.queue, (n,), np.uint8, data=made[labels])
            only_begin, only_end, both = partition(flat, 3, device=session)

            def keys(*indices, piece=piece, width=width, first_level=first_level):
                at = np.concatenate(indices)
                mask, cell = np.divmod(at, piece.rows * columns)
                row, column = np.divmod(cell, columns)
                one, level = np.divmod(mask, width)
                mask = (piece.first_map - first_map + one) * count + first_level + level
                return (mask * columns + column) * rows + piece.first_row + row

            begins.append(keys(only_begin, both))
            ends.append(keys(only_end, both))
            first_level += width
    begins, ends = (np.sort(np.concatenate(found)) for found in (begins, ends))
    column, top = np.divmod(begins, rows)
    return Runs(column, top, ends - column * rows, columns, maps * count * columns, rows), phases


def _components(session, runs: Runs, reach, profile_it, of) -> tuple[np.ndarray, tuple]:
    """For every run the first run of its connected part, and the phases that found it.

    `reach` 1 joins runs that touch with a corner.
    """
    n = len(runs)
    if n == 0:
        return np.empty(0, np.int64), ()
    memory = {
        "tops": runs.top.astype(np.int32), "bottoms": runs.bottom.astype(np.int32),
        "columns": runs.column.astype(np.uint32), "starts": runs.starts.astype(np.uint32),
    }  # fmt: skip
    buffers = {name: to_device(session, values, of=of).chunks[0].buffer for name, values in memory.items()}
    buffers["parents"] = _sent(session, np.arange(n, dtype=np.uint32))
    roots = Scratch("coverage_roots", np.uint32, n)

    def step(name, args):
        policy = select(session.profile, f"region/{name}", np.dtype(np.uint32), n)
        groups = policy.groups(ceil_div(n, policy.tile), session.profile.compute_units)
        return Step(f"region/{name}", policy, args, groups, bytes_moved=16 * n)

    number = np.uint32(n)
    unite = step(
        "coverage_unite",
        ("tops", "bottoms", "columns", "starts", number, np.uint32(runs.width), np.int32(reach), "parents"),
    )
    find = step("coverage_roots", ("parents", number, roots))
    made = run(session, Plan(unite, find), profile=profile_it, **buffers)
    return made.read(roots).astype(np.int64), made.phases


def _sent(session, values):
    """Memory that kernels may write, with these values in it."""
    buffer = allocate(session, values.nbytes)
    if values.size:
        write(session, buffer, values)
    return buffer


@dataclass(frozen=True, eq=False)
class Hole:
    """An area without coverage that coverage encloses: runs of cells that touch with their sides.

    `mask` is the number of its mask and `region` that of the region around it. Islands in it that are of other regions
    are cut out with it.
    """

    column: np.ndarray
    top: np.ndarray
    bottom: np.ndarray
    mask: int
    region: int
    runs: Runs
    owner: np.ndarray

    @property
    def cells(self) -> int:
        return int((self.bottom - self.top + 1).sum())

    def rings(self) -> tuple[np.ndarray, ...]:
        """Its boundary in columns and rows: the outer ring, then those of islands that are of its region, too."""
        outer, *inner = sorted(trace_runs(self.column, self.top, self.bottom), key=twice_area, reverse=True)
        return outer, *(ring for ring in inner if self._region_right_of(ring) == self.region)

    def _region_right_of(self, ring) -> int:
        column, row = right_of(ring)
        key = (self.mask * self.runs.width + column) * self.runs.rows + row
        return int(self.owner[np.searchsorted(self.runs.keys, key, side="right") - 1])


def _holes(session, runs, owner, least, profile_it, of) -> tuple[dict, tuple]:
    """Region number -> its holes of at least `least` cells; and the phases that found them."""
    gaps = runs.between()
    roots, phases = _components(session, gaps, 0, profile_it, of)
    side = gaps.column % gaps.width
    at_edge = (gaps.top == 0) | (gaps.bottom == gaps.rows - 1) | (side == 0) | (side == gaps.width - 1)
    sizes = np.bincount(roots, gaps.bottom - gaps.top + 1, len(gaps))
    sizes[roots[at_edge]] = 0
    chosen = np.flatnonzero((sizes > 0) & (sizes >= least))
    # a hole's first run has its own surroundings above it: the cells left of the first column are no hole's, and touch
    above = np.searchsorted(runs.keys, gaps.keys[chosen]) - 1
    keep = np.isin(roots, chosen)
    order = np.flatnonzero(keep)[np.argsort(roots[keep], kind="stable")]
    bounds = np.searchsorted(roots[order], np.r_[chosen, len(gaps)])
    found: dict = {}
    for hole, run_above in enumerate(above.tolist()):
        members = order[bounds[hole] : bounds[hole + 1]]
        column, region = gaps.column[members], int(owner[run_above])
        mask = int(column[0]) // gaps.width
        made = Hole(column % gaps.width, gaps.top[members], gaps.bottom[members], mask, region, runs, owner)
        found.setdefault(region, []).append(made)
    return found, phases


# From runs to candidates ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """The grid lines of regions, region after region: at `x`, covered rows from `low` to `high`."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    starts: np.ndarray


def _lines(runs: Runs, owner, regions) -> Lines:
    """Highest and lowest corner on each grid line beside a region's columns."""
    order = np.argsort(owner, kind="stable")  # by region, column, row
    region, column = owner[order], runs.column[order]
    if len(order) == 0:
        return Lines(*(np.empty(0, np.int64) for _ in range(3)), np.zeros(regions + 1, np.int64))
    fresh = np.r_[True, (region[1:] != region[:-1]) | (column[1:] != column[:-1])]
    begin = np.flatnonzero(fresh)
    end = np.r_[begin[1:], len(order)] - 1
    region, column = region[begin], column[begin] % runs.width
    first, after = runs.top[order[begin]], runs.bottom[order[end]] + 1
    # a column has a line on its left; one on its right, too, unless that is the left line of the region's next column
    alone = np.r_[(region[1:] != region[:-1]) | (column[1:] != column[:-1] + 1), True]
    left = np.arange(len(column)) + np.r_[0, np.cumsum(alone)[:-1]]
    total = len(column) + int(alone.sum())
    x, low, high, whose = (np.empty(total, np.int64) for _ in range(4))
    low[:], high[:] = NONE, -1
    x[left], x[left + 1] = column, column + 1
    whose[left] = whose[left + 1] = region
    low[left], high[left] = first, after
    low[left + 1] = np.minimum(low[left + 1], first)
    high[left + 1] = np.maximum(high[left + 1], after)
    return Lines(x, low, high, np.searchsorted(whose, np.arange(regions + 1)))


def _outlined(lines: Lines, about, holes, outline: Outlining, phases, across=None) -> Found:
    """Chains of all regions, those of like size in one call."""
    maps, levels, parts, cells = about
    sizes = np.diff(lines.starts)
    classes = [c for c in SIZE_CLASSES if c < outline.segments] if outline.cuts == "count" else []
    groups = []
    for low, high in zip([-1, *classes], [*classes, NONE]):
        segments = min(outline.segments, high)
        chosen = np.flatnonzero((sizes > low) & (sizes <= high))
        for some in _shares(chosen, sizes, segments):
            pick = np.repeat(lines.starts[some] - np.r_[0, np.cumsum(sizes[some])[:-1]], sizes[some])
            pick += np.arange(len(pick))
            starts = np.r_[0, np.cumsum(sizes[some])].astype(np.uint32)
            memory = {
                side: _sent(outline.session, np.stack([lines.x[pick], rows[pick]], axis=1).astype(REAL))
                for side, rows in (("lower", lines.low), ("upper", lines.high))
            }
            chains = outline.chains(
                len(pick), segments, lower="coverage_lower", upper="coverage_upper", starts="coverage_starts",
                regions=len(some), coverage_lower=memory["lower"], coverage_upper=memory["upper"],
                coverage_starts=_sent(outline.session, starts),
            )  # fmt: skip
            own = {i: tuple(holes[r]) for i, r in enumerate(some.tolist()) if r in holes}
            other = None if across is None else [across[r] for r in some.tolist()]
            groups.append(Group(chains, maps[some], levels[some], parts[some], cells[some], own, other))
            phases += chains.phases
    return Found(groups, phases)


def _shares(chosen, sizes, segments):
    """Regions in shares that one call of `chains_of` takes."""
    if len(chosen) == 0:
        return
    share = np.cumsum(sizes[chosen]) // CANDIDATES_AT_ONCE
    share = np.maximum(share, np.arange(len(chosen)) // max(SEGMENTS_AT_ONCE // segments, 1))
    yield from np.split(chosen, np.flatnonzero(np.diff(share)) + 1)
