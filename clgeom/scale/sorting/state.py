"""The folder beside an output that holds runs and finished parts, so that the same call goes on after an interruption.

``state.json`` names the job (the input, its size and time, the order), and how many keys are written to the output.
Each group of buckets has a file of its own, so that what is noted after a step is short: how many chunks are in the
buckets, and how full these are. What is written is complete before the state counts it; what was written since is
written again. ``copy`` names the copy of an output on another disk, which a killed process leaves there.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from clgeom.arguments import wrong_file
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput
from clgeom.io.atomic import is_part

#: What the lock of a folder has, so that no folder of others is taken for one.
MARK = b"clgeom sort\n"
#: How files with facts about a group end.
GROUP = ".state"


def state_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder beside an output that holds the state of its sort."""
    target = Path(os.path.realpath(out))
    return target.with_name(f".{target.name}.clgeom-sort")


class State:
    """Progress of a job, in a folder beside the output.

    `job` is all that the runs depend on, for JSON. The progress of another job is removed, and, unless `goes_on`, that
    of the same job, too: its input cannot be told from others.
    """

    def __init__(self, out: Path, job: dict[str, Any], *, goes_on: bool) -> None:
        self.folder = state_folder(out)
        self.job, self.written, self.resumed = job, 0, False
        self.groups: dict[str, dict[str, Any]] = {}  # facts about each group of buckets
        self.settings: dict[str, Any] = {}  # those of the call that began the job
        self._lock = _locked(self.folder, out)
        self._remove_copy()
        for left in self.folder.parent.glob(f"{glob.escape(self.folder.name)}-*-*"):
            _remove(left)
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # no state, or a damaged one
            kept = json.loads((self.folder / "state.json").read_text())
            if goes_on and kept["job"] == job:
                self.groups = {path.stem: json.loads(path.read_text()) for path in self.folder.glob(f"*{GROUP}")}
                self.written, self.settings = kept["written"], kept["settings"]
                self.resumed = True
        if not self.resumed:
            self.clear()

    def clear(self) -> None:
        """Remove what was done."""
        self.groups, self.written, self.settings, self.resumed = {}, 0, {}, False
        for path in self.folder.iterdir():
            if path.name != "lock":
                path.unlink()

    def path(self, name: str) -> Path:
        """Return a file of the folder."""
        return self.folder / name

    def note(self, group: str, **facts: Any) -> None:
        """Note facts about a group of buckets."""
        if not self.groups:
            self._save_job()
        self.groups.setdefault(group, {}).update(facts)
        self._save(f"{group}{GROUP}", self.groups[group])

    def forget(self, group: str, paths: Iterable[Path]) -> None:
        """Remove the files of a group whose keys are in the output, and what is noted about it."""
        del self.groups[group]
        for path in (self.path(f"{group}{GROUP}"), *paths):
            path.unlink(missing_ok=True)

    def note_written(self, count: int) -> None:
        """Note that so many more keys are in the output."""
        self.written += count
        self._save_job()

    def _save_job(self) -> None:
        self._save("state.json", {name: getattr(self, name) for name in ("job", "settings", "written")})

    def note_copy(self, path: str) -> None:
        """Note that a copy of an output is made there: the next call removes it if it is left."""
        self.path("copy").write_bytes(os.fsencode(path))

    def _remove_copy(self) -> None:
        """Remove the copy that a killed process left."""
        with contextlib.suppress(OSError, ValueError):  # there is none, or the note is damaged
            left = os.fsdecode(self.path("copy").read_bytes())
            if is_part(left):
                os.unlink(left)

    def check(self, path: Path, nbytes: int) -> None:
        """Refuse a file that another program removed or changed."""
        if not path.exists() or path.stat().st_size != nbytes:
            raise InvalidInput(
                f"The folder '{printable(str(self.folder))}' must not be changed. The file '{path.name}' was: remove "
                "the folder to begin anew."
            )

    def _save(self, name: str, facts: dict[str, Any]) -> None:
        temporary = self.path("state.part")
        temporary.write_text(json.dumps(facts))
        os.replace(temporary, self.path(name))

    def close(self, keep: bool) -> None:
        """Unlock the folder, and remove it unless what it has is to be kept."""
        folder = self.folder
        if not keep:
            # under another name: as long as the lock is held, no other process begins in it
            with contextlib.suppress(OSError):
                folder = folder.rename(folder.with_name(f"{folder.name}-{os.getpid()}-{id(self)}"))
        self._lock.close()
        if not keep:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder of a sort, its lock at last: so one that a killed process leaves has its mark, or is empty."""
    lock = folder / "lock"
    with contextlib.suppress(OSError):  # another process may remove it, too
        if folder.is_symlink() or lock.is_symlink():
            return
        if lock.exists() and lock.read_bytes() == MARK:
            for path in sorted(folder.iterdir(), key=lock.__eq__):
                path.unlink(missing_ok=True)
        folder.rmdir()


def _locked(folder: Path, out: Path) -> IO[bytes]:
    """Return the open file of the lock of a folder, which is made.

    `InvalidInput` where another process has it, or the folder is not one of clgeom's.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        with contextlib.suppress(FileExistsError):  # another process may remove it at this moment
            folder.mkdir(exist_ok=True)
        try:
            names = os.listdir(folder)
            if folder.is_symlink() or (folder / "lock").is_symlink() or (names and "lock" not in names):
                raise _not_ours(folder)
            file = open(os.open(folder / "lock", flags, 0o666), "r+b")
        except FileNotFoundError:
            continue
        try:
            import fcntl
        except ImportError:  # Windows: it refuses to remove a file that is open
            return _marked(file, folder)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(folder / "lock")):
                return _marked(file, folder)
        except BlockingIOError:
            file.close()
            raise wrong_file(
                printable(str(out)), "cannot be written: another process is writing it", "output"
            ) from None
        except FileNotFoundError:  # that of a folder that is gone
            pass
        file.close()


def _marked(file: IO[bytes], folder: Path) -> IO[bytes]:
    """Return the file of a lock with `MARK` in it; `InvalidInput` if it has anything else, or others have no mark."""
    content = file.read(len(MARK) + 1)
    if content != MARK:
        if content or os.listdir(folder) != ["lock"]:
            file.close()
            raise _not_ours(folder)
        file.write(MARK)
        file.flush()
    return file


def _not_ours(folder: Path) -> InvalidInput:
    remedy = "move it, or name another output"
    return wrong_file(printable(str(folder)), f"is no folder of a sort, whose pieces are kept there: {remedy}")
