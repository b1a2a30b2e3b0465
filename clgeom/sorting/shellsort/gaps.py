"""Gap sequences for Shellsort, and what their earlier members prove about the passes that follow.

An array that is sorted at gaps g1 .. gm stays so while it is sorted at further gaps. It is also in order at every
distance that is a sum of those gaps: at every member of the numerical semigroup <g1 .. gm>. So before the pass with gap
h, two elements m * h apart can only be out of order if m * h is no such sum. `displacement` is the largest such m: no
element moves further than that many rows in the pass. `reach` is the largest distance that is no such sum: no element
is further than that from its final index.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np

from clgeom.arguments import held, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import short

#: How many of the next larger gaps a bound uses. More gaps can only make it smaller; these give all there is to gain.
GENERATORS = 8
#: Most partial sums to try at a time in order to exclude a bound.
MOST_SUMS = 1 << 16


def sedgewick86(limit: int) -> list[int]:
    """1 5 19 41 109 209 505 ..: 9 * 4**k - 9 * 2**k + 1 and 4**k - 3 * 2**k + 1 in turn (Sedgewick 1986)."""
    first = (9 * 4**k - 9 * 2**k + 1 for k in range(limit.bit_length()))
    second = (4**k - 3 * 2**k + 1 for k in range(2, limit.bit_length() + 2))
    return sorted({gap for gap in (*first, *second) if gap < limit})


def sedgewick82(limit: int) -> list[int]:
    """1 8 23 77 281 1073 ..: 4**k + 3 * 2**(k - 1) + 1 (Sedgewick 1982)."""
    return [1, *_below(limit, (4**k + 3 * 2 ** (k - 1) + 1 for k in count(1)))]


def ciura(limit: int) -> list[int]:
    """1 4 10 23 57 132 301 701 1750, found by experiment (Ciura 2001); then each 2.25 times the last, rounded down."""

    def gaps() -> Iterator[int]:
        yield from (1, 4, 10, 23, 57, 132, 301, 701, gap := 1750)
        while True:
            gap = gap * 9 // 4
            yield gap

    return _below(limit, gaps())


def tokuda(limit: int) -> list[int]:
    """1 4 9 20 46 103 ..: (9 * (9 / 4)**k - 4) / 5 rounded up (Tokuda 1992)."""
    # In integers: floats would round wrongly from about k = 40 on.
    return _below(limit, (-((4 ** (k + 1) - 9 ** (k + 1)) // (5 * 4**k)) for k in count()))


def pratt(limit: int) -> list[int]:
    """1 2 3 4 6 8 9 12 ..: all 2**p * 3**q (Pratt 1971). Many passes, each moving elements by one row at most."""
    gaps, power = [], 1
    while power < limit:
        gap = power
        while gap < limit:
            gaps.append(gap)
            gap *= 3
        power *= 2
    return sorted(gaps)


def lee(limit: int) -> list[int]:
    """1 4 9 20 45 102 230 516 ..: (g**k - 1) / (g - 1) rounded up, g = 2.243609061420001 (Lee 2021)."""
    ratio = 2.243609061420001
    return _below(limit, (math.ceil((ratio**k - 1) / (ratio - 1)) for k in count(1)))


def skean(limit: int) -> list[int]:
    """1 4 10 27 72 187 488 ..: 4.0816 * 8.5714**(k / 2.2449) rounded down (Skean, Ehrenborg and Jaromczyk 2023)."""
    return [1, *_below(limit, (int(4.0816 * 8.5714 ** (k / 2.2449)) for k in count()))]


def hibbard(limit: int) -> list[int]:
    """1 3 7 15 31 ..: 2**k - 1 (Hibbard 1963)."""
    return _below(limit, (2**k - 1 for k in count(1)))


def shell(limit: int) -> list[int]:
    """n // 2, n // 4, .. 1 (Shell 1959). Its gaps share factors, so earlier passes prove nothing about later ones."""
    gaps = []
    while limit > 1:
        limit //= 2
        gaps.append(limit)
    return sorted(gaps)


SEQUENCES = {
    sequence.__name__: sequence
    for sequence in (sedgewick86, sedgewick82, ciura, tokuda, pratt, lee, skean, hibbard, shell)
}


def _below(limit: int, gaps: Iterable[int]) -> list[int]:
    return list(takewhile(lambda gap: gap < limit, gaps))


@keeps_subnormals
def gaps_for(gaps: str | Sequence[int], n: int) -> tuple[int, ...]:
    """Return the gaps to sort n elements with, largest first, ending in 1.

    Parameters
    ----------
    gaps : str or sequence of int
        A name of ``SEQUENCES``, or decreasing integers that end in 1.
    n : int
        Gaps of n or more compare nothing and are left out.

    Returns
    -------
    tuple of int

    Raises
    ------
    InvalidInput
        Naming the gap that is not smaller than the one before it, or the last when it is not 1.

    Examples
    --------
    >>> from clgeom.sorting.shellsort.gaps import gaps_for
    >>> gaps_for("ciura", 100)
    (57, 23, 10, 4, 1)
    """
    if isinstance(gaps, str):
        if gaps not in SEQUENCES:
            raise wrong(
                "gaps", "shellsort", f"one of {', '.join(SEQUENCES)}, or decreasing integers that end in 1", short(gaps)
            )
        return tuple(reversed(SEQUENCES[gaps](max(n, 2))))
    return tuple(gap for gap in _checked(gaps) if gap < max(n, 2))


