"""Errors of the system while a file of any format is read."""

from __future__ import annotations

import contextlib
import os
import stat

from clgeom.errors import InvalidInput


@contextlib.contextmanager
def reading(path):
    """Turn errors of the system within a block that reads the file `path` into `InvalidInput`.

    The file must be a regular one, because a pipe without a writer would block forever.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
            raise InvalidInput(f"The file '{path}' cannot be read: it is a device or a pipe, not a regular file.")
        yield
    except OSError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: {error.strerror or error}.") from error
    except MemoryError as error:
        raise InvalidInput(f"The file '{path}' cannot be read: it does not fit into memory.") from error
    except ValueError as error:
        if isinstance(error, InvalidInput) or "\0" not in os.fspath(path):
            raise
        raise InvalidInput("The name of a file must not hold a null character.") from error
