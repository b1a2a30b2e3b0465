"""A self-contained HTML page that steps through pictures, with buttons, a slider and keys.

All pictures are in the page, as SVG; its script shows one of them at a time. A Content-Security-Policy in the page
forbids it to load anything from a network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from clgeom.errors import InvalidInput
from clgeom.io.atomic import check_output, replacing

PAGE_FORMATS = (".html",)
#: The page with its style and script; ``{{ name }}`` is replaced.
TEMPLATE = "stepper.html"


def step_of(
    section: str,
    title: str,
    words: str,
    picture: str,
    legend: Sequence[tuple[str, str]] = (),
    table: tuple[Any, ...] = (),
) -> dict[str, str]:
    """Return a step of a page: an SVG picture, its legend of (small SVG, text), a table of (headings, rows), texts."""
    listed = "".join(f"<li>{swatch}{escape(label)}</li>" for swatch, label in legend)
    parts = {"section": section, "title": title, "words": words, "picture": picture, "legend": listed}
    return {**parts, "table": _table(*table) if table else ""}


def page_text(steps: Sequence[dict[str, str]], *, title: str, words: str = "") -> str:
    """Return the page of one or more steps, with a heading and an introduction in plain text."""
    if not steps:
        raise InvalidInput("A page needs at least one step.")
    values = {
        "title": escape(title),
        "words": escape(words),
        "count": str(len(steps)),
        "steps": script_data(steps),
        "first": steps[0]["picture"],
    }
    return filled(template(TEMPLATE), values)


def script_data(value: Any) -> str:
    """Return a value as JSON within a script of a page."""
    # "<" could end the script
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return the text of a template with a value in place of each ``{{ name }}``."""
    return re.sub(r"{{ (\w+) }}", lambda name: values[name[1]], template)


def template(name: str) -> str:
    """Return the text of a template of this package."""
    return files("clgeom.plotting").joinpath(name).read_text(encoding="utf-8")


def save_page(path: Any, steps: Sequence[dict[str, str]], *, title: str, words: str = "") -> None:
    """Write the page of some steps to an .html file, whole or not at all. The parameters of `page_text`."""
    check_output(path, PAGE_FORMATS)
    text = page_text(steps, title=title, words=words)
    with replacing(path) as file:
        file.write(text.encode())


def _table(headings: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(str(heading))}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
