"""Many cells in a word: the tables of the longest common subsequence and of the edit distance, as bits.

In both tables neighbouring cells of a column differ by at most one. So one or two bits hold a cell, and a few
operations on words fill 32 or 64 cells. The results are exact and equal those of the equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.core.launch import allocate, fill, read, run, write
from clgeom.core.plan import Plan, Series, Step
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.paths import tickets
from clgeom.errors import DeviceLimit, DeviceWarning, warn
from clgeom.intake.arrays import c_name

if TYPE_CHECKING:
    import pyopencl as cl

    from clgeom.core.device import Session
    from clgeom.core.policies import Policy

#: Problem -> (words that hold a column, bits carried from row to row). Initially: column 0, and the row above row 0.
PROBLEMS = {"lcs": ((~0,), (0,)), "edit": ((~0, 0), (~0, 0))}
#: Columns of a tile, in blocks of 32, and steps of a strip of a sweep between two looks at the strip above.
BLOCKS = {"group": 32, "serial": 16}
CHUNK = 16
#: Most cells of a launch of a sweep for each compute unit: 0.1 to 0.3 s on an H200.
LAUNCH_CELLS = 1 << 33
#: How much longer than groups of other launches those of a sweep wait: the last strip begins late.
PATIENCE = 16
#: Steps of the traceback in a launch: they are sequential.
STEPS = 1 << 17
#: Most bytes of masks that are held in local memory, where neighbours read different banks.
LOCAL_BYTES = 16384
#: Most kept words of a piece of the table, for the traceback, as a share of the device's memory: strips of wide pieces
#: are all at work. CPUs are quicker with memory that they have touched before: a number of bytes (PoCL, 150,000 x
#: 170,000: 64 MiB 1.5 s, 1 GiB 1.3 to 10 s).
KEPT_SHARE = 4
MOST_KEPT = 1 << 26
#: Cells from which on a narrow band is filled first, and its share of the longer sequence. PoCL, 100,000 letters, ms of
#: processors, table and bands: edits at 5 % 484 and 61, at 20 % 466 and 113, at random 499 and 283.
LEAST_BANDED, FIRST_BAND = 1 << 25, 1 / 32


def as_codes(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return two sequences as numbers 0, 1 .. of the narrowest type, and how many there are.

    Symbols that only one sequence has need no number of their own: they match nothing.
    """
    if a.dtype == b.dtype and a.dtype.itemsize == 1:  # few possible symbols: count instead of sort
        both = np.bincount(a.view(np.uint8), minlength=256) + np.bincount(b.view(np.uint8), minlength=256)
        number = (np.cumsum(both > 0) - 1).astype(np.uint8)
        return number[a.view(np.uint8)], number[b.view(np.uint8)], int((both > 0).sum())
    common = np.intersect1d(a, b)
    count = len(common)

    def coded(sequence: np.ndarray, lone: int) -> np.ndarray:
        indices = np.minimum(np.searchsorted(common, sequence), max(count - 1, 0))
        found = common[indices] == sequence if count else np.zeros(len(sequence), bool)
        return np.where(found, indices, lone).astype(np.min_scalar_type(count + 1))

    return coded(a, count), coded(b, count + 1), count + 2


