"""The page of ``clgeom bench``: tables that can be sorted and diagrams in one HTML file that loads nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from clgeom.markup import INK
from clgeom.plotting.figures import SERIES
from clgeom.plotting.html import filled, script_data

TEMPLATE = Path(__file__).with_name("page.html")
#: Rows from which on a table scrolls by itself.
LONG = 60
#: Letters from which on a text may take several lines of a table.
WORDS = 28
#: Elements of Matplotlib's SVG that a page does not need.
UNWANTED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Parameters
    ----------
    name : str
        Anchor, and text of the link to it.
    title, command, note : str
        Plain text.
    state, absent : str
        What is missing, if anything is, and what is not installed.
    pictures : sequence of str
        SVG.
    tables : sequence of (str, sequence of dict)
        Caption and rows.
    """

    name: str
    title: str
    command: str
    note: str
    state: str
    absent: str
    pictures: Sequence[str]
    tables: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]

    def html(self) -> str:
        state = f'<p class="state">{escape(self.state)}</p>' if self.state else ""
        state += f'<p class="absent">{escape(self.absent)}</p>' if self.absent else ""
        pictures = "".join(f"<figure>{picture}</figure>" for picture in self.pictures)
        tables = "".join(table(rows, caption) for caption, rows in self.tables if rows)
        return (
            f'<section id="{_anchor(self.name)}"><h2>{escape(self.title)}</h2>{state}<p>{escape(self.note)}</p>'
            f"<pre>{escape(self.command)}</pre>{pictures}{tables}</section>"
        )


def page_text(
    title: str,
    facts: Iterable[tuple[str, str]],
    summary: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
    data: Any,
    *,
    notes: Sequence[str] = (),
) -> str:
    """The page as text.

    Parameters
    ----------
    title : str
    facts : iterable of (str, str)
        What was measured, where and when.
    summary : sequence of dict
        Rows of the first table.
    sections : sequence of Section
    data
        What the page embeds as JSON.
    notes : sequence of str
        What a reader must know of this page.
    """
    values = {
        "title": escape(title),
        "facts": "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts),
        "notes": "".join(f'<p class="state">{escape(note)}</p>' for note in notes),
        "links": " ".join(f'<a href="#{_anchor(s.name)}">{escape(s.title)}</a>' for s in sections),
        "summary": table(summary, "clgeom beside others") if summary else "",
        "sections": "".join(section.html() for section in sections),
        "colours": "".join(f"--c{k}: {colour}; " for k, colour in enumerate(SERIES)),
        "data": script_data(data),
    }
    return filled(TEMPLATE.read_text(encoding="utf-8"), values)


def table(rows: Sequence[Mapping[str, Any]], caption: str) -> str:
    """An HTML table of rows, with the columns that hold plain values in some row. Numbers keep all digits."""
    plain = [key for row in rows for key, value in row.items() if not isinstance(value, (list, dict))]
    columns = [key for key in dict.fromkeys(plain) if any(row.get(key) is not None for row in rows)]
    numbers = {c for c in columns if all(_is_number(row[c]) for row in rows if row.get(c) is not None)}
    head = "".join(
        f'<th aria-sort="none" class="{"number" if c in numbers else "text"}"><button>{escape(c)}</button></th>'
        for c in columns
    )
    body = "".join("<tr>" + "".join(_cell(row.get(column)) for column in columns) + "</tr>" for row in rows)
    return (
        f'<div class="table{" long" * (len(rows) > LONG)}" tabindex="0"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(value) -> str:
    if value is None:
        return "<td></td>"
    if not _is_number(value):
        words = ' class="words"' if len(str(value)) > WORDS else ""
        return f"<td{words}>{escape(str(value))}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
    return f'<td class="number" data-value="{value!r}">{shown}</td>'


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _anchor(name) -> str:
    return re.sub(r"\W+", "-", name)


def picture_or_why(draw: Callable[[], Any], name: str) -> str | None:
    """As `picture`, but for a figure that cannot be drawn a line that says so, for a page has more than that."""
    try:
        return picture(draw, name)
    except Exception as error:
        return f"<figcaption>This diagram could not be drawn: {escape(type(error).__name__)}.</figcaption>"


def picture(draw: Callable[[], Any], name: str) -> str | None:
    """The figure that a function returns as SVG for a page, None if it returns None. Needs Matplotlib.

    Colours become those of the page, which has them for light and for dark screens; `name` makes identifiers unique.
    """
    import matplotlib

    from clgeom.markup import QUIET

    parts = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")
    style: dict[Any, Any] = {
        **dict.fromkeys(parts, INK),
        "grid.color": QUIET,
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,  # a $ in the name of a device is no formula
    }
    with matplotlib.rc_context(style):
        figure = draw()
        if figure is None:
            return None
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = UNWANTED.sub("", out.getvalue())
    text = re.sub(
        r'(<svg [^>]*?)\swidth="[^"]*"', r"\1", re.sub(r'(<svg [^>]*?)\sheight="[^"]*"', r"\1", text, count=1)
    )
    mark = _anchor(name)
    text = re.sub(r'\bid="', f'id="{mark}-', text)
    text = re.sub(r'href="#', f'href="#{mark}-', text)
    text = re.sub(r"url\(#", f"url(#{mark}-", text)
    for k, colour in enumerate(SERIES):
        text = text.replace(colour, "currentColor" if colour == INK else f"var(--c{k})")
    return text.strip()
