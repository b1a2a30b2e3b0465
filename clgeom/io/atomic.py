"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from clgeom.errors import InvalidInput


def check_output(path, formats) -> Path:
    """Raise `InvalidInput` unless a file of this name can be written; to be called before the work starts.

    Parameters
    ----------
    path : path-like
    formats : collection of str
        The suffixes allowed, such as ".csv".

    Returns
    -------
    Path
        The path, links followed.
    """
    given = Path(path)
    if given.suffix.lower() not in formats:
        known = ", ".join(sorted(formats))
        raise InvalidInput(f"The output '{given}' must end in one of {known}.")
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise InvalidInput(f"The output '{given}' cannot be written: there is no folder '{target.parent}'.")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"The output '{given}' cannot be written: it is not a file.")
    if not os.access(target.parent, os.W_OK):
        raise InvalidInput(
            f"The output '{given}' cannot be written: the folder '{target.parent}' is read-only."
        )
    return target


@contextlib.contextmanager
def replacing(path):
    """A binary file to write in the folder of `path`; it takes that name when the block ends without an error."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "xb") as file:  # "x": as new as its name, and with the user's usual permissions
            yield file
        os.replace(temporary, target)
    except OSError as error:
        raise InvalidInput(f"The output '{path}' cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