class BitTable:
    """The table of two sequences on a device, each of at least one symbol, with the masks of the first one.

    `problem` is "lcs" or "edit"; `a` are the rows and `b` the columns.
    """

    def __init__(self, session: Session, problem: str, a: np.ndarray, b: np.ndarray) -> None:
        self.session, self.problem = session, problem
        self.n, self.m = len(a), len(b)
        self.a, self.b, self.symbols = as_codes(a, b)
        self.policy = select(session.profile, "sequences/bits_tiles")
        self.sweep = select(session.profile, "sequences/bits_sweep")
        self.sweeps = self.policy.variant == "group" and tickets.are_safe(session)
        #: Insertions and deletions up to which paths stay within the tiles that are filled; of sweeps all are.
        self.most = self.n + self.m
        self.word: np.dtype[Any] = np.dtype(np.uint64 if self.policy.variant == "serial" else np.uint32)
        tile = int(np.lcm(self.policy.tile, self.sweep.tile))
        self.words = tile * ceil_div(self.n, self.word_bits * tile)
        size = self.symbols * self.words * self.word.itemsize
        if size > session.profile.max_alloc_bytes:
            raise DeviceLimit(
                f"The masks of {self.n:,} symbols, {self.symbols:,} different ones, need a buffer of {size:,} bytes, "
                f"and {session.profile.name} allows {session.profile.max_alloc_bytes:,}."
            )
        rows, self.masks = self._upload(self.a), allocate(session, size)
        fill(session, self.masks, self.word.type(0), self.symbols * self.words)
        policy = select(session.profile, "sequences/bits_masks")
        if (policy.variant == "serial") != (self.policy.variant == "serial"):
            raise ValueError("bits_masks and bits_tiles must be of one variant: they share words")
        args = ("rows", np.uint32(self.n), np.uint32(self.words), "masks")
        groups = policy.groups(ceil_div(self.words, policy.wg_size), session.profile.compute_units)
        step = Step("sequences/bits_masks", policy, args, groups, {"symbol": c_name(self.a.dtype)})
        run(session, Plan(step), rows=rows, masks=self.masks)

    @property
    def word_bits(self) -> int:
        return 8 * self.word.itemsize

    @property
    def start(self) -> np.ndarray:
        """The words of column 0."""
        return np.repeat(np.array(PROBLEMS[self.problem][0]).astype(self.word), self.words)

    def columns(
        self, first: int, stop: int, start: np.ndarray, *, rows: int | None = None, keep: bool = False, every: int = 0
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        """Run over the columns first .. stop - 1 from the words of the column before.

        Return the buffers, and the words of the columns before every so many columns, a multiple of 32. The buffer
        "state" has the words of the last column. lcs: a bit where the length does *not* grow. edit: where the distance
        grows, then where it falls. With `keep`, "kept" has the words of every column; words of the same rows are
        contiguous.
        """
        rows = self.n if rows is None else rows
        if self.sweeps:
            done = self._swept(first, stop, start, rows, keep, every)
            if done is not None:
                return done
            self.sweeps = False
            warn(
                f"The groups of one launch on {self.session.profile.name} waited too long for each other: a table of "
                f"two sequences was computed by one launch for each diagonal of tiles.",
                DeviceWarning,
            )
        buffers, starts = dict[str, Any](), list[np.ndarray]()
        for at in range(first, stop, every or stop - first):
            if starts:
                start = self.read_state(buffers["state"])
            starts.append(start)
            end = min(at + every, stop) if every else stop
            buffers = self._buffers(at, end, start, keep)
            run(self.session, self._tiles_plan(at, end, rows, keep), **buffers)
        return buffers, starts

    def _buffers(self, first: int, stop: int, start: np.ndarray, keep: bool) -> dict[str, Any]:
        m = stop - first
        carries = np.repeat(np.array(PROBLEMS[self.problem][1]).astype(np.uint32), ceil_div(m, 32))
        return {
            "masks": self.masks,
            "columns": self._upload(np.pad(self.b[first:stop], (0, -m % 32))),
            "state": self._upload(start),
            "carries": self._upload(carries),
            "kept": allocate(self.session, self.kept_bytes(m) if keep else 1),
        }

    def _swept(
        self, first: int, stop: int, start: np.ndarray, rows: int, keep: bool, every: int
    ) -> tuple[dict[str, Any], list[np.ndarray]] | None:
        """As `columns`, by one launch for as many columns as one takes; None if its groups gave up."""
        session, words = self.session, len(start)
        strips = ceil_div(rows, self.word_bits * self.sweep.tile)
        most = int(LAUNCH_CELLS * session.profile.compute_units) // rows // 32 * 32 or 32
        if every:
            most = max(most // every, 1) * every
        starts: list[np.ndarray] = []
        for at in range(first, stop, stop - first if keep else most):
            end = stop if keep else min(at + most, stop)
            buffers = self._buffers(at, end, start, keep)
            pieces = ceil_div(end - at, every) if every else 0
            buffers["starts"] = allocate(session, max(pieces * words, 1) * self.word.itemsize)
            buffers["progress"] = tickets.new_counters(session, 1 + strips + 1)
            run(session, self._sweep_plan(end - at, strips, keep, every), **buffers)
            if read(session, buffers["progress"], np.int32, 1, 1 + strips)[0]:
                return None
            if every:
                starts.extend(read(session, buffers["starts"], self.word, pieces * words).reshape(pieces, words))
            if end < stop:
                start = self.read_state(buffers["state"])
        return buffers, starts

    def kept_bytes(self, m: int) -> int:
        """Return the bytes of memory for keeping so many columns."""
        return len(PROBLEMS[self.problem][0]) * self.words * int(pitch_of(m)) * self.word.itemsize

    def read_state(self, buffer: cl.Buffer) -> np.ndarray:
        """Return the words of a column."""
        return read(self.session, buffer, self.word, len(PROBLEMS[self.problem][0]) * self.words)

    def bits(self, words: np.ndarray) -> tuple[np.ndarray, ...]:
        """Words as arrays of bool over the rows: one for lcs, two for edit."""
        bits = np.unpackbits(words.astype(self.word.newbyteorder("<")).view(np.uint8), bitorder="little")
        return tuple(part[: self.n].astype(bool) for part in np.split(bits, len(PROBLEMS[self.problem][0])))

    def value(self, words: np.ndarray) -> int:
        """Return the length, or the distance, from the words of the last column."""
        if self.problem == "lcs":
            return self.n - int(self.bits(words)[0].sum())
        grows, falls = self.bits(words)
        return self.m + int(grows.sum()) - int(falls.sum())

    def solve(self) -> int:
        """Return the length, or the distance."""
        found = self._in_band()
        return self._last_value() if found is None else found

    def _last_value(self) -> int:
        buffers, _ = self.columns(0, self.m, self.start)
        return self.value(self.read_state(buffers["state"]))

    def _in_band(self) -> int | None:
        """Let only tiles be filled that paths of the best value can reach; return this value if it is already known.

        A narrow band gives a value that some path has. No better path has more insertions and deletions than that has
        edits, so it is within so wide a band, and so are the values beside it that decide its way (Ukkonen 1985).
        Beyond the tiles values grow least (lcs) or most (edit) in each row and column: none is better than it is.
        """
        if self.sweeps or self.n * self.m < LEAST_BANDED:
            return None
        narrow = self.most = abs(self.n - self.m) + int(max(self.n, self.m) * FIRST_BAND)
        value = self._last_value()
        self.most = value if self.problem == "edit" else self.n + self.m - 2 * value
        return value if self.most <= narrow else None

    def steps(self, most_bytes: int | None = None) -> tuple[int, np.ndarray]:
        """Return the value, and the path through the table from its first cell to its last.

        A step is 0 for a match, 1 for a change, 2 for down (delete), 3 for right (insert). Ties go to the first of
        these. The table is kept in pieces of `most_bytes` at most: the first pass leaves the column before each piece,
        and the pieces are computed again, from the last to the first, with every column kept.
        """
        session = self.session
        kept = MOST_KEPT if self.policy.variant == "serial" else session.profile.global_mem_bytes // KEPT_SHARE
        most = min(most_bytes or kept, session.profile.max_alloc_bytes)
        piece = max(most // self.kept_bytes(32) * 32, 32)
        value = self._in_band()
        starts = [self.start]
        if piece < self.m:
            buffers, starts = self.columns(0, self.m, self.start, every=piece)
            value = self.value(self.read_state(buffers["state"]))
        steps = self._upload(np.zeros(self.n + self.m, np.uint8))
        row, at = self.n, self.n + self.m
        for first, start in zip(range(0, self.m, piece)[::-1], starts[::-1]):
            if row == 0:
                break
            stop = min(first + piece, self.m)
            buffers, _ = self.columns(first, stop, start, rows=row, keep=True)
            if value is None:
                value = self.value(self.read_state(buffers["state"]))
            cursor = self._upload(np.array([row, stop - first, at], np.uint32))
            run(session, self._traceback_plan(stop - first, row), **buffers, cursor=cursor, steps=steps)
            row, left, at = (int(number) for number in read(session, cursor, np.uint32, 3))
            column = first + left
        assert value is not None, "there is a column"
        path = read(session, steps, np.uint8, self.n + self.m - at, at)
        return value, np.concatenate([np.repeat(np.array([2, 3], np.uint8), [row, column]), path])

    def _upload(self, values: np.ndarray) -> cl.Buffer:
        values = np.ascontiguousarray(values)
        buffer = allocate(self.session, values.nbytes)
        write(self.session, buffer, values)
        return buffer

    # Plans

    def _shared(self, policy: Policy, m: int, keep: bool) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """Template parameters and arguments of the kernels that fill `m` columns of the table."""
        local = next((s for s in (8, 32, 128) if self.symbols <= s), 0) if policy.variant == "group" else 0
        if local * policy.tile * 4 > LOCAL_BYTES:
            local = 0
        params = {"problem": self.problem, "symbol": c_name(self.a.dtype), "local_symbols": local, "keep": keep}
        sizes = np.uint32(self.words), np.uint32(self.symbols)
        return params, ("masks", *sizes, "columns", np.uint32(m), pitch_of(m), "carries", "state", "kept")

    def _tiles_plan(self, begin: int, end: int, rows: int, keep: bool) -> Plan:
        """Return the diagonals of tiles for some columns: of each those strips that are near enough to the path."""
        policy, blocks, m = self.policy, BLOCKS[self.policy.variant], end - begin
        height, width = self.word_bits * policy.tile, 32 * blocks
        strips, tiles = ceil_div(rows, height), ceil_div(m, width)
        params, inputs = self._shared(policy, m, keep)
        args = (*inputs, np.uint32(0), np.uint32(0))
        diagonals = np.arange(strips + tiles - 1)
        # a path goes through cells with column - row of least .. greatest, and a tile has those of its corners
        aside = (self.most - abs(self.n - self.m)) // 2
        least, greatest = min(self.m - self.n, 0) - aside, max(self.m - self.n, 0) + aside
        first = np.maximum(
            diagonals - tiles + 1, -((greatest + height - 1 - begin - diagonals * width) // (height + width))
        )
        last = np.minimum(strips - 1, (begin + (diagonals + 1) * width - 1 - least) // (height + width))
        first, last = np.maximum(first, 0), np.minimum(diagonals, last)
        used = last >= first
        step = Step("sequences/bits_tiles", policy, args, 1, {**params, "blocks": blocks})
        launches = np.stack([diagonals, first], axis=1)[used]
        return Plan(Series(step, (len(args) - 2, len(args) - 1), launches, (last - first + 1)[used]))

    def _sweep_plan(self, m: int, strips: int, keep: bool, every: int) -> Plan:
        """Return all strips in one launch."""
        params, inputs = self._shared(self.sweep, m, keep)
        patience = np.int32(int(PATIENCE * tickets.patience(self.session)))
        args = (*inputs, "starts", np.uint32(every // 32), "progress", patience)
        return Plan(Step("sequences/bits_sweep", self.sweep, args, strips, {**params, "chunk": CHUNK}))

    def _traceback_plan(self, m: int, row: int) -> Plan:
        """Return the traceback through `m` kept columns from a row, in as many launches as it can take."""
        policy = select(self.session.profile, "sequences/bits_traceback")
        args = ("masks", np.uint32(self.words), "columns", pitch_of(m), "kept", "cursor", "steps", np.uint32(STEPS))
        params = {"problem": self.problem, "symbol": c_name(self.a.dtype), "word": c_name(self.word)}
        return Plan(*[Step("sequences/bits_traceback", policy, args, 1, params)] * ceil_div(row + m, STEPS))


def pitch_of(m: int) -> np.uint64:
    """Kept words of a row of words: whole blocks of columns."""
    return np.uint64(ceil_div(m, 32) * 32)
