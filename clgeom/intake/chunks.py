"""Sources of chunks: data larger than memory, read one part after the other while the device works.

    thread      | read 0 | read 1 | read 2 |   wait   | read 3 | ..
    caller               | work 0     | work 1     | work 2     | ..

A thread reads ahead. It waits while what it has read and what the caller works on have `max_bytes` together, so memory
stays bounded whatever the speeds are. Functions that take chunks report the most bytes that they held, a `Peak`.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from clgeom.arguments import boolean, integer
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short

#: Bytes of host memory for what is read ahead, and about as many on the device, unless the caller says otherwise.
MAX_BYTES = 1 << 28
#: A wait is as long at most, so that a KeyboardInterrupt ends it on every system.
LISTEN_SECONDS = 0.05
#: Seconds for which the end of a stream waits for its thread, which may be reading.
END_SECONDS = 0.5
#: Bytes of a Python object besides its letters, in a list.
OBJECT_BYTES = 48

#: What to pass instead of an iterator.
REMEDY = "Pass clgeom.scale.Chunks of a function that makes a new iterator, or of a list."
#: Iterators that tell whether they are new.
PLAIN: tuple[type, ...] = (type(iter([])), type(iter(())))

T = TypeVar("T")


@dataclass(frozen=True)
class Peak:
    """The most memory that a call on chunks held at a time.

    Parameters
    ----------
    host_bytes : int
        Of chunks that were read and not done yet, and of results so far. What the source itself holds does not count.
    device_bytes : int
        Of buffers that clgeom had from the device's driver. On a CPU device the chunks are used where they are.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> clgeom.convex_hull(np.full((10_000, 2), k, np.float32) for k in range(50)).peak.host_bytes < 1 << 28
    True
    """

    host_bytes: int
    device_bytes: int


class Meter:
    """Counts the bytes that a stream holds; any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.held = self.most = self.device = 0

    def add(self, nbytes: int) -> None:
        """Count so many bytes more; fewer if negative."""
        with self._lock:
            self.held += nbytes
            self.most = max(self.most, self.held)

    def see(self, session: Any) -> None:
        """Note how much memory of the device the session's pool has now."""
        self.device = max(self.device, session.pool.nbytes)

    def peak(self) -> Peak:
        return Peak(self.most, self.device)


@keeps_subnormals
class Chunks(Generic[T]):
    """Chunks of data that are too large for memory, for functions such as `clgeom.convex_hull`.

    An iterator, such as a generator, is taken as chunks without this class. The class is for a source that can be read
    several times, and to bound the memory.

    Parameters
    ----------
    source : iterable of chunks, or callable without parameters that returns one
        A chunk is what the function takes at once: points; for `clgeom.convex_hulls_by_label` a pair of points and
        labels; for `clgeom.coverage_regions` some rows of a raster; for `clgeom.align` a pair of two batches. Chunks
        may have any sizes, 0 too. A list, another iterable or a callable can be read several times; an iterator once.
        An iterator without a chunk is refused, since it may have been read before. A generator that has not begun, a
        list, and a new iterator of a callable may have no chunk.
    max_bytes : int, optional
        Most bytes of chunks that are in host memory at a time, the one that the device works on among them; 256 MiB by
        default. Chunks are cut to smaller pieces for the device, about an eighth as large. A chunk that alone is larger
        than this is held whole, as the source makes it.
    read_ahead : bool
        Read in a thread while the device works. False: read in the caller's thread, for sources that a thread must
        not use, such as a cursor of SQLite.
    copy : bool
        Copy each chunk as it is read, so that the source may use its memory again. False: the source makes new memory
        for each chunk, or does not change it.
    crs : optional
        Coordinate reference system of points or of a raster, for the result.
    nbytes : int, optional
        Number of bytes of all chunks, if it is known, for progress.

    Raises
    ------
    InvalidInput
        `source` is neither iterable nor callable, or another parameter has a wrong type.

    Examples
    --------
    >>> import clgeom, numpy as np
    >>> from clgeom.scale import Chunks
    >>> points = np.array([(0, 0), (4, 0), (1, 1), (4, 3), (0, 3)])
    >>> chunks = Chunks(lambda: (points[i : i + 2] for i in range(0, 5, 2)))
    >>> clgeom.convex_hull(chunks).vertices.tolist()
    [0, 1, 3, 4]
    >>> clgeom.convex_hull(iter([points[:3], points[3:]])).area
    12.0
    """

    def __init__(
        self,
        source: Iterable[T] | Callable[[], Iterable[T]],
        *,
        max_bytes: int | None = None,
        read_ahead: bool = True,
        copy: bool = True,
        crs: Any = None,
        nbytes: int | None = None,
    ) -> None:
        if not isinstance(source, Iterable) and not callable(source):
            raise InvalidInput(
                f"The 'source' parameter of Chunks must be an iterable of chunks, or a function that returns one. "
                f"Got {short(source)} instead."
            )
        self.source = source
        self.max_bytes = MAX_BYTES if max_bytes is None else integer(max_bytes, "max_bytes", caller="Chunks", least=1)
        self.read_ahead = boolean(read_ahead, "read_ahead", caller="Chunks")
        self.copy = boolean(copy, "copy", caller="Chunks")
        self.crs, self.nbytes = crs, nbytes
        self._is_read = False
        self._may_be_empty = not isinstance(source, Iterator) or _has_not_begun(source)

    @property
    def is_reiterable(self) -> bool:
        """Whether the chunks can be read more than once."""
        return not isinstance(self.source, Iterator)

    def __iter__(self) -> Iterator[T]:
        if self._is_read and not self.is_reiterable:
            raise InvalidInput(f"The chunks of an iterator have been read already, and it gives them once. {REMEDY}")
        self._is_read = True
        chunks = iter(self.source if isinstance(self.source, Iterable) else self.source())
        return chunks if self._may_be_empty else _one_or_more(chunks)

    def __repr__(self) -> str:
        times = "" if self.is_reiterable else ", to be read once"
        return f"Chunks(max_bytes={self.max_bytes:,}{times})"

    def require_reiterable(self, why: str, *, caller: str) -> None:
        """Refuse an iterator where chunks are read several times.

        Parameters
        ----------
        why : str
            What the chunks are read for, for the message.
        caller : str
            The function that reads them, for the message.

        Raises
        ------
        InvalidInput
            The chunks come from an iterator, which gives them once.
        """
        if not self.is_reiterable:
            raise InvalidInput(
                f"{caller} reads the chunks several times {why}, and an iterator gives them once. {REMEDY}"
            )


