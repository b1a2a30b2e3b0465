"""Run the parts of ``clgeom bench``, each in a process of its own with a time limit, and collect their records."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clgeom.optional import is_installed

from .parts import Part

#: Where the benches are.
FOLDER = Path(__file__).resolve().parent
#: What became of a part. Rows that it recorded before it was stopped are kept.
DONE, FAILED, LATE, STOPPED, LEFT_OUT = "done", "failed", "over its time limit", "stopped", "left out"


#: Variables that would keep a bench from importing what is beside it, and from verifying anything.
UNWANTED = ("PYTHONSAFEPATH", "PYTHONOPTIMIZE")
#: With this variable a bench ends when its standard input does.
WATCH = "CLGEOM_BENCH_WATCH"


def absent(part: Part) -> list[str]:
    """The names of the rivals of a part that are not installed."""
    return [name for module, name in part.rivals if not is_installed(module)]


def too_late(result: dict[str, Any]) -> str:
    """What a bench had no time for, as text; nothing if it measured all."""
    return ", ".join((result["record"] or {}).get("left_out", ()))


def run_part(
    part: Part, options: str, *, seconds: float, device: str | None = None, tuned: bool = False
) -> dict[str, Any]:
    """Run a part and return what became of it: "state", "error", "seconds", "command" and the record of its bench.

    It uses shipped policies, or those that ``clgeom tune`` found here, if `tuned`.
    On an interrupt the process is ended, and the result has the state `STOPPED`.
    """
    options += f" --device {shlex.quote(device)}" if device is not None else ""
    found: dict[str, Any] = {"name": part.name, "title": part.title, "command": f"python bench/{part.script} {options}"}
    found |= {"limit": seconds, "seconds": 0.0, "state": DONE, "error": None, "record": None}
    missing = [name for module, name in part.needs if not is_installed(module)]
    if missing:
        return found | {"state": LEFT_OUT, "error": f"{' and '.join(missing)} is not installed"}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clgeom-bench-", ignore_cleanup_errors=True) as place:
        path, errors = Path(place, "record.json"), Path(place, "errors.txt")
        command = [sys.executable, str(FOLDER / part.script), *shlex.split(options), "--json", str(path)]
        try:
            with open(errors, "wb") as log:
                code = _wait(command, log, seconds, {"CLGEOM_POLICIES": "tuned" if tuned else "shipped"})
            found["error"] = _why(code, errors)
            found["state"] = DONE if found["error"] is None else FAILED
        except subprocess.TimeoutExpired:
            found |= {"state": LATE, "error": f"ended after {seconds:g} s"}
        except KeyboardInterrupt:
            found |= {"state": STOPPED, "error": "interrupted"}
        with contextlib.suppress(OSError, ValueError):  # nothing was recorded
            found["record"] = json.loads(path.read_text(encoding="utf-8"))
            found["record"]["command"] = found["command"]  # without folders of the user
    return found | {"seconds": time.monotonic() - begin}


def _wait(command: Any, log: Any, seconds: float, variables: Any) -> int:
    """The exit code of a process, which is ended whatever happens here.

    If this process is killed, the pipe that nothing is written to ends, and ``common`` ends the other one.
    """
    nowhere, environment = subprocess.DEVNULL, {**os.environ, **variables, WATCH: "1"}
    for name in UNWANTED:
        environment.pop(name, None)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=log, env=environment)
    try:
        return process.wait(timeout=seconds)
    finally:
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()


def _why(code: int, errors: Path) -> str | None:
    """Why a process failed in one line, None if it did not: the signal that ended it, or its last words."""
    if code == 0:
        return None
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the process crashed: {signal.Signals(-code).name}"
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return without_folders(lines[-1].strip())[:300] if lines else f"the process ended with code {code}"


#: The folders of a path between quotes, which may have spaces, and of any other; on Windows, too.
QUOTED = re.compile(r"""(?<=['"`])(?:~|[A-Za-z]:|\\\\)?[\\/][^'"`]*[\\/](?=[^'"`\\/]*['"`])""")
BARE = re.compile(r"""(?<![\w/\\.>'"`])(?:~\w*|[A-Za-z]:|\\\\)?[\\/](?:[^\s'"`:;,()\\/]+[\\/])+""")


def without_folders(text: str) -> str:
    """A message without the folders of the paths in it, which may name a user; the names of files stay."""
    return BARE.sub(".../", QUOTED.sub(".../", text))


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[Any]:
    """Let signals that end a process raise KeyboardInterrupt, as Ctrl-C does, so that what was measured is kept."""
    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = [(each, signal.signal(each, interrupt)) for each in signals]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)
