"""The sort of a file: its chunks, buckets or runs, and blocks (`clgeom.scale.sorting.file`)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom.arguments import wrong_file
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput
from clgeom.intake.chunks import Meter, Peak
from clgeom.intake.typing import NDArray
from clgeom.io.atomic import is_one_disk, take_name
from clgeom.scale.sorting.pipeline import SETS, Pipeline, npy_header, reserve
from clgeom.scale.sorting.runs import Block, Buckets, Run, are_read_in_time, blocks_of, join_blocks
from clgeom.scale.sorting.sources import Chunk, ChunkKeys, FileKeys
from clgeom.scale.sorting.state import State
from clgeom.sorting.distinct import DEVICE_NS, numpy_ns
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.sort import sort, sort_by_key
from clgeom.sorting.radix.work import most_keys

if TYPE_CHECKING:
    from clgeom.core.device import Session
    from clgeom.scale.sorting.pipeline import Columns

#: Keys that are looked at to find how many leading bits tell them apart, and bits of a pass.
SAMPLE, PASS_BITS = 1 << 14, 8
#: Blocks that are sorted at once, at least.
PARTS = 4


@keeps_subnormals
@dataclass(frozen=True)
class SortedFile:
    """The result of `sort_file`.

    Attributes
    ----------
    path : Path
        The file with the sorted keys.
    n : int
    dtype : numpy.dtype
    indices_path : Path or None
        The file with the indices.
    runs : int
        Number of sorted runs that were on disk; 0 where the keys fit in memory.
    peak : Peak
        The memory that was used: of the host for buffers, and of the device.
    resumed : bool
        Whether work of an interrupted call was used.

    Examples
    --------
    >>> import clgeom, numpy as np, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> found = clgeom.scale.sort_file(np.array([3, 1, 2]), os.path.join(folder.name, "sorted.npy"))
    >>> found.n, found.keys.tolist()
    (3, [1, 2, 3])
    """

    path: Path
    n: int
    dtype: np.dtype[Any]
    indices_path: Path | None = None
    runs: int = 0
    peak: Peak = field(default=Peak(0, 0), repr=False)
    resumed: bool = field(default=False, repr=False)

    @property
    def keys(self) -> NDArray[Any]:
        """The sorted keys, mapped to memory."""
        keys: NDArray[Any] = np.load(self.path, mmap_mode="r")
        return keys

    @property
    def indices(self) -> NDArray[np.int64] | None:
        """Their indices in the input, mapped to memory."""
        return None if self.indices_path is None else np.load(self.indices_path, mmap_mode="r")


class FileSort:
    """The sort of a file: the checked arguments of `sort_file`, and the buffers."""

    def __init__(
        self,
        source: FileKeys | ChunkKeys,
        outs: tuple[Path, ...],
        max_bytes: int,
        descending: bool,
        session: Session,
        progress: Callable[[int, int | None], object] | None,
    ) -> None:
        self.source, self.outs, self.session, self.progress = source, outs, session, progress
        self.order = KeyOrder(source.dtype, descending)
        self.types = (source.dtype, np.dtype(np.int64))[: len(outs)]
        row, payload = sum(dtype.itemsize for dtype in self.types), 8 if len(outs) > 1 else 0
        # besides the sets the device has two columns of its own, at most: scratch memory, and its copy of the keys
        most = max_bytes // ((SETS + 2) * row)
        self.most = max(min(most, most_keys(session.profile, source.dtype.itemsize, payload)), 1)
        if source.n is not None:
            self.most = max(min(self.most, source.n), 1)
        self.read_keys, self.meter = 0, Meter()
        self.state: Any = None  # the State of the run
        self.writing = 0  # the output that an error is about
        self.in_threads = _host_is_quicker(session, self.types, self.most, self.order.bits)

    def run(self) -> SortedFile:
        self.folder = self.outs[0].parent
        job = [self.source.identity, self.order.descending, self.most, len(self.outs)]
        self.keep = self.source.identity is not None
        self.state = State(self.outs[0], {"format": 2, "sort": job}, goes_on=self.keep)
        self.buckets, self.parts = (
            tuple(self.state.path(f"{name}-{k}.part") for k in range(len(self.outs))) for name in ("buckets", "out")
        )
        self.threads = ThreadPoolExecutor(self.session.profile.compute_units)
        try:
            if self.state.runs and not all(path.exists() for path in self.buckets):
                self.state.clear()  # it was stopped while outputs got their names
            # blocks that are sorted at once: where the host sorts, each thread takes one after another
            shares = max(PARTS, 2 * self.session.profile.compute_units * self.in_threads)
            # where blocks begin depends on it: an interrupted call goes on with its own
            self.shares = self.state.settings.setdefault("shares", shares)
            self.pipeline = Pipeline([tuple(np.empty(self.most, dtype) for dtype in self.types) for _ in range(SETS)])
            self.meter.add(SETS * self.most * sum(dtype.itemsize for dtype in self.types))
            self.session.pool.free_held()  # it is to be measured
            counts: list[int] = []
            n = self.source.n
            if n is None:
                _, low = self._sample()
                runs = self._runs("run", self._chunks(), low)
                counts = list(map(len, runs))
                n = sum(counts)
                self._check_room(2 * n, n)  # the runs are there already
                blocks = self._blocks_of_runs("run", runs, low)
            elif n <= self.most:
                self._check_room(n, n)
                blocks = [next(self._chunks())] if n else []
            else:
                blocks, counts = self._blocks_of_buckets(n)
            self._merge(blocks, n)
            self._check_source()
            self._publish(n)
            self.keep = False
        finally:
            self.threads.shutdown()
            self.state.close(keep=self.keep and bool(self.state.runs))
        return SortedFile(
            self.outs[0],
            n,
            self.source.dtype,
            self.outs[1] if len(self.outs) > 1 else None,
            len(counts),
            self.meter.peak(),
            self.state.resumed,
        )

    def kept(self) -> str:
        """Return a sentence that says where the state is, if it is kept."""
        if self.state is None or not self.state.folder.exists():
            return ""
        folder = printable(str(self.state.folder))
        return f" What is sorted is kept in '{folder}': the same call goes on from there. Remove it to begin anew."

    def _check_room(self, rows: int, n: int) -> None:
        """Refuse a disk that has too little room, before the work starts: for rows of all outputs, and for copies.

        Outputs of `n` rows are copied to the disks that they are on, where these are others.
        """
        wanted = rows * sum(dtype.itemsize for dtype in self.types)
        wanted -= sum(path.stat().st_size for path in self.state.folder.iterdir())
        disks = {os.stat(self.folder).st_dev: [self.folder, wanted]}
        for out, dtype in zip(self.outs[1:], self.types[1:]):
            if not is_one_disk(self.state.folder, out.parent):
                disk = disks.setdefault(os.stat(out.parent).st_dev, [out.parent, 0])
                disk[1] = max(disk[1], 0) + len(npy_header(dtype, n)) + n * dtype.itemsize
        for folder, wanted in disks.values():
            free = shutil.disk_usage(folder).free
            if free < wanted:
                raise InvalidInput(
                    f"The folder '{printable(str(folder))}' must have {wanted:,} bytes of free space for this sort. "
                    f"It has {free:,}."
                )

    def _check_source(self) -> None:
        """Refuse an input that was changed, of which nothing is kept."""
        if isinstance(self.source, FileKeys) and self.source.is_changed():
            self.keep = False
            raise wrong_file(printable(self.source.path), "was changed while it was sorted")

    def _advance(self, count: int) -> None:
        self.read_keys += count
        if self.progress is not None:
            n, width = self.source.n, self.source.dtype.itemsize
            passes = 2 if n is None or n > self.most else 1
            self.progress(self.read_keys * width, None if n is None else n * passes * width)

    # Buckets and runs ---------------------------------------------------------------------------------------------

    def _sample(self) -> tuple[np.ndarray, int]:
        """Return some keys' order, ascending, and the lowest bit of it by which to sort chunks: a prefix then has few
        keys.
        """
        digits = np.sort(self.order.digits(self.source.sample(SAMPLE)))
        blocks = 4 * PARTS if self.source.n is None else self.source.n // self.most + 1
        most = max(len(digits) // (self.shares * blocks), PARTS)
        for low in range(self.order.bits - PASS_BITS, 0, -PASS_BITS):
            _, counts = np.unique(digits >> digits.dtype.type(low), return_counts=True)
            if counts.max() <= most:
                return digits, low
        return digits, 0

    def _prefixes(self, low: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function: the bits of keys' order from `low` on."""
        shift = self.order.storage.type(low)
        return lambda keys: self.order.digits(keys) >> shift

    def _chunks(self, shares: int = 1) -> Iterator[Block]:
        """Yield the keys of the source in chunks, each to be sorted at once, or in so many shares."""
        for start in itertools.count(0, self.most):
            rows = self.most if self.source.n is None else max(min(self.most, self.source.n - start), 0)
            bounds = [rows * k // shares for k in range(shares + 1)] if shares > 1 else ()
            chunk = Chunk((), self.source.dtype, start, start + rows, source=self.source)
            yield Block((chunk,), rows, bounds=bounds)

    def _blocks_of_buckets(self, n: int) -> tuple[list[Block], list[int]]:
        """Write the keys into buckets; return blocks of these, and the counts of keys of the chunks."""
        digits, low = self._sample()
        prefixes = self._prefixes(low)
        buckets = Buckets(digits >> self.order.storage.type(low), n, self.most // self.shares, self.most)
        self._check_room(buckets.end, n)
        done = self.state.runs.get("buckets")
        if done:
            buckets.restore(done)
        header = max(len(npy_header(dtype, n)) for dtype in self.types)

        def size(dtype: np.dtype) -> int:
            return header + buckets.end * dtype.itemsize

        def write(block: Block, columns: Columns) -> None:
            count = len(columns[0])
            for start, stop in itertools.pairwise(block.bounds or (0, count)):
                share = [column[start:stop] for column in columns]
                for rows, first in buckets.place(prefixes, share[0]):
                    for file, column in zip(files, share):
                        file.seek(header + first * column.itemsize)
                        self.pipeline.write(file, column[rows])
            self.state.note_run("buckets", count, **buckets.facts())

        if not (done and done["complete"]):
            with contextlib.ExitStack() as stack:
                files = [stack.enter_context(open(path, "r+b" if done else "wb", buffering=0)) for path in self.buckets]
                for file, dtype in zip(files, self.types):
                    reserve(file, size(dtype))
                by_host = _host_is_quicker(self.session, self.types, self.most, self.order.bits - low)
                shares = self.session.profile.compute_units if by_host else 1
                self._write_runs("buckets", self._chunks(shares), low, write)
                for file, dtype in zip(files, self.types):
                    file.truncate(size(dtype))
            self.state.complete("buckets")
        elif self.state.written < n:
            for path, dtype in zip(self.buckets, self.types):
                self.state.check(path, size(dtype))
        blocks = self._group_blocks("buckets", buckets.blocks(self.buckets, self.source.dtype, header), low)
        if are_read_in_time(blocks, self.buckets[0]):
            self.parts = self.buckets
        return blocks, self.state.counts("buckets")

    def _runs(self, group: str, blocks: Iterable[Block], low: int) -> list[Run]:
        """Write runs of these blocks, sorted by their bits from `low` on; those that are complete are kept."""

        def write(_: Block, columns: Columns) -> None:
            for path, column in zip(self._paths(group, len(self.state.counts(group))), columns):
                with open(path, "wb", buffering=0) as file:
                    reserve(file, column.nbytes)
                    self.pipeline.write(file, column)
            self.state.note_run(group, len(columns[0]))

        if not self.state.runs.get(group, {}).get("complete"):
            self._write_runs(group, blocks, low, write)
            self.state.complete(group)
        counts = self.state.counts(group)
        for k, count in enumerate(counts):
            for path, dtype in zip(self._paths(group, k), self.types):
                self.state.check(path, count * dtype.itemsize)
        return [Run(self._paths(group, k), self.source.dtype, 0, count) for k, count in enumerate(counts)]

    def _write_runs(
        self, group: str, blocks: Iterable[Block], low: int, write: Callable[[Block, Columns], None]
    ) -> None:
        """Sort blocks by their bits from `low` on and write them, but for those that are complete."""
        done = self.state.counts(group)
        self._advance(sum(done))
        self._sort_blocks(itertools.islice(blocks, len(done), None), low, write)
        self._check_source()

    def _paths(self, group: str, k: int) -> tuple[Path, ...]:
        return tuple(self.state.path(f"{group}-{k}.{name}") for name in ("keys", "indices")[: len(self.outs)])

    def _sort_blocks(self, blocks: Iterable[Block], low: int, write: Callable[[Block, Columns], None]) -> None:
        """Read blocks, sort them by their bits from `low` on, and write them."""
        self.pipeline.run(
            blocks, lambda block, columns: block.read(self.pipeline, columns), functools.partial(self._sort, low), write
        )

    def _sort(self, low: int, block: Block, columns: Columns, out: Columns) -> Columns:
        """Sort rows by their bits from `low` on, in place or into `out`."""
        self._advance(len(out[0]))
        if block.is_sorted:
            return columns
        if block.bounds:
            list(self.threads.map(self._sort_on_host, [columns[0][a:b] for a, b in itertools.pairwise(block.bounds)]))
            return columns
        options: dict[str, Any] = {"descending": self.order.descending, "device": self.session}
        if low:
            options["key_bits"] = low, self.order.bits
        if len(columns) == 1:
            sort(columns[0], out=out[0], **options)
        else:
            sort_by_key(columns[0], columns[1], out=tuple(out), **options)
        self.meter.see(self.session)
        return out

    def _sort_on_host(self, keys: np.ndarray) -> None:
        """Sort integers in place by NumPy, which need not be stable: equal integers have equal bits."""
        if self.order.descending:
            np.invert(keys, out=keys)
        keys.sort()
        if self.order.descending:
            np.invert(keys, out=keys)

    # Blocks of the output ----------------------------------------------------------------------------------------

    def _blocks_of_runs(self, group: str, runs: Sequence[Run], low: int) -> list[Block]:
        return self._group_blocks(group, blocks_of(runs, self._prefixes(low), max(self.most // self.shares, 1)), low)

    def _group_blocks(self, group: str, blocks: list[Block], low: int) -> list[Block]:
        """Return the blocks to sort in turn: several small ones together, and the parts of too large ones."""
        fitting: list[Block] = []
        small: list[Block] = []

        def flush() -> None:
            if small:
                fitting.append(join_blocks(small, in_threads=self.in_threads))
                small.clear()

        for k, block in enumerate(blocks):
            if sum(other.n for other in small) + block.n > self.most:
                flush()
            if block.n <= self.most:
                small.append(block)
            elif low == 0 and block.of_one_prefix:
                fitting += [replace(part, is_sorted=True) for part in block.split(self.most)]
            else:
                inner = f"{group}-{k}"
                fitting += self._blocks_of_runs(inner, self._runs(inner, block.split(self.most), 0), 0)
        flush()
        return fitting

    def _merge(self, blocks: Sequence[Block], n: int) -> None:
        """Write the sorted blocks to the parts of the outputs that are not written yet."""
        headers = [npy_header(dtype, n) for dtype in self.types]
        files: list[Any] = []
        if not all(part.exists() for part in self.parts):  # it was stopped while outputs got their names
            self.state.written = 0
        written = self.state.written
        try:
            for path, dtype, header in zip(self.parts, self.types, headers):
                in_place = path in self.buckets
                files.append(open(path, "r+b" if written or in_place else "wb", buffering=0))  # noqa: SIM115
                if not written:
                    files[-1].write(header)
                if n and not in_place:
                    reserve(files[-1], len(header) + n * dtype.itemsize)
                files[-1].seek(len(header) + written * dtype.itemsize)
            ends = np.cumsum([block.n for block in blocks])
            left = blocks[int(np.searchsorted(ends, written, side="right")) :] if written else blocks
            self._advance(written)

            def write(_: Block, columns: Columns) -> None:
                for file, column in zip(files, columns):
                    self.pipeline.write(file, column)
                self.state.note_written(len(columns[0]))

            self._sort_blocks(left, 0, write)
        finally:
            for file in files:
                file.close()

    def _publish(self, n: int) -> None:
        """Give the outputs their names."""
        for k, (part, out, dtype) in reversed(list(enumerate(zip(self.parts, self.outs, self.types)))):
            self.writing = k
            os.truncate(part, len(npy_header(dtype, n)) + n * dtype.itemsize)
            take_name(part, out, self.state.note_copy)


def _host_is_quicker(session: Session, types: tuple[np.dtype, ...], n: int, bits: int) -> bool:
    """Return whether threads with NumPy's sort are expected to take less time than a CPU device that sorts by so many
    bits.

    That is for integers alone.
    """
    profile, dtype = session.profile, types[0]
    if not profile.is_cpu or profile.compute_units < 2 or len(types) > 1 or dtype.kind not in "iu":
        return False
    return numpy_ns(dtype) * math.log2(max(n, 2)) < DEVICE_NS[dtype.itemsize] * bits / (8 * dtype.itemsize)