def _has_not_begun(iterator: Iterator[Any]) -> bool:
    """Return whether an iterator is known to be new: a generator, or one of a list or a tuple."""
    if inspect.isgenerator(iterator):
        return inspect.getgeneratorstate(iterator) == inspect.GEN_CREATED
    return type(iterator) in PLAIN and iterator.__reduce__()[2:] == (0,)


def _one_or_more(iterator: Iterator[T]) -> Iterator[T]:
    """Yield the chunks of an iterator, of which an empty one may have been read before."""
    with _closed_after(iterator) as chunks:
        try:
            chunk = next(chunks)
        except StopIteration:
            raise InvalidInput(
                f"The iterator of chunks has no chunk: it may have been read already, and it gives them once. {REMEDY}"
            ) from None
        yield chunk
        del chunk
        yield from chunks


def as_chunks(values: Any) -> Chunks[Any] | None:
    """Return chunks, or an iterator as chunks; None for anything else, which is an array."""
    if isinstance(values, Chunks):
        return values
    # arrays of some libraries are iterators of their rows in name only
    return Chunks(values) if isinstance(values, Iterator) and not hasattr(values, "__array__") else None


def in_chunk(error: InvalidInput, number: int) -> InvalidInput:
    """Return an error about a chunk that says which it is."""
    found = InvalidInput(f"{error} That is chunk {number}.")
    found.__dict__.update(error.__dict__)
    return found


def read_ahead(
    items: Iterable[T],
    *,
    max_bytes: int,
    size: Callable[[T], int],
    meter: Meter | None = None,
    thread: bool = True,
) -> Generator[T, None, None]:
    """Yield items that a thread reads while the caller works on those before.

    Each item is counted from its reading until the caller asks for the next. An error of the source is raised here, in
    its place. Close the generator to end the thread, as an exception of the caller's does. `items` are closed in the
    thread if they have a ``close``. The next item is not read while there might then be more than `max_bytes`, if it is
    as large as the largest so far. Without `thread`, items are read in the caller's thread.
    """
    meter = meter or Meter()
    if not thread:
        with _closed_after(items) as plain:
            for item in plain:
                nbytes = size(item)
                meter.add(nbytes)
                try:
                    yield item
                finally:
                    meter.add(-nbytes)
        return
    reader = _Reader(items, max_bytes, size, meter)
    try:
        while True:
            entry = reader.next()
            if entry is None:
                return
            yield entry[0]
            nbytes = entry[1]
            del entry  # the item may go before the next is read
            reader.release(nbytes)
    finally:
        reader.stop()


