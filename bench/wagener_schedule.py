"""Steps and work of Wagener's algorithm in its work-optimal schedule, counted in a simulation, by number of points.

    python bench/wagener_schedule.py --logs 10,12,14,16

The schedule has n / log n processors and three phases, all logarithms to base 2:

strips    strips of log n points, one processor each: a serial chain
trees     neighbours merge until a strip has log^2 n points: one processor a merge, by the search of Overmars and van
          Leeuwen, and a split and a join of balanced trees; then log n processors write each tree to an array
samples   neighbours merge until one hood remains: k / log n processors for hoods of k points. With h = k^(1/4), the
          ends of h intervals of P have h processors each, which bracket their tangents on Q in four rounds; one test
          more brackets the common tangent's corner on P. Four times that, so 20 rounds

A step is one test, or one change of a list, by each processor. `steps` is the sum over stages of the slowest merge,
`work` the processors times their steps. moving: the steps that the same processors take to copy all corners at every
stage of samples, which the schedule leaves out; lists of runs, as in method="runs", move none. Coordinates are integers
and every test is exact; the hood is compared with that of a chain over all points. "published" is the grid of n / 2
work-items: six phases a stage.
"""

from __future__ import annotations

import argparse
import math

import common
import numpy as np

LOW, EQUAL, HIGH = -1, 0, 1
ROUNDS = 20


