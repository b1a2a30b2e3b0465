"""The sort of a file: its chunks, buckets or runs, and blocks (`clgeom.scale.sorting.file`)."""

from __future__ import annotations

import contextlib
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
#: The buckets of all keys.
TOP = "buckets"
#: Keys of a chunk for a bucket, on average, or more, so that writes take no longer than sorts; and fewest buckets.
LEAST_ROWS, LEAST_BUCKETS = 64, 64
#: Keys of the sample of a block, for each of those that it is divided into.
SAMPLES = 16
#: Bytes that two runs need for each block, and most runs of which blocks are made.
RUN_BYTES, MOST_RUNS = 2400, 256


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
        self.max_bytes = max_bytes
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
        self.state = State(self.outs[0], {"format": 3, "sort": job}, goes_on=self.keep)
        self.buckets, self.parts = self._paths(TOP), self._paths("out")
        self.threads = ThreadPoolExecutor(self.session.profile.compute_units)
        try:
            if self.state.groups and not all(path.exists() for path in self.buckets):
                self.state.clear()  # it was stopped while outputs got their names
            # blocks that are sorted at once: where the host sorts, each thread takes one after another
            shares = max(PARTS, 2 * self.session.profile.compute_units * self.in_threads)
            # where blocks begin depends on it: an interrupted call goes on with its own
            self.shares = self.state.settings.setdefault("shares", shares)
            self.pipeline = Pipeline([tuple(np.empty(self.most, dtype) for dtype in self.types) for _ in range(SETS)])
            self.meter.add(SETS * self.most * sum(dtype.itemsize for dtype in self.types))
            self.session.pool.free_held()  # it is to be measured
            self.most_runs = max(min(math.isqrt(self.max_bytes // (RUN_BYTES * self.shares)), MOST_RUNS), 2)
            count, n = 0, self.source.n
            if n is None:
                blocks, n, count = self._blocks_of_chunks()
            elif n <= self.most:
                self._check_room(n, n)
                blocks = [next(self._chunks())] if n else []
            else:
                blocks = self._blocks_of_buckets(TOP, n, self.source.sample(SAMPLE), self._chunks)
                count = self.state.groups[TOP]["chunks"]
            if TOP in self.state.groups and are_read_in_time(self._parts_of(blocks), self.buckets[0], self.most):
                self.parts = self.buckets
            self._merge(blocks, n)
            self._check_source()
            self._publish(n)
            self.keep = False
        finally:
            self.threads.shutdown()
            self.state.close(keep=self.keep and bool(self.state.groups))
        return SortedFile(
            self.outs[0],
            n,
            self.source.dtype,
            self.outs[1] if len(self.outs) > 1 else None,
            count,
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

    def _low(self, digits: np.ndarray, most: int) -> int:
        """Return the lowest bit of keys' order by which to sort chunks: at most so many of these share a prefix."""
        for low in range(self.order.bits - PASS_BITS, 0, -PASS_BITS):
            _, counts = np.unique(digits >> digits.dtype.type(low), return_counts=True)
            if counts.max() <= most:
                return low
        return 0

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

    def _blocks_of_chunks(self) -> tuple[list[Block], int, int]:
        """Write chunks of a source of unknown size as runs. Return blocks of these, and the counts of keys and runs."""
        digits, runs = np.sort(self.order.digits(self.source.sample(SAMPLE))), list[Run]()
        low = self._low(digits, max(len(digits) // (self.shares * 4 * PARTS), PARTS))

        def write(_: Block, columns: Columns) -> None:
            paths = tuple(self.state.path(f"run-{len(runs)}.{k}") for k in range(len(columns)))
            for path, column in zip(paths, columns):
                with open(path, "wb", buffering=0) as file:
                    reserve(file, column.nbytes)
                    self.pipeline.write(file, column)
            runs.append(Run(paths, self.source.dtype, 0, len(columns[0])))

        self._sort_blocks(self._chunks(), low, write)
        n = sum(map(len, runs))
        self._check_room(2 * n, n)  # the runs are there already
        if len(runs) > self.most_runs:
            whole = Block(tuple(runs), n)
            return self._blocks_of_buckets(TOP, n, whole.sample(SAMPLE), lambda _: whole.split(self.most)), n, len(runs)
        blocks = blocks_of(runs, self._prefixes(low), max(self.most // self.shares, 1))
        return self._marked(blocks, low), n, len(runs)

    def _marked(self, blocks: Iterable[Block], low: int) -> list[Block]:
        """Return blocks whose keys have prefixes from `low` on: those of equal keys are marked as sorted."""
        return [replace(one, is_sorted=low == 0 and one.of_one_prefix and one.n > self.most) for one in blocks]

    def _blocks_of_buckets(
        self, group: str, n: int, sample: np.ndarray, pieces: Callable[[int], Iterable[Block]]
    ) -> list[Block]:
        """Write keys into buckets, those of a file each; return these as blocks.

        There are so few buckets that each piece has many keys for most of them. So some may have too many keys for the
        memory. ``pieces(shares)`` are the keys, in blocks to sort at once, or in so many shares.
        """
        target = max(self.most // self.shares, n // max(self.most // LEAST_ROWS, LEAST_BUCKETS))
        digits = np.sort(self.order.digits(sample))
        low = self._low(digits, max(len(digits) * target // n, PARTS))
        prefixes, paths = self._prefixes(low), self._paths(group)
        buckets = Buckets(digits >> self.order.storage.type(low), n, target, self.most)
        if group == TOP:
            self._check_room(buckets.end, n)
        done = self.state.groups.get(group, {})
        chunks = buckets.restore(done) if done else 0
        header = max(len(npy_header(dtype, n)) for dtype in self.types)

        def size(dtype: np.dtype) -> int:
            return header + buckets.end * dtype.itemsize

        def write(block: Block, columns: Columns) -> None:
            nonlocal chunks
            count = len(columns[0])
            for start, stop in itertools.pairwise(block.bounds or (0, count)):
                share = [column[start:stop] for column in columns]
                for rows, first in buckets.place(prefixes, share[0]):
                    for file, column in zip(files, share):
                        file.seek(header + first * column.itemsize)
                        self.pipeline.write(file, column[rows])
            chunks += 1
            self.state.note(group, chunks=chunks, complete=False, **buckets.facts())

        if not done.get("complete"):
            with contextlib.ExitStack() as stack:
                files = [stack.enter_context(open(path, "r+b" if done else "wb", buffering=0)) for path in paths]
                for file, dtype in zip(files, self.types):
                    reserve(file, size(dtype))
                by_host = _host_is_quicker(self.session, self.types, self.most, self.order.bits - low)
                shares = self.session.profile.compute_units if by_host else 1
                if counted := group == TOP and self.source.n is not None:
                    self._advance(min(chunks * self.most, n))
                self._sort_blocks(itertools.islice(pieces(shares), chunks, None), low, write, counted=counted)
                self._check_source()
                for file, dtype in zip(files, self.types):
                    file.truncate(size(dtype))
            self.state.note(group, chunks=chunks, complete=True)
        elif self.state.written < n or group != TOP:
            for path, dtype in zip(paths, self.types):
                self.state.check(path, size(dtype))
        return self._marked(buckets.blocks(paths, self.source.dtype, header), low)

    def _paths(self, group: str) -> tuple[Path, ...]:
        return tuple(self.state.path(f"{group}-{k}.part") for k in range(len(self.outs)))

    def _sort_blocks(
        self, blocks: Iterable[Block], low: int, write: Callable[[Block, Columns], None], *, counted: bool = True
    ) -> None:
        """Read blocks, sort them by their bits from `low` on, and write them; if `counted`, as part of the progress."""

        def read(block: Block, columns: Columns) -> int:
            return block.read(self.pipeline, columns)

        def work(block: Block, columns: Columns, out: Columns) -> Columns:
            if counted:
                self._advance(len(out[0]))
            return self._sort(low, block, columns, out)

        self.pipeline.run(blocks, read, work, write)

    def _sort(self, low: int, block: Block, columns: Columns, out: Columns) -> Columns:
        """Sort rows by their bits from `low` on, in place or into `out`."""
        if block.is_sorted:
            return columns
        if block.bounds:
            list(self.threads.map(self._sort_on_host, [columns[0][a:b] for a, b in itertools.pairwise(block.bounds)]))
            return columns
        options: dict[str, Any] = {"descending": self.order.descending, "device": self.session}
        options["key_bits"] = (low, self.order.bits) if low else None
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

    def _parts_of(self, blocks: Iterable[Block]) -> list[Block]:
        """Return the blocks as they are read and written, but for those that go to other buckets first."""
        parts = (block.split(self.most) if block.is_sorted else (block,) for block in self._joined(blocks))
        return list(itertools.chain.from_iterable(parts))

    def _joined(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield blocks of about as many keys as fit in memory: several small ones as one, and too large ones."""
        small: list[Block] = []
        for block in blocks:
            if small and sum(other.n for other in small) + block.n > self.most:
                yield join_blocks(small, in_threads=self.in_threads)
                small = []
            if block.n <= self.most:
                small.append(block)
            else:
                yield block
        if small:
            yield join_blocks(small, in_threads=self.in_threads)

    def _write_blocks(self, group: str, blocks: Iterable[Block], write: Callable[[Block, Columns], None]) -> None:
        """Sort blocks of a group of buckets, and write them but for those that are written: `self.ahead` keys."""
        fitting: list[Block] = []
        for k, block in enumerate(self._joined(blocks)):
            if block.n <= self.ahead:
                self.ahead -= block.n
            elif block.n <= self.most:
                fitting.append(block)
            else:
                self._sort_blocks(fitting, 0, write)
                fitting = []
                if block.is_sorted:
                    self._write_blocks(group, block.split(self.most), write)
                else:
                    self._write_large_block(f"{group}.{k}", block, write)
        self._sort_blocks(fitting, 0, write)

    def _write_large_block(self, group: str, block: Block, write: Callable[[Block, Columns], None]) -> None:
        """Sort and write a block of too many keys, by buckets of its own."""
        sample = block.sample(min(SAMPLE, SAMPLES * self.shares * (block.n // self.most + 1)))
        blocks = self._blocks_of_buckets(group, block.n, sample, lambda _: block.split(self.most))
        self._write_blocks(group, blocks, write)
        self.state.forget(group, self._paths(group))

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
            self.ahead = written
            self._advance(written)

            def write(_: Block, columns: Columns) -> None:
                for file, column in zip(files, columns):
                    self.pipeline.write(file, column)
                self.state.note_written(len(columns[0]))

            self._write_blocks(TOP, blocks, write)
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
