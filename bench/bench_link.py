"""Copies between host and device: plain, from page-locked memory, and staged by several threads, in one run, verified.

    python bench/bench_link.py --device nvidia --json bench/results/link-h200.json
    python bench/bench_link.py --device nvidia --threads 4,8,12,16 --slots 2,4,8 --sizes 8e8

Milliseconds, medians of copies in turn. "plain" is the driver's copy, "locked" one from (or to) page-locked memory,
"staged" what clgeom does through its slots, by so many threads and with slots of so many MiB; "auto" is what clgeom
chooses after it has measured the link. "hull" and "sort" are whole calls from plain NumPy arrays, "float32" points or
"uint32" keys, with staged copies, without them (plain), and from page-locked memory. Copies to the host end in new
arrays, as results do.

With --device pocl --as-gpu it runs on a CPU device as if that had memory of its own, which tries the bench only.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from dataclasses import replace
from unittest import mock

import common
import numpy as np

import clgeom
from clgeom.core import launch, staging
from clgeom.core.device import Session

MIB = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of the device's name")
    parser.add_argument("--as-gpu", action="store_true", help="copy on a CPU device, too")
    parser.add_argument("--sizes", default="8e6,1.6e7,3.2e7,8e7,8e8", help="bytes of the arrays")
    parser.add_argument("--threads", default="2,4,8,16", help="threads of staged copies")
    parser.add_argument("--slots", default="4", help="MiB of slots")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", help="write the table to this file")
    options = parser.parse_args()
    session = session_of(options)
    print(f"{session.profile.name}, {session.profile.platform}, driver {session.profile.driver}; milliseconds")
    rows = []
    for n in (int(float(size)) // 8 * 8 for size in options.sizes.split(",")):
        values = np.random.default_rng(n).integers(0, 1 << 32, n // 4, dtype=np.uint32)
        for row in (*copies(session, values, options), *calls(session, values, options)):
            rows.append(row)
            if options.json:  # after each row, because runs may be stopped
                common.write_json(options.json, session, rows)
    common.print_table(rows)
    for name, link in stage_of(session).links.items():
        speeds = ", ".join(f"{speed} {getattr(link, speed) / 1e9:.1f}" for speed in ("plain", "locked", "fill"))
        print(f"link {name}: {speeds} GB/s")


def session_of(options):
    session = Session(options.device)
    if options.as_gpu:
        session.profile = replace(session.profile, kind="gpu")
    if session.profile.is_cpu:
        sys.exit(f"{session.profile.name} reads the host's memory in place: nothing to copy (see --as-gpu)")
    return session


def stage_of(session):
    """The slots and threads of the session, which `staging` makes if it has to."""
    return session.cached(("stage",), lambda: staging.Stage(session))


@contextlib.contextmanager
def forced(session, threads, slot=None):
    """Stage every copy by so many threads (0: none), with slots of so many MiB; as clgeom chooses where None."""
    with contextlib.ExitStack() as stack:
        if threads is not None:
            stack.enter_context(mock.patch.object(staging, "threads_for", lambda nbytes, link, most, **_: threads))
        stack.enter_context(mock.patch.object(staging, "FIRST_BYTES", 0))
        if slot:
            stack.enter_context(mock.patch.object(staging, "LEAST_BYTES", MIB))
            stack.enter_context(mock.patch.object(staging, "SLOT_BYTES", slot * MIB))
            stack.enter_context(mock.patch.object(staging.Stage, "most_threads", threads))
            stage = kept_stage(session, threads, slot)
            stack.enter_context(mock.patch.dict(session.cache._by_kind["stage"], {("stage",): stage}))
        yield


_stages = {}


def kept_stage(session, threads, slot):
    stage_of(session)
    return _stages.get((threads, slot)) or _stages.setdefault((threads, slot), staging.Stage(session))


def ways(session, options):
    """The ways to copy by name: threads, MiB of a slot."""
    found = {"plain": (0, None), "auto": (None, None)}
    for slot in map(int, options.slots.split(",")):
        for threads in map(int, options.threads.split(",")):
            found[f"{threads} x {slot} MiB"] = threads, slot
    return found


def in_each_way(session, options, call, verify):
    """The call in each way, each verified once before."""
    candidates = {}
    for name, (threads, slot) in ways(session, options).items():

        def work(threads=threads, slot=slot):
            with forced(session, threads, slot):
                return call()

        verify(work())
        candidates[name] = work
    return candidates


def row_of(what, values, candidates, options):
    taken = common.interleaved(candidates, options.repeat)
    row = {"what": what, "MB": values.nbytes / 1e6} | {name: 1e3 * seconds for name, seconds in taken.items()}
    best = min(taken, key=lambda name: taken[name] if name not in ("plain", "locked", "auto") else np.inf)
    row |= {"best": best, "GB/s": values.nbytes / taken[best] / 1e9, "plain/auto": taken["plain"] / taken["auto"]}
    return row


def copies(session, values, options):
    buffer = launch.allocate(session, values.nbytes)
    locked = clgeom.pinned_empty(values.shape, values.dtype, device=session)
    locked[:] = values
    marked = np.zeros_like(values)

    def arrived(_):
        with forced(session, 0):
            np.testing.assert_array_equal(launch.read(session, buffer, values.dtype, values.size), values)
            launch.write(session, buffer, marked)  # so that the next copy must bring all

    def same(found):
        np.testing.assert_array_equal(found, values)

    def write():
        launch.write(session, buffer, values)

    candidates = in_each_way(session, options, write, arrived)
    candidates["locked"] = lambda: launch.write(session, buffer, locked)
    candidates["locked"]()
    arrived(None)
    yield row_of("to the device", values, candidates, options)
    write()
    candidates = in_each_way(session, options, lambda: launch.read(session, buffer, values.dtype, values.size), same)
    candidates["locked"] = lambda: launch.read(session, buffer, values.dtype, values.size, out=locked)
    locked[:] = 0
    same(candidates["locked"]())
    yield row_of("to the host", values, candidates, options)


def calls(session, values, options):
    points = np.random.default_rng(1).standard_normal((values.size // 2, 2), dtype=np.float32)
    for what, given, call in (
        ("hull", points, lambda array: clgeom.convex_hull(array, device=session).vertices),
        ("sort", values, lambda array: clgeom.sort(array, device=session)),
    ):
        locked = clgeom.pinned_empty(given.shape, given.dtype, device=session)
        locked[:] = given
        expected = np.sort(values) if what == "sort" else call(locked)

        def same(found, expected=expected):
            np.testing.assert_array_equal(found, expected)

        candidates = in_each_way(session, options, lambda given=given, call=call: call(given), same)
        candidates["locked"] = lambda locked=locked, call=call: call(locked)
        same(candidates["locked"]())
        yield row_of(what, given, candidates, options)


if __name__ == "__main__":
    main()
