"""The folder beside an output that holds runs and finished parts, so that the same call goes on after an interruption.

``state.json`` names the job (the input, its size and time, the order), and how much is complete: the keys of each run,
and those that are written to the output. What is written is complete before the state counts it; what was written
since is written again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path

from clgeom.errors import InvalidInput
from clgeom.runtime.messages import printable


def state_folder(out) -> Path:
    """The folder beside an output that holds the state of its sort."""
    target = Path(os.path.realpath(out))
    return target.with_name(f".{target.name}.clgeom-sort")


class State:
    """What is done of a job, in a folder of its own.

    Parameters
    ----------
    out : Path
        The output, whose folder gets the folder.
    job : dict
        What the runs depend on, as JSON has it. What was done of another job is removed.
    """

    def __init__(self, out: Path, job: dict):
        self.folder = state_folder(out)
        self.job, self.runs, self.written, self.resumed = job, {}, 0, False
        self.folder.mkdir(exist_ok=True)
        self._lock = _locked(self.folder / "lock", out)
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # no state, or a damaged one
            kept = json.loads((self.folder / "state.json").read_text())
            if kept["job"] == job:
                self.runs, self.written, self.resumed = kept["runs"], kept["written"], True
        if not self.resumed:
            for path in self.folder.iterdir():
                if path.name != "lock":
                    path.unlink()

    def path(self, name: str) -> Path:
        """A file of the folder."""
        return self.folder / name

    def note_run(self, group: str, count: int) -> None:
        """Note that the next run of a group is complete."""
        self.runs.setdefault(group, {"counts": [], "complete": False})["counts"].append(count)
        self._save()

    def complete(self, group: str) -> None:
        """Note that a group has no further runs."""
        self.runs.setdefault(group, {"counts": []})["complete"] = True
        self._save()

    def note_written(self, count: int) -> None:
        """Note that so many more keys are in the output."""
        self.written += count
        self._save()

    def check(self, path: Path, nbytes: int) -> None:
        """Refuse a file that another program removed or changed."""
        if not path.exists() or path.stat().st_size != nbytes:
            raise InvalidInput(
                f"The folder '{printable(str(self.folder))}' must not be changed. The file '{path.name}' was: remove "
                "the folder to begin anew."
            )

    def _save(self):
        temporary = self.path("state.part")
        temporary.write_text(json.dumps({"job": self.job, "runs": self.runs, "written": self.written}))
        os.replace(temporary, self.path("state.json"))

    def close(self, keep: bool) -> None:
        """Unlock the folder, and remove it unless what it has is to be kept."""
        self._lock.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _locked(path, out):
    """The open file of a lock; `InvalidInput` where another process has it."""
    file = open(path, "w")
    try:
        import fcntl
    except ImportError:  # Windows: it refuses to remove a file that is open
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise InvalidInput(
            f"The output '{printable(str(out))}' cannot be written: another process is writing it."
        ) from None
    return file
