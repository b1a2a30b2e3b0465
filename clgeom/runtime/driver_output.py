"""What compilers of drivers print: PoCL writes "1 error generated." to stderr beside the log that a build returns.

A process of the command line, where an error is one line, discards it. File descriptor 2 belongs to the whole process,
so Python's stderr gets a descriptor of its own first: messages and progress bars of all threads pass. In other
processes nothing changes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

_lock = threading.Lock()
#: Descriptors of the discarded and the original output, once the process discards it; number of running builds.
_nowhere = _original = -1
_builds = 0


def discard() -> None:
    """Discard from now on what is written to file descriptor 2 during builds, but not by Python."""
    global _nowhere, _original
    if _original >= 0 or sys.stderr is None:
        return
    _nowhere, _original = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    about = {"encoding": sys.stderr.encoding, "errors": sys.stderr.errors}
    sys.stderr = open(_original, "w", buffering=1, closefd=False, **about)  # noqa: SIM115


@contextlib.contextmanager
def discarded():
    """Discard what is written to file descriptor 2 within the block, if the process does so; threads may overlap."""
    global _builds
    if _original < 0:
        yield
        return
    with _lock:
        _builds += 1
        if _builds == 1:
            os.dup2(_nowhere, 2)
    try:
        yield
    finally:
        with _lock:
            _builds -= 1
            if _builds == 0:
                os.dup2(_original, 2)
