"""Many cells in a word: the tables of the longest common subsequence and of the edit distance, as bits.

In both tables neighbouring cells of a column differ by at most one. So one or two bits hold a cell, and a few
operations on words fill 32 or 64 cells. The results are exact and equal those of the equations.
"""

from __future__ import annotations

import numpy as np

from clgeom.errors import DeviceLimit
from clgeom.runtime.arrays import c_name
from clgeom.runtime.launch import allocate, fill, read, run, write
from clgeom.runtime.plan import Plan, Series, Step
from clgeom.runtime.policies import ceil_div
from clgeom.runtime.tuning import select

#: Problem -> (words that hold a column, bits carried from row to row). Initially: column 0, and the row above row 0.
PROBLEMS = {"lcs": ((~0,), (0,)), "edit": ((~0, 0), (~0, 0))}
#: Columns of a tile, in blocks of 32.
BLOCKS = {"group": 32, "serial": 64}
#: Steps of the traceback in a launch: they are sequential, and each takes up to a microsecond on a GPU.
STEPS = 1 << 17
#: Most bytes of masks that are held in local memory, where neighbours read different banks.
LOCAL_BYTES = 16384
#: Most bytes of kept words of a piece of the table, for the traceback: wide pieces keep GPUs busy, and CPUs are quicker
#: with memory that they have touched before (PoCL, 150,000 x 170,000: 64 MiB 1.5 s, 1 GiB 1.3 to 10 s).
MOST_KEPT = {"group": 1 << 30, "serial": 1 << 26}


def as_codes(a, b):
    """Two sequences as numbers 0, 1 .. of the narrowest type, and how many there are.

    Symbols that only one sequence has need no number of their own: they match nothing.
    """
    if a.dtype == b.dtype and a.dtype.itemsize == 1:  # few possible symbols: count instead of sort
        both = np.bincount(a.view(np.uint8), minlength=256) + np.bincount(b.view(np.uint8), minlength=256)
        number = (np.cumsum(both > 0) - 1).astype(np.uint8)
        return number[a.view(np.uint8)], number[b.view(np.uint8)], int((both > 0).sum())
    common = np.intersect1d(a, b)
    count = len(common)

    def coded(sequence, lone):
        indices = np.minimum(np.searchsorted(common, sequence), max(count - 1, 0))
        found = common[indices] == sequence if count else np.zeros(len(sequence), bool)
        return np.where(found, indices, lone).astype(np.min_scalar_type(count + 1))

    return coded(a, count), coded(b, count + 1), count + 2


