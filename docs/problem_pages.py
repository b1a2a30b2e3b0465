"""Write a page for each problem of ``clgeom.dp.problems.CATALOGUE``, while the site is built.

A page has what the problem is, its equation as mathematics, the order in which its table is filled, its example with
the answer, and its specification on the command line. All of it comes from the catalogue and from the documentation of
the functions, whose examples the tests run. No device is needed.
"""

import doctest
import inspect
import json
from pathlib import Path

from equation_mathml import choices, shown

from clgeom.commands.dp_solve import toml
from clgeom.dp.analysis.dependences import Near, Row, Split
from clgeom.dp.patterns import PATTERNS
from clgeom.dp.problems import CATALOGUE, VARIANTS

#: Cells of a picture, and pixels of a cell.
ROWS, COLUMNS, SIDE = 6, 8, 40
INK, FIRST, LAST, READ = "#22303c", (234, 242, 248), (46, 134, 171), "#d1495b"


def pages() -> dict[str, str]:
    """The text of each page by its name, and "index" with the list of all."""
    found = {problem.function: page(problem) for problem in CATALOGUE + VARIANTS}
    lines = ["Problems", "========", "", INDEX, "", ".. toctree::", "   :maxdepth: 1", ""]
    lines += [f"   {problem.name} <{problem.function}>" for problem in CATALOGUE + VARIANTS]
    found["index"] = "\n".join([*lines, ""])
    return found


INDEX = """\
The problems of ``clgeom.dp.problems``, a page for each: what it is, its equation as mathematics, the order in which the
table is filled, an example with its answer, and the same on the command line. Most problems are those of Lew and Mauch,
"Dynamic Programming: A Computational Tool" (2007). ``clgeom dp list`` lists them, ``clgeom dp solve`` solves them."""


def page(problem) -> str:
    """The page of a problem."""
    equation, choice = problem.equation, choices(problem.equation)
    if problem.pattern in PATTERNS:
        pattern = PATTERNS[equation.pattern]
        order = [html(picture(problem, pattern)), reads(equation, pattern)]
    else:
        order = [html(planes(equation)), PLANES]
    parts = [
        problem.name,
        "=" * len(problem.name),
        "",
        problem.about,
        "",
        f"Function: `clgeom.dp.problems.{problem.function}`.",
        "",
        *heading("The equation"),
        formula(shown(equation)),
        *([problem.cells, ""] if problem.cells else []),
        *(["The choice that a cell keeps beside its value:", "", formula(choice)] if choice else []),
        *heading("The order of filling"),
        *order,
        "",
        *heading("Example"),
        *code("python", example(problem)),
        *heading("On the command line"),
        f"``clgeom dp solve {problem.function} spec.toml``, with this ``spec.toml``:",
        "",
        *code("none", "\n".join(f"{key} = {wrapped(value)}" for key, value in problem.example.items())),
        *keys(problem),
    ]
    return "\n".join(parts)


def heading(text):
    return [text, "-" * len(text), ""]


def html(text):
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in text.splitlines()) + "\n"


def formula(text):
    """With a bar to move it where it is wider than the page."""
    return html(f'<div style="overflow-x: auto">{text}</div>')


def code(language, text):
    return [f".. code-block:: {language}", "", *(f"   {line}".rstrip() for line in text.splitlines()), ""]


def wrapped(value) -> str:
    """A value in TOML; a long list of lists has a line for each."""
    text = toml(value)
    if len(text) <= 80 or not isinstance(value[0], list):
        return text
    return "[\n" + "".join(f"    {toml(row)},\n" for row in value) + "]"


def keys(problem):
    """The parameters that may be left out."""
    optional = [f"``{key}``" for key, needed in problem.keys.items() if not needed]
    return [f"Optional: {', '.join(optional)}.", ""] if optional else []


def example(problem) -> str:
    """The example of a function's documentation, with what it prints as comments."""
    lines = []
    for one in doctest.DocTestParser().get_examples(inspect.cleandoc(problem.solver.__doc__)):
        lines += one.source.splitlines()
        lines += [f"# {line}" for line in one.want.splitlines()]
    return "\n".join(lines)


# The picture ------------------------------------------------------------------------------------------------------


