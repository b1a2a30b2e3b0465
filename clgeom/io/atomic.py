"""Check output files before a computation starts, and write files atomically."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clgeom.arguments import wrong_file
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput, short
from clgeom.io.files import FilePath, is_stdin

#: Bytes that are copied between two disks at a time.
COPIED_AT_ONCE = 1 << 23
#: Names of new files that have not taken the names of outputs yet.
PART = r"\.clgeom-\d+-[0-9a-f]{8}\.part"


def check_output(path: FilePath, formats: Any) -> Path:
    """Return a path, links followed, if a file of that name, of one of these endings, can be written.

    Call it before the work starts.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(f"An output must be the path of a file. Got {short(path)} instead.")
    given = printable(os.fspath(path))
    if Path(path).suffix.lower() not in formats:
        known = ", ".join(sorted(formats))
        raise wrong_file(given, f"must end in {'one of ' * (len(formats) > 1)}{known}", "output")
    try:
        target = Path(os.path.realpath(path))
        wrong = _why_not(target)
    except (OSError, ValueError) as error:  # the name is too long or has a null character
        wrong = getattr(error, "strerror", None) or str(error)
    if wrong:
        raise wrong_file(given, f"cannot be written: {wrong}", "output")
    return target


def check_outputs(source: Any, *outputs: Any) -> None:
    """Check the outputs of a command, pairs of a path or None and its formats, as `check_output` does.

    No two may be one file, and none may be an input. Standard input may be one input only, since it is read once.
    """
    sources = () if source is None else source if isinstance(source, (tuple, list)) else (source,)
    if sum(map(is_stdin, sources)) > 1:
        raise InvalidInput("Standard input (-) can be read only once. Name a file for each other input.")
    try:
        taken = {os.path.realpath(path): "the input file" for path in sources}
    except ValueError as error:
        raise InvalidInput("The name of a file must not hold a null character.") from error
    for path, formats in outputs:
        if path is None:
            continue
        target = os.fspath(check_output(path, formats))
        if target in taken:
            raise wrong_file(printable(os.fspath(path)), f"is {taken[target]}", "output")
        taken[target] = f"the output '{printable(os.fspath(path))}', too"


def _why_not(target: Any) -> str | None:
    """Return the reason why a file cannot be written; None if it can."""
    if not target.parent.is_dir():
        return f"there is no folder '{printable(str(target.parent))}'"
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(target).st_mode):
            return "it is not a file"
        if not os.access(target, os.W_OK):
            return "it is read-only"
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"the folder '{printable(str(target.parent))}' is read-only"
    return None


def _part_name() -> str:
    """Return a name that no other file has."""
    return f".clgeom-{os.getpid()}-{os.urandom(4).hex()}.part"


def is_part(path: FilePath) -> bool:
    """Return whether a path is one of those of new files that have not taken their names yet."""
    return re.fullmatch(PART, os.path.basename(path)) is not None


