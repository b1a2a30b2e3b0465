"""PoCL's kernel cache, whose files are verified before PoCL loads them.

PoCL loads the files of its cache as they are. A damaged one ends the process, or computes something else. So clgeom
keeps a hash beside each::

    kcache/AB/CDEF../program.bc                      a program
    kcache/AB/CDEF../kernel/1-1-1/kernel.so          a kernel of it, for one shape of launches
    kcache/AB/CDEF../clgeom.sums                     the hashes of both
    kcache/clgeom/0123..                             a note: the folder of the program with this source and options
    kcache/clgeom/lock                               a byte for each note, locked by the processes that use the program

1. Before a program is built, its note names its folder. Files without a hash, or with another one, are removed, and
   PoCL builds them again. Nothing is removed that another process may be building.
2. After the build, PoCL's record of the program names its folder. It is verified now if the note did not name it.
3. When results have been read, all kernels that computed them are whole, and new files get their hashes.

A note also says that a build has begun and not ended. If no process holds its lock, the process that built has died,
perhaps of a damaged file: the next one adds an option without effect, so that it is another program for PoCL. The
system drops the locks of a process that ends, whatever its container, and whoever has its number by now.

A program that is in the cache takes 13 ms or more to build, and 0.3 ms of them to verify.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clgeom import caches
from clgeom.quirks.pocl_cpu import pointed_at

if TYPE_CHECKING:
    import pyopencl as cl

#: Endings of the files that PoCL loads, and the file with their hashes.
LOADED, SUMS = (".bc", ".so", ".spv"), "clgeom.sums"
#: Length and letters of "AB/CDEF..", a C string in PoCL's record of a program.
FOLDER_LENGTH, LETTERS = 40, frozenset(b"ABCDEFGHIJKLMNOP")
#: A file without a hash is not being built if it is older than this, in nanoseconds.
YOUNG = 30 * 10**9
#: An unfinished build has ended if its note is older, where files cannot be locked.
FORGOTTEN = 3600 * 10**9

#: Calls use kernels for other shapes of launches without a build; a look for their files takes 1 to 5 us.
LOOK_SECONDS = 0.1
#: Programs of which a process watches the files.
MOST_WATCHED = 256

_used: set[Path] = set()  # notes of this process's programs
_watched: collections.OrderedDict[Path, _Program] = collections.OrderedDict()
_lock = threading.Lock()
_lock_files: dict[Path, int] = {}


class _Program:
    """A program that this process uses: its note, and its folder in the cache, None where it is not known.

    `attempt` is how many builds have not ended; `is_open`, whether the note says that the build has not ended. `stamp`
    changes when kernels are added; it is None where one is missing.
    """

    def __init__(self, note: Path, folder: str | None, attempt: int, is_open: bool) -> None:
        self.note, self.folder, self.attempt, self.is_open = note, folder, attempt, is_open
        self.stamp: tuple[int, ...] | None = None

    def write_note(self) -> bool:
        """Write the note; returns whether that succeeded."""
        return caches.write_checked(self.note, json.dumps([self.folder, self.attempt, self.is_open]))


def build(make: Callable[[Sequence[str]], cl.Program], *facts: str) -> cl.Program:
    """Build a program from verified files.

    ``make(options)`` returns a built ``pyopencl.Program``, with these options besides the usual ones. The program
    depends on the `facts`: source, options, device.
    """
    top = caches.pocl_folder()
    note = top / "clgeom" / caches.digest_of("\0".join([*facts, *_settings()]))
    alone = _use(note)
    folder, attempt, is_open = _read_note(note)
    if is_open and (alone or (alone is None and time.time_ns() - _changed(note) > FORGOTTEN)):
        folder, attempt = None, attempt + 1
    state = NO_PROGRAM if folder is None else _verified(top / folder, not alone)
    if state is STUCK:
        folder, attempt = None, attempt + 1
    program, began = _Program(note, folder, attempt, state is not WHOLE), time.time_ns()
    if program.is_open and program.write_note():
        began = _changed(note)  # by the clock of the files
    try:
        built = make(_options(attempt))
        found = folder_of(built)
        if found is not None and found != folder:
            program.folder, program.is_open = found, True
            with _lock:
                own = any(one.folder == found for one in _watched.values())  # of another text of the same program
            state = _verified(top / found, own or not alone, began)
            if state is STUCK:
                program.folder, program.attempt = None, attempt + 1
            program.write_note()
            if state in (STUCK, NO_PROGRAM) and (top / found).exists():
                built = make(_options(program.attempt))
    except BaseException:
        if program.is_open:
            _remove(note)
        raise
    _watch(program)
    return built


def folder_of(program: cl.Program) -> str | None:
    """Return the folder of a built program in the cache, None where PoCL's record is not as expected."""
    for _, text in pointed_at(program.int_ptr, FOLDER_LENGTH + 1):
        name, end = text[:FOLDER_LENGTH], text[FOLDER_LENGTH:]
        if end == b"\0" and name[2:3] == b"/" and LETTERS.issuperset(name[:2] + name[3:]):
            return name.decode()
    return None


def _options(attempt: int) -> Sequence[str]:
    return (f"-DCLGEOM_ATTEMPT={attempt}",) if attempt else ()


def _settings() -> list[str]:
    """PoCL's settings, which may change a program."""
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("POCL_"))


