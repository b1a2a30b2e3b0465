"""Three stages at once: the next piece is read and the one before is written while the device sorts one."""

from __future__ import annotations

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

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

    Parameters
    ----------
    sets : list of tuples of ndarray
        `SETS` of them: an array for each column, all of one length.
    """

    def __init__(self, sets):
        self._free, self._stop = list(sets), threading.Event()

    def run(self, pieces, read, work, write) -> None:
        """Read, sort and write each piece, in order.

        Parameters
        ----------
        pieces : iterable
            Each is requested when it is to be read.
        read : callable (piece, columns) -> int
            Fills the columns and returns the number of rows; 0 ends the run.
        work : callable (piece, columns, out) -> columns or out
            Sorts the columns in place, or into `out`, and returns which; in the thread of the caller.
        write : callable (piece, columns)
        """
        pieces, threads = iter(pieces), ThreadPoolExecutor(2)
        coming = going = None

        def start():
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
            futures = [one for one in (coming and coming[2], going and going[1]) if one]
            if not wait(futures, END_SECONDS).not_done:
                self._stop.clear()

    def _finish(self, going):
        if going is not None:
            going[1].result()
            self._free.append(going[0])

    def parts(self, array):
        """The bytes of an array in parts; `Stopped` when the work is to end."""
        view = memoryview(array.view("u1"))
        for start in range(0, len(view), AT_ONCE):
            if self._stop.is_set():
                raise Stopped
            yield view[start : start + AT_ONCE]

    def read(self, file, array) -> None:
        """Fill an array from a file; `EOFError` where the file ends before."""
        for part in self.parts(array):
            filled = 0
            while filled < len(part):
                count = file.readinto(part[filled:])
                if not count:
                    raise EOFError("it ends too early")
                filled += count

    def write(self, file, array) -> None:
        """Append an array to an unbuffered file."""
        for part in self.parts(array):
            written = 0
            while written < len(part):
                written += file.write(part[written:])


def reserve(file, nbytes: int) -> None:
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