def _closed_after(items: Iterable[T]) -> contextlib.AbstractContextManager[Iterator[T]]:
    """Return a context manager of an iterator of the items, which it closes if the iterator can be closed."""
    iterator: Any = iter(items)
    return contextlib.closing(iterator) if hasattr(iterator, "close") else contextlib.nullcontext(iterator)


class _Reader(Generic[T]):
    """The thread of `read_ahead`, and the items that it has read."""

    def __init__(self, items: Iterable[T], max_bytes: int, size: Callable[[T], int], meter: Meter) -> None:
        self.items = [items]  # taken by the thread, so that the source goes when it has been read
        self.max_bytes, self.size, self.meter = max_bytes, size, meter
        self.changed = threading.Condition()
        self.read: collections.deque[tuple[T, int]] = collections.deque()
        self.held = self.largest = 0
        self.error: BaseException | None = None
        self.is_ended = self.is_stopped = False
        self.thread = threading.Thread(target=self._work, name="clgeom-read", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            with _closed_after(self.items.pop()) as items:
                while self._may_read():
                    try:
                        item = next(items)
                    except StopIteration:
                        break
                    self._keep(item)
                    del item
        except BaseException as error:
            self.error = error
        finally:
            with self.changed:
                self.is_ended = True
                self.changed.notify_all()

    def _may_read(self) -> bool:
        """Wait until there is room for an item; False once nothing more is wanted."""
        with self.changed:
            while not self.is_stopped and self.held and self.held + self.largest > self.max_bytes:
                self.changed.wait(LISTEN_SECONDS)
            return not self.is_stopped

    def _keep(self, item: T) -> None:
        nbytes = self.size(item)
        with self.changed:
            self.held, self.largest = self.held + nbytes, max(self.largest, nbytes)
            self.meter.add(nbytes)
            self.read.append((item, nbytes))
            self.changed.notify_all()

    def next(self) -> tuple[T, int] | None:
        """Return the next item and its bytes; None at the end."""
        with self.changed:
            while not self.read and not self.is_ended:
                self.changed.wait(LISTEN_SECONDS)
            if self.read:
                return self.read.popleft()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return None

    def release(self, nbytes: int) -> None:
        """Release an item of so many bytes, which the caller is done with."""
        with self.changed:
            self.held -= nbytes
            self.meter.add(-nbytes)
            self.changed.notify_all()

    def stop(self) -> None:
        """Let the thread end. One that is reading is not waited for longer than `END_SECONDS`."""
        with self.changed:
            self.is_stopped = True
            self.read.clear()
            self.meter.add(-self.held)
            self.held = 0
            self.changed.notify_all()
        if self.thread is not threading.current_thread():
            self.thread.join(END_SECONDS)


# Batches of pairs -----------------------------------------------------------------------------------------------


def pairs_ahead(chunks: Chunks[Any], *, caller: str) -> Generator[tuple[Any, Any], None, None]:
    """Yield the chunks, each a pair of two batches of sequences, read ahead by a thread."""

    def checked() -> Iterator[tuple[Any, Any]]:
        for number, chunk in enumerate(chunks):
            if not isinstance(chunk, (tuple, list)) or len(chunk) != 2:
                raise InvalidInput(
                    f"The chunks of {caller} must be pairs (a, b) of batches. Got {short(chunk)} as chunk {number}."
                )
            a, b = map(_own, chunk) if chunks.copy else chunk
            yield a, b

    return read_ahead(
        checked(),
        max_bytes=chunks.max_bytes // 2,
        size=lambda pair: sum(map(_batch_bytes, pair)),
        thread=chunks.read_ahead,
    )


def _own(batch: Any) -> Any:
    """Return a batch that the source may change: a copy of it."""
    return batch.copy() if isinstance(batch, (list, np.ndarray, bytearray)) else batch


def _batch_bytes(batch: Any) -> int:
    if hasattr(batch, "nbytes"):
        return int(batch.nbytes)
    if isinstance(batch, (list, tuple)):
        return sum(len(one) + OBJECT_BYTES if hasattr(one, "__len__") else OBJECT_BYTES for one in batch)
    return len(batch) if hasattr(batch, "__len__") else 0
