"""HTML and SVG of bounded size, with all text escaped, and the colours of all figures.

Notebooks show a result by its ``_repr_html_``, which is a `card`: a table of facts and a small picture, in the colour
of the notebook's text. `clgeom.plotting.html` makes whole pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The palette of figures and pages: text and points, the first line and its corners, the second line and its corners,
#: and two more.
INK, QUIET = "#22303c", "#7d93a6"
RED, DARK_RED = "#d1495b", "#a4243b"
BLUE, DARK_BLUE = "#2e86ab", "#1b4965"
AMBER, PURPLE = "#e09f3e", "#6a4c93"
#: Longest text in a cell of a card, and most rows of its table.
MOST_TEXT, MOST_ROWS = 200, 12
#: Most rings and corners that a card draws. Neighbouring corners in one pixel are drawn as one.
MOST_RINGS, MOST_CORNERS = 200, 4_000
WIDTH, HEIGHT = 260, 180


def text(value: Any) -> str:
    """Return a value as escaped text of at most `MOST_TEXT` characters."""
    shown = str(value)
    return escape(shown if len(shown) <= MOST_TEXT else shown[: MOST_TEXT - 2] + " …")


def table(headings: Sequence[Any], rows: Sequence[Sequence[Any]], *, count: int | None = None) -> str:
    """Return an HTML table of at most `MOST_ROWS` rows; `count` is the number of all rows if only some are given."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS])
    left = (len(rows) if count is None else count) - min(len(rows), MOST_ROWS)
    more = f'<tr><td colspan="{len(headings)}">… {left:,} more</td></tr>' if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"


def some_of(count: int) -> list[Any]:
    """Return the numbers below `count`; of many only the first six, an ellipsis and the last two."""
    return list(range(count)) if count <= 9 else [*range(6), "…", count - 2, count - 1]


def card(title: str, facts: Iterable[tuple[str, Any]], *more: str) -> str:
    """Return a ``_repr_html_``: a title, names with their values, and `more`, which are pictures and tables in HTML."""
    names = "".join(
        f'<tr><th style="text-align:left">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in facts
    )
    column = "".join(f'<div style="margin:2px 0 0 16px">{part}</div>' for part in more if part)
    return (
        f'<div class="clgeom"><strong>{text(title)}</strong><div style="display:flex;flex-wrap:wrap;'
        f'align-items:flex-start"><table>{names}</table>{column}</div></div>'
    )


def rings_svg(rings: Iterable[Any], *, filled: bool = True, label: str = "") -> str:
    """Return an SVG of bounded size that shows rings, (h, 2) each; one corner is a dot, two corners are a line."""
    drawn = []
    for ring in rings:
        corners = np.asarray(ring, np.float64).reshape(-1, 2)
        if len(corners) and np.isfinite(corners).all():
            drawn.append(corners)
        if len(drawn) == MOST_RINGS:
            break
    if not drawn:
        return ""
    largest = max(np.abs(corners).max() for corners in drawn) or 1.0
    drawn = [corners / largest for corners in drawn]  # so that no difference overflows
    low, high = np.min([c.min(axis=0) for c in drawn], axis=0), np.max([c.max(axis=0) for c in drawn], axis=0)
    extent = high - low
    scale = min(((side - 12) / length for side, length in zip((WIDTH, HEIGHT), extent) if length > 0), default=1.0)
    width, height = (max(length * scale, 0) + 12 for length in extent)
    paths, dots, room = [], [], MOST_CORNERS
    for corners in drawn:
        places = np.round((corners - low) * scale + 6, 1)
        places[:, 1] = height - places[:, 1]
        places = thinned(places, room)
        room = max(room - len(places), 2)
        if len(places) == 1:
            dots.append(f'<circle cx="{places[0, 0]:g}" cy="{places[0, 1]:.4g}" r="2.5"/>')
        else:
            closed = "Z" if len(places) > 2 else ""
            paths.append(f"M{path_points(places)}{closed}")
    inside = f' fill="{RED}" fill-opacity="0.12"' if filled else ' fill="none"'
    named = f' aria-label="{text(label)}"' if label else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img"{named} width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}"><path d="{"".join(paths)}"{inside} fill-rule="evenodd" '
        f'stroke="{RED}" stroke-width="1.3" stroke-linejoin="round"/><g fill="{DARK_RED}">{"".join(dots)}</g></svg>'
    )


def thinned(places: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return corners of a picture that leave the half pixel of the one before; above `most`, evenly spaced ones."""
    cells = np.round(2 * places)
    kept = np.r_[True, (cells[1:] != cells[:-1]).any(axis=1)] if len(places) else np.ones(0, bool)
    places = places[kept]
    return places[:: -(-len(places) // most)] if len(places) > most else places


def path_points(places: Any) -> str:
    """Return corners as the numbers of an SVG path."""
    rounded = (
        [f"{value:.1f}".removesuffix(".0") for value in place] for place in np.asarray(places, np.float64).tolist()
    )
    return " ".join(f"{x},{y}" for x, y in rounded)
