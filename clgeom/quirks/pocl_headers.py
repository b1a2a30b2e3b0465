"""Short headers for PoCL 3.0, whose compiler reads 18,000 lines of declarations with every program.

This takes 70 ms of the 85 that a small kernel takes to build (the quirk "long_header"). The header, Clang's
``opencl-c.h``, declares all built-in functions for all types, and its include guard leaves it out. A program then
begins with the declarations of the functions that it names, taken from that same header, so that the compiler knows of
these what it always knows.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from clgeom import caches

if TYPE_CHECKING:
    from clgeom.core.profile import DeviceProfile

#: The option that leaves out the header.
GUARD = "-D_OPENCL_H_"
#: Where the wheel on PyPI has it.
PACKAGE, FOLDER = "pocl_binary_distribution", Path(".libs", "share", "pocl", "include")
#: Of types and constants, and of functions.
HEADERS = ("opencl-c-base.h", "opencl-c.h")
#: Of the text in the cache: another one for another text of the same headers.
FORMAT = 1


def shortened(profile: DeviceProfile, source: str) -> str | None:
    """Return the declarations that a source needs and the source, to be built with `GUARD`; else None."""
    if "long_header" not in profile.quirks:
        return None
    known = _declarations()
    return f"{needed(known, source)}#line 1\n{source}" if known else None


def needed(known: dict[str, str], source: str) -> str:
    """Return the types, and the declarations of all functions whose names are in a source."""
    names = known.keys() & set(re.findall(r"\w+", source))
    return "".join([known[""], *(known[name] for name in sorted(names)), "#pragma OPENCL EXTENSION all : disable\n"])


@functools.cache
def _declarations() -> dict[str, str]:
    """Return the declarations of PoCL from PyPI, cached; empty where they are not as expected."""
    try:
        found = importlib.util.find_spec(PACKAGE)
        if found is None or not found.submodule_search_locations:
            return {}
        folder = Path(found.submodule_search_locations[0], FOLDER)
        facts = [(folder / name).stat() for name in HEADERS]
        digest = caches.digest_of(f"{FORMAT} {folder} {[(one.st_size, one.st_mtime_ns) for one in facts]}")
        name = f"opencl-c-{digest}"
        text = caches.kept(name)
        if text is None:
            text = json.dumps(declarations(folder))
            caches.keep(name, text)
        return dict(json.loads(text))
    except (IndexError, OSError, StopIteration, TypeError, ValueError):
        return {}


def declarations(folder: Path) -> dict[str, str]:
    """Return the declarations of each function in a folder with Clang's headers, and under "" what all need."""
    lines = iter(_bare((folder / "opencl-c.h").read_text()).splitlines())
    first: list[str] = []
    blocks: dict[str, dict[tuple[str, ...], list[str]]] = {}  # by name and conditions
    conditions: list[str] = []  # the first one is the guard
    for line in lines:
        if line.startswith("#if"):
            conditions.append(line)
        elif line.startswith(("#else", "#elif")):
            conditions[-1] += "\n" + line
        elif line.startswith("#endif"):
            conditions.pop()
        elif line.startswith("#define __"):
            first.append(line)
        elif line.startswith("#pragma") and line.endswith("enable"):
            first += [*conditions[1:], line, *["#endif"] * len(conditions[1:])]
        elif line and not line.startswith("#"):
            while not line.endswith(";"):
                line += " " + next(lines)
            blocks.setdefault(line.split("(", 1)[0].split()[-1], {}).setdefault(tuple(conditions[1:]), []).append(line)
    made = {
        name: "".join("\n".join([*around, *own, *["#endif"] * len(around), ""]) for around, own in by_condition.items())
        for name, by_condition in blocks.items()
    }
    return {"": _bare((folder / "opencl-c-base.h").read_text()) + "\n".join([*first, ""]), **made}


def _bare(text: str) -> str:
    """Return a text without comments and empty lines, a line for each directive."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text.replace("\\\n", " "), flags=re.DOTALL)
    return "\n".join(line for line in map(str.rstrip, text.splitlines()) if line) + "\n"
