"""OpenCL C of kernels as files that need nothing else, with the launches of a call: for programs in other languages.

A file begins with a comment about what its kernel takes, and build options. ``calls.json`` lists the launches of each
call in their order: kernel, file, work-groups, and for each argument its memory or its value.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clgeom import __version__
from clgeom.core import build, families, sources
from clgeom.core.call import recording_plans
from clgeom.core.kept import name_of
from clgeom.core.plan import Number, Scratch, Series, Step
from clgeom.core.render import render
from clgeom.errors import KernelBuildError
from clgeom.io.atomic import replacing
from clgeom.tuner.resources.records import make_folder

if TYPE_CHECKING:
    from clgeom.core.build import Key
    from clgeom.core.device import Session
    from clgeom.tuner.cases import Case

#: The kernel of a text, with its parameters.
SIGNATURE = re.compile(r"^kernel\b.*?\bvoid (\w+)\((.*?)\)\n\{", re.MULTILINE | re.DOTALL)
#: Elements of the input of an exported call.
ELEMENTS = 10_000


def summary(kernel: str) -> str:
    """Return what a kernel does, from the first line of the comment at the head of its template."""
    text = sources.template(kernel)
    with contextlib.suppress(KernelBuildError):  # a template without defaults for all parameters
        text = render(kernel)
    found = re.search(rf"^// {kernel.rpartition('/')[2]}: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def variants(kernel: str) -> tuple[str, ...]:
    """Return the variants of a kernel that some device gets, by the rows of its policy."""
    rows = families.rows_of(kernel).values()
    return tuple(sorted({getattr(row, "variant", "group") for row in rows} or {"group"}))


def keys_of(session: Session, kernel: str) -> list[Key]:
    """Return the keys of the programs of a kernel that its self-test builds on a device, those of its policy first."""
    from clgeom.core.tuning import select

    for check in families.all_checks():
        if kernel in check.kernels:
            check.run_all(session)
    keys = [key for key in build.program_keys(session) if key[0] == kernel]
    policy = select(session.profile, kernel).parameters() if families.rows_of(kernel) else {}

    def rank(key: Key) -> tuple[int, int, str]:
        parameters = dict(key[1])
        differing = sum(parameters.get(name) != value for name, value in policy.items())
        return differing, parameters.get("real", "float") != "float", repr(key)

    return sorted(keys, key=rank)


def text_of(session: Session, key: Key, more: tuple[str, ...] = ()) -> str:
    """Return the OpenCL C of a program, with a comment at its head; `more` are lines for it."""
    kernel, parameters, options = key
    profile = session.profile
    text = render(kernel, **dict(parameters))
    flags = build.flags_of(profile, session.own_profile, (*session.build_options, *options))
    plain = ", ".join(f"{name}={value!r}" for name, value in parameters if "\n" not in str(value))
    signature = SIGNATURE.search(text)
    takes = " ".join(signature[2].split()) if signature else ""
    lines = [
        f"{kernel} of clgeom {__version__}, for {profile.name} ({profile.platform})",
        "SPDX-License-Identifier: MIT",
        f"parameters: {plain}",
        f"build options: {' '.join(flags)}",
        f"work-items of a group: {dict(parameters).get('wg_size', 1)}",
        f"arguments: {takes}",
        *more,
    ]
    return "".join(f"// {line}\n" for line in lines) + "\n" + _without_marks(text)


def _without_marks(text: str) -> str:
    """Return a text without the comments that name inlined headers."""
    return re.sub(r"^// (--- (end of )?[\w/.]+|[\w/.]+: included above)\n", "", text, flags=re.MULTILINE)


def file_name(key: Key) -> str:
    """Return the name of the file of a program: that of the kernel, and a digest of its parameters."""
    from clgeom import caches

    return f"{key[0].replace('/', '-')}-{caches.digest_of(repr(key))[:8]}.cl"


def write(path: Path, content: bytes) -> None:
    """Write a file, which takes its name when it is complete; `InvalidInput` if it cannot be written."""
    with replacing(path) as file:
        file.write(content)


def export(session: Session, folder: Path, cases: list[Case]) -> list[dict[str, Any]]:
    """Write the programs of some calls to a folder, and ``calls.json``; returns what that holds."""
    calls = [_exported(session, make_folder(folder), case) for case in cases]
    whole = {"clgeom": __version__, "device": session.profile.name, "calls": calls}
    write(folder / "calls.json", f"{json.dumps(whole, indent=1)}\n".encode())
    return calls


def _exported(session: Session, folder: Path, case: Case) -> dict[str, Any]:
    call = case.prepare(session, min(case.size(session.profile), ELEMENTS))
    with recording_plans() as plans, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of inputs that are made for measurements
        call()
    launches = [launch for plan, sizes in plans for part in plan for launch in _launches(part, sizes)]
    for plan, _ in plans:
        for part in plan:
            key = part.key
            write(folder / file_name(key), text_of(session, key).encode())
    return {"call": case.name, "launches": launches}


def _launches(part: Step | Series, sizes: dict[str, int]) -> list[dict[str, Any]]:
    step = part.step if isinstance(part, Series) else part
    facts = {"kernel": step.kernel, "file": file_name(step.key), "work_items_of_a_group": step.policy.wg_size}
    if not isinstance(part, Series):
        return [{**facts, "groups": step.groups, "arguments": [_argument(arg, sizes) for arg in step.args]}]
    found = []
    for groups, values in zip(part.groups.tolist(), part.values):
        arguments = [_argument(arg, sizes) for arg in step.args]
        for at, value in zip(part.indices, values):
            arguments[at] = _argument(np.asarray(value, np.dtype(type(step.args[at]))).reshape(-1)[0], sizes)
        found.append({**facts, "groups": groups, "arguments": arguments})
    return found


def _argument(arg: Any, sizes: dict[str, int]) -> dict[str, Any]:
    if isinstance(arg, np.generic):
        return {"type": str(arg.dtype), "value": arg.item() if arg.dtype.kind != "V" else arg.tobytes().hex()}
    if isinstance(arg, Number):
        return {"number": arg.name}
    facts: dict[str, Any] = {"memory": name_of(arg)}
    if isinstance(arg, Scratch):
        return {**facts, "type": str(np.dtype(arg.dtype)), "count": int(arg.count), "bytes": arg.nbytes}
    return {**facts, "bytes": sizes.get(arg, 0)}
