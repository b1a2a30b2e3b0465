"""The state of a long command beside its output: a line of JSON for each file that is done.

A command that is interrupted, killed, or finds the disk full leaves the state; the same command goes on from there. The
last line may be cut, and is then done again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from clgeom.arguments import wrong_file
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput
from clgeom.io.files import FilePath

#: What follows the name of the output.
ENDING = ".clgeom-state"


class State:
    """Entries of the files that are done; `done` holds those of an earlier run.

    Without an output nothing is kept. `about` says what the results depend on; a state of something else is refused.
    """

    def __init__(self, output: FilePath | None, about: Any) -> None:
        self.path = None if output is None else f"{os.path.realpath(output)}{ENDING}"
        self.shown = None if output is None else printable(f"{os.fspath(output)}{ENDING}")
        self.about: Any = json.loads(json.dumps(about))
        self.done: list[Any] = []
        self._file: BinaryIO | None = None
        self._has_entries = False

    def __enter__(self) -> Any:
        if self.path is None:
            return self
        with self._writing():
            kept = self._found()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            self._file = open(os.open(self.path, flags, 0o666), "ab")  # noqa: SIM115 (closed at the exit)
            self._file.truncate(kept)
            if not kept:
                self._write(self.about)
        return self

    def __exit__(self, *error: Any) -> None:
        self._close()
        if not self._has_entries:
            self.remove()

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):  # what could not be written was said before
                file.close()

    def _found(self) -> int:
        """Read the entries that are whole; return their bytes."""
        try:
            assert self.path is not None
            if os.path.islink(self.path):
                raise self._not_ours("is a symbolic link")
            with open(self.path, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return 0
        begin = json.dumps(self.about).partition(":")[0].encode()
        if not (content.startswith(begin) or begin.startswith(content)):
            raise self._not_ours("is no state of this command")
        lines = content.split(b"\n")[:-1]  # the last one has no end
        if len(lines) < 2:  # of a process that was killed before it had an entry
            return 0
        kept = 0
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
            except ValueError:
                break
            if number == 0 and entry != self.about:
                raise wrong_file(
                    self.shown,
                    "is the state of a command with other options or of another version. Run that command again, "
                    "or delete the file to begin anew",
                )
            if number:
                self.done.append(entry)
                self._has_entries = True
            kept += len(line) + 1
        return kept

    def _not_ours(self, what: str) -> InvalidInput:
        return wrong_file(self.shown, f"{what}. Finished hulls are kept there: move it, or choose another output")

    def add(self, entry: Any) -> None:
        """Keep an entry. What was kept before stays if the disk is full."""
        if self._file is not None:
            with self._writing():
                self._write(entry)
            self._has_entries = True

    def _write(self, entry: Any) -> None:
        assert self._file is not None
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Close the file at an error of the system, and say what is kept."""
        try:
            yield
        except OSError as error:
            self._close()
            raise InvalidInput(
                f"The state '{self.shown}' cannot be written: {error.strerror or error}. What was done before is kept "
                "in it: the same command goes on from there."
            ) from error

    def remove(self) -> None:
        """Remove the state, when the output is written."""
        self._close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
