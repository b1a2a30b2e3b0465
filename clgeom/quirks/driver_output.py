"""What compilers of drivers print: PoCL writes "1 error generated." to stderr beside the log that a build returns.

A process of the command line, where an error is one line, discards it. File descriptor 2 belongs to the whole process,
so Python's stderr gets a descriptor of its own first: messages and progress bars of all threads pass. In other
processes nothing changes.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_discards = False
#: What file descriptor 2 was before the running builds, and their number.
_original, _builds = -1, 0


def discard() -> None:
    """Discard from now on what is written to file descriptor 2 during builds, but not by Python."""
    global _discards
    if _discards or sys.stderr is None or os.environ.get("POCL_DEBUG"):
        return
    _discards = True
    own = open(os.dup(2), "wb", buffering=0)  # noqa: SIM115
    encoding, errors = sys.stderr.encoding, sys.stderr.errors
    sys.stderr = io.TextIOWrapper(own, encoding, errors, line_buffering=True, write_through=True)


@contextlib.contextmanager
def discarded() -> Iterator[None]:
    """Discard what is written to file descriptor 2 within the block, if the process does so; threads may overlap."""
    global _original, _builds
    if not _discards:
        yield
        return
    with _lock:
        _builds += 1
        if _builds == 1:
            _original, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
    try:
        yield
    finally:
        with _lock:
            _builds -= 1
            if _builds == 0:
                os.dup2(_original, 2)
                os.close(_original)