def reads(equation, pattern) -> str:
    """The pattern in words, and what the red cells are."""
    stages = {"rows": "rows", "columns": "columns"}.get(pattern.kind, "diagonals")
    known = isinstance(equation.reach, (Near, Split))
    return (
        f"Pattern {pattern.name}: a cell may read {pattern.reads()}. The {stages} are filled one after the other, as "
        "the numbers say; the cells of one number at the same time. Red borders: what the red cell "
        f"{'reads' if known else 'may read'}."
    )


def picture(problem, pattern) -> str:
    """An SVG of a table whose cells have the numbers and the colours of their stages."""
    n, m = (1, COLUMNS) if problem.cells.startswith("One row") else (ROWS, COLUMNS)
    stages, parts = pattern.stages(n, m), []
    at = (1, m - 3) if pattern.kind == "sone" else (n // 2, m // 2)
    red = read_by(problem.equation.reach, pattern, at, n, m)
    for i in range(n):
        for j in range(m):
            parts.append(square(i, j, pattern.stage_of(i, j, n, m), stages, (i, j) == at))
    parts += [border(i, j) for i, j in sorted(red)]
    return svg(parts, n, m, f"The stages of a table of {n} x {m} cells with the pattern {pattern.name}")


def square(i, j, stage, stages, chosen):
    """A cell with the number and the colour of its stage; i and j may be fractions."""
    share = stage / max(stages - 1, 1)
    colour = "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(FIRST, LAST))
    x, y = j * SIDE + 2, i * SIDE + 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{SIDE}" height="{SIDE}" fill="{READ if chosen else colour}" '
        f'stroke="#ffffff"/><text x="{x + SIDE / 2:g}" y="{y + SIDE / 2 + 5:g}" text-anchor="middle" '
        f'fill="{"#ffffff" if chosen or share > 0.6 else INK}">{stage}</text>'
    )


def border(i, j):
    x, y = j * SIDE + 4, i * SIDE + 4
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{SIDE - 4}" height="{SIDE - 4}" fill="none" stroke="{READ}" '
        'stroke-width="3"/>'
    )


def svg(parts, n, m, words):
    width, height = f"{m * SIDE + 4:g}", f"{n * SIDE + 4:g}"
    label = json.dumps(words)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label={label} font-family="sans-serif" font-size="14">{"".join(parts)}</svg>'
    )


PLANES = (
    "The planes i = 0, 1, 2 of a table with three indices, from left to right; in each, j counts rows and k columns. "
    "Cells with the same number are filled at the same time. Red borders: what the red cell may read."
)


def planes(equation) -> str:
    """An SVG of three planes beside each other."""
    side, gap, at = 4, 0.5, (2, 2, 2)
    cells = [(i, j, k) for i in range(3) for j in range(side) for k in range(side)]
    stage = {cell: sum(cell) if equation.pattern == "IJK" else cell["IJK".index(equation.pattern)] for cell in cells}

    def place(cell):
        return cell[1], cell[0] * (side + gap) + cell[2]

    def may_read(cell):
        return any(
            all(step is None or own + step == other for own, step, other in zip(at, steps, cell))
            for steps in equation.offsets
        )

    parts = [square(*place(cell), stage[cell], max(stage.values()) + 1, cell == at) for cell in cells]
    parts += [border(*place(cell)) for cell in cells if stage[cell] < stage[at] and may_read(cell)]
    words = f"The stages of a table with three indices and the pattern {equation.pattern}"
    return svg(parts, side, 3 * side + 2 * gap, words)


def read_by(reach, pattern, at, n, m):
    """The cells of a picture that a cell reads, or may read."""
    i, j = at
    if isinstance(reach, Near):
        found = {(i + di, j + dj) for di, dj in reach.offsets}
    elif isinstance(reach, Split):
        found = {(i, k) for k in range(i, j)} | {(k, j) for k in range(i + 1, j + 1)}
    elif isinstance(reach, Row):
        found = {(i + reach.step, k) for k in range(m)}
    else:
        stage = pattern.stage_of(i, j, n, m)
        every = {(a, b) for a in range(n) for b in range(m)}
        found = {(a, b) for a, b in every if pattern.allows(a - i, b - j) and pattern.stage_of(a, b, n, m) < stage}
    return {(a, b) for a, b in found if 0 <= a < n and 0 <= b < m}


def write_pages(app):
    """Write the pages into reference/generated/problems."""
    folder = Path(app.srcdir, "reference", "generated", "problems")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
