"""Sort more keys than fit in memory: `sort_file`::

    keys     chunk 0 | chunk 1 | ..           each sorted by the leading bits of its keys, by the radix sort
    runs     a..z    | a..z    | ..           in files beside the output
    blocks   a..c of every run, d..f of every run, ..    loaded, sorted by all bits, and written one after another

All keys are read twice and written twice. A run need not be in order within a block, which is sorted again: of 64 bits
usually the first 8 are enough for it. Where so many keys share their leading bits that they do not fit in memory, runs
of these keys are made by all bits. If these are still too many for a block, they are equal, and in order.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clgeom.errors import InvalidInput
from clgeom.io.atomic import check_outputs, take_name
from clgeom.runtime.arguments import boolean, size_in_bytes
from clgeom.runtime.chunks import Meter, Peak
from clgeom.runtime.device import as_session
from clgeom.runtime.messages import printable
from clgeom.runtime.typing import AnyArray, DeviceLike, NDArray
from clgeom.scale.sorting.pipeline import SETS, Pipeline, reserve
from clgeom.scale.sorting.runs import Block, Run, blocks_of
from clgeom.scale.sorting.sources import CALLER, ChunkKeys, FileKeys
from clgeom.scale.sorting.state import State
from clgeom.sorting.distinct import DEVICE_NS, numpy_ns
from clgeom.sorting.keys import KeyOrder
from clgeom.sorting.radix.sort import sort, sort_by_key
from clgeom.sorting.radix.way import most_keys

#: Endings of outputs.
OUTPUTS = (".npy",)
#: Least memory that is accepted.
LEAST_BYTES = 1 << 16
#: Keys that are looked at to find how many leading bits tell them apart, and bits of a pass.
SAMPLE, PASS_BITS = 1 << 13, 8
#: Blocks to which the keys of one prefix may not be larger than a part of: 1 / PARTS.
PARTS = 4


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
        return np.load(self.path, mmap_mode="r")

    @property
    def indices(self) -> NDArray[np.int64] | None:
        """Their indices in the input, mapped to memory."""
        return None if self.indices_path is None else np.load(self.indices_path, mmap_mode="r")


def sort_file(
    keys: str | os.PathLike[str] | AnyArray | Iterable[AnyArray],
    out: str | os.PathLike[str],
    *,
    max_bytes: int | str = "1 GB",
    descending: bool = False,
    indices: str | os.PathLike[str] | None = None,
    device: DeviceLike = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> SortedFile:
    """Sort keys that need not fit in memory into a .npy file, as `sort` has them.

    Parameters
    ----------
    keys : path of a .npy file, array, or iterable of arrays, shape (n,) each
        Keys of any type that `sort` takes, all of one type. An iterable is read once, in a thread.
    out : path-like
        The .npy file for the sorted keys, in native byte order. It appears when it is complete.
    max_bytes : int or str
        Memory to use, such as 500_000_000, "500 MB" or "2 GiB". Python and the device's driver take about 150 MB more.
    descending : bool
        As in `sort`.
    indices : path-like, optional
        A second .npy file, for what `argsort` returns: the index of each key in the input, int64.
    device : optional
        As everywhere in clgeom.
    progress : callable, optional
        Called as progress(done, in_all), in bytes of keys that are read; every key is read twice. The second number is
        None as long as it is unknown.

    Returns
    -------
    SortedFile

    Raises
    ------
    InvalidInput
        The input is no such file, array or iterable, changes while it is read, or has keys of several types; `out` is
        the input, cannot be written, or another process is writing it; the disk has too little room.

    Notes
    -----
    Sorted runs are in a hidden folder beside `out`, and need as much room there as the results. For the path of a file
    that folder is kept after an interruption or an error, as of a full disk. The same call then goes on from there; to
    begin anew, remove the folder. It is removed in the end, and always for arrays and iterables.

    Examples
    --------
    >>> import clgeom, numpy as np, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.save(os.path.join(folder.name, "keys.npy"), [0.5, np.nan, -1.0, 2.0])
    >>> found = clgeom.scale.sort_file(os.path.join(folder.name, "keys.npy"), os.path.join(folder.name, "sorted.npy"))
    >>> found.keys.tolist()
    [-1.0, 0.5, 2.0, nan]
    """
    max_bytes = size_in_bytes(max_bytes, "max_bytes", caller=CALLER, least=LEAST_BYTES)
    descending = boolean(descending, "descending", caller=CALLER)
    named = isinstance(keys, (str, os.PathLike))
    check_outputs(keys if named else None, (out, OUTPUTS), (indices, OUTPUTS))
    source = FileKeys(keys) if named else ChunkKeys(keys)
    outs = tuple(Path(os.path.realpath(path)) for path in (out, indices) if path is not None)
    job = _Job(source, outs, max_bytes, descending, as_session(device), progress)
    try:
        return job.run()
    except OSError as error:
        if error is source.error:
            raise
        raise InvalidInput(
            f"The output '{printable(os.fspath(out))}' cannot be written: {error.strerror or error}.{job.kept()}"
        ) from error


class _Job:
    """A call of `sort_file`: the checked arguments, and the buffers."""

    def __init__(self, source, outs, max_bytes, descending, session, progress):
        self.source, self.outs, self.session, self.progress = source, outs, session, progress
        self.order = KeyOrder(source.dtype, descending)
        self.types = (source.dtype, np.dtype(np.int64))[: len(outs)]
        row, payload = sum(dtype.itemsize for dtype in self.types), 8 if len(outs) > 1 else 0
        # besides the sets the device has two columns of its own, at most: scratch memory, and its copy of the keys
        most = max_bytes // ((SETS + 2) * row)
        self.most = max(min(most, most_keys(session.profile, source.dtype.itemsize, payload)), 1)
        if source.n is not None:
            self.most = max(min(self.most, source.n), 1)
        self.read_keys, self.state, self.keep, self.meter = 0, None, False, Meter()

    def run(self) -> SortedFile:
        self.folder = self.outs[0].parent
        job = [self.source.identity, self.order.descending, self.most, len(self.outs)]
        self.keep = self.source.identity is not None
        self.state = State(self.outs[0], {"format": 1, "sort": job}, goes_on=self.keep)
        try:
            self._check_room()
            self.pipeline = Pipeline([tuple(np.empty(self.most, dtype) for dtype in self.types) for _ in range(SETS)])
            self.meter.add(SETS * self.most * sum(dtype.itemsize for dtype in self.types))
            self.session.pool.free_held()  # it is to be measured
            low = 0
            if self.source.n is not None and self.source.n <= self.most:
                pieces, runs = [_Whole(self.source)] if self.source.n else [], ()
            else:
                low = self._lowest_bit()
                runs = self._runs("run", self._chunks(), low)
                pieces = self._pieces("run", runs, low)
            n = self.source.n if self.source.n is not None else sum(map(len, runs))
            self._merge(pieces, n)
            self._check_source()
            self._publish()
            self.keep = False
        finally:
            self.state.close(keep=self.keep and bool(self.state.runs))
        return SortedFile(
            self.outs[0],
            n,
            self.source.dtype,
            self.outs[1] if len(self.outs) > 1 else None,
            len(runs),
            self.meter.peak(),
            self.state.resumed,
        )

    def kept(self) -> str:
        """A sentence that says where the state is, if it is kept."""
        if self.state is None or not self.state.folder.exists():
            return ""
        folder = printable(str(self.state.folder))
        return f" What is sorted is kept in '{folder}': the same call goes on from there. Remove it to begin anew."

    def _check_room(self):
        """Refuse a disk that has too little room, before the work starts."""
        if self.source.n is None:
            return
        wanted = self.source.n * sum(dtype.itemsize for dtype in self.types)
        wanted *= 2 if self.source.n > self.most else 1
        wanted -= sum(path.stat().st_size for path in self.state.folder.iterdir())
        free = shutil.disk_usage(self.folder).free
        if free < wanted:
            raise InvalidInput(
                f"The folder '{printable(str(self.folder))}' must have {wanted:,} bytes of free space for this sort. "
                f"It has {free:,}."
            )

    def _check_source(self):
        """Refuse an input that was changed, of which nothing is kept."""
        if self.source.is_changed():
            self.keep = False
            raise InvalidInput(f"The file '{printable(self.source.path)}' was changed while it was sorted.")

    def _advance(self, count):
        self.read_keys += count
        if self.progress is not None:
            n, width = self.source.n, self.source.dtype.itemsize
            passes = 2 if n is None or n > self.most else 1
            self.progress(self.read_keys * width, None if n is None else n * passes * width)

    # Runs ---------------------------------------------------------------------------------------------------------

    def _lowest_bit(self) -> int:
        """The lowest bit of keys' order by which to sort runs, such that blocks can be cut between prefixes."""
        digits = self.order.digits(self.source.sample(SAMPLE))
        blocks = 4 * PARTS if self.source.n is None else self.source.n // self.most + 1
        most = max(len(digits) // (PARTS * blocks), PARTS)
        for low in range(self.order.bits - PASS_BITS, 0, -PASS_BITS):
            _, counts = np.unique(digits >> digits.dtype.type(low), return_counts=True)
            if counts.max() <= most:
                return low
        return 0

    def _chunks(self):
        """The keys of the source in chunks, by their first index."""
        return (_Chunk(self.source, start) for start in itertools.count(0, self.most))

    def _runs(self, group, pieces, low):
        """Write runs of these pieces, sorted by their bits from `low` on; those that are complete are kept."""
        done = self.state.runs.get(group, {"counts": [], "complete": False})
        if not done["complete"]:
            skipped = len(done["counts"])
            numbered = itertools.islice(enumerate(pieces), skipped, None)
            self._advance(sum(done["counts"]))

            def write(numbered, columns):
                for path, column in zip(self._paths(group, numbered[0]), columns):
                    with open(path, "wb", buffering=0) as file:
                        reserve(file, column.nbytes)
                        self.pipeline.write(file, column)
                self.state.note_run(group, len(columns[0]))

            self.pipeline.run(numbered, self._read, functools.partial(self._sort, low), write)
            self._check_source()
            self.state.complete(group)
        counts = self.state.runs[group]["counts"]
        for k, count in enumerate(counts):
            for path, dtype in zip(self._paths(group, k), self.types):
                self.state.check(path, count * dtype.itemsize)
        return [Run(self._paths(group, k), self.source.dtype, 0, count) for k, count in enumerate(counts)]

    def _paths(self, group, k):
        return tuple(self.state.path(f"{group}-{k}.{name}") for name in ("keys", "indices")[: len(self.outs)])

    def _read(self, numbered, columns) -> int:
        return numbered[1].read(self.pipeline, columns)

    def _sort(self, low, numbered, columns, out):
        """Sort rows by their bits from `low` on, in place or into `out`."""
        piece = numbered[1]
        self._advance(len(out[0]))
        if piece.is_sorted:
            return columns
        if piece.bounds:
            list(self.threads.map(self._sort_here, [columns[0][a:b] for a, b in itertools.pairwise(piece.bounds)]))
            return columns
        options = {"descending": self.order.descending, "device": self.session}
        if low:
            options["key_bits"] = low, self.order.bits
        if len(columns) == 1:
            sort(columns[0], out=out[0], **options)
        else:
            sort_by_key(*columns, out=tuple(out), **options)
        self.meter.see(self.session)
        return out

    def _sort_here(self, keys):
        """Sort integers in place by NumPy's quicker sort: equal ones have equal bits."""
        if self.order.descending:
            np.invert(keys, out=keys)
        keys.sort()
        if self.order.descending:
            np.invert(keys, out=keys)

    # Blocks -------------------------------------------------------------------------------------------------------

    def _pieces(self, group, runs, low):
        """What to read, sort and write one after the other: blocks, and what too large blocks are divided into.

        Where the threads of the host sort, a piece has a smaller block for each of them.
        """
        shift, pieces, small = self.order.storage.type(low), [], []
        at_once = self.session.profile.compute_units if _host_is_quicker(self.session, self.types, self.most) else 1
        most = max(self.most // at_once, 1)

        def flush():
            if small:
                pieces.append(_Part(tuple(small), in_threads=at_once > 1))
                small.clear()

        for k, block in enumerate(blocks_of(runs, lambda keys: self.order.digits(keys) >> shift, most)):
            if block.n <= most:
                small.append(block)
                if len(small) == at_once:
                    flush()
                continue
            flush()
            parts = block.split(self.most)
            if low == 0:
                pieces += [_Part((part,), is_sorted=True) for part in parts]
            else:
                inner = f"{group}-{k}"
                pieces += self._pieces(inner, self._runs(inner, [_Part((part,)) for part in parts], 0), 0)
        flush()
        return pieces

    def _merge(self, pieces, n):
        """Write the sorted pieces to the parts of the outputs that are not written yet."""
        headers = [_header(dtype, n) for dtype in self.types]
        files: list = []
        if not all(part.exists() for part in self._parts()):  # stopped while outputs got their names
            self.state.written = 0
        written = self.state.written
        self.threads = ThreadPoolExecutor(self.session.profile.compute_units)
        try:
            for path, dtype, header in zip(self._parts(), self.types, headers):
                files.append(open(path, "r+b" if written else "wb", buffering=0))  # noqa: SIM115
                if not written:
                    files[-1].write(header)
                if n:
                    reserve(files[-1], len(header) + n * dtype.itemsize)
                files[-1].seek(len(header) + written * dtype.itemsize)
            ends = np.cumsum([piece.n for piece in pieces])
            left = pieces[int(np.searchsorted(ends, written, side="right")) :] if written else pieces
            self._advance(written)

            def write(_, columns):
                for file, column in zip(files, columns):
                    self.pipeline.write(file, column)
                self.state.note_written(len(columns[0]))

            self.pipeline.run(((None, piece) for piece in left), self._read, functools.partial(self._sort, 0), write)
        finally:
            self.threads.shutdown()
            for file in files:
                file.close()

    def _parts(self):
        return [self.state.path(f"out-{k}.part") for k in range(len(self.outs))]

    def _publish(self):
        """Give the outputs their names."""
        for part, out in reversed(list(zip(self._parts(), self.outs))):
            take_name(part, out)


def _host_is_quicker(session, types, n) -> bool:
    """Whether threads with NumPy's sort are expected to take less time than a CPU device: for integers alone."""
    profile, dtype = session.profile, types[0]
    if not profile.is_cpu or profile.compute_units < 2 or len(types) > 1 or dtype.kind not in "iu":
        return False
    return numpy_ns(dtype) * math.log2(max(n, 2)) < DEVICE_NS[dtype.itemsize]


def _header(dtype, n) -> bytes:
    """The first bytes of a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n,)}
    )
    return file.getvalue()


# Pieces -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chunk:
    """Keys of the source from an index on, as many as there is room for."""

    source: FileKeys | ChunkKeys
    start: int
    is_sorted, bounds = False, ()

    def read(self, pipeline, columns) -> int:
        count = self.source.read(pipeline, self.start, columns[0])
        for indices in columns[1:]:
            indices[:count] = np.arange(self.start, self.start + count)
        return count


class _Whole(_Chunk):
    """All keys of the source."""

    def __init__(self, source):
        super().__init__(source, 0)

    @property
    def n(self) -> int:
        return self.source.n


@dataclass(frozen=True)
class _Part:
    """Blocks one after another: sorted, to be sorted together, or each by itself in a thread."""

    blocks: tuple[Block, ...]
    is_sorted: bool = False
    in_threads: bool = False

    @property
    def n(self) -> int:
        return sum(block.n for block in self.blocks)

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where the blocks begin and end, if each is sorted by itself."""
        return tuple(itertools.accumulate((block.n for block in self.blocks), initial=0)) if self.in_threads else ()

    def read(self, pipeline, columns) -> int:
        first = 0
        for part in itertools.chain.from_iterable(block.parts for block in self.blocks):
            part.read(pipeline, [column[first : first + len(part)] for column in columns])
            first += len(part)
        return first
