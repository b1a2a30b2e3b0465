"""The user's own measurements: policies that ``clgeom tune`` found for the devices of this machine.

They are in one JSON file in the user's data folder::

    {"version": 1, "policies": [
        {"device": {..}, "kernel": "hull/sieve/sieve", "itemsize": null, "kernel_hash": "..", "class": "Policy",
         "fields": {..}, "measured": {..}, "clgeom": "0.9.0", "digest": ".."}, ..]}

A process reads the file at most once. What it cannot use is left out with one warning, which names the first case: a
file that is unreadable or of another version, another driver, a kernel that has changed since, a policy that is
damaged or does not fit the device. An entry is checked when its kernel is first asked for.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import importlib
import itertools
import json
import operator
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from clgeom.caches import digest_of
from clgeom.core import sources
from clgeom.core.families import policy_class, require_shape, rows_of
from clgeom.core.messages import printable, shown
from clgeom.core.policies import Policy, within_limits
from clgeom.errors import DeviceWarning, InvalidInput, warn

if TYPE_CHECKING:
    import numpy as np

    from clgeom.core.profile import DeviceProfile

#: Version of the file's format.
VERSION = 1
#: Most bytes of the file: a thousand policies have half a million bytes.
MOST_BYTES = 1 << 24
#: Bytes that a folder must have left before anything is measured: a hundred policies.
ROOM = 1 << 16
#: Seconds that a writer waits for others (Windows).
PATIENCE = 30.0
#: Facts about a device that an entry must share with it; other drivers may want other shapes.
DEVICE, DRIVER = ("name", "platform", "kind"), ("version", "driver")
#: A kernel, and the size of a type or None for all; and what the file says about a policy for it.
Place: TypeAlias = tuple[str, int | None]
Entry: TypeAlias = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class StoredPolicy:
    """A policy of the store, and what was measured: milliseconds, the case and the date."""

    policy: Policy
    measured: dict[str, Any]


def store_path() -> Path:
    """Return the file of the store, which may not exist. ``CLGEOM_DATA_DIR`` names another folder."""
    named = os.environ.get("CLGEOM_DATA_DIR")
    if named:
        return Path(named) / "policies.json"
    import platformdirs

    return platformdirs.user_data_path("clgeom", appauthor=False) / "policies.json"


def kernel_hash(kernel: str) -> str:
    """Return a digest of a kernel's templates with all that they include, and of the class of its policies."""
    return digest_of(f"{sources.digest(kernel)} {_class_text(policy_class(kernel))}")  # type: ignore[arg-type]  # classes are hashable


@functools.cache
def _class_text(made: type[Policy]) -> str:
    """Return a class of policies, with its fields, as text."""
    return repr((made.__name__, [(field.name, field.default) for field in dataclasses.fields(made)]))


# Reading --------------------------------------------------------------------------------------------------------------