class KernelFiles:
    """Writes the hashes of files that PoCL has added to its cache."""

    def __init__(self) -> None:
        self.top = str(caches.pocl_folder())
        self.due = 0.0  # when to look again, by time.monotonic: now after a build, else after a while
        self.seen: int | None = None

    def look(self) -> None:
        """Write the hashes of new files, after a wait for the kernels in them. Call it when it is `due`."""
        self.due = time.monotonic() + LOOK_SECONDS
        try:  # PoCL makes every kernel in this folder, and moves it to its own
            seen = os.stat(self.top).st_mtime_ns
        except OSError:
            return
        if seen != self.seen:
            self.seen = seen
            with _lock:
                for program in _watched.values():
                    _write_hashes(program)


def _watch(program: _Program) -> None:
    with _lock:
        if not _watched:
            atexit.register(_end, os.getpid())
        _watched[program.note] = program
        if len(_watched) > MOST_WATCHED:
            _write_hashes(_watched.popitem(last=False)[1], at_end=True)


def _write_hashes(program: _Program, at_end: bool = False) -> None:
    """Write the hashes of a program's new files. When it has kernels, its build has ended."""
    stamp = None
    if program.folder is not None:
        top = program.note.parents[1]
        folder, now = top / program.folder, _changed(top)
        stamp = _stamp(folder)
        if stamp is None or stamp != program.stamp:
            program.stamp, known = stamp, _read_sums(folder)
            files = {name: path for name, path in _files(folder).items() if name in known or _is_young(path, now)}
            sums = {name: known.get(name) or _hash(path) for name, path in files.items()}
            if sums != known:
                caches.write_checked(folder / SUMS, json.dumps(sums))
    if program.is_open and (at_end or stamp is not None):
        program.is_open = False
        program.write_note()


def _end(pid: int) -> None:
    if os.getpid() == pid:  # not in a forked child
        with _lock:
            for program in _watched.values():
                _write_hashes(program, at_end=True)


# A program's files ----------------------------------------------------------------------------------------------------


#: What is left of a program: all files and their hashes; the program; kernels without it; a file that is not as it was
#: written and cannot be removed.
WHOLE, PROGRAM, NO_PROGRAM, STUCK = "whole", "program", "no program", "stuck"


def _verified(folder: Path, in_use: bool, began: int | None = None) -> str:
    """Remove the files of a program that are not as they were written; returns what is left.

    Files without a hash stay if they are newer than `began`, or young while another process uses the program.
    """
    sums, bad, now = _read_sums(folder), [], time.time_ns()
    stay: dict[str, str | None] = {}
    for name, path in _files(folder).items():
        own = began is not None and _changed(path) > began
        if name in sums and _hash(path) == sums[name]:
            stay[name] = sums[name]
        elif name not in sums and (own or (in_use and _is_young(path, now))):
            stay[name] = None
        else:
            bad.append(path)
    if bad:  # first the hashes: the files may be built again at any time
        caches.write_checked(folder / SUMS, json.dumps({name: digest for name, digest in stay.items() if digest}))
    if not all([_remove(path) for path in bad]):
        return STUCK
    if stay.keys() == sums.keys() and len(stay) > 1:
        return WHOLE
    return PROGRAM if "program.bc" in stay else NO_PROGRAM


def _read_note(note: Path) -> tuple[str | None, int, bool]:
    """Return a program's folder, its attempt, and whether its build has not ended."""
    try:
        folder, attempt, is_open = json.loads(caches.read_checked(note) or "")
        return str(folder) if folder else None, int(attempt), bool(is_open)
    except (TypeError, ValueError):
        return None, 0, False


def _read_sums(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads(caches.read_checked(folder / SUMS) or ""))
    except (TypeError, ValueError):
        return {}


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a program that PoCL loads, by their path in its folder."""
    found = {name: folder / name for name in _entries(folder) if name.endswith(LOADED)}
    for kernel in _folders(folder):
        for shape in _folders(kernel):
            own = f"{kernel.name}/{shape.name}/"
            found.update({own + name: shape / name for name in _entries(shape) if name.endswith(LOADED)})
    return found


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """Changes of a program's folders; None where there is no kernel, or a shape without one."""
    kernels = _folders(folder)
    shapes = [shape for kernel in kernels for shape in _folders(kernel)]
    if not shapes or not all(any(name.endswith(LOADED) for name in _entries(shape)) for shape in shapes):
        return None
    return tuple(map(_changed, [folder, *kernels]))


def _folders(path: Path) -> list[Path]:
    return [path / name for name in _entries(path) if not name.endswith(LOADED) and (path / name).is_dir()]


def _entries(path: Path) -> list[str]:
    """Return the names in a folder, in which this process may write from now on; none where there is no folder."""
    with contextlib.suppress(OSError):
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            os.chmod(path, 0o700)
        return os.listdir(path)
    return []


def _is_young(path: Path, now: int) -> bool:
    return abs(now - _changed(path)) < YOUNG


def _changed(path: Path) -> int:
    """When a file was changed or moved last, in nanoseconds; 0 where there is none."""
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return 0


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _remove(path: Path) -> bool:
    """Remove a file, or a folder in its place; returns whether it is gone."""
    try:
        os.unlink(path)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


# Processes ------------------------------------------------------------------------------------------------------------


def _use(note: Path) -> bool | None:
    """Use a program until this process ends; return whether no other process does, None where locks fail."""
    with _lock:
        if note in _used:  # by another thread or session
            return False
        _used.add(note)
        try:
            import fcntl

            if note.parent not in _lock_files:
                note.parent.mkdir(parents=True, exist_ok=True)
                _lock_files[note.parent] = os.open(note.parent / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            file, at = _lock_files[note.parent], int(note.name[:15], 16)
            alone = True
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
            except (BlockingIOError, PermissionError):
                alone = False
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, at)
            return alone
        except BlockingIOError:  # another one asks at this moment
            return False
        except (ImportError, OSError):
            return None