class Pair:
    """Two sequences on a device, each of at least one symbol, and the masks of the first one.

    Parameters
    ----------
    session : Session
    problem : {"lcs", "edit"}
    a, b : ndarray, one-dimensional
        Rows and columns of the table.
    """

    def __init__(self, session, problem, a, b):
        self.session, self.problem = session, problem
        self.n, self.m = len(a), len(b)
        self.a, self.b, self.symbols = as_codes(a, b)
        self.policy = select(session.profile, "dp/paths/bits_tiles")
        self.word = np.dtype(np.uint64 if self.policy.variant == "serial" else np.uint32)
        self.words = self.policy.tile * ceil_div(self.n, self.word_bits * self.policy.tile)
        size = self.symbols * self.words * self.word.itemsize
        if size > session.profile.max_alloc_bytes:
            raise DeviceLimit(
                f"The masks of {self.n:,} symbols, {self.symbols:,} different ones, need a buffer of {size:,} bytes, "
                f"and {session.profile.name} allows {session.profile.max_alloc_bytes:,}."
            )
        self.rows, self.masks = self._upload(self.a), allocate(session, size)
        fill(session, self.masks, self.word.type(0), self.symbols * self.words)
        policy = select(session.profile, "dp/paths/bits_masks")
        if (policy.variant == "serial") != (self.policy.variant == "serial"):
            raise ValueError("bits_masks and bits_tiles must be of one variant: they share words")
        args = ("rows", np.uint32(self.n), np.uint32(self.words), "masks")
        groups = policy.groups(ceil_div(self.words, policy.wg_size), session.profile.compute_units)
        step = Step("dp/paths/bits_masks", policy, args, groups, {"symbol": c_name(self.a.dtype)})
        run(session, Plan(step), rows=self.rows, masks=self.masks)

    @property
    def word_bits(self) -> int:
        return 8 * self.word.itemsize

    @property
    def start(self) -> np.ndarray:
        """The words of column 0."""
        return np.repeat(np.array(PROBLEMS[self.problem][0]).astype(self.word), self.words)

    def columns(self, first, stop, start, *, rows=None, keep=False):
        """Run over the columns first .. stop - 1 from the words of the column before.

        Returns
        -------
        ndarray of words
            Of the last column: lcs: a bit where the length does *not* grow. edit: where the distance grows, then where
            it falls.
        pyopencl.Buffer
            With `keep` the words of every column; words of the same rows are contiguous.
        """
        session, m = self.session, stop - first
        rows = self.n if rows is None else rows
        strips = ceil_div(rows, self.word_bits * self.policy.tile)
        carries = np.repeat(np.array(PROBLEMS[self.problem][1]).astype(np.uint32), ceil_div(m, 32))
        buffers = {"masks": self.masks, "columns": self._upload(self.b[first:stop])}
        buffers["state"], buffers["carries"] = self._upload(start), self._upload(carries)
        buffers["kept"] = allocate(session, self.kept_bytes(m) if keep else 1)
        plan = columns_plan(
            self.policy, self.problem, strips, m, self.words, self.symbols, c_name(self.a.dtype), keep=keep
        )
        run(session, plan, **buffers)
        return buffers["state"], buffers["kept"], buffers["columns"]

    def kept_bytes(self, m) -> int:
        """Bytes of memory for keeping so many columns."""
        return len(PROBLEMS[self.problem][0]) * self.words * m * self.word.itemsize

    def read_state(self, buffer) -> np.ndarray:
        """The words of a column."""
        return read(self.session, buffer, self.word, len(PROBLEMS[self.problem][0]) * self.words)

    def bits(self, words) -> tuple[np.ndarray, ...]:
        """Words as arrays of bool over the rows: one for lcs, two for edit."""
        bits = np.unpackbits(words.astype(self.word.newbyteorder("<")).view(np.uint8), bitorder="little")
        return tuple(part[: self.n].astype(bool) for part in np.split(bits, len(PROBLEMS[self.problem][0])))

    def value(self, words) -> int:
        """The length, or the distance, from the words of the last column."""
        if self.problem == "lcs":
            return self.n - int(self.bits(words)[0].sum())
        grows, falls = self.bits(words)
        return self.m + int(grows.sum()) - int(falls.sum())

    def solve(self) -> int:
        """The length, or the distance."""
        return self.value(self.read_state(self.columns(0, self.m, self.start)[0]))

    def steps(self, most_bytes=None) -> tuple[int, np.ndarray]:
        """The value, and the path through the table from its first cell to its last.

        The table is kept in pieces of `most_bytes` at most: the first pass leaves the column before each piece, and the
        pieces are computed again, from the last to the first, with every column kept.

        Returns
        -------
        int
        ndarray of uint8
            0 match, 1 change, 2 down (delete), 3 right (insert). Ties go to the first of these.
        """
        session = self.session
        most = min(most_bytes or MOST_KEPT[self.policy.variant], session.profile.max_alloc_bytes)
        piece = max(most // self.kept_bytes(32) * 32, 32)
        bounds = [*range(0, self.m, piece), self.m]
        starts = [self.start]
        for first, stop in zip(bounds, bounds[1:-1]):
            starts.append(self.read_state(self.columns(first, stop, starts[-1])[0]))
        steps, value = self._upload(np.zeros(self.n + self.m, np.uint8)), None
        row, at = self.n, self.n + self.m
        for first, stop, start in zip(bounds[-2::-1], bounds[:0:-1], starts[::-1]):
            if row == 0:
                break
            state, kept, columns = self.columns(first, stop, start, rows=row, keep=True)
            if value is None:
                value = self.value(self.read_state(state))
            cursor = self._upload(np.array([row, stop - first, at], np.uint32))
            policy = select(session.profile, "dp/paths/bits_traceback")
            args = (
                "rows",
                "columns",
                np.uint32(stop - first),
                np.uint32(self.words),
                "kept",
                "cursor",
                "steps",
                np.uint32(STEPS),
            )
            params = {"problem": self.problem, "symbol": c_name(self.a.dtype), "word": c_name(self.word)}
            step = Step("dp/paths/bits_traceback", policy, args, 1, params)
            launches = ceil_div(row + stop - first, STEPS)
            run(
                session,
                Plan(*[step] * launches),
                rows=self.rows,
                columns=columns,
                kept=kept,
                cursor=cursor,
                steps=steps,
            )
            row, left, at = (int(number) for number in read(session, cursor, np.uint32, 3))
            column = first + left
        way = read(session, steps, np.uint8, self.n + self.m - at, at)
        return value, np.concatenate([np.repeat(np.array([2, 3], np.uint8), [row, column]), way])

    def _upload(self, values):
        values = np.ascontiguousarray(values)
        buffer = allocate(self.session, values.nbytes)
        write(self.session, buffer, values)
        return buffer


def columns_plan(policy, problem, strips, m, words, symbols, symbol, *, keep=False) -> Plan:
    """The diagonals of tiles. Pure: needs no device."""
    tiles = ceil_div(m, 32 * BLOCKS[policy.variant])
    local = next((s for s in (32, 128) if symbols <= s), 0) if policy.variant == "group" else 0
    if local * policy.tile * 4 > LOCAL_BYTES:
        local = 0
    blocks = BLOCKS[policy.variant]
    params = {"problem": problem, "symbol": symbol, "local_symbols": local, "keep": keep, "blocks": blocks}

    args = (
        "masks",
        np.uint32(words),
        np.uint32(symbols),
        "columns",
        np.uint32(m),
        "carries",
        "state",
        "kept",
        np.uint32(0),
        np.uint32(0),
    )
    diagonals = np.arange(strips + tiles - 1)
    first = np.maximum(diagonals - tiles + 1, 0)
    step = Step("dp/paths/bits_tiles", policy, args, 1, params)
    groups = np.minimum(diagonals + 1, strips) - first
    return Plan(Series(step, (len(args) - 2, len(args) - 1), np.stack([diagonals, first], axis=1), groups))