class _Store:
    """The entries of the store, as this process has read them."""

    generations = itertools.count()

    def __init__(self) -> None:
        self.lock, self.generation = threading.RLock(), next(self.generations)
        self.entries: dict[Place, list[Entry]] | None = None  # by kernel and size of a type; None: not read yet
        self.checked: dict[tuple[DeviceProfile, str, int | None], StoredPolicy | None] = {}  # by kernel and size, too
        self.has_warned = False

    def read(self) -> dict[Place, list[Entry]]:
        """Return all entries of the file, read once."""
        if self.entries is None:
            with self.lock:
                if self.entries is None:
                    self.entries = {} if _is_switched_off() else self._load()
        return self.entries

    def _load(self) -> dict[Place, list[Entry]]:
        entries: dict[Place, list[Entry]] = {}
        try:
            present = _content(store_path())
        except ValueError as error:
            self.warn_once(f"The tuned policies are not used: {error}")
            return entries
        for entry in filter(_is_entry, present):
            entries.setdefault((entry["kernel"], entry["itemsize"]), []).append(entry)
        gone = sorted({kernel for kernel, _ in entries if not rows_of(kernel)})
        if gone:
            self.warn_once(f"Tuned policies of kernels that are gone are not used ({', '.join(map(shown, gone))})")
        if not all(map(_is_entry, present)):
            self.warn_once(f"Some tuned policies are not used: the file '{printable(str(store_path()))}' is damaged")
        return entries

    def warn_once(self, said: str) -> None:
        """Warn, once in a process."""
        if not self.has_warned:
            self.has_warned = True
            warn(f"{said}. Run 'clgeom tune' again; until then shipped policies are used.", DeviceWarning)

    def look_up(self, profile: DeviceProfile, kernel: str, itemsize: int | None) -> StoredPolicy | None:
        """Return the valid entry for a kernel on a device, None where there is none."""
        key = profile, kernel, itemsize
        try:
            return self.checked[key]
        except KeyError:
            pass
        with self.lock:
            if key not in self.checked:
                self.checked[key] = self._look_up(*key)
            return self.checked[key]

    def _look_up(self, profile: DeviceProfile, kernel: str, itemsize: int | None) -> StoredPolicy | None:
        of_device = [entry for entry in self.read().get((kernel, itemsize), ()) if _matches(entry, profile, DEVICE)]
        own = [entry for entry in of_device if _matches(entry, profile, DRIVER)]
        what = f"The tuned policy of {shown(kernel)} for {profile.name} is not used"
        if of_device and not own and not self._has_entries(profile):
            driver = shown(str(of_device[-1]["device"].get("driver")))
            self.warn_once(f"{what}: it was measured with the driver {driver}, the present one is {profile.driver}")
        for entry in own[-1:]:
            try:
                return _validated(entry, profile)
            except ValueError as error:
                self.warn_once(f"{what}: {error} (in '{printable(str(store_path()))}')")
        return None

    def _has_entries(self, profile: DeviceProfile) -> bool:
        """Return whether there are entries for a device with its present driver."""
        everything = itertools.chain.from_iterable(self.read().values())
        return any(_matches(entry, profile, (*DEVICE, *DRIVER)) for entry in everything)


#: What this process has read of the store.
current = _Store()


def reload_store() -> None:
    """Forget what this process has read of the store, and that it has warned."""
    global current
    current = _Store()


def stored_policy(profile: DeviceProfile, kernel: str, dtype: np.dtype | None = None) -> StoredPolicy | None:
    """Return the user's measured policy of a kernel on a device: that of the type's size, else that of all types."""
    store = current
    if not store.read():
        return None
    sized = None if dtype is None else store.look_up(profile, kernel, dtype.itemsize)
    return sized or store.look_up(profile, kernel, None)


def stored_by_itemsize(profile: DeviceProfile, kernel: str) -> dict[int | None, StoredPolicy]:
    """Return the valid entries of the store for a kernel on a device, by the size of a type (None: all types)."""
    store = current
    sizes = [itemsize for name, itemsize in store.read() if name == kernel]
    return {size: stored for size in sizes if (stored := store.look_up(profile, kernel, size))}


def all_stored(profile: DeviceProfile) -> dict[tuple[str, int | None], Policy]:
    """Return the valid policies of the store for a device, by kernel and by the size of a type (None: all types)."""
    return {key: stored.policy for key in current.read() if (stored := current.look_up(profile, *key))}


def _is_switched_off() -> bool:
    wanted = os.environ.get("CLGEOM_POLICIES", "")
    if wanted not in ("", "tuned", "shipped"):
        raise InvalidInput(
            f"The environment variable CLGEOM_POLICIES must be 'shipped' (no policies of 'clgeom tune'), 'tuned' or "
            f"unset. Got {shown(wanted)!r} instead."
        )
    return wanted == "shipped"