def take_name(temporary: Any, path: FilePath, note: Any) -> None:
    """Give a complete file the name `path` of an output, and the permissions of the old output.

    On another disk the output is a copy, which takes that name when it is complete and written out; then `temporary` is
    removed. `note` is called with the path of the copy before it is made: the copy is left if the process is killed.
    """
    target = os.path.realpath(path)
    _keep_access(temporary, target)
    try:
        os.replace(temporary, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        note(copy := os.path.join(os.path.dirname(target), _part_name()))
        try:
            with open(temporary, "rb") as source, open(copy, "xb") as file:
                _keep_access(copy, target)
                shutil.copyfileobj(source, file, COPIED_AT_ONCE)
                file.flush()
                os.fsync(file.fileno())
            os.replace(copy, target)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(copy)
        os.unlink(temporary)


def is_one_disk(folder: Any, other: Any) -> bool:
    """Return whether files of a folder can be renamed into another one. Both can be written to."""
    if os.path.samefile(folder, other):
        return True
    name = _part_name()
    probe, renamed = os.path.join(folder, name), os.path.join(other, name)
    try:
        with open(probe, "xb"):
            pass
        os.replace(probe, renamed)
        return True
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    finally:
        for path in (probe, renamed):
            with contextlib.suppress(OSError):
                os.unlink(path)


#: Endings of the files that belong to a Shapefile, beside its .shp.
SIDECARS = (".shx", ".dbf", ".prj", ".cpg", ".qix", ".sbn", ".sbx", ".qpj", ".shp.xml")


#: The name of a new file without its ending: a format's library may change odd names, such as those with semicolons.
STEM = "output"


@dataclass(frozen=True)
class NewFile:
    """A new file, which takes the name of an output when it is complete."""

    path: Path  #: in a new folder; its ending is in lower case
    given: str  #: the path of the output, for messages
    suffix: str  #: the ending


Undo = list[Callable[[], object]]
Waiting = tuple[list[Callable[[Undo], None]], contextlib.ExitStack]
#: The steps that name the new files of `all_or_none`, and the stack that removes their folders; None outside of it.
_waiting: ContextVar[Waiting | None] = ContextVar("_waiting", default=None)


@contextlib.contextmanager
def all_or_none() -> Iterator[None]:
    """Let the files of all `new_file` in the block take their names at its end; none does if it ends with an error.

    If one cannot take its name, those before it get their old content back, where the disk has hard links.
    """
    with contextlib.ExitStack() as folders:
        steps: list[Callable[[Undo], None]] = []
        token = _waiting.set((steps, folders))
        try:
            yield
        finally:
            _waiting.reset(token)
        with _undoing() as undo:
            for step in steps:
                step(undo)


@contextlib.contextmanager
def _undoing() -> Iterator[Undo]:
    """Yield a list of functions, which are called, the last one first, if the block ends with an error."""
    undo: Undo = []
    try:
        yield undo
    except BaseException:
        for back in reversed(undo):
            with contextlib.suppress(OSError):
                back()
        raise


@contextlib.contextmanager
def new_file(path: FilePath) -> Iterator[NewFile]:
    """Yield a new file for an output, in a new folder beside it.

    The files made there take their names if the block ends without an error, the named one last; within `all_or_none`
    they wait for others. A new file gets the permissions of the old one, and its owner and group if the system allows
    it. Links are followed. Older files of a Shapefile that the new one does not have are removed.
    """
    target, given = Path(os.path.realpath(path)), printable(os.fspath(path))
    with contextlib.ExitStack() as cleanup, _writing(given):
        folder = Path(tempfile.mkdtemp(prefix=f".clgeom-{os.getpid()}-", suffix=".part", dir=target.parent))
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        named = folder / f"{STEM}{Path(path).suffix.lower()}"
        yield NewFile(named, given, named.suffix)
        waiting = _waiting.get()
        if waiting is None:
            with _undoing() as undo:
                _take_names(named, target, given, undo)
        else:
            waiting[0].append(functools.partial(_take_names, named, target, given))
            waiting[1].enter_context(cleanup.pop_all())


def _take_names(named: Path, target: Path, given: str, undo: Undo) -> None:
    """Give an output and the files beside it their names; add to `undo` what takes them away."""
    beside = [file for file in named.parent.iterdir() if file.name.startswith(f"{STEM}.") and file != named]
    made = {file: target.with_name(target.stem + file.name.removeprefix(STEM)) for file in beside}
    made[named] = target
    with _writing(given):
        for file, name in made.items():
            _keep_access(file, name)
        for file, name in made.items():
            old = file.with_name(f"old-{file.name}")
            try:
                os.link(name, old)
                undo.append(functools.partial(os.replace, old, name))
            except FileNotFoundError:
                undo.append(functools.partial(os.unlink, name))
            except OSError:  # the disk has no links, or the file is another user's
                pass
            os.replace(file, name)
        if target.suffix.lower() == ".shp":
            for ending in SIDECARS:
                old = target.with_name(target.stem + ending)
                if old not in made.values():
                    old.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(given: str) -> Iterator[None]:
    """Report errors of the system as those of an output."""
    try:
        yield
    except OSError as error:
        raise wrong_file(given, f"cannot be written: {error.strerror or error}", "output") from error


@contextlib.contextmanager
def replacing(path: FilePath) -> Iterator[Any]:
    """Yield `new_file` open for writing bytes."""
    with new_file(path) as new, open(new.path, "xb") as file:
        yield file


def _keep_access(new: Any, old: Any) -> None:
    """Give the file `new` the owner, group and permissions of `old`, as far as the system allows."""
    try:
        kept = os.stat(old)
    except FileNotFoundError:
        return
    for owner, group in ((-1, kept.st_gid), (kept.st_uid, -1)):
        with contextlib.suppress(OSError, AttributeError):  # AttributeError: Windows has no chown
            os.chown(new, owner, group)
    os.chmod(new, stat.S_IMODE(kept.st_mode))
