"""Imports only point down the layers; some jobs belong to one module alone."""

import ast
import functools
import re
from pathlib import Path

import pytest

import clgeom

PACKAGE = Path(clgeom.__file__).parent

#: From the ground up: a module may import from its own layer and from those before it in this list, not from later
#: ones.
LAYERS = (
    ("errors", "lazy", "moved"),
    ("arguments", "caches", "markup", "optional"),
    ("quirks",),
    ("core",),
    ("intake",),
    ("geo", "primitives"),
    ("exchange", "versions"),
    ("hull", "sorting", "region", "radio", "dp"),
    ("sequences",),
    ("conformance", "dask", "data", "io", "pandas", "plotting"),
    ("scale",),
    ("selftest",),
    ("tuner",),
    ("commands",),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
#: Methods that reach up on purpose, and only when called.
LAZY_REACH = {
    ("sequences.result", "plotting"),
    ("exchange", "io"),
    ("hull.batch.result", "io"),
    ("hull.result", "io"),
    ("hull.batch.result", "plotting"),
    ("hull.result", "plotting"),
    ("radio.beacon", "plotting"),
    ("radio.results", "io"),
    ("radio.results", "plotting"),
    ("region.arc.result", "plotting"),
    ("region.classes.files", "io"),
    ("region.classes.files", "plotting"),
    ("region.coverage.drawn", "plotting"),
    ("region.coverage.clip", "io"),
    ("region.coverage.drawn", "io"),
    ("region.coverage.named", "io"),
}
#: Modules that need such packages at their top, for the class of an array: others import them within functions.
ON_DEMAND = {"intake.shared"}
#: Folders that pip installs beside the code.
NOT_CODE = {"cl_src", "templates"}


def level(module):
    """Where a module stands, None for what is not a module of clgeom (a public name of the package)."""
    return LEVEL.get(module.split(".")[0])


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__" and name.split(".")[0] not in NOT_CODE:
            yield name, path


MODULES = dict(modules())


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(path, name):
    return list(imports_of(path, name))


def imports_of(path, name):
    """(imported module under clgeom, is it inside a function) for every import that runs of a file."""
    tree = tree_of(path)
    functions = [f for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(node) for f in functions for node in ast.walk(f)}
    types_only = [
        f
        for f in ast.walk(tree)
        if isinstance(f, ast.If) and isinstance(f.test, ast.Name) and f.test.id == "TYPE_CHECKING"
    ]
    unread = {id(node) for f in types_only for statement in f.body for node in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in unread:
            continue
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in found:
            if target == "clgeom" or target.startswith("clgeom."):
                yield target.removeprefix("clgeom").lstrip("."), id(node) in inside


def test_every_module_has_a_layer():
    unknown = sorted({name.split(".")[0] for name in MODULES} - set(LEVEL))
    assert not unknown, f"put {unknown} into LAYERS"
    gone = sorted(set(LEVEL) - {name.split(".")[0] for name in MODULES})
    assert not gone, f"take {gone} out of LAYERS"
    assert {"core", "primitives", "hull"} <= {name.split(".")[0] for name in MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    own = level(name)
    for target, lazy in imports(MODULES[name], name):
        if level(target) is not None:
            allowed = level(target) <= own or (lazy and (name, target.split(".")[0]) in LAZY_REACH)
            assert allowed, f"clgeom.{name} imports clgeom.{target}, which is above it"
        else:  # a public name of the package itself
            assert own > LEVEL["hull"], f"clgeom.{name} imports the public name {target!r}: import it from its module"


@pytest.mark.parametrize("name", [name for name in MODULES if name.split(".")[0] in ("io", "plotting")])
def test_files_and_pictures_know_no_algorithm(name):
    """Readers, writers and figures take and give arrays, rings and plain values."""
    known = {target.split(".")[0] for target, _ in imports(MODULES[name], name)}
    assert known <= {"arguments", "core", "data", "errors", "geo", "intake", "io", "markup", "optional", "plotting"}


def test_no_import_cycles():
    """Imports inside functions count, too, but in core."""
    edges = {}
    for name in MODULES:
        targets = set()
        for target, lazy in imports(MODULES[name], name):
            module = target if target in MODULES else target.rpartition(".")[0]
            if module in MODULES and not (lazy and name.startswith("core.")):
                targets.add(module)
        edges[name] = targets
    done, path = set(), []

    def visit(name):
        assert name not in path, f"import cycle: {' -> '.join([*path[path.index(name) :], name])}"
        if name not in done:
            path.append(name)
            for target in sorted(edges[name]):
                visit(target)
            path.pop()
            done.add(name)

    for name in MODULES:
        visit(name)
    assert done == set(MODULES)


def test_no_circles_of_packages():
    """Imports inside functions count, too."""
    edges = {}
    for name in MODULES:
        targets = {target.split(".")[0] for target, _ in imports(MODULES[name], name)} & set(LEVEL)
        edges.setdefault(name.split(".")[0], set()).update(targets)
    reached = {package: set(targets) - {package} for package, targets in edges.items()}
    for _ in LEVEL:
        for targets in reached.values():
            targets |= {far for target in targets for far in reached.get(target, ())}
    assert not [package for package, targets in reached.items() if package in targets]


def names_used(path):
    """Attributes and names that occur in a file, but in annotations."""
    tree = tree_of(path)
    annotations = [getattr(node, part, None) for node in ast.walk(tree) for part in ("annotation", "returns")]
    unread = {id(node) for annotation in filter(None, annotations) for node in ast.walk(annotation)}
    for node in ast.walk(tree):
        if id(node) in unread:
            continue
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def test_core_names_no_driver():
    """Special cases for drivers are in quirks. Profiles have facts about drivers; policies are found by them."""
    drivers = re.compile(r"pocl|nvidia|cuda|rusticl|intel|\bamd\b", re.IGNORECASE)
    named = {name for name, path in MODULES.items() if drivers.search(path.read_text(encoding="utf-8"))}
    assert {name for name in named if name.startswith("core.")} == {"core.policies", "core.profile"}


def test_only_launch_enqueues():
    users = {name for name, path in MODULES.items() if any(n.startswith("enqueue_") for n in names_used(path))}
    # besides launch: maps of memory of the host, markers of queues that hold buffers of the pool, and markers and
    # barriers between queues
    assert users == {"core.launch", "core.host_memory", "core.staging", "core.memory", "intake.device_arrays"}


def test_only_build_compiles():
    users = {name for name, path in MODULES.items() if "Program" in set(names_used(path))}
    assert users == {"core.build"}


def test_only_sources_knows_the_folders():
    users = set()
    for name, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and node.value in ("cl_src", "templates"):
                users.add(name)
    assert users == {"core.sources"}


def test_optional_packages_are_imported_when_used():
    """Importing any module needs NumPy at most from outside, so that it stays quick and works without the extras."""
    optional = {"matplotlib", "shapely", "scipy", "pyopencl", "mako"}
    for name, path in MODULES.items():
        tree = tree_of(path)
        if name in ON_DEMAND:
            early = {user for user, where in MODULES.items() if (name, False) in imports(where, user)}
            assert not early, f"clgeom.{name} is imported at the top of {early}"
            continue
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                heads = (
                    [a.name.split(".")[0] for a in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module.split(".")[0]]
                )
                assert not optional & set(heads), f"clgeom.{name} imports {heads} at its top"
