"""What can be wrong with a file that is read, whatever is in it."""

from __future__ import annotations

import contextlib
import os
import stat

from clgeom.errors import InvalidInput


@contextlib.contextmanager
def reading(path):
    """A block that reads the file `path`; what the system says against that becomes `InvalidInput`.

    The file must be a regular one, for a pipe without a writer would be waited for without end.
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
