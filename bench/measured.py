"""Hashes of what a record measured: the kernels that were built, and the modules of clgeom that planned them.

A record carries ``{"hashes": FORMAT, "kernels": {name: hash}, "modules": {path: hash}}``, and `changed` names those
that are others now. Hashes of an older format cannot be compared: whether such a record's kernels changed is unknown.

- A kernel's hash is of its template with all headers, without comments and without spaces that no compiler sees, and of
  all values of its policy on the device. A kernel "family/kernel_serial" is the serial variant that has its own file.
- Policies that ran instead of shipped rows, by ``clgeom tune`` or by an option of the bench, are in
  ``{"tuned": {kernel: [policy, ..]}}``.
- Modules are those that were loaded, of the families of the kernels (``clgeom/hull`` for "hull/sieve/sieve"), and
  `SHARED`. A folder that has kernels counts only if one of them was built, and so does a module that names kernels.
  Hashes are of the syntax tree without docstrings: neither comments nor formatting count, nor does Python's version.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import itertools
import re
import sys
import textwrap
from dataclasses import fields
from pathlib import Path

import clgeom
from clgeom.core import families, sources
from clgeom.core.build import program_keys
from clgeom.core.policies import Policy
from clgeom.core.stored_policies import stored_by_itemsize
from clgeom.core.tuning import GENERAL_KEYS, is_overridden, select

ROOT = Path(clgeom.__file__).resolve().parents[1]
#: Modules that all families use and that decide what is launched and copied.
SHARED = ("clgeom/core/plan.py", "clgeom/core/policies.py", "clgeom/core/staging.py")
#: The format of hashes. The first one, of records without a number, left out defaults of policies, spaces in texts and
#: between operators, those after the name of a macro, and the module of policies.
FORMAT = 2
#: A kernel of the check that precedes the first use of a device.
CHECK = "primitives/long_loops"
#: What is kept (expressions, lines and blocks of Mako, texts), or else a comment.
WORDS = re.compile(
    r"(?P<kept>\$\{[^}\n]*\}|^[ \t]*%[^\n]*$|<%.*?%>|\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/|^[ \t]*##[^\n]*$",
    re.MULTILINE | re.DOTALL,
)


#: Spaces beside brackets and separators, and those between a word and an operator. "\0" stands for a text, a word.
SPACES = re.compile(
    r"(?<=[][(){},;]) | (?=[][(){},;])|(?<=[\w.\0]) (?=[-+*/%&|^<>=!~?:])|(?<=[-+*/%&|^<>=!~?:]) (?=[\w.\0])"
)


def measured(session) -> dict:
    """The kernels that a session has built and the modules that planned them, with their hashes."""
    kernels = sorted({_file_of(key[0], dict(key[1])) for key in program_keys(session) if key[0] != CHECK})
    profile = session.profile
    tuned = {kernel: own for kernel in map(_kernel_of, kernels) if (own := _tuned(profile, kernel))}
    rows = rows_of(profile.name, profile.architecture, profile.runtime, profile.kind, tuned)
    return {
        "hashes": FORMAT,
        **({"tuned": tuned} if tuned else {}),
        "architecture": profile.architecture,
        "kind": profile.kind,
        "runtime": profile.runtime,
        "kernels": {name: kernel_hash(name, rows) for name in kernels},
        "modules": {path: module_hash(path) for path in _modules(kernels)},
    }


def together(found) -> dict:
    """What several processes measured on one device, as one."""
    whole: dict = {}
    for one in found:
        for name, facts in one.items():
            whole[name] = {**whole.get(name, {}), **facts} if isinstance(facts, dict) else facts
    return {name: dict(sorted(facts.items())) if isinstance(facts, dict) else facts for name, facts in whole.items()}


def changed(record) -> list[str] | None:
    """Names of the kernels and modules of a record that are others now; None if it does not say what it measured.

    Nor does a record with hashes of another format.
    """
    if not record.get("kernels") or record.get("hashes") != FORMAT:
        return None
    facts = record["device"], record.get("architecture"), record["runtime"], record["kind"]
    rows = rows_of(*facts, record.get("tuned"))
    found = [name for name, known in record["kernels"].items() if kernel_hash(name, rows) != known]
    return found + [path for path, known in record["modules"].items() if module_hash(path) != known]


def _tuned(profile, kernel) -> list[str]:
    """The policies that a kernel has here instead of those that ship, as text."""
    if is_overridden(kernel):
        return [str(select(profile, kernel))]
    own = stored_by_itemsize(profile, kernel) if families.rows_of(kernel) else {}
    return [f"{one.policy}{f' of {itemsize} bytes' if itemsize else ''}" for itemsize, one in own.items()]


def rows_of(device, architecture, runtime, kind, tuned=None):
    """The function from a kernel to its row of policies on a device: a Policy, a function that gives one, or None.

    For kernels in `tuned` it gives the policies there.
    """

    def row(kernel):
        if tuned and kernel in tuned:
            return tuned[kernel]
        rows = families.rows_of(kernel)
        named = (
            policy for key, policy in rows.items() if key not in GENERAL_KEYS and key != architecture and key in device
        )
        found = (rows.get(key) for key in (architecture, runtime, kind, "any"))
        return next(named, None) or next(filter(None, found), None)

    return row


def kernel_hash(name, rows) -> str | None:
    """The hash of a kernel's source and policy; None if there is no such kernel."""
    kernel = _kernel_of(name)
    try:
        text = sources.template(kernel, "serial" if name != kernel else "group")
    except FileNotFoundError:
        return None
    return _digest(plain_source(sources.inline_headers(text)), _policy_text(rows(kernel)))


