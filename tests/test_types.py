"""Type checkers see every public name as it is: right uses pass, wrong ones are reported, no type is unknown."""

import ast
import configparser
import glob
import importlib.util
import inspect
import json
import pydoc
import re
import runpy
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import clgeom
from clgeom import dp, radio, scale

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "typing"
PACKAGES = (clgeom, dp, dp.problems, radio, scale)
NO_PARAMETERS = ("devices", "default_session", "show_versions")

pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").exists(), reason="needs the checkout")
needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
needs_basedpyright = pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="needs basedpyright")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that type checkers see, by name: all in one run of each checker, which takes seconds to start."""
    for module in ALSO_PUBLIC:
        importlib.import_module(module)
    script = tmp_path_factory.mktemp("surface") / "surface.py"
    script.write_text(surface())
    assert script.read_text().count("\n") > 300
    return {"sample": SAMPLES / "sample.py", "wrong": SAMPLES / "wrong.py", "surface": script}


@pytest.fixture(scope="module")
def mypy(files):
    """(line, message) of each fault that mypy finds in each of the files; it finds none in the package."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    patterns = [one.strip() for one in config["mypy"]["files"].split(",")]
    package = [found for pattern in patterns for found in glob.glob(pattern, root_dir=ROOT)]
    shown = "--hide-error-context", "--no-error-summary", "--show-absolute-path"
    command = [sys.executable, "-m", "mypy", *shown, *package, str(files["wrong"]), str(files["surface"])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode < 2, done.stdout + done.stderr
    faults = re.findall(r"^(.+\.py):(\d+): error: (.+)$", done.stdout, re.MULTILINE)
    assert {path for path, _, _ in faults} <= set(map(str, files.values())), done.stdout
    return {
        name: [(int(line), said) for path, line, said in faults if path == str(file)] for name, file in files.items()
    }


@pytest.fixture(scope="module")
def basedpyright(files, tmp_path_factory):
    """(line, message, rule) of each fault that basedpyright finds in each of the files."""
    folder = tmp_path_factory.mktemp("basedpyright")
    unknown = ("reportUnknownMemberType", "reportUnknownVariableType", "reportUnknownParameterType")
    settings = {
        "include": [str(file) for file in files.values()],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",
        "reportUnusedExpression": False,
        **dict.fromkeys(unknown, True),
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--project", str(folder)], cwd=ROOT, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(files), done.stdout + done.stderr
    faults = [one for one in found["generalDiagnostics"] if one["severity"] == "error"]
    return {
        name: [
            (one["range"]["start"]["line"] + 1, one["message"], one.get("rule"))
            for one in faults
            if one["file"] == str(file) and (name == "surface" or one.get("rule") not in unknown)
        ]
        for name, file in files.items()
    }


def marked(file):
    return [number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# wrong")]


# Names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_imports_for_checkers_are_the_lazy_names(package):
    """The names that type checkers are shown, those that are imported when used, and ``__all__`` are the same."""
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    shown = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "only a name imported as itself is public for type checkers"
            home = node.module.removeprefix(package.__name__).lstrip(".")
            assert alias.name not in shown
            shown[alias.name] = home or alias.name
    lazy = {name: home for home, names in package._HOMES.items() for name in names.split()}
    assert shown == lazy
    assert sorted(package.__all__) == sorted([*lazy, *(["__version__"] if package is clgeom else [])])


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_names_resolve_once_and_misspelt_ones_do_not(package):
    for name in package.__all__:
        assert getattr(package, name) is getattr(package, name)
        assert vars(package)[name] is getattr(package, name)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'convexhull'"):
        _ = package.convexhull


def test_import_brings_next_to_nothing():
    """Milliseconds are modules: what ``import clgeom`` loads beside itself is what ``importlib`` needs."""
    code = "import sys; before = {*sys.modules}; import clgeom; print(*sorted({*sys.modules} - before))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    beside = {name for name in out.stdout.split() if not name.startswith(("importlib", "_"))}
    assert beside <= {"clgeom", "clgeom.lazy", "clgeom.moved", "warnings"}


def test_public_functions_show_their_parameters():
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, types.FunctionType):
                assert value.__name__ == name
                assert bool(inspect.signature(value).parameters) == (name not in NO_PARAMETERS)
    assert inspect.isfunction(clgeom.sort)
    assert "sort(keys" in pydoc.render_doc(clgeom.sort)
    assert list(inspect.signature(clgeom.sort).parameters)[:3] == ["keys", "axis", "kind"]
    assert "Sorted copy of an array" in inspect.getdoc(clgeom.sort)


def test_annotations_are_known_at_run_time():
    """For documentation, and for packages that check types as functions are called."""
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, (type, types.FunctionType)):
                typing.get_type_hints(value)
                typing.get_type_hints(value.__init__ if isinstance(value, type) else value)


def functions_with_overloads():
    for path in sorted((ROOT / "clgeom").rglob("*.py")):
        text = path.read_text()
        if "**options: Unpack[Options]" in text:
            yield pytest.param(ast.parse(text), id=path.relative_to(ROOT).as_posix())


def fields_of(classes, name) -> dict:
    """The annotations of a TypedDict and of those that it extends, by field."""
    node = classes[name]
    found = {}
    for base in map(ast.unparse, node.bases):
        found |= fields_of(classes, base) if base in classes else {}
    return found | {field.target.id: ast.unparse(field.annotation) for field in node.body if hasattr(field, "target")}


@pytest.mark.parametrize("tree", list(functions_with_overloads()))
def test_overloads_name_the_parameters_of_the_function(tree):
    """What an overload names and its ``**options`` make up the function's parameters, of the same types."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    checked = 0
    for overload in functions:
        if "overload" not in map(ast.unparse, overload.decorator_list):
            continue
        whole = next(
            f for f in functions if f.name == overload.name and "overload" not in map(ast.unparse, f.decorator_list)
        )
        common = fields_of(classes, ast.unparse(overload.args.kwarg.annotation).removeprefix("Unpack[").rstrip("]"))
        own = {a.arg for a in overload.args.args + overload.args.kwonlyargs}
        types_of = {a.arg: ast.unparse(a.annotation) for a in whole.args.args + whole.args.kwonlyargs}
        assert own | set(common) == set(types_of) and not own & set(common)
        for name, kind in common.items():
            assert types_of[name] == kind or (types_of[name], kind) == ("bool", "Literal[False]"), (name, kind)
        checked += 1
    assert checked


# Checkers -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_mypy
def test_mypy_passes_right_uses(mypy):
    assert mypy["sample"] == []


@pytest.mark.slow
@needs_mypy
def test_mypy_reports_wrong_uses(mypy, files):
    assert sorted({line for line, _ in mypy["wrong"]}) == marked(files["wrong"]), mypy["wrong"]


@pytest.mark.slow
@needs_basedpyright
def test_basedpyright_passes_right_uses(basedpyright):
    assert basedpyright["sample"] == []


@pytest.mark.slow
@needs_basedpyright
def test_basedpyright_reports_wrong_uses(basedpyright, files):
    assert sorted({line for line, *_ in basedpyright["wrong"]}) == marked(files["wrong"]), basedpyright["wrong"]


def test_right_uses_run():
    runpy.run_path(str(SAMPLES / "sample.py"), run_name="__main__")


#: What public functions return and take beside the names in ``__all__``.
ALSO_PUBLIC = {
    "clgeom.conformance": ("Case", "Outcome", "Report", "cases", "family_points", "judge", "run"),
    "clgeom.dp.analysis.infer": ("Inference", "PatternFit"),
    "clgeom.dp.language.trace": ("Expr",),
    "clgeom.dp.study.graph": ("DependencyGraph",),
    "clgeom.dp.table.traceback": ("Traceback",),
    "clgeom.errors": ("ClgeomError", "DependencyError", "DeviceLimit", "InvalidInput", "KernelBuildError"),
    "clgeom.hull.study": ("Heaphull", "heaphull"),
    "clgeom.region.arc.study": ("Walk", "published_walk", "region_by_kernel"),
    "clgeom.region.coverage.grid": ("Grid",),
    "clgeom.region.localize": ("Location",),
    "clgeom.core.policies": ("Policy",),
    "clgeom.sorting.radix.sort": ("Profiled",),
    "clgeom.sorting.shellsort.rejected": ("shellsort_d",),
    "clgeom.sorting.shellsort.result": ("ShellPhase",),
}


def surface():
    """A script that looks at every public name, and at every public attribute of an object of each public class."""
    names = {package.__name__: package.__all__ for package in PACKAGES} | ALSO_PUBLIC
    lines = ["from typing import Any", *(f"import {module}" for module in names)]
    for module, public in names.items():
        for name in public:
            value, full = getattr(sys.modules[module], name), f"{module}.{name}"
            lines.append(full)
            if inspect.isclass(value):
                shown = f"{full}[Any]" if getattr(value, "__parameters__", ()) else full  # those of generic classes
                lines.append(f"def attributes_{len(lines)}(it: {shown}) -> None:")
                lines += [f"    it.{attribute}" for attribute in attributes(value)] or ["    pass"]
    return "\n".join(lines) + "\n"


def attributes(cls):
    own = [base for base in cls.__mro__ if base.__module__.startswith("clgeom")]
    found = {name for base in own for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    return sorted(name for name in found if not name.startswith("_"))


@pytest.mark.slow
@needs_mypy
def test_mypy_knows_every_public_name(mypy):
    assert mypy["surface"] == []


@pytest.mark.slow
@needs_basedpyright
def test_no_public_name_is_of_unknown_type(basedpyright, files):
    lines, found = files["surface"].read_text().splitlines(), basedpyright["surface"]
    assert not found, "\n".join(f"{lines[line - 1].strip()}: {message}" for line, message, _ in found)
