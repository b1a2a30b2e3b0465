"""Areas and perimeters of polygons, correctly rounded: the same number wherever they are computed.

Numbers are summed in pairs of floats with a bound of the error (``cl_src/batch/batch_measures.h`` does the same). Where
the bound does not exclude another rounded number, the sum is computed in integers.
"""

from __future__ import annotations

import math

import numpy as np

from clgeom.geo.exact import exact_area, integers, rounded

#: Hulls of at most so many vertices are measured side by side, larger ones each by itself.
SIDE_BY_SIDE = 64
#: Hulls that are measured side by side at a time: their numbers stay in the processor's cache.
AT_A_TIME = 4096


# One polygon -----------------------------------------------------------------------------------------------------


def polygon_area(corners: np.ndarray) -> float:
    """Area of a counter-clockwise polygon, correctly rounded; the smallest subnormal number if that would be 0.

    The products of the shoelace formula are split into two floats each, without error, and summed exactly by
    ``math.fsum``. Coordinates of very different or extreme magnitude go through integers.
    """
    corners = corners.astype(np.float64)
    exponents = np.frexp(corners[corners != 0])[1]
    scale = int(exponents.max(initial=-400))
    if exponents.min(initial=scale) < max(scale - 450, -400):
        numbers, exponent = integers(corners.ravel().tolist())
        return exact_area(numbers[::2], numbers[1::2], 2 * exponent)
    x, y = np.ldexp(corners, -scale).T
    terms = [*two_product(x, np.roll(y, -1)), *two_product(-y, np.roll(x, -1))]
    return _ldexp(math.fsum(np.concatenate(terms).tolist()) / 2, 2 * scale)


