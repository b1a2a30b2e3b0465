"""The cases of compare.py, run in a process of their own for the clgeom that it imports first.

Requests and answers are lines of JSON. ``{"case": name, "calls": 0}`` makes the input, calls twice, and answers a
digest of the result and the seconds of the second call; other `calls` are answered by the mean seconds of so many.
Only public names of clgeom are used, so that older checkouts have them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time

import numpy as np


def points(n, dtype="float64", circle=False):
    rng = np.random.default_rng(1)
    if not circle:
        return rng.normal(size=(n, 2)).astype(dtype)
    angles = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(dtype)


def raster(cells):
    """A square map of waves and noise with about so many cells."""
    side = max(int(cells**0.5), 8)
    y, x = np.mgrid[:side, :side].astype(np.float32)
    noise = np.random.default_rng(2).normal(0, 0.2, (side, side)).astype(np.float32)
    return np.sin(x / 17) + np.cos(y / 23) + noise


def letters(count, length, seed):
    return ["".join(row) for row in np.random.default_rng(seed).choice(list("ACGT"), (count, length))]


def cases(session, scale):
    """{name: a function that makes the input and returns a function to time}; sizes are for a CPU, times `scale`."""
    import clgeom
    from clgeom.dp.problems import edit_distance, lcs

    def size(n):
        return max(int(n * scale), 8)

    def on_device(array):
        import pyopencl.array

        return pyopencl.array.to_device(session.queue, array)

    def finished(call):
        def whole():
            found = call()
            session.queue.finish()
            return found

        return whole

    def hull(given):
        return lambda: clgeom.convex_hull(given, device=session).vertices

    def batch():
        given, offsets = points(64 * size(20_000), "float32"), np.arange(size(20_000) + 1) * 64
        return lambda: clgeom.convex_hulls(given, offsets, device=session).vertices

    def sort(n, dtype):
        keys = np.random.default_rng(3).integers(0, 1 << 31, n).astype(dtype)
        return lambda: clgeom.sort(keys, device=session)

    def argsort(n):
        keys = np.random.default_rng(3).normal(size=n)
        return lambda: clgeom.argsort(keys, device=session)

    def resident_sort(n):
        keys = on_device(np.random.default_rng(3).integers(0, 1 << 31, n).astype(np.uint32))
        return finished(lambda: clgeom.sort(keys))

    def region_of_points():
        given = points(size(1_000_000), "float32")
        return lambda: clgeom.adaptive_region(given, 256, device=session)

    def regions_of_raster(**how):
        given = raster(size(500_000))
        return lambda: clgeom.coverage_regions(given, 0.5, device=session, **how)

    def table():
        a, b = letters(2, size(1_000), 4)
        return lambda: lcs(a, b, subsequence=False, method="equation", device=session).length

    def bits():
        a, b = letters(2, size(20_000), 4)
        return lambda: edit_distance(a, b, operations=False, device=session).distance

    def alignments():
        a, b = letters(size(2_000), 150, 5), letters(size(2_000), 150, 6)
        return lambda: clgeom.align(a, b, path=False, device=session).scores

    return {
        "hull small": lambda: hull(points(1_000)),
        "hull normal": lambda: hull(points(size(1_000_000), "float32")),
        "hull circle": lambda: hull(points(size(100_000), circle=True)),
        "hull resident": lambda: hull(on_device(points(size(1_000_000), "float32"))),
        "batch": batch,
        "sort small": lambda: sort(1_000, np.float32),
        "sort uint32": lambda: sort(size(1_000_000), np.uint32),
        "sort resident": lambda: resident_sort(size(1_000_000)),
        "sort indices": lambda: argsort(size(500_000)),
        "region points": region_of_points,
        "region raster": lambda: regions_of_raster(parts=False),
        "rings": lambda: regions_of_raster(outline="cells"),
        "dp table": table,
        "dp bits": bits,
        "align": alignments,
    }


def digest(result) -> str:
    """A digest of a result: of an array's type and bytes, else of what it says of its geometry, or of its items."""
    if hasattr(result, "get") and hasattr(result, "dtype"):
        result = result.get()
    if isinstance(result, (np.ndarray, np.generic, int, float)):
        whole = np.asarray(result).dtype.str.encode() + np.asarray(result).tobytes()
    elif hasattr(result, "__geo_interface__"):
        whole = json.dumps(result.__geo_interface__, sort_keys=True, default=repr).encode()
    else:
        whole = "".join(map(digest, result)).encode()
    return hashlib.sha256(whole).hexdigest()[:12]


class Cases:
    """The cases of a device; each is made when it is first asked for."""

    def __init__(self, session, scale):
        self.known, self.made = cases(session, scale), {}

    def answer(self, case, calls) -> dict:
        if calls:
            return {"seconds": self.timed(case, calls)}
        self.made.clear()  # one input at a time
        self.made[case] = self.known[case]()
        found = digest(self.made[case]())
        return {"digest": found, "seconds": self.timed(case, 1)}

    def timed(self, name, calls) -> float:
        call, begin = self.made[name], time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - begin) / calls


def main(device, scale):
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(answer):
        print(json.dumps(answer), file=answers, flush=True)

    try:
        import clgeom

        session = clgeom.Session(device or None)
        factor = float(scale) if float(scale) else 1.0 if session.profile.is_cpu else 8.0
        mine = Cases(session, factor)
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"file": clgeom.__file__, "device": session.profile.name, "cases": list(mine.known)})
    for line in sys.stdin:
        try:
            say(mine.answer(**json.loads(line)))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main(*sys.argv[1:])
