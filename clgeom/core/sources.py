"""Access to kernel sources. Only this module knows the folders ``cl_src`` and ``templates``.

Installed, they are the packages ``clgeom.cl_src`` and ``clgeom.templates``; in a bare checkout, the folders beside
the package.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.resources
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.MULTILINE)
#: The same anywhere in a line: it is found several times sooner.
INCLUDE_ANYWHERE = re.compile(r'#[ \t]*include[ \t]+"([^"]+)"')


@functools.cache
def _root(folder: str) -> Traversable:
    package = Path(__file__).resolve().parents[1]
    beside = package.parent / folder
    # an editable install of another checkout would give its folders
    if (package.parent / "setup.cfg").is_file() and beside.is_dir() and not (package / folder).is_dir():
        return beside
    return importlib.resources.files(f"clgeom.{folder}")


def _read(folder: str, name: str) -> str:
    """Return the text of a file, without objects for paths: hundreds are read before a first call."""
    with open(f"{_place(folder)}/{name}", "rb", buffering=0) as file:
        return file.read().decode().replace("\r\n", "\n")


@functools.cache
def _place(folder: str) -> str:
    return str(_root(folder))


@functools.cache
def header(name: str) -> str:
    """Return the text of a header of ``cl_src``."""
    return _read("cl_src", name)


@functools.cache
def template(kernel: str, variant: str = "group") -> str:
    """Return the template of a kernel; a serial variant may have its own file, "family/kernel_serial"."""
    if variant == "serial":
        with contextlib.suppress(FileNotFoundError):
            return _text(f"{kernel}_serial.cl.mako")
    return _text(f"{kernel}.cl.mako")


@functools.cache
def _text(name: str) -> str:
    """Return the text of a file of ``templates``, which several variants may share."""
    return _read("templates", name)


def _names_included(text: str) -> list[str]:
    """Return the headers that a text names, as `INCLUDE` finds them."""
    found = []
    for match in INCLUDE_ANYWHERE.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if not text[begin : match.start()].strip(" \t"):
            found.append(match.group(1))
    return found


@functools.cache
def _included(name: str) -> frozenset[str]:
    """Return the names of a header and of all that it includes."""
    return frozenset({name}).union(*map(_included, _names_included(header(name))))


@functools.cache
def digest(kernel: str) -> str:
    """Return a digest of a kernel's templates, those of all its variants, with all headers that they include."""
    texts = dict.fromkeys(template(kernel, variant) for variant in ("group", "serial"))
    names = sorted(frozenset().union(*(_included(name) for text in texts for name in _names_included(text))))
    found = hashlib.sha256()
    for text in (*texts, *map(header, names)):
        found.update(text.encode() + b"\0")
    return found.hexdigest()[:32]


@functools.cache
def families() -> tuple[str, ...]:
    """Return the first folders of the names of kernels. A folder that an older version left empty is none."""
    folders = [entry for entry in _root("templates").iterdir() if entry.is_dir() and "_" not in entry.name]
    return tuple(sorted(folder.name for folder in folders if any(folder.iterdir())))


@functools.cache
def kernels() -> tuple[str, ...]:
    """Return the names of all kernels, as "hull/sieve/tile_hull", without those of serial variants."""

    def found(folder: Traversable, family: str) -> Iterator[str]:
        for entry in folder.iterdir():
            if entry.is_dir():
                yield from found(entry, f"{family}{entry.name}/")
            elif entry.name.endswith(".cl.mako") and not entry.name.endswith("_serial.cl.mako"):
                yield family + entry.name.removesuffix(".cl.mako")

    return tuple(sorted(found(_root("templates"), "")))


@functools.cache
def kernels_by_name() -> dict[str, str]:
    """Return the kernels by the last part of their names, of which no two are the same."""
    return {kernel.rpartition("/")[2]: kernel for kernel in kernels()}


def inline_headers(text: str) -> str:
    """Return the text with every ``#include "name"`` replaced by that header, each header once."""
    seen = set()

    def expand(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in seen:
            return f"// {name}: included above"
        seen.add(name)
        return f"// --- {name}\n{INCLUDE.sub(expand, header(name))}\n// --- end of {name}"

    return INCLUDE.sub(expand, text)
