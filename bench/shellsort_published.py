"""The tables of the Shellsort study as it has them, and their figures beside ours.

Times are of its equipment A (Core i5 560M, NVS 3100M) but for table V, and are milliseconds of a sort, or of a gap of
it: the study has seconds of 100 sorts to two decimals, so 0 is less than 0.05 ms. None where the study has no figure,
or where it cannot be read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Published figures by the values of some columns of our table.

    Parameters
    ----------
    keys : tuple of str
        Columns of our table that say which row a figure belongs to.
    columns : tuple of str
        The columns of ours that are published.
    figures : dict
        The figures of each row by its keys.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    figures: dict[tuple, tuple[float | None, ...]]


def by_gap(columns, figures) -> Table:
    return Table(("gap",), columns, {(gap,): times for gap, times in figures.items()})


TIMES = Table(
    ("n",),
    ("serial", "0", "A", "B", "D", "E"),
    {
        (10,): (0.0, 1.4, 0.4, 0.4, 0.7, 0.4),
        (100,): (0.0, 182.5, 2.4, 0.8, 1.4, 0.8),
        (1000,): (0.2, 630, 145.6, 1.0, 3.4, 1.7),  # variant 0: of one sort, not of 100
        (10_000,): (3.0, None, None, 7.3, 13.1, 15.7),
        (100_000,): (37.6,),
        (400_000,): (190.8,),
        (1_000_000,): (557.4,),
    },
)
ACCESSES = Table(
    ("n", "gap"),
    ("items/group", "elements/item", "reads", "writes", "passes"),
    {
        (1000, 929): (1, 1.07, 0.11, 0.11, 1),
        (1000, 505): (1, 1.98, 1.4, 1.4, 1),
        (1000, 209): (1, 4.48, 6.2, 6.2, 1),
        (1000, 109): (2, 4.58, 9.7, 8.8, 1.6),
        (1000, 41): (7, 3.48, 17, 15, 2.5),
        (1000, 19): (11, 4.78, 19, 16, 2.8),
        (1000, 5): (40, 5),
        (1000, 1): (200, 5, 40, 35),  # by the text: 8 reads and 7 writes an element
        (10_000, 5): (512, 3.9, None, None, 4),  # by the text
        (10_000, 1): (512, 19.5),
    },
)
#: The study's text: at most so many work-items; the mean over so many sorts of 1,000 and of 10,000 keys.
MOST_ITEMS, SORTS = 512, {1000: 1000, 10_000: 100}
#: Digits of its table II: of numbers of elements, which it cuts off, and of the others, which it rounds.
PLACES = {1000: 2, 10_000: 1}
MEANS = 2


def least_elements(n: int, gap: int, items: int) -> str:
    """The least elements of a work-item that give so many items, if their number is rounded up, at most 512."""
    rows = n / gap
    if items == MOST_ITEMS:
        return f"to {rows / items:.3g}"
    return f"from {rows:.3g}" if items == 1 else f"{rows / items:.3g} to {rows / (items - 1):.3g}"


def as_printed(n: int, row: Row) -> Row:
    """A row of table II with as many digits as the study prints."""
    elements = math.floor(row["elements/item"] * 10 ** PLACES[n]) / 10 ** PLACES[n]
    means = {name: float(f"{row[name]:.{MEANS}g}") for name in ("reads", "writes", "passes")}
    return {**row, "elements/item": elements, **means}


MILLION_512 = by_gap(
    ("serial", "B", "D"),
    {
        587521: (11.1, 50.3, 59.8),
        260609: (15.6, 65.8, 79.6),
        146305: (18.4, 71.5, 85.3),
        64769: (21.6, 82.6, 96.3),
        36289: (26.0, 82.4, 95.3),
        16001: (27.4, 92.5, 104.4),
        8929: (31.3, 87.4, 99.5),
        3905: (30.8, 96.1, 107.8),
        2161: (30.2, 92.1, 104.3),
        929: (31.8, 99.0, 112.4),
        505: (34.1, 95.7, 166.0),
        209: (37.1, 61.0, 114.8),
        109: (33.8, 39.9, 86.3),
        41: (76.1, 53.6, 84.5),
        19: (42.5, 43.6, 87.0),
        5: (37.7, 209.7, 116.6),
        1: (39.4, 436.7, 147.0),
        "all": (562.9, 1772.3, 1769.3),
    },
)
MILLION_256 = by_gap(
    ("serial", "B", "D"),
    {
        587521: (11.7, 50.7, 58.1),
        260609: (15.7, 65.6, 79.8),
        146305: (18.3, 70.6, 84.0),
        64769: (22.0, 84.6, 97.3),
        36289: (25.5, 81.7, 94.1),
        16001: (27.9, 93.7, 104.1),
        8929: (31.4, 85.0, 99.3),
        3905: (30.9, 98.2, 108.7),
        2161: (30.3, 90.6, 104.1),
        929: (32.0, 100.7, 111.6),
        505: (33.9, 95.5, 107.3),
        209: (37.2, 89.7, 165.2),
        109: (34.6, 58.4, 113.2),
        41: (78.2, 68.5, 94.2),
        19: (43.3, 49.3, 84.8),
        5: (38.3, 215.2, 109.5),
        1: (38.9, 167.4, 136.2),
        "all": (568.3, 1576.6, 1773.6),
    },
)
HALF_A_MILLION = by_gap(
    ("serial", "B", "D", "E"),
    {
        260609: (6.0, 23.4, 28.1, 74.6),
        146305: (7.0, 31.3, 36.9, 78.0),
        64769: (9.5, 38.2, 44.6, 84.2),
        36289: (9.6, 38.4, 44.2, 84.8),
        16001: (12.6, 44.5, 49.9, 89.9),
        8929: (13.5, 42.2, 48.3, 89.4),
        3905: (14.4, 48.2, 53.6, 94.3),
        2161: (14.8, 44.5, 51.2, 93.0),
        929: (15.6, 49.5, 55.2, 97.4),
        505: (14.2, 47.2, 53.8, 131.5),
        209: (16.4, 54.7, 59.6, 76.0),
        109: (15.2, 48.4, 54.0, 46.1),
        41: (28.8, 51.6, 104.6, 30.6),
        19: (19.4, 43.6, 81.1, 22.7),
        5: (18.7, 141.8, 94.8, 14.5),
        1: (18.9, 163.4, 150.7, 45.7),
        "all": (243.9, 917.4, 1022.6, 1159.9),
    },
)
#: By the title of our table.
PUBLISHED = {
    "Table I: whole calls": TIMES,
    "Table II: accesses of a work-item of variant D": ACCESSES,
    "Table III: 1,000,000 keys, most work-items 512, least elements 1": MILLION_512,
    "Table III: 1,000,000 keys, most work-items 256, least elements 2": MILLION_256,
    "Table IV: 500,000 keys, most work-items 512, least elements 1": HALF_A_MILLION,
}
#: Table V: 400,000 keys on its equipment A, B (Core i5 650, GT 320) and C (Core 2 Duo, 8600 GT).
DEVICES = "Table V: devices"
ON_DEVICES: tuple[Row, ...] = (
    {"device": "study: A", "n": 400_000, "serial": 202.5, "B": 579.5, "D": 662.0},
    {"device": "study: B", "n": 400_000, "serial": 226.5, "B": 390.0, "D": 382.0},
    {"device": "study: C", "n": 400_000, "serial": 196.0, "B": 280.5, "D": 189.0},
)


def beside_study(title: str, rows: list[Row]) -> list[Row]:
    """The rows of our table with the study's figures, in columns "study: ..", or in table V in rows of their own."""
    if title == DEVICES:
        return [row for row in rows if not str(row["device"]).startswith("study: ")] + list(ON_DEVICES)
    if title not in PUBLISHED:
        return rows
    table, made = PUBLISHED[title], []
    for row in rows:
        figures = table.figures.get(tuple(row[key] for key in table.keys), ())
        made.append({**row, **{f"study: {column}": figure for column, figure in zip(table.columns, figures)}})
    return made
