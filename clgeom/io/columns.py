"""Which two columns of a table hold x and y."""

from __future__ import annotations

from clgeom.errors import InvalidInput

#: Names of x and y that are found without being asked for, best first; compared in lower case.
KNOWN_PAIRS = (
    ("lon", "lat"),
    ("lng", "lat"),
    ("long", "lat"),
    ("longitude", "latitude"),
    ("x", "y"),
    ("easting", "northing"),
    ("east", "north"),
    ("e", "n"),
)


def choose_columns(path, names, width, wanted):
    """Positions, from 0, of the columns that hold x and y.

    Parameters
    ----------
    path : path-like
        For error messages.
    names : list of str or None
        The header, None when there is none.
    width : int
        How many columns there are.
    wanted : pair of str or None
        What the caller asked for: names, or numbers from 1.
    """
    if wanted is not None:
        return tuple(position_of(path, names, width, str(column).strip()) for column in wanted)
    if names is not None:
        lower = [name.strip().lower() for name in names]
        for pair in KNOWN_PAIRS:
            if all(lower.count(name) == 1 for name in pair):
                return tuple(lower.index(name) for name in pair)
    if width == 2 or (names is None and width > 2):
        return 0, 1
    if width < 2:
        raise InvalidInput(f"The file '{path}' must have two columns at least. Got {width} instead.")
    raise InvalidInput(
        f"The columns of x and y in '{path}' cannot be told from its header; name them (--columns X,Y). "
        f"It has: {', '.join(names)}."
    )


def position_of(path, names, width, column):
    """The position of one column given by name (as written, else in any case) or by number."""
    for same in (str, str.lower):
        found = [i for i, name in enumerate(names or ()) if same(name.strip()) == same(column)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InvalidInput(
                f"The file '{path}' has {len(found)} columns named '{column}'; give a number from 1."
            )
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    has = f"It has: {', '.join(names)}." if names else f"It has no header; its columns are 1 to {width}."
    raise InvalidInput(f"The file '{path}' has no column '{column}'. {has}")
