"""Records of resources: one JSON file for each target, a program on each line."""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clgeom import caches
from clgeom.arguments import wrong_file
from clgeom.core import sources
from clgeom.tuner.resources.compilers import COMPILERS, Resources
from clgeom.tuner.resources.programs import Compiled, KernelProgram
from clgeom.tuner.resources.targets import Target

#: Kernels that GPUs do not build, by target, or "" for all others: of CPUs, of sorts that scan in another way, and with
#: float64.
SCANS = "sorting/radix/radix_"
CPUS = {
    "sequences/bits_tiles",
    "sequences/matrix_jaro",
    "sequences/matrix_words",
    "region/arc/arc_counts",
    "region/coverage/coverage_unite_shares",
}
CPUS |= {"region/coverage/coverage_outlines", "region/rings/outward_others", "region/rings/rings_runs"}
CPUS |= {f"region/classes/classes_{name}" for name in "loops paths circuits sums crossings".split()}
CPUS |= {"region/rings/rings_trace", f"{SCANS}runs", f"{SCANS}values"}
NOT_BUILT = {
    "": CPUS,
    "dg2": {*CPUS, "hull/batch/batch_calipers"},
    "sm_90": {*CPUS, f"{SCANS}count", f"{SCANS}scatter", f"{SCANS}spine"},
}


def make_folder(path: str | Path) -> Path:
    """Make a folder for files, if it is not there; `InvalidInput` if no file can be written there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError) as error:  # ValueError: of a null character
        raise wrong_file(path, f"cannot be written: {getattr(error, 'strerror', None) or error}", "folder") from error


def path_of(folder: str | Path, target: Target) -> Path:
    """Return the file of a target's record in a folder."""
    return Path(folder, f"resources-{target.name}.json")


def write(folder: str | Path, target: Target, compiled: Iterable[Compiled]) -> Path:
    """Write the record of a target, and return its path."""
    path = path_of(folder, target)
    head = {
        "target": target.name,
        "title": target.title,
        "compiler": COMPILERS[target.compiler].version(),
        "date": datetime.date.today().isoformat(),
    }
    lines = ",\n".join(json.dumps(_plain(one)) for one in compiled)
    if not caches.write(path, f'{json.dumps(head)[:-1]}, "programs": [\n{lines}\n]}}\n'):
        raise wrong_file(path, "cannot be written", "record")
    return path


def _plain(one: Compiled) -> dict[str, Any]:
    program = one.program
    facts: dict[str, Any] = {"kernel": program.kernel, "digest": one.digest}
    if one.resources is None:
        facts["failure"] = one.failure
    else:
        facts["resources"] = one.resources.asdict()
    return {**facts, "parameters": dict(program.parameters), "flags": list(program.flags)}


def read(folder: str | Path, target: Target) -> list[Compiled]:
    """Return the programs of a target's record; `InvalidInput` for a file that is none."""
    path = path_of(folder, target)
    try:
        found = [_compiled(one) for one in json.loads(path.read_text(encoding="utf-8"))["programs"]]
    except OSError as error:
        raise wrong_file(path, f"cannot be read: {error.strerror or error}", "record") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise wrong_file(path, "is no record of resources", "record") from error
    if not found:
        raise wrong_file(path, "has no programs", "record")
    return found


def _compiled(facts: dict[str, Any]) -> Compiled:
    kernel, flags, failure = facts["kernel"], facts["flags"], facts.get("failure")
    resources = Resources(**facts["resources"]) if failure is None else None
    numbers = [] if resources is None else [value for value in resources.asdict().values() if value is not None]
    texts = (facts["digest"], *flags, *facts["parameters"], *([] if failure is None else [failure]))
    is_good = kernel in sources.kernels() and isinstance(flags, list) and all(type(text) is str for text in texts)
    if not is_good or any(type(number) is not int for number in numbers):
        raise ValueError("a program's facts have other types")
    parameters = tuple((name, _hashable(value)) for name, value in facts["parameters"].items())
    return Compiled(KernelProgram(kernel, parameters, tuple(flags)), facts["digest"], resources, failure)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def by_kernel(compiled: Iterable[Compiled]) -> dict[str, tuple[int, Resources | None]]:
    """Return for each kernel the number of its programs, and the most that one of them needs: the fewest waves.

    The latter is None where none compiles.
    """
    found: dict[str, list[Resources]] = {}
    counts: dict[str, int] = {}
    for one in compiled:
        kernel = one.program.kernel
        counts[kernel] = counts.get(kernel, 0) + 1
        found.setdefault(kernel, []).extend([one.resources] if one.resources else [])
    return {kernel: (counts[kernel], _most(needs) if needs else None) for kernel, needs in sorted(found.items())}


def _most(needs: list[Resources]) -> Resources:
    waves = [one.waves for one in needs if one.waves is not None]
    names = [name for name in Resources.__dataclass_fields__ if name != "waves"]
    most = {name: max(getattr(one, name) for one in needs) for name in names}
    return Resources(**most, waves=min(waves, default=None))