def polygon_perimeter(corners: np.ndarray) -> float:
    """Perimeter of a polygon of two corners or more, neighbours distinct, correctly rounded.

    Each length is a sum of two floats with a relative error below 2**-100, in a scale of its own. Differences of end
    points and squares are pairs of floats without error, and a residual corrects the square root.
    """
    a = corners.astype(np.float64)
    b = np.roll(a, -1, axis=0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        down = np.where(np.isfinite(b - a).all(axis=1), 0, 2)
        sides, errors = two_difference(*np.ldexp([b, a], -down[:, None]))
        exponents = np.frexp(np.abs(sides).max(axis=1))[1]
        (x, y), (ex, ey) = np.ldexp(sides, -exponents[:, None]).T, np.ldexp(errors, -exponents[:, None]).T
        root, rest = _length(x, y, ex, ey)
        exponents += down
        scale = int(exponents.max())
        root, rest = np.ldexp([root, rest], exponents - scale)
    roots, low_parts = root.tolist(), math.fsum(rest.tolist())
    total = math.fsum(roots)
    if scale < -800 or total < 0.25:  # subnormal numbers, which a processor may flush
        return _exact_perimeter(a)
    margin = (len(corners) + 32) * 2.0**-99 * total
    low, high = (math.fsum([*roots, low_parts + sign * margin]) for sign in (-1, 1))
    return _ldexp(low, scale) if low == high else _exact_perimeter(a)


def _length(x: np.ndarray, y: np.ndarray, ex: np.ndarray, ey: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the length of the vector (x + ex, y + ey) as a sum of two floats."""
    (xx, xx_error), (yy, yy_error) = two_product(x, x), two_product(y, y)
    square, square_error = two_difference(xx, -yy)
    root = np.sqrt(square)
    found, found_error = two_product(root, root)
    rest = (square - found) + (square_error + (xx_error + yy_error) + 2 * (x * ex + y * ey) - found_error)
    return root, np.divide(rest, 2 * root, out=np.zeros_like(root), where=root > 0)


def _exact_perimeter(corners: np.ndarray) -> float:
    """By square roots of integers, with more bits until all numbers between two bounds round to the same float."""
    numbers, exponent = integers(corners.ravel().tolist())
    x, y = numbers[::2], numbers[1::2]
    squares = [(c - a) ** 2 + (d - b) ** 2 for a, b, c, d in zip(x, y, x[1:] + x[:1], y[1:] + y[:1])]
    whole = [root for square in squares if (root := math.isqrt(square)) ** 2 == square]
    others = [square for square in squares if math.isqrt(square) ** 2 != square]
    bits = 64
    while True:
        low = (sum(whole) << bits) + sum(math.isqrt(square << 2 * bits) for square in others)
        found = rounded(low, exponent - bits)
        # a sum with an irrational root is no float, nor halfway between two: with enough bits, this ends
        if found == rounded(low + len(others), exponent - bits):
            return found
        bits *= 2


def two_difference(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a - b rounded, and its error, exactly (Knuth, "The Art of Computer Programming" 2, 4.2.2, theorem B)."""
    difference = a - b
    part = difference - a
    return difference, (a - (difference - part)) - (b + part)


def _ldexp(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.inf


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a * b rounded, and its error, exactly (Dekker, Numer. Math. 18, 1971)."""
    product = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Upper and lower 26 bits of the significands (Veltkamp)."""
    shifted = 134217729.0 * a
    high = shifted - (shifted - a)
    return high, a - high


# Many polygons ---------------------------------------------------------------------------------------------------


def ragged_measures(corners: np.ndarray, offsets: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas and perimeters of polygons ``corners[offsets[i] : offsets[i + 1]]``; those `flat` have no area."""
    counts = np.diff(offsets)
    areas, perimeters = np.zeros(len(counts)), np.zeros(len(counts))
    order = np.argsort(-counts, kind="stable")
    several = order[(counts[order] > 1) & (counts[order] <= SIDE_BY_SIDE)]
    for tested in (False, True):
        for first in range(0, len(several), AT_A_TIME):
            some = several[first : first + AT_A_TIME]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                areas[some], perimeters[some] = _side_by_side(corners, offsets[some], counts[some], tested)
        areas[flat] = 0.0
        several = several[(areas[several] < 0) | (perimeters[several] < 0)]
    large = counts > SIDE_BY_SIDE
    areas[large] = perimeters[large] = -1.0
    areas[flat] = 0.0
    measure_doubtful(corners, offsets, areas, perimeters)
    return areas, perimeters


def measure_doubtful(corners: np.ndarray, offsets: np.ndarray, areas: np.ndarray, perimeters: np.ndarray) -> None:
    """Compute the areas and perimeters that are below 0, which stands for a doubt."""
    for measures, function in ((areas, polygon_area), (perimeters, polygon_perimeter)):
        for i in np.flatnonzero(measures < 0).tolist():
            measures[i] = function(corners[offsets[i] : offsets[i + 1]])


def _side_by_side(
    corners: np.ndarray, begins: np.ndarray, counts: np.ndarray, tested: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Areas and perimeters of polygons, the largest first; below 0 if in doubt. As in batch/batch_measures.h."""
    first = before = corners[begins].astype(np.float64).T
    a, a_low = np.zeros_like(first), np.zeros_like(first)
    area, length = (_Total(len(begins), tested) for _ in range(2))
    products = np.zeros(len(begins))
    for k in range(1, int(counts[0]) + 1):
        acting = int(np.searchsorted(-counts, -k, side="right"))  # those of k vertices or more
        p = corners[begins[:acting] + np.where(counts[:acting] == k, 0, k)].astype(np.float64).T
        length.add(*_edge(*two_difference(p, before[:, :acting]), tested))
        b, b_low = two_difference(p, first[:, :acting])
        a, a_low = a[:, :acting], a_low[:, :acting]
        products[:acting] += _triangle(area, a, a_low, b, b_low, tested)
        before, a, a_low = p, b, b_low
    margin = (counts + 32.0) ** 2 * 2.0**-101
    areas = area.rounded(margin * products, 2.0**-900, 2.0**1000)
    return areas / 2, length.rounded(margin * length.high, 2.0**-350, 2.0**500)


class _Total:
    """Sums of pairs, and whether they are exact if that is tested."""

    def __init__(self, n: int, tested: bool) -> None:
        self.high, self.low = np.zeros((2, n))
        self.exact, self.tested = np.full(n, tested), tested

    def add(self, high: np.ndarray, low: np.ndarray, exact: np.ndarray | None = None) -> None:
        """Add a pair to each of the first sums."""
        some = slice(len(high))
        self.high[some], error = two_difference(self.high[some], -high)
        rest = error + low
        if self.tested:
            lost = [two_difference(error, -low)[1], two_difference(self.low[some], -rest)[1]]
            self.exact[some] &= exact & (lost[0] == 0) & (lost[1] == 0)
        self.low[some] += rest

    def rounded(self, margin: np.ndarray, least: float, most: float) -> np.ndarray:
        """Return the sums rounded; -1.0 where a number within the margin is rounded to another one."""
        margin = np.where(self.exact, 0, margin)
        low, high = self.high + (self.low - margin), self.high + (self.low + margin)
        return np.where((low == high) & (low >= least) & (low <= most), low, -1.0)


def _edge(side: np.ndarray, error: np.ndarray, tested: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the length of an edge as a pair, and whether it is exact."""
    (x, y), (ex, ey) = side, error
    root, rest = _length(x, y, ex, ey)
    if not tested:
        return root, rest, None
    along = (x == 0) | (y == 0)
    side, error = np.where(x == 0, y, x), np.where(x == 0, ey, ex)
    exact = along | ((rest == 0) & (ex == 0) & (ey == 0) & (np.abs(x) < 2.0**26) & (np.abs(y) < 2.0**26))
    exact &= along | ((x == np.rint(x)) & (y == np.rint(y)))
    return np.where(along, np.abs(side), root), np.where(along, np.copysign(1, side) * error, rest), exact


def _triangle(
    area: _Total, a: np.ndarray, a_low: np.ndarray, b: np.ndarray, b_low: np.ndarray, tested: bool
) -> np.ndarray:
    """Add twice the area of triangles to a total. Returns the sums of both products' sizes."""
    (left, left_low), (right, right_low) = (two_product(a[i], b[1 - i]) for i in (0, 1))
    (twice, low), (rest, lost) = two_difference(left, right), two_difference(left_low, right_low)
    exact = None
    if tested:
        exact = (lost == 0) & (two_difference(low, -rest)[1] == 0)
        exact &= (a_low == 0).all(axis=0) & (b_low == 0).all(axis=0)
    rest = rest + ((a[0] * b_low[1] + a_low[0] * b[1]) - (a[1] * b_low[0] + a_low[1] * b[0]))
    area.add(twice, low + rest, exact)
    return np.asarray(np.abs(left) + np.abs(right))
