"""Three stages at once: the next piece is read and the one before is written while the device sorts one."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeAlias, TypeVar

import numpy as np

#: A piece of keys.
T = TypeVar("T")
#: Arrays of one length, one for each column.
Columns: TypeAlias = Sequence[np.ndarray]
#: Sets of arrays that are in use at once: one is read, one is sorted into another, one is written.
SETS = 4
#: Bytes that are read or written between two looks at whether to stop.
AT_ONCE = 1 << 23
#: Seconds for which the end of a run that has failed waits for what is under way.
END_SECONDS = 1.0


class Stopped(Exception):
    """Another stage has failed, or the caller was interrupted."""


class Pipeline:
    """Buffers of several columns, and threads that read and write.

    There are `SETS` sets of an array for each column, all of one length.
    """

    def __init__(self, sets: Iterable[Columns]) -> None:
        self._free, self._stop = list(sets), threading.Event()

    def run(
        self,
        pieces: Iterable[T],
        read: Callable[[T, Columns], int],
        work: Callable[[T, Columns, Columns], Columns],
        write: Callable[[T, Columns], object],
    ) -> None:
        """Read, sort and write each piece, in order; a piece is requested when it is to be read.

        ``read(piece, columns)`` fills the columns and returns the number of rows; 0 ends the run. In the caller's
        thread, ``work(piece, columns, out)`` sorts the columns in place or into `out`, and returns which.
        """
        pieces, threads = iter(pieces), ThreadPoolExecutor(2)
        coming = going = None

        def start() -> tuple[T, Columns, Future[int]] | None:
            piece = next(pieces, None)
            if piece is None:
                return None
            columns = self._free.pop()
            return piece, columns, threads.submit(read, piece, columns)

        try:
            coming = start()
            while coming is not None:
                piece, columns, filled = coming
                rows = filled.result()
                if not rows:
                    break
                coming = start()
                out = self._free.pop()
                arrived, into = ([column[:rows] for column in column_set] for column_set in (columns, out))
                done = work(piece, arrived, into)
                self._free.append(out if done is arrived else columns)
                self._finish(going)
                going = columns if done is arrived else out, threads.submit(write, piece, done)
            self._finish(going)
            if coming is not None:
                self._free.append(coming[1])
        finally:
            self._stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            # a source that is not ours may take long to give its next chunk
            futures: list[Future[Any]] = [one for one in (coming and coming[2], going and going[1]) if one]
            if not wait(futures, END_SECONDS).not_done:
                self._stop.clear()

    def _finish(self, going: tuple[Columns, Future[object]] | None) -> None:
        if going is not None:
            going[1].result()
            self._free.append(going[0])

    def parts(self, array: np.ndarray) -> Iterator[memoryview]:
        """Yield the bytes of an array in parts; `Stopped` when the work is to end."""
        view = memoryview(array.view("u1"))  # type: ignore[arg-type]  # an array has the buffer protocol
        for start in range(0, len(view), AT_ONCE):
            if self._stop.is_set():
                raise Stopped
            yield view[start : start + AT_ONCE]

    def read(self, file: Any, array: np.ndarray) -> None:
        """Fill an array from a file; `EOFError` where the file ends before."""
        for part in self.parts(array):
            filled = 0
            while filled < len(part):
                count = file.readinto(part[filled:])
                if not count:
                    raise EOFError("it ends too early")
                filled += count

    def write(self, file: Any, array: np.ndarray) -> None:
        """Append an array to an unbuffered file."""
        for part in self.parts(array):
            written = 0
            while written < len(part):
                written += file.write(part[written:])


def reserve(file: Any, nbytes: int) -> None:
    """Let the system give a file its space on the disk, where it can: then writes take half the time.

    A full disk is an `OSError` here already.
    """
    try:
        os.posix_fallocate(file.fileno(), 0, nbytes)
    except AttributeError:  # macOS, Windows
        return
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def npy_header(dtype: np.dtype, n: int) -> bytes:
    """Return the first bytes of a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n,)}
    )
    return file.getvalue()