def left_of(a, b, c):
    """Twice the area of a triangle: above 0 where c is left of the line from a to b."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def side_of(hood, k, other):
    """Whether corner k of a hood is left of, at, or right of the corner that the tangent from another point touches.

    The point is left of the hood or right of it. On a line the corner that is further from it counts.
    """
    at = hood[k]
    line = (at, other) if at < other else (other, at)
    if k + 1 < len(hood) and (left_of(*line, hood[k + 1]) > 0 or (other < at and left_of(*line, hood[k + 1]) == 0)):
        return LOW
    if k > 0 and (left_of(*line, hood[k - 1]) > 0 or (at < other and left_of(*line, hood[k - 1]) == 0)):
        return HIGH
    return EQUAL


def chain(points):
    """The upper hood of points in order, and the steps: one for each point and each corner that it removes."""
    hood, steps = [], 0
    for point in points:
        while len(hood) > 1 and left_of(hood[-2], hood[-1], point) >= 0:
            hood.pop()
            steps += 1
        hood.append(point)
        steps += 1
    return hood, steps


def balanced_search(left, right):
    """The corners of the common tangent, by halving both hoods, and the steps (Overmars and van Leeuwen)."""
    (a, b), (c, d), steps = (0, len(left)), (0, len(right)), 0
    while True:
        i, j = (a + b) // 2, (c + d) // 2
        p, q, steps = left[i], right[j], steps + 1
        f, g = side_of(left, i, q), side_of(right, j, p)
        if f == g == EQUAL:
            return i, j, steps
        if f == LOW and g == HIGH:  # the lines along both hoods: the higher one left of the border keeps what is beyond
            (px, py), (qx, qy), (mx, _) = p, q, right[0]
            (ux, uy), (vx, vy) = (y - x for x, y in zip(p, left[i + 1])), (y - x for x, y in zip(right[j - 1], q))
            if (py * ux + uy * (mx - px)) * vx > (qy * vx + vy * (mx - qx)) * ux:
                a = i + 1
            else:
                d = j
            continue
        if f == HIGH:
            b = i
        elif f == EQUAL:
            b = i + 1
        elif g == EQUAL:
            a = i + 1
        if g == LOW:
            c = j + 1
        elif g == EQUAL:
            c = j
        elif f == EQUAL:
            d = j


def tangent_by_samples(hood, point, h):
    """The corner that the tangent from a point touches, by h samples a round, and the rounds."""
    first, count, rounds = 0, len(hood), 0
    while count > 1:
        step, rounds = -(-count // h), rounds + 1
        samples = range(first, first + count, step)
        sides = [side_of(hood, j, point) for j in samples]
        found = max(k for k, side in enumerate(sides) if side <= EQUAL)
        first, count = samples[found], min(step, first + count - samples[found])
    return first, max(rounds, 1)


def search_by_samples(left, right, h):
    """The corners of the common tangent, by h samples of the left hood with h processors each, and the rounds."""
    first, count, rounds = 0, len(left), 0
    while True:
        step = -(-count // h)
        samples = range(first, first + count, step)
        touches = [tangent_by_samples(right, left[i], h) for i in samples]
        sides = [side_of(left, i, right[j]) for i, (j, _) in zip(samples, touches)]
        found = max((k for k, side in enumerate(sides) if side <= EQUAL), default=0)
        rounds += max(taken for _, taken in touches) + 1
        first, count = samples[found], min(step, first + count - samples[found])
        if sides[found] == EQUAL or count == 1:
            return first, touches[found][0], rounds


class Count:
    """The steps and the work of a phase; a stage takes as long as its slowest processor."""

    def __init__(self):
        self.stages = self.steps = self.work = self.moving = 0

    def add(self, steps, processors, moving=0):
        self.stages, self.steps, self.work = self.stages + 1, self.steps + steps, self.work + steps * processors
        self.moving += moving


def schedule(points):
    """Return the upper hood of points in order, and the Count of each phase of the schedule by its name."""
    n = len(points)
    log_n = max(math.ceil(math.log2(n)), 1)
    counts = {name: Count() for name in ("strips", "trees", "samples")}
    hoods, taken = zip(*(chain(points[at : at + log_n]) for at in range(0, n, log_n)))
    counts["strips"].add(max(taken), len(hoods))
    size, flat = log_n, False
    while len(hoods) > 1:
        if size >= log_n**2 and not flat:
            flat = True
            counts["trees"].add(-(-max(map(len, hoods)) // log_n), len(hoods) * log_n)
        merged, slowest, moving = [], 0, 0
        processors = size // log_n if flat else 1
        for left, right in zip(hoods[::2], hoods[1::2]):
            if flat:
                h = math.ceil(size**0.25)
                i, j, rounds = search_by_samples(left, right, h)
                steps = rounds * -(-h * h // processors)  # rounds of h * h tests
            else:
                i, j, steps = balanced_search(left, right)
                steps += len(left).bit_length() + len(right).bit_length()  # a split and a join
            merged.append(left[: i + 1] + right[j:])
            slowest = max(slowest, steps)
            moving = max(moving, -(-len(merged[-1]) // processors)) if flat else 0
        counts["samples" if flat else "trees"].add(slowest, len(merged) * processors, moving)
        hoods, size = merged + list(hoods[len(hoods) & ~1 :]), 2 * size
    return hoods[0], counts


def cloud(n, shape="arch"):
    """Integer points in order: "arch", all of them corners, or "disc", few of them."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.choice(8 * n, n, replace=False)) - 4 * n
    y = -(x * x) if shape == "arch" else rng.integers(0, 1 << 30, n)
    return list(zip(x.tolist(), y.tolist()))


def row_of(n, shape):
    points = cloud(n, shape)
    hood, counts = schedule(points)
    assert hood == chain(points)[0]
    log_n = math.ceil(math.log2(n))
    row = {"points": n, "shape": shape, "corners": len(hood), "processors": -(-n // log_n)}
    row |= {name: counts[name].steps for name in counts}
    steps, work = (sum(getattr(count, what) for count in counts.values()) for what in ("steps", "work"))
    row |= {"steps": steps, "steps / log n": round(steps / log_n, 1), "work / n": round(work / n, 1)}
    row |= {"moving": counts["samples"].moving}
    return row | {"published: steps": 6 * log_n, "its work / n": 3 * log_n}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="10,12,14,16", help="logarithms of the numbers of points")
    parser.add_argument("--shapes", default="arch,disc")
    options = parser.parse_args()
    logs = [int(log) for log in options.logs.split(",")]
    common.print_table([row_of(1 << log, shape) for shape in options.shapes.split(",") for log in logs])


if __name__ == "__main__":
    main()