def _kernel_of(name) -> str:
    """The kernel of a file of `measured`."""
    return name.removesuffix("_serial") if not families.rows_of(name) else name


def module_hash(path) -> str | None:
    """The hash of a module's syntax tree; None if there is no such file."""
    file = ROOT / path
    return _digest(plain_python(file.read_text(encoding="utf-8"))) if file.is_file() else None


@functools.cache
def plain_source(text: str) -> str:
    """A template without comments and without spaces that no compiler sees.

    Texts and Mako stay as they are. A directive is a line with single spaces, for ``#define S (x)`` is not ``#define
    S(x)``. Elsewhere a space stays between words, and between operators: ``a - -b`` is not ``a--b``.
    """
    kept: list[str] = []

    def hold(match):
        if match["kept"] is None:
            return " "
        kept.append(match["kept"] + "\n" * match["kept"].lstrip().startswith("%"))  # a line of Mako ends there
        return "\0"

    lines = [" ".join(line.split()) for line in WORDS.sub(hold, text).replace("\\\n", " ").splitlines()]
    parts = []
    for is_directive, group in itertools.groupby(filter(None, lines), lambda line: line.startswith("#")):
        some = list(group)
        parts.append("\n".join(["", *some, ""]) if is_directive else SPACES.sub("", " ".join(some)))
    texts = iter(kept)
    return re.sub("\0", lambda _: next(texts), "".join(parts))


@functools.cache
def plain_python(text: str) -> str:
    """The syntax tree of Python without docstrings as text; the same for all versions that can parse it."""
    return repr(_shape(ast.parse(text)))


def _shape(node):
    if isinstance(node, list):
        return [_shape(each) for each in node if not _is_docstring(each)]
    if not isinstance(node, ast.AST):
        return node
    if isinstance(node, ast.JoinedStr):  # versions of Python cut its texts in different places
        runs = itertools.groupby(node.values, lambda part: isinstance(part, ast.Constant))
        texts = ("".join(part.value for part in run) if plain else list(run) for plain, run in runs)
        return type(node).__name__, *(("", _shape(text)) for text in texts)
    found: list = [type(node).__name__]
    for name in node._fields:
        value = getattr(node, name, None)
        if value is not None and value != [] and name != "kind":
            found.append((name, _shape(value) if isinstance(value, (ast.AST, list)) else value))
    return tuple(found)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _policy_text(row) -> str:
    """What decides about a policy: all its values, or the text of its function."""
    if isinstance(row, Policy):
        return f"{type(row).__name__}{ ({f.name: getattr(row, f.name) for f in fields(row)}) }"
    return textwrap.dedent(inspect.getsource(row)) if inspect.isfunction(row) else repr(row)


def _file_of(kernel, parameters) -> str:
    variant = parameters.get("variant", "group")
    own = variant == "serial" and sources.template(kernel, variant) != sources.template(kernel)
    return f"{kernel}_serial" if own else kernel


@functools.cache
def _kernels() -> tuple[str, ...]:
    return sources.kernels()


@functools.cache
def _folders() -> frozenset[str]:
    """Folders of kernels, as "hull/sieve"."""
    return frozenset(kernel.rpartition("/")[0] for kernel in _kernels())


def _modules(kernels) -> list[str]:
    names = {name.removesuffix("_serial") for name in kernels}
    families, folders = {name.split("/")[0] for name in names}, {name.rpartition("/")[0] for name in names}
    found: set[str] = set(SHARED if kernels else ())
    for module in list(sys.modules):
        package, _, inner = module.partition(".")
        if package != "clgeom" or inner.split(".")[0] not in families or inner.endswith((".checks", ".policies")):
            continue
        file = Path(sys.modules[module].__file__ or "")
        path = file.relative_to(ROOT).as_posix()
        folder = path.removeprefix("clgeom/").rpartition("/")[0]
        named = _kernels_named(file)
        if (folder not in _folders() or folder in folders or "/" not in folder) and (not named or named & names):
            found.add(path)
    return sorted(found)


@functools.cache
def _kernels_named(file) -> set[str]:
    """The kernels whose whole names stand in a module."""
    words = re.findall(r"[\"']([a-z]+/[\w/]+)[\"']", file.read_text(encoding="utf-8"))
    return set(_kernels()).intersection(words)


def _digest(*texts) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