def _checked(gaps: Any) -> list[int]:
    refuse = functools.partial(wrong, "gaps", "shellsort", "decreasing positive integers that end in 1")
    held(gaps, "gaps", caller="shellsort")
    try:
        given = list(gaps)
    except (TypeError, MemoryError):
        raise refuse(short(gaps)) from None
    if not given:
        raise refuse("an empty list")
    checked: list[int] = []
    for i, gap in enumerate(given):
        if isinstance(gap, (bool, np.bool_)) or not isinstance(gap, (int, np.integer)):
            raise refuse(f"{short(gap)} at index {i}")
        if gap < 1 or (checked and gap >= checked[-1]):
            after = f" after {checked[-1]}" if checked else ""
            raise refuse(f"{int(gap)}{after} at index {i}")
        checked.append(int(gap))
    if checked[-1] != 1:
        raise refuse(f"{checked[-1]} as the last one")
    return checked


# What earlier gaps prove ----------------------------------------------------------------------------------------


@keeps_subnormals
def displacement(gap: int, larger: Sequence[int], most: int | None = None) -> int | None:
    """Most rows that an element moves in the pass with `gap`, after passes with all the `larger` gaps.

    That is the largest m for which m * gap is no sum of larger gaps.

    Parameters
    ----------
    gap : int
    larger : sequence of int
        The gaps of earlier passes, in any order. Only the ``GENERATORS`` smallest are used: the semigroup of fewer
        gaps is smaller, so the bound holds all the same.
    most : int, optional
        The largest bound of use. In place of a larger one the result may be None, which is often found with less work.

    Returns
    -------
    int or None
        None when there is no largest.

    Raises
    ------
    TypeError, ZeroDivisionError
        A gap is no integer, or is 0.

    Examples
    --------
    >>> from clgeom.sorting.shellsort.gaps import displacement
    >>> displacement(1, [4, 9])
    23
    """
    # Multiples of the gap may prove more than the next larger gaps: 2 * gap and 3 * gap leave one row (Pratt).
    multiples = _displacement(1, tuple(sorted(g // gap for g in larger if g % gap == 0)[:GENERATORS]))
    if multiples == 1:
        return 1
    nearest = tuple(sorted(larger)[:GENERATORS])
    if most is not None and not _may_be_sum((most + 1) * gap, nearest):
        return multiples if multiples is not None and multiples <= most else None
    bounds = (multiples, _displacement(gap, nearest))
    return min((bound for bound in bounds if bound is not None), default=None)


def _may_be_sum(number: int, gaps: tuple[int, ...]) -> bool:
    """Return whether a number is a sum of these increasing gaps; also True where that takes too many partial sums."""
    if len(gaps) < 2:
        return not gaps or number % gaps[0] == 0
    rest = np.array([number], np.int64)  # after partial sums of all but the two smallest gaps
    for gap in reversed(gaps[2:]):
        multiples = np.arange(0, number + 1, gap, dtype=np.int64)
        if len(rest) * len(multiples) > MOST_SUMS:
            return True
        rest = np.subtract.outer(rest, multiples).ravel()
        rest = rest[rest >= 0]
    # a * small + b * large is the rest for one b below small, or for none.
    divisor = math.gcd(*gaps[:2])
    small, large = (gap // divisor for gap in gaps[:2])
    rest = rest[rest % divisor == 0] // divisor
    return bool((rest % small * pow(large, -1, small) % small * large <= rest).any())


@functools.lru_cache(maxsize=512)
def _displacement(gap: int, larger: tuple[int, ...]) -> int | None:
    if not larger or gap % math.gcd(*larger):
        return None
    least = _least_sums(larger)
    smallest = larger[0]
    period = smallest // math.gcd(gap, smallest)  # m and m + period give the same residue
    m = np.arange(period, dtype=np.int64)
    # m * gap is a sum from least[residue] on; the last m of this class that is below it:
    last = (least[m * gap % smallest] - 1) // gap
    last = m + (last - m) // period * period
    return int(last.max(initial=0, where=last >= 0))


@keeps_subnormals
def reach(larger: Sequence[int]) -> int | None:
    """Furthest that two elements out of order can be apart after passes with the `larger` gaps.

    That is the largest number that is no sum of the gaps, their Frobenius number.

    Parameters
    ----------
    larger : sequence of int
        The gaps of the passes, in any order. Only the ``GENERATORS`` smallest are used.

    Returns
    -------
    int or None
        None without a limit.

    Raises
    ------
    TypeError, ZeroDivisionError
        A gap is no integer, or is 0.

    Examples
    --------
    >>> from clgeom.sorting.shellsort.gaps import reach
    >>> reach([4, 9])
    23
    """
    larger = tuple(sorted(larger)[:GENERATORS])
    if not larger or math.gcd(*larger) != 1:
        return None
    return _reach(larger)


@functools.lru_cache(maxsize=512)
def _reach(larger: tuple[int, ...]) -> int:
    return max(int(_least_sums(larger).max()) - larger[0], 0)


def _least_sums(gaps: tuple[int, ...]) -> np.ndarray:
    """For each residue modulo the smallest gap, the least sum of gaps that has it (an Apéry set).

    Only multiples of the gaps' greatest common divisor are sums; other residues keep a value beyond all sums. With up
    to 1, 3, 7, .. copies of a gap, least sums follow from those with half as many. Copies that exceed the largest of
    the least sums change none of them.
    """
    smallest = gaps[0]
    least = np.full(smallest, 1 << 60, np.int64)
    least[0] = 0
    more = np.empty_like(least)
    for gap in gaps[1:]:
        different, copies = smallest // math.gcd(gap, smallest), 1  # so many copies have a residue of their own each
        while copies < different and copies * gap < least.max():
            shift = copies * gap % smallest
            np.add(least[:-shift], copies * gap, out=more[shift:])
            np.add(least[-shift:], copies * gap, out=more[:shift])
            np.minimum(least, more, out=least)
            copies *= 2
    return least
