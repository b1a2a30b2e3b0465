"""Old paths of modules, which work until 1.0 and warn."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # as in typing, whose import would take longer than all of this
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

#: Old and new names below clgeom. Other modules of an old package are in the package that has its place.
MOVED = {
    "alignment": "sequences",
    "alignment.job": "sequences.align_tiles",
    "alignment.sequences": "intake.letters",
    "alignment.short_pairs": "sequences.align_pairs",
    "dp.job": "dp.fills",
    "dp.pairs": "sequences",
    "dp.pairs.inputs": "intake.letters",
    "dp.pairs.matrix": "sequences.cdist",
    "dp.pairs.words": "sequences.pairs_bits",
    "dp.paths.bits": "sequences.bits",
    "dp.problems.sequences": "sequences.distances",
    "geodesy": "geo.geodesy",
    "geo.antimeridian": "geo.lonlat",
    "intake.given": "intake.points",
    "io.antimeridian": "geo.lonlat",
    "io.degrees": "geo.degrees",
    "io.geojson": "geo.geojson",
    "io.lonlat": "geo.lonlat",
    "io.ragged": "geo.ragged",
    "labels": "intake.labels",
    "longitudes": "geo.longitudes",
    "primitives.operators": "primitives.scan",
    "runtime": "core",
    "runtime.arguments": "arguments",
    "runtime.array_memory": "intake.device_arrays",
    "runtime.caches": "caches",
    "runtime.cl_arrays": "intake.device_arrays",
    "runtime.driver_output": "quirks.driver_output",
    "runtime.drivers": "quirks.drivers",
    "runtime.explain": "tuner.explain",
    "runtime.gains": "intake.dispatch",
    "runtime.interop.strings": "intake.letters",
    "runtime.limits": "core.families",
    "runtime.pocl_cache": "quirks.pocl_cache",
    "runtime.pocl_cpu": "quirks.pocl_cpu",
    "runtime.pocl_headers": "quirks.pocl_headers",
    "runtime.pocl_linker": "quirks.pocl_linker",
    "runtime.versions": "versions",
}
MOVED |= {
    f"runtime.{name}": f"intake.{name}"
    for name in (
        "arrays",
        "chunks",
        "device_arrays",
        "interop",
        "mapped",
        "several",
        "subnormals",
        "typing",
    )
}


#: Old packages, and the ones that have their place.
PACKAGES = (
    ("runtime", "core"),
    ("runtime.interop", "intake.interop"),
    ("alignment", "sequences"),
    ("dp.pairs", "sequences"),
)


class Finder:
    """Finds modules by their old paths; it is asked before the folders, in which a copy of the module would be made."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        new = new_name(name)
        if new is None or not exists(new):
            return None
        return ModuleSpec(name, Alias(new), is_package=False)  # type: ignore[arg-type]


class Alias:
    """Gives an old path the module that has moved."""

    def __init__(self, new: str):
        self.new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from clgeom.errors import warn_deprecated

        warn_deprecated(spec.name, self.new, since="0.9", removal="1.0")
        module = import_module(self.new)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put the one of the old path there

    def get_code(self, name: str) -> Any:
        """The code of the module, for ``python -m``."""
        return import_module(self.new).__spec__.loader.get_code(self.new)  # type: ignore[union-attr]


def new_name(name: str) -> str | None:
    """The present name of a module; None where it has not moved."""
    package, _, old = name.partition(".")
    if package != "clgeom":
        return None
    # "from clgeom.runtime import arrays" asks for clgeom.core.arrays, since clgeom.runtime is clgeom.core by then
    for before, now in PACKAGES:
        moved = MOVED.get(f"{before}.{old.removeprefix(f'{now}.')}") if old.startswith(f"{now}.") else None
        if moved is not None and moved != old:
            return f"clgeom.{moved}"
    tail: list[str] = []
    while old and old not in MOVED:
        old, _, last = old.rpartition(".")
        tail.insert(0, last)
    return ".".join(["clgeom", MOVED[old], *tail]) if old else None


def exists(name: str) -> bool:
    """Whether there is a module of this name."""
    from importlib.util import find_spec  # which takes a while

    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def install() -> None:
    """Let old paths be imported."""
    if not any(finder is Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder)
