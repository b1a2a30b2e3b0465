"""The session of a worker: one for each process, a host's devices shared out among its workers.

A worker is a process of a cluster of `distributed`, a process of Dask's own scheduler, or the process that calls. Tasks
ask for the session when they run. No graph has a session or a buffer in it.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import threading
from typing import Any

from clgeom.arguments import wrong
from clgeom.core.device import Session, all_devices, as_session
from clgeom.errors import NoDevice, short

_sessions: dict[str | None, Session] = {}
_lock = threading.Lock()


def checked_device(device: Any, *, caller: str) -> str | None:
    """Return the `device` parameter: a name that each worker looks up for itself."""
    if device is not None and not isinstance(device, str):
        raise wrong("device", caller, "part of a device's name, since workers have their own sessions", short(device))
    return device


def session_of_worker(device: str | None = None) -> Session:
    """Return the session of this process: of the named device, CLGEOM_DEVICE, or its share of the host's devices."""
    with _lock:
        if device not in _sessions:
            try:
                _sessions[device] = _session(device)
            except (NoDevice, ImportError) as error:
                raise NoDevice(f"{worker_name()} cannot use OpenCL. {error}") from error
        return _sessions[device]


def _session(device: str | None) -> Session:
    first = as_session(device)
    if device is not None or os.environ.get("CLGEOM_DEVICE"):
        return first
    alike = devices_alike(first.device)
    return first if len(alike) == 1 else as_session(alike[place_on_host() % len(alike)])


def devices_alike(first: Any) -> list[Any]:
    """Return the devices of this host of the default device's platform and kind: GPUs, not the CPU."""
    return [one for one in all_devices() if one.platform == first.platform and one.type == first.type]


def place_on_host() -> int:
    """Return the number of this worker among those of its host, ordered by `order_of`; 0 in other processes."""
    worker = _worker()
    if worker is None:
        number = re.search(r"-(\d+)$", multiprocessing.current_process().name)  # SpawnProcess-1 ..
        return int(number[1]) - 1 if number else 0
    from distributed import get_client

    known = get_client().scheduler_info(n_workers=-1)["workers"]
    host = known[worker.address]["host"]
    mates = sorted((order_of(one["name"]), address) for address, one in known.items() if one["host"] == host)
    return [address for _, address in mates].index(worker.address)


def order_of(name: Any) -> tuple[bool, int, str]:
    """Return a key that sorts workers: by number those whose names are numbers, then the others by name."""
    text = str(name)
    return (False, int(text), "") if text.isdecimal() else (True, 0, text)


def worker_name() -> str:
    """Return the worker of this process, for messages."""
    worker = _worker()
    if worker is not None:
        return f"Dask's worker {worker.name!r} at {worker.address}"
    return f"The process {os.getpid()} of Dask"


def _worker() -> Any:
    """Return the worker of `distributed` that runs this task; None outside of one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_worker()
    except ValueError:
        return None
