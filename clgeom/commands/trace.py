"""The group ``clgeom trace``: algorithms step by step, as an HTML page, an animation, a picture or data."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from clgeom.commands import terminal
from clgeom.commands.help import Group
from clgeom.commands.options import (
    Rule,
    array_option,
    collinear_option,
    column_option,
    columns_option,
    command,
    output_option,
    with_default,
)
from clgeom.commands.sort import gap_list, gaps_option, sorted_words
from clgeom.commands.terminal import Call
from clgeom.core.messages import counted

#: Endings for ``-o``: a page, an animation, a picture, data.
FORMATS = (".gif", ".html", ".json", ".pdf", ".png", ".svg")
OUTPUT_HELP = "Write a page to step through (.html), an animation (.gif), a picture (.png, .svg, .pdf) or data (.json)."


@click.group(cls=Group)
def trace() -> None:
    """Show an algorithm step by step, as it ran on the device.

    A page is one .html file that needs no network. It has buttons to play, pause and step, a slider, and keys.
    """


seed_option = with_default("--seed", 1, "Seed of the random numbers.", click.IntRange(0))


def _numbers_rules(of_random: Any, of_file: Any) -> tuple[Any, ...]:
    """Return the rules for options of random numbers, and those for options of a FILE."""
    return (
        Rule(
            of_random, "is for random numbers.", lambda given: not given.file, lambda given: f"the file '{given.file}'"
        ),
        Rule(of_file, "is for a FILE. Got none instead.", lambda given: bool(given.file)),
    )


# Hoods ------------------------------------------------------------------------------------------------------------


def _hills(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the points on an arch with valleys, and some below it, so that merges drop corners of both hoods."""
    x = np.sort(rng.uniform(-1, 1, n))
    y = 1 - 0.8 * x**2 - 0.12 * np.sin(2 * np.pi * x + 1.7) ** 2
    y -= np.where(rng.random(n) < 0.3, 0.5 * rng.random(n), 0)
    return np.stack([x, y], axis=1)