def _content(path: Path) -> list[Any]:
    """Return the entries of a store's file, good or not; ValueError where it is none of this version."""
    where = f"the file '{printable(str(path))}'"
    try:
        text = _text(path)
    except (OSError, ValueError) as error:
        if not os.path.lexists(path):  # nor where its folder cannot be looked into
            return []
        said = getattr(error, "strerror", None) or ("it is no text" if isinstance(error, UnicodeError) else error)
        raise ValueError(f"{where} cannot be read ({said})") from error
    try:
        content = json.loads(text, object_pairs_hook=_parse_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is damaged") from error
    if not isinstance(content, dict):
        raise ValueError(f"{where} is damaged")
    if content.get("version") != VERSION:
        raise ValueError(f"{where} has the version {shown(str(content.get('version')))}, not {VERSION}")
    if not isinstance(content.get("policies"), list):
        raise ValueError(f"{where} is damaged")
    return list(content["policies"])


def _text(path: Path) -> str:
    """Return the text of a regular file of no more than `MOST_BYTES`; of no other, which may block or have no end."""
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))  # where there are such
    number = os.open(path, functools.reduce(operator.or_, flags, os.O_RDONLY))
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ValueError("it is no regular file")
        with open(number, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    finally:
        os.close(number)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return content.decode("utf-8")


def _parse_object(pairs: list[tuple[str, Any]]) -> Entry:
    """Return an object of JSON whose names are different."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _is_entry(entry: Any) -> bool:
    """Return whether an entry says what it is for."""
    if not isinstance(entry, dict) or not isinstance(entry.get("device"), dict) or "itemsize" not in entry:
        return False
    return isinstance(entry.get("kernel"), str) and (entry["itemsize"] is None or type(entry["itemsize"]) is int)


def _matches(entry: Entry, profile: DeviceProfile, facts: Iterable[str]) -> bool:
    return all(entry["device"].get(fact) == getattr(profile, fact) for fact in facts)


def _validated(entry: Entry, profile: DeviceProfile) -> StoredPolicy:
    """Return the policy of an entry; ValueError where it must not be used."""
    kernel = entry["kernel"]
    if entry.get("digest") != _digest(entry):
        raise ValueError("it is damaged")
    if not rows_of(kernel) or entry.get("kernel_hash") != kernel_hash(kernel):
        raise ValueError("the kernel has changed since")
    made, values = policy_class(kernel), entry.get("fields")
    types = {field.name: type(field.default) for field in dataclasses.fields(made)}
    if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != types:
        raise ValueError("it is damaged")
    if entry.get("class") != made.__name__ or not isinstance(entry.get("measured"), dict):
        raise ValueError("it is damaged")
    policy = made(**values)
    require_shape(kernel, policy)
    if within_limits(policy, profile) != policy:
        raise ValueError(f"its groups of {policy.wg_size} do not fit the device, which allows {profile.max_wg_size}")
    return StoredPolicy(policy, entry["measured"])


def _digest(entry: Entry) -> str:
    """Return a digest of an entry: no policy counts that was not verified, so not one that was changed since."""
    return digest_of(json.dumps({key: entry[key] for key in entry if key != "digest"}, sort_keys=True))


# Writing --------------------------------------------------------------------------------------------------------------


def store_policy(
    profile: DeviceProfile, kernel: str, policy: Policy, *, dtype: np.dtype | None = None, measured: dict[str, Any]
) -> None:
    """Add a policy for a device to the store; it replaces the one for the same device, driver, kernel and type.

    Later processes use it; this one does so after `reload_store`. The policy must fit the device. With `dtype` it is
    for types of this size only. `measured` has plain values: "default_ms", "policy_ms", "case"; the date is added.
    Raises `InvalidInput` if the folder or the file cannot be written.
    """
    import numpy as np

    entry = {
        "device": {fact: getattr(profile, fact) for fact in (*DEVICE, *DRIVER)},
        "kernel": kernel,
        "itemsize": None if dtype is None else np.dtype(dtype).itemsize,
        "kernel_hash": kernel_hash(kernel),
        "class": type(policy).__name__,
        "fields": dataclasses.asdict(policy),
        "measured": {"date": datetime.date.today().isoformat(), **measured},
        "clgeom": importlib.import_module("clgeom").__version__,
    }
    entry = json.loads(json.dumps(entry))
    entry["digest"] = _digest(entry)
    _validated(entry, profile)

    def is_replaced(old: Any) -> bool:
        same = old.get("kernel") == kernel and old.get("itemsize") == entry["itemsize"]
        return same and _matches(old, profile, (*DEVICE, *DRIVER))

    _change(lambda entries: [*(old for old in entries if not is_replaced(old)), entry])


def forget(profile: DeviceProfile, kernels: Collection[str] | None = None) -> int:
    """Remove a device's policies of these kernels, or all, also of other drivers; return their number."""
    names = None if kernels is None else set(kernels)
    return _remove(lambda entry: _matches(entry, profile, DEVICE) and (names is None or entry["kernel"] in names))


def forget_stale(profile: DeviceProfile, is_decided: Callable[..., bool]) -> int:
    """Remove the entries that no longer count for a device with its present driver; returns how many there were.

    Valid ones stay, also those that another process has kept meanwhile, and those for other drivers, which may be those
    of another machine with the same data folder. ``is_decided(kernel)`` tells whether a kernel was measured again, so
    that nobody misses its old entries.
    """

    def is_stale(entry: Entry) -> bool:
        is_own = _matches(entry, profile, (*DEVICE, *DRIVER))
        return is_own and is_decided(entry["kernel"]) and not _is_valid(entry, profile)

    return _remove(is_stale)


def _remove(is_gone: Callable[[Entry], bool]) -> int:
    """Remove entries from the store; returns how many there were."""
    gone: list[Entry] = []

    def others(entries: list[Any]) -> list[Any]:
        gone[:] = filter(is_gone, entries)
        return [entry for entry in entries if entry not in gone]

    if os.path.exists(store_path()):
        _change(others)
    return len(gone)


def _is_valid(entry: Any, profile: DeviceProfile) -> bool:
    try:
        _validated(entry, profile)
    except ValueError:
        return False
    return True


def require_writable() -> None:
    """Raise `InvalidInput` unless the store can be written, so that nobody measures for nothing."""
    _change(None)


def _change(change: Callable[[list[Any]], list[Any]] | None) -> None:
    """Replace the entries of the store by ``change(entries)``, while no other process does; None only checks this."""
    path = store_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            if change is None:
                _require_room(path.parent)
                return
            try:
                entries = list(filter(_is_entry, _content(path)))
            except ValueError:  # of another version, or damaged: somebody may still want it
                os.replace(path, path.with_suffix(".old.json"))
                entries = []
            lines = ",\n".join(map(json.dumps, change(entries)))
            _replace(path, f'{{"version": {VERSION}, "policies": [\n{lines}\n]}}\n')
    except OSError as error:
        raise InvalidInput(
            f"The tuned policies cannot be written to '{printable(str(path))}': {error.strerror or error}. Let the "
            "environment variable CLGEOM_DATA_DIR name a folder that can be written."
        ) from error


def _require_room(folder: Path) -> None:
    """Raise OSError unless a folder takes a file of `ROOM` bytes."""
    with tempfile.TemporaryFile(prefix="policies-", dir=folder) as file:
        file.write(bytes(ROOM))
        file.flush()
        os.fsync(file.fileno())


def _replace(path: Path, text: str) -> None:
    """Let a file have this text. It keeps its mode, and stays where a symbolic link to it points."""
    if path.is_symlink() and path.is_file():
        path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else None  # None: only for the user
    number, made = tempfile.mkstemp(prefix="policies-", suffix=".part", dir=path.parent)
    try:
        with open(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(made, mode)
        if sys.platform == "win32":  # which refuses while somebody reads the old file
            _retry_while_busy(lambda: os.replace(made, path))
        else:
            os.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made; other processes and threads wait."""
    with open(path, "a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            def hold(mode: int) -> None:
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                msvcrt.locking(file.fileno(), mode, 1)  # the first byte, which need not be there

            _retry_while_busy(lambda: hold(msvcrt.LK_NBLCK))  # LK_LOCK looks once a second, ten times
            try:
                yield
            finally:
                hold(msvcrt.LK_UNLCK)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            yield


def _retry_while_busy(attempt: Callable[[], object]) -> None:
    """Call a function again and again while it is refused access, for `PATIENCE` seconds."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            attempt()
            return
        except PermissionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
