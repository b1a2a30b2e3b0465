"""The launches of alignments: which tiles, in which type, in how much memory.

A pair of moderate size is one tile, and a work-item fills several pairs side by side. A long pair, or one of a few,
is cut into square tiles. Those of an antidiagonal of tiles are independent of each other and are one launch. The edges
between them stay in memory where a traceback needs them: it fills the tiles on its way again, this time with choices.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, constant, fill, read, run, write
from clgeom.core.plan import Plan, Scratch, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.errors import DeviceLimit
from clgeom.intake.arrays import as_device_values, to_device
from clgeom.sequences.align_jobs import NO_END, PairSpans, Tiled, job_table
from clgeom.sequences.align_sweep import sweep, sweep_policy, walk
from clgeom.sequences.scoring import A_BEGIN, A_END, B_BEGIN, B_END, SATURATED

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.policies import Policy
    from clgeom.sequences.pairs import SequencePairs
    from clgeom.sequences.scoring import Rules

KERNEL = "sequences/align_tiles"
#: Elements of vectors on CPUs, 32 bytes.
LANES = {"short": 16, "int": 8}
TYPES: dict[str, np.dtype[Any]] = {"short": np.dtype(np.int16), "int": np.dtype(np.int32)}
#: Greatest rows or columns of a tile in 16 bits.
MOST_SIDE = 32_000
#: Rows and columns of tiles: least for scores, least for paths, most, and most of a pair that is one tile. PoCL, 2
#: cores of an EPYC, a pair of 3,000, 8,000 and 20,000 letters, GCUPS: scores with tiles of 64 1.8 2.8 2.4, 128 2.3 3.6
#: 3.3, 256 1.7 4.1 3.3, 512 0.9 3.5 3.4; paths 0.4 0.8 1.3, 0.6 1.2 1.3, 0.6 1.7 1.5, 0.3 1.7 1.7.
LEAST_TILE, LEAST_PATH_TILE, LARGE_TILE, MOST_TILE = 128, 256, 1_024, 4_096
#: Least letters of pairs that are swept, and how many pairs of each compute unit, without and with paths, whatever
#: their length. H100, one work-item a pair and sweeps, ms: scores of 10,000 pairs of 1,000 letters 18 and 22, 3,000 of
#: 300 2.7 and 3.3, 300 of 300 1.6 and 1.1; paths of 10,000 of 1,000 171 and 93, 10,000 of 300 28 and 34, 1,000 of 300
#: 7.1 and 4.6.
LEAST_SWEPT, SWEPT = 128, {False: 8, True: 32}
#: Jobs that a compute unit should have at least, in vectors of the widest type.
VECTORS_PER_UNIT = 2
#: Most cells of a part: PoCL on 2 cores takes about a second, and so do GPUs of a hundredth of an H200.
PART_CELLS, PART_CELLS_OF_GPUS = 1 << 33, 1 << 35
#: Most cells of a launch of more jobs than work-items, so that Ctrl-C need not wait for a whole part.
LAUNCH_CELLS, LAUNCH_CELLS_OF_GPUS = 1 << 28, 1 << 32
#: Most cells of a narrow band of a pair that is one tile. PoCL, a work-item alone: 25 million a second.
NARROW_CELLS = 1 << 24
#: Most memory for scratch and for edges.
BUDGET = 1 << 28
#: State of a traceback at its end.
DONE = 3
#: Fours of rows and columns of choices, and buffers of walks and operations.
Path = tuple[int, int, Any, Any]


@dataclass(frozen=True)
class Shape:
    """The shape of a launch: policy, type and lanes of a work-item, and memory for each."""

    policy: Policy
    value: str
    lanes: int
    groups: int


class PairTiles:
    """The launches for the pairs of a part, whose letters are on the host or on the device."""

    def __init__(self, session: Session, a_letters: Any, b_letters: Any, rules: Rules) -> None:
        self.session, self.profile, self.rules = session, session.profile, rules
        self.policy: Policy = session.cached((KERNEL,), lambda: select(session.profile, KERNEL), policies=True)
        self.serial = self.policy.variant == "serial"
        self.rows = self.policy.items_per_thread
        self.letters, self.held = (a_letters, b_letters), list[Any]()
        self.sweeps = True

    @functools.cached_property
    def buffers(self) -> dict[str, Any]:
        """The inputs of all launches, and the word that they set for letters outside the alphabet."""
        scoring, status = self.rules.scoring, allocate(self.session, 4)
        fill(self.session, status, np.uint32(0), 1)
        a, b = (self.on_device(one, "A part of the sequences of align") for one in self.letters)
        tables = {"codes": constant(self.session, scoring.codes), "scores": constant(self.session, scoring.table)}
        return {"a": a, "b": b, **tables, "status": status}

    def on_device(self, values: Any, what: str) -> cl.Buffer:
        """Return a buffer with an array's elements; the array is held until the launches have ended."""
        on_host = type(values) is np.ndarray
        array = (to_device if on_host else as_device_values)(self.session, values, caller="align")
        self.held.append(array)
        return array.one_buffer(what)

    def met_unknown_letters(self) -> bool:
        """Return whether a letter was outside the alphabet, so that all results are void."""
        return bool(read(self.session, self.buffers["status"], np.uint32, 1)[0])

    # Choices

    @property
    def budget(self) -> int:
        return min(self.profile.max_alloc_bytes, max(BUDGET, self.profile.global_mem_bytes // 8))

    def tile_side(self, n: np.ndarray, m: np.ndarray, path: bool, count: int | None = None) -> int:
        """Return the rows and columns of tiles for pairs of these sizes, 0 where each pair is one tile.

        There are `count` pairs, where the sizes are the greatest alone.
        """
        count = len(n) if count is None else count
        if not count:
            return 0
        band, longest = self.rules.band, int(np.maximum(n, m).max())
        if band is not None and band < 2 * LEAST_TILE:
            has_room = not path or int((n * m).max()) // MOST_TILE * 16 <= self.budget  # for the edges of tiles
            if longest * (2 * band + self.rows) <= NARROW_CELLS or not has_room:
                return 0
        lanes = LANES["short"] if self.serial else self.policy.wg_size
        wanted = VECTORS_PER_UNIT * lanes * self.profile.compute_units
        shorter = int(np.minimum(n, m).max())
        choices = lanes * int(n.max() + self.rows) * int(m.max()) // 2 if path else 0
        whole = longest <= MOST_TILE and choices <= self.budget
        is_few = count < wanted // 2 and shorter > 4 * LEAST_TILE
        if self._sweep_policy() is not None and shorter > LEAST_SWEPT:
            is_few |= count <= SWEPT[path] * self.profile.compute_units or (path and shorter > 4 * LEAST_TILE)
        if whole and not is_few:
            return 0
        across = shorter if band is None else min(shorter, 2 * band)
        side = 1 << max(across * count // wanted, 1).bit_length() - 1
        side = min(max(side, LEAST_PATH_TILE if path else LEAST_TILE), LARGE_TILE)
        while path and int((n * m).max()) // side * 16 > self.budget and side < MOST_TILE:
            side *= 2
        while lanes * side * side // 2 > self.budget and side > LEAST_TILE:
            side //= 2
        return side

    def fits_short(self, n: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return whether tables of these sizes are filled in 16 bits."""
        return self.rules.fits_short(n, m) if self.serial else np.zeros(len(n), bool)

    def _shape(self, value: str, jobs: int, width: int, fours: int = 0, choice_width: int = 0) -> Shape:
        """Return the shape of a launch of at most so many jobs, whose scratch memory fits."""
        sizes = jobs, width, fours, choice_width
        make = functools.partial(self._new_shape, value, *sizes)
        shape: Shape = self.session.cached(("shapes of tiles", value, *sizes), make, policies=True)
        return shape

    def _new_shape(self, value: str, jobs: int, width: int, fours: int, choice_width: int) -> Shape:
        policy, lanes = self.policy, LANES[value] if self.serial else 1
        most = self.budget

        def parts() -> tuple[int, int]:
            one = policy.wg_size * lanes
            return one * 2 * width * TYPES[value].itemsize, one * fours * choice_width * 2

        while max(parts()) > most and policy.wg_size > 1:
            policy = replace(policy, wg_size=policy.wg_size // 2)
        if max(parts()) > most and lanes > 1:
            value, lanes = "int", 1
        if max(parts()) > most:
            raise DeviceLimit(
                f"An alignment needs {max(parts()):,} bytes of scratch memory, and {most:,} are allowed",
                "take shorter sequences or a narrower band",
            )
        groups = policy.groups(ceil_div(jobs, lanes * policy.wg_size), self.profile.compute_units)
        return Shape(policy, value, lanes, max(1, min(groups, most // max(parts()))))

    # Launches

    def _launch(
        self,
        shape: Shape,
        jobs: np.ndarray,
        side: int,
        width: int,
        *,
        ranges: Any = None,
        tiled: Tiled | None = None,
        path: Path | None = None,
    ) -> np.ndarray:
        """Run jobs, those of one range (first, count) after the other; return score, row and column of the end of each.

        Without a path those of local alignments are of their best cells, and all free ends count.
        """
        count, rules, scoring = len(jobs), self.rules, self.rules.scoring
        launches = self._cut_launches(shape, jobs, [(0, count)] if ranges is None else ranges, side)
        moved = jobs.nbytes + 12 * count
        moved += _bytes_of_tiles(jobs, side, TYPES[shape.value].itemsize, bool(tiled), bool(path))
        free = rules.free & (A_BEGIN | B_BEGIN) if path else rules.free
        costs = scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, free
        params = {
            "value": shape.value,
            "lanes": shape.lanes,
            "local": rules.local,
            "best": rules.local and not path,
            "matrix": scoring.matrix is not None,
            "narrow": max(scoring.greatest, -scoring.least) < 128,
            "banded": rules.band is not None,
            "tiled": bool(tiled),
            "path": bool(path),
        }
        numbers = *costs, (1 << 30) if rules.band is None else rules.band, side, width, count
        sizes = tiled and tiled[1:], path and path[:2]
        key = "tiles", shape, numbers, *sizes, tuple(params.values()), moved, launches.tobytes()
        make = functools.partial(tiles_plan, shape, params, numbers, *sizes, moved, launches)
        plan, results = make() if tiled else self.session.cached(key, make, policies=True)
        buffers = dict(self.buffers, jobs=self.on_device(jobs.ravel(), "The list of tiles of align"))
        if tiled:
            buffers["edges"] = tiled[0]
        if path:
            buffers |= {"walks": path[2], "operations": path[3]}
        found = run(self.session, plan, paced=len(launches) > 1, **buffers)
        return found.read(results).reshape(count, 3).astype(np.int64)

    def _cut_launches(self, shape: Shape, jobs: np.ndarray, ranges: Any, side: int) -> np.ndarray:
        """Ranges of jobs (first, count) that are a launch each: those of many cells in parts, each for all units."""
        most = LAUNCH_CELLS if self.profile.is_cpu else LAUNCH_CELLS_OF_GPUS
        groups = min(shape.groups, self.profile.compute_units) if self.serial else shape.groups
        wave = groups * shape.policy.wg_size * shape.lanes
        rows, columns = (np.minimum(jobs[:, k], side).astype(np.int64) for k in (3, 4))
        if self.rules.band is not None:
            columns = np.minimum(columns, 2 * self.rules.band + self.rows)
        done, cut = np.append(0, np.cumsum(rows * columns)), []
        for first, count in ranges:
            begin, stop = int(first), int(first + count)
            while begin < stop:
                end = int(np.searchsorted(done, done[begin] + most, "right")) - 1
                if end < stop:  # whole waves, of which the last one of a range may have fewer jobs
                    end = begin + max((end - begin) // wave, 1) * wave
                end = min(end, stop)
                cut.append((begin, end - begin))
                begin = end
        return np.array(cut)

    def _rounded(self, size: Any) -> int:
        count = int(size)
        return count + -count % int(self.rows)

    def _classes(self, pairs: PairSpans, fits: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """(value, indices) of pairs that are launched together: in 16 bits or 32, on GPUs those of similar sizes."""
        sizes = np.maximum(pairs.n, pairs.m)
        classes = np.zeros(len(pairs), np.int64) if self.serial else np.frexp(sizes)[1] // 2
        for value, chosen in (("short", fits), ("int", ~fits)):
            for one in np.unique(classes[chosen]):
                indices = np.flatnonzero(chosen & (classes == one))
                yield value, indices[np.lexsort((-pairs.m[indices], -pairs.n[indices]))]

    # Scores and ends

    def ends(self, pairs: PairSpans) -> np.ndarray:
        """Score, row and column of the end of each pair, int64 of shape (count, 3)."""
        fits = self._is_narrow(pairs)
        found = np.empty((len(pairs), 3), np.int64)
        for value, order in self._classes(pairs, fits):
            found[order] = self._fill_whole(pairs[order], value)
        again = np.flatnonzero(fits & (found[:, 0] >= SATURATED)) if self.rules.local else ()
        if len(again):
            for value, order in self._classes(pairs[again], np.zeros(len(again), bool)):
                found[again[order]] = self._fill_whole(pairs[again][order], value)
        return self.with_borders(pairs, found)

    def _is_narrow(self, pairs: PairSpans) -> np.ndarray:
        """Return whether pairs that are a tile each are computed in 16 bits."""
        narrow: np.ndarray = self.fits_short(pairs.n, pairs.m) & (np.maximum(pairs.n, pairs.m) <= MOST_SIDE - self.rows)
        return narrow

    def _fill_whole(self, pairs: PairSpans, value: str, path: Path | None = None, regions: Any = 0) -> np.ndarray:
        """Return the results of pairs that are a tile each; `regions` are where the operations of each end."""
        width = int(pairs.m.max()) + 1
        side = self._rounded(max(pairs.n.max(), pairs.m.max(), 1))
        shape = self._shape(value, len(pairs), width, *(path[:2] if path else ()))
        return self._launch(shape, job_table(pairs, ends=regions), side, width, path=path)

    def with_borders(self, pairs: PairSpans | SequencePairs, found: np.ndarray) -> np.ndarray:
        """Return the ends in the first row and column as well, and the empty local alignment."""
        scores, rows, columns = found.T
        if self.rules.local:
            is_empty = rows <= 0
            if is_empty.any():  # else a million pairs would be written for nothing
                found[is_empty] = 0
            return found
        rules, band = self.rules, self.rules.band
        if not rules.free & (A_END | B_END):
            return found
        n, m, nothing = pairs.n, pairs.m, np.zeros_like(pairs.n)
        for bit, i, j, length, begin in ((B_END, n, nothing, n, A_BEGIN), (A_END, nothing, m, m, B_BEGIN)):
            if rules.free & bit:
                score = rules.border(length, rules.free & begin)
                better = (
                    (score > scores)
                    | ((score == scores) & (i < rows))
                    | ((score == scores) & (i == rows) & (j < columns))
                )
                better &= rows != NO_END
                if band is not None:
                    better &= np.abs(i - j) <= band
                found[better] = np.stack([score, i, j], axis=1)[better]
        return found

    # Paths

    def paths(
        self, pairs: PairSpans, ends: np.ndarray, regions: np.ndarray, operations: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write the operations of pairs that end in `ends`; returns (scores, walks).

        `ends` has score, row and column of each; the score matters for local alignments alone. `regions` are where the
        operations of each pair end in `operations`. A walk is row and column of the beginning, a state, and the number
        of operations.
        """
        within = replace(pairs, n=ends[:, 1], m=ends[:, 2])
        scores, walks = np.empty(len(pairs), np.int64), np.empty((len(pairs), 4), np.int64)
        fits = self._is_narrow(within)
        if self.rules.local:
            fits &= ends[:, 0] < SATURATED
        for value, order in self._classes(within, fits):
            chosen = within[order]
            fours = self._rounded(chosen.n.max()) // 4
            choice_width = int(chosen.m.max())
            if self.rules.band is not None:
                choice_width = min(choice_width, 2 * self.rules.band + self.rows)
            begins = np.zeros((len(order), 4), np.int32)
            begins[:, 0], begins[:, 1] = chosen.n, chosen.m
            buffer = allocate(self.session, begins.nbytes)
            write(self.session, buffer, begins.ravel())
            path = max(fours, 1), max(choice_width, 1), buffer, operations
            scores[order] = self._fill_whole(chosen, value, path, regions[order])[:, 0]
            walks[order] = read(self.session, buffer, np.int32, begins.size).reshape(-1, 4)
        return scores, walks

    # Tiles

    def in_tiles(self, pairs: PairSpans, side: int, path: tuple[np.ndarray, Any] | None = None) -> tuple[Any, Any]:
        """Ends, and walks if `path` is (regions, operations), of pairs cut into tiles; in halves if memory is short."""
        kept = path is not None
        policy = self._sweep_policy(int((pairs.n * pairs.m).max()) if kept else 0)
        own_side, free = (policy.tile, (1, 0)) if policy else (self._rounded(side), (3, 1))
        slots = (ceil_div(int(pairs.n.max()), own_side), ceil_div(int(pairs.m.max()), own_side)) if kept else free
        sizes = 2 * (slots[0] * (pairs.m + 1) + slots[1] * (pairs.n + 1))
        if int(sizes.sum()) * 4 > self.budget and len(pairs) > 1:
            half = len(pairs) // 2
            (ends, walks), (more_ends, more_walks) = (
                self.in_tiles(pairs[part], side, path and (path[0][part], path[1]))
                for part in (slice(half), slice(half, None))
            )
            return np.concatenate([ends, more_ends]), None if walks is None else np.concatenate([walks, more_walks])
        if policy is not None:
            found = sweep(self, policy, pairs, slots, sizes, keep=kept)
            if found is None:
                self.sweeps = False
                return self.in_tiles(pairs, side, path)
            (ends, tiled), value = found, "int"
        else:
            value = "short" if self.fits_short(pairs.n, pairs.m).all() else "int"
            # the type of the edges is that of all launches, also of those that need memory for choices
            value = self._shape(value, len(pairs), own_side + 1, *((own_side // 4, own_side) if kept else ())).value
            ends, tiled = self._fill_tiles(pairs, own_side, value, slots, sizes)
            if value == "short" and self.rules.local and (ends[:, 0] >= SATURATED).any():
                value = "int"
                ends, tiled = self._fill_tiles(pairs, own_side, value, slots, sizes)
        return ends, path and self._walk_tiles(pairs, own_side, value, ends, tiled, sizes, *path, policy)

    def _sweep_policy(self, cells: int = 0) -> Policy | None:
        """Return the shape of `sweep`; None where it is not used.

        Nor is it where memory is short for the edges of so many cells, and the choices of a tile; 0 without paths.
        """
        policy = sweep_policy(self.session) if self.sweeps and self.rules.band is None else None
        if policy is None or (cells and max(cells // policy.tile * 16, policy.tile**2 // 2) > self.budget):
            return None
        return policy

    def _fill_tiles(
        self, pairs: PairSpans, side: int, value: str, slots: tuple[int, int], sizes: np.ndarray
    ) -> tuple[np.ndarray, Tiled]:
        """(ends, (edges, slots of rows, slots of columns)): a launch for each antidiagonal of tiles."""
        rows, columns = -(-pairs.n // side), -(-pairs.m // side)
        at = np.cumsum(sizes) - sizes
        # for each row of tiles of each pair the tiles that have cells of the band
        beside = int(columns.max()) + int(rows.max()) if self.rules.band is None else ceil_div(self.rules.band, side)
        pair = np.repeat(np.arange(len(pairs)), rows)
        tile_row = np.arange(len(pair)) - np.repeat(np.cumsum(rows) - rows, rows)
        first = np.maximum(tile_row - beside, 0)
        counts = np.maximum(np.minimum(columns[pair], tile_row + beside + 1) - first, 0)
        tile_column = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        pair, tile_row = np.repeat(pair, counts), np.repeat(tile_row, counts)
        tiles = np.bincount(pair, minlength=len(pairs))
        order = np.lexsort((-(pairs.n * pairs.m)[pair], tile_row + tile_column))
        jobs = job_table(pairs[pair], tile_row, tile_column, at[pair])[order]
        counts = np.bincount(tile_row + tile_column)
        ranges = np.stack([np.cumsum(counts) - counts, counts], axis=1)
        ranges = ranges[counts > 0]
        tiled = (allocate(self.session, int(sizes.sum()) * TYPES[value].itemsize), *slots)
        shape = self._shape(value, int(counts.max()), side + 1)
        score, i, j = self._launch(shape, jobs, side, side + 1, ranges=ranges, tiled=tiled).T
        score = np.where(i > tile_row * side, score, NO_END)  # no end in this tile
        first = np.lexsort((j, i, -score, pair))[np.cumsum(tiles) - tiles]
        found = np.stack([score, i, j], axis=1)[first]
        found[found[:, 0] == NO_END, 1:] = 0
        return self.with_borders(pairs, found), tiled

    def _walk_tiles(
        self,
        pairs: PairSpans,
        side: int,
        value: str,
        ends: np.ndarray,
        tiled: Tiled,
        sizes: np.ndarray,
        regions: np.ndarray,
        operations: Any,
        policy: Policy | None = None,
    ) -> np.ndarray:
        """Return the walks of all pairs, from tile to tile; `policy` is that of `sweep` if it made the edges."""
        walks = np.zeros((len(pairs), 4), np.int32)
        walks[:, :2] = ends[:, 1:]
        at = np.cumsum(sizes) - sizes
        active = np.arange(len(pairs))
        while len(active):
            tile_row, tile_column = (np.maximum(walks[active, k] - 1, 0) // side for k in (0, 1))
            jobs = job_table(pairs[active], tile_row, tile_column, at[active], regions[active])
            if policy is not None:
                walks[active] = walk(self, policy, jobs, tiled, walks[active], operations)
                active = active[walks[active, 2] != DONE]
                continue
            buffer = allocate(self.session, 16 * len(active))
            write(self.session, buffer, walks[active].ravel())
            path = side // 4, side, buffer, operations
            shape = self._shape(value, len(active), side + 1, *path[:2])
            self._launch(shape, jobs, side, side + 1, tiled=tiled, path=path)
            walks[active] = read(self.session, buffer, np.int32, 4 * len(active)).reshape(-1, 4)
            active = active[walks[active, 2] != DONE]
        return walks.astype(np.int64)


def tiles_plan(
    shape: Shape,
    params: dict[str, Any],
    numbers: Sequence[int],
    tiled: tuple[int, int] | None,
    path: tuple[int, int] | None,
    moved: int,
    launches: np.ndarray,
) -> tuple[Plan, Scratch]:
    """Return the launches of tiles, and the memory of their results. Pure: needs no device.

    `numbers` are match, mismatch, gap_open, gap_extend, free ends, band, side, width and slots of results; `tiled` the
    slots of rows and of columns; `path` the fours of rows and the columns of choices. A launch is its first job, and
    the number of jobs.
    """
    *costs, side, width, slots = numbers
    items = shape.groups * shape.policy.wg_size * shape.lanes
    results = Scratch("results", np.int32, 3 * slots)
    args: list[Any] = ["a", "b", "codes", "scores", *map(np.int32, costs), "jobs", np.uint32(0), np.uint32(0)]
    args += [np.int32(side), np.int32(width), Scratch("top", TYPES[shape.value], items * 2 * width)]
    args += [Scratch("columns", np.uint8, items * width), results, "status"]
    if tiled:
        args += ["edges", *map(np.uint32, tiled)]
    if path:
        fours, choice_width = path
        args += [Scratch("choices", np.uint16, items * fours * choice_width), *map(np.int32, path)]
        args += ["walks", "operations"]
    groups = np.minimum(-(-launches[:, 1] // (shape.lanes * shape.policy.wg_size)), shape.groups)
    first = args.index("jobs") + 1
    if len(launches) > 1:
        step = Step(KERNEL, shape.policy, tuple(args), shape.groups, params, bytes_moved=moved)
        return Plan(Series(step, (first, first + 1), launches, groups)), results
    args[first : first + 2] = map(np.uint32, launches[0])
    step = Step(KERNEL, shape.policy, tuple(args), int(groups[0]), params, bytes_moved=moved)
    return Plan(step) if tiled else Plan(step).kept(memory=True), results


def _bytes_of_tiles(jobs: np.ndarray, side: int, itemsize: int, tiled: bool, path: bool) -> int:
    """Return the bytes that tiles read and write besides their jobs: letters, edges between tiles, and choices of 4
    bits.
    """
    rows, columns = (np.minimum(jobs[:, k], side).astype(np.int64) for k in (3, 4))
    letters = int(rows.sum() + columns.sum())
    edges = 2 * letters * itemsize * (1 if path else 2) if tiled else 0  # H and a gap's, read, and written for others
    return letters + edges + (int((rows * columns).sum()) // 2 if path else 0)