def _disc(rng: np.random.Generator, n: int) -> np.ndarray:
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.random(n))
    return np.stack([1.6 * radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _circle(rng: np.random.Generator, n: int) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _cloud_of(
    file: str, columns: list[str] | None, array: str | None, shape: str, seed: int, points: int
) -> tuple[np.ndarray, list[str]]:
    """Return the points of a file with its notes, or random points."""
    from clgeom.io.points import read_cloud

    if not file:
        return CLOUDS[shape](np.random.default_rng(seed), points), []
    read = read_cloud(file, columns=columns, array=array)
    return read.coordinates, list(read.notes)


CLOUDS = {"hills": _hills, "disc": _disc, "circle": _circle}
HULL_WORDS = (
    "Neighbouring hoods, P and Q, become one by their common tangent. All pairs of a stage are merged at once, each by "
    "as many work-items as a block has points, in six phases with a barrier after each."
)
TANGENT_WORDS = (
    "A line that touches the right hood of the last merge, Q, at several angles, and the part of the left hood, P, on "
    "its outer side. At the angle of the common tangent that part is one point."
)

SECTIONS = {"Input": "points shape seed columns array", "Hood": "side collinear", "Output": "tangents output"}
EXAMPLES = (
    ("A page with the merges of 64 random points", "clgeom trace hull"),
    ("An animation of the points of a table", "clgeom trace hull survey.csv -o merges.gif"),
    (
        "A picture of the lower hood of 16 points",
        "clgeom trace hull --points 16 --side lower -o c.svg",
    ),
)


@command(
    sections=SECTIONS,
    examples=EXAMPLES,
    group=trace,
    rules=(*_numbers_rules("points shape seed", "columns array"),),
    named={"points": "points"},
    json=False,
)
@click.argument("file", required=False, type=click.Path())
@with_default("--points", 64, "Number of points, without FILE.", click.IntRange(1))
@with_default("--shape", "hills", "Distribution of the points, without FILE.", click.Choice(tuple(CLOUDS)))
@seed_option
@columns_option("Columns of x and y in FILE, by name or by number from 1.")
@array_option
@with_default("--side", "upper", "Upper or lower hood.", click.Choice(("upper", "lower")))
@collinear_option
@click.option("--tangents", is_flag=True, help="Show the tangents of the last merge by angle instead of the phases.")
@output_option(OUTPUT_HELP, "wagener.html")
def hull(
    call: Call,
    file: str,
    points: Any,
    shape: Any,
    seed: int,
    columns: list[str] | None,
    array: str | None,
    side: Any,
    collinear: Any,
    tangents: bool,
    output: Any,
) -> None:
    """Wagener's match-and-merge: the six phases of every merge of hoods.

    The points are those in FILE (any that clgeom hull reads), or random ones.
    """
    from clgeom import lower_hood, upper_hood
    from clgeom.intake.arrays import as_device_points, refuse_nonfinite
    from clgeom.io.points import saying_where
    from clgeom.plotting.figures import require_few
    from clgeom.plotting.merges import MOST_POINTS, merge_scenes
    from clgeom.plotting.tangents import last_merge, tangent_scenes, tangents_by_angle

    _check_output(file, output)
    cloud, notes = _cloud_of(file, columns, array, shape, seed, points)
    if _is_drawn(output):
        require_few(cloud, MOST_POINTS, "merges", "points")
    session = call.session
    with saying_where([file], [len(cloud)], drop=False) if file else contextlib.nullcontext():
        refuse_nonfinite(as_device_points(session, cloud, caller=f"{side}_hood"), caller=f"{side}_hood")
    cloud = cloud[np.lexsort((cloud[:, 1], cloud[:, 0]))]
    find = upper_hood if side == "upper" else lower_hood
    found = find(cloud, trace=True, collinear=collinear, device=session)
    title = f"Wagener's match-and-merge: the {side} hood of {counted(len(cloud), 'point', 'points')}"
    if tangents:
        merge = last_merge(found.merges or ())
        if _is_drawn(output):
            _draw(tangent_scenes(cloud, merge, side=side), output, title, TANGENT_WORDS)
        else:
            lines = list(map(vars, tangents_by_angle(cloud, merge, side)))
            _write_json(output, {"left": cloud[merge.left], "right": cloud[merge.right], "tangents": lines})
    elif _is_drawn(output):
        _draw(merge_scenes(cloud, found.stages or (), found.merges or (), side=side), output, title, HULL_WORDS)
    else:
        merges = [list(map(vars, stage)) for stage in found.merges or ()]
        _write_json(output, {"side": found.side, "points": cloud, "stages": found.stages, "merges": merges})
    corners, stages = counted(len(found), "corner", "corners"), counted(len(found.merges or ()), "stage", "stages")
    terminal.print_facts(
        ("points", f"{len(cloud):,} ({cloud.dtype})"),
        ("note", notes),
        ("device", terminal.device_words(session)),
        ("hood", f"{corners}, {side}, {stages}"),
        ("wrote", output),
    )


# Heaphull ---------------------------------------------------------------------------------------------------------

HEAPHULL_WORDS = (
    "Points inside the octagon of the extreme points are dropped. The others join one of four queues. The hull of each "
    "queue has a chain of the hull of all points."
)
HEAPHULL_SECTIONS = {"Input": "points shape seed columns array", "Output": "output"}
HEAPHULL_EXAMPLES = (
    ("A page with the steps for 400 random points", "clgeom trace heaphull"),
    ("A picture of the steps for the points of a table", "clgeom trace heaphull survey.csv -o steps.svg"),
)


@command(
    "heaphull",
    sections=HEAPHULL_SECTIONS,
    examples=HEAPHULL_EXAMPLES,
    group=trace,
    rules=(*_numbers_rules("points shape seed", "columns array"),),
    named={"points": "points"},
    json=False,
)
@click.argument("file", required=False, type=click.Path())
@with_default("--points", 400, "Number of points, without FILE.", click.IntRange(1))
@with_default("--shape", "disc", "Distribution of the points, without FILE.", click.Choice(tuple(CLOUDS)))
@seed_option
@columns_option("Columns of x and y in FILE, by name or by number from 1.")
@array_option
@output_option(OUTPUT_HELP, "heaphull.html")
def heaphull_command(
    call: Call,
    file: str,
    points: Any,
    shape: Any,
    seed: int,
    columns: list[str] | None,
    array: str | None,
    output: Any,
) -> None:
    """Heaphull: the octagon, the queues of its filter, their hulls, and the chains that make the hull.

    The points are those in FILE (any that clgeom hull reads), or random ones.
    """
    from clgeom.hull.study import heaphull
    from clgeom.io.points import saying_where
    from clgeom.plotting.figures import require_few
    from clgeom.plotting.queues import MOST_POINTS, queue_scenes

    _check_output(file, output)
    cloud, notes = _cloud_of(file, columns, array, shape, seed, points)
    if _is_drawn(output):
        require_few(cloud, MOST_POINTS, "heaphull", "points")
    with saying_where([file], [len(cloud)], drop=False) if file else contextlib.nullcontext():
        found = heaphull(cloud, device=call.session)
    filtered = found.filter
    if _is_drawn(output):
        _draw(
            queue_scenes(cloud, found), output, f"Heaphull of {counted(len(cloud), 'point', 'points')}", HEAPHULL_WORDS
        )
    else:
        facts = {"labels": filtered.labels, "octagon": filtered.octagon, "queues": filtered.queues}
        facts |= {"hulls": found.hulls, "chains": found.chains, "vertices": found.vertices}
        _write_json(output, {"points": cloud, **facts})
    terminal.print_facts(
        ("points", f"{len(cloud):,} ({cloud.dtype})"),
        ("note", notes),
        ("device", terminal.device_words(call.session)),
        ("queues", f"{filtered.kept:,} points, {' + '.join(f'{len(queue):,}' for queue in filtered.queues)}"),
        ("hull", counted(len(found.vertices), "vertex", "vertices")),
        ("wrote", output),
    )


# Shellsort --------------------------------------------------------------------------------------------------------


def _nearly_sorted(rng: np.random.Generator, n: int) -> Any:
    keys = np.arange(1, n + 1)
    for _ in range(max(n // 8, 1)):
        i, j = rng.integers(0, n, 2)
        keys[[i, j]] = keys[[j, i]]
    return keys


KEYS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "random": lambda rng, n: rng.permutation(n) + 1,
    "reversed": lambda rng, n: np.arange(n, 0, -1),
    "nearly": _nearly_sorted,
    "few": lambda rng, n: rng.integers(1, 6, n),
}
VARIANTS = (*"0abcdef", "auto")
SORT_RULES = (
    Rule("seed", "is for random keys; choose another --shape.", lambda given: given.shape != "reversed"),
    Rule(
        "items",
        "is for the variants b and c; the others sort whole h-subsequences.",
        lambda given: given.variant in "bc",
        lambda given: given.variant,
    ),
)
SORT_WORDS = (
    "A pass with gap h sorts every h-subsequence: keys that are h places apart. The last gap is 1. Each pair of rows "
    "shows the array before and after; a line leads from a key's old place to its new one."
)


SORT_SECTIONS = {"Input": "keys shape seed column array", "Shellsort": "variant gaps items", "Output": "output"}
SORT_EXAMPLES = (
    ("A page with the passes over 40 random keys", "clgeom trace sort"),
    ("An animation of reversed keys with the gaps 7, 3, 1", "clgeom trace sort --shape reversed --gaps 7,3,1 -o r.gif"),
    ("The passes over a column of a table, as data", "clgeom trace sort prices.csv --column price -o passes.json"),
)


@command(
    "sort",
    sections=SORT_SECTIONS,
    examples=SORT_EXAMPLES,
    group=trace,
    rules=(
        *_numbers_rules("keys shape seed", "column array"),
        *SORT_RULES,
    ),
    named={"max_items_per_subsequence": "option --items", "keys": "numbers"},
    json=False,
)
@click.argument("file", required=False, type=click.Path())
@with_default("--keys", 40, "Number of keys, without FILE.", click.IntRange(1))
@with_default("--shape", "random", "Order of the keys, without FILE.", click.Choice(tuple(KEYS)))
@seed_option
@column_option("FILE")
@array_option
@with_default("--variant", "a", "Variant of Shellsort; auto has the last gaps in one launch.", click.Choice(VARIANTS))
@gaps_option
@click.option("--items", type=int, help="Variants b and c: most work-items for an h-subsequence.  [default: 512]")
@output_option(OUTPUT_HELP, "shellsort.html")
def sort_command(
    call: Call,
    file: str,
    keys: Any,
    shape: Any,
    seed: int,
    column: str | None,
    array: str | None,
    variant: Any,
    gaps: str,
    items: int | None,
    output: Any,
) -> None:
    """Shellsort: the keys before and after each pass.

    The keys are the numbers in FILE (any that clgeom sort reads), or random ones.
    """
    from clgeom import shellsort
    from clgeom.io.keys import read_numbers
    from clgeom.plotting.figures import require_few
    from clgeom.plotting.passes import MOST_KEYS, pass_scenes

    _check_output(file, output)
    layouts: list[Any] = []
    if file:
        numbers = read_numbers(file, column=column, array=array, told=layouts.append)
    else:
        numbers = KEYS[shape](np.random.default_rng(seed), keys)
    if _is_drawn(output):
        require_few(numbers, MOST_KEYS, "a Shellsort", "keys")
    session = call.session
    options = {"variant": variant, "gaps": gap_list(gaps), "max_items_per_subsequence": items}
    result = shellsort(numbers, trace=True, device=session, **options)
    title = f"Shellsort of {counted(len(numbers), 'key', 'keys')}, variant {result.variant}"
    passes = [phase.gaps for phase in result.phases]
    if _is_drawn(output):
        _draw(pass_scenes(result.stages or (), passes), output, title, SORT_WORDS)
    else:
        is_date = numbers.dtype.kind in "mM"
        stages = [keys.astype(str) if is_date else keys for keys in result.stages or ()]
        _write_json(output, {"variant": result.variant, "gaps": [list(gaps) for gaps in passes], "stages": stages})
    terminal.print_facts(
        ("keys", f"{len(numbers):,} ({numbers.dtype})"),
        ("note", [note for layout in layouts for note in layout.notes]),
        ("device", terminal.device_words(session)),
        ("passes", f"{len(passes)}, gaps {' '.join(map(str, result.gaps))}"),
        ("sorted", sorted_words(result)),
        ("wrote", output),
    )


# Both -------------------------------------------------------------------------------------------------------------


def _check_output(file: str, output: Any) -> None:
    """Refuse an output that cannot be written, before the work starts."""
    from clgeom.io.atomic import check_outputs
    from clgeom.optional import require_matplotlib

    check_outputs(file, (output, FORMATS))
    if Path(output).suffix.lower() in (".gif", ".pdf", ".png", ".svg"):
        require_matplotlib()


def _is_drawn(output: Any) -> Any:
    return Path(output).suffix.lower() != ".json"


def _draw(scenes: Any, output: Any, title: str, words: str) -> None:
    from clgeom.plotting.scenes import save_scenes

    with terminal.progress("drawing") as progress:
        save_scenes(scenes, output, title=title, words=words, progress=progress)


def _write_json(output: Any, data: Any) -> None:
    from clgeom.io.atomic import replacing

    with replacing(output) as file:
        file.write(json.dumps(terminal.finite(data)).encode())
