"""The package as it is shipped: every folder and every kernel source in it; light to import; README that holds."""

import configparser
import importlib
import os
import platform
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import clgeom
from clgeom import errors, moved
from clgeom.core import sources

ROOT = Path(__file__).resolve().parent.parent
#: Packages of clgeom whose folders are beside the one of the package.
BESIDE = ("bench", "cl_src", "templates")

pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").exists(), reason="needs the checkout")


@pytest.fixture(scope="module")
def setup_cfg():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def folder_of(package):
    name = package.removeprefix("clgeom").removeprefix(".")
    return ROOT / name if name in BESIDE else ROOT / "clgeom" / name.replace(".", "/")


def test_packages_listed_are_the_folders(setup_cfg):
    listed = setup_cfg["options"]["packages"].split()
    found = [".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("clgeom/**/__init__.py")]
    assert sorted(listed) == sorted([*found, *(f"clgeom.{name}" for name in BESIDE)])
    assert listed == sorted(listed)
    for package in listed:
        assert (folder_of(package) / "__init__.py").exists()


def test_everything_is_shipped(monkeypatch):
    """What setuptools would put into a wheel is all that the packages' folders hold, but the records of benchmarks."""
    pytest.importorskip("setuptools", minversion="77.0.3")
    dist = importlib.import_module("setuptools.dist")
    monkeypatch.chdir(ROOT)
    distribution = dist.Distribution({"script_name": "setup.py"})
    distribution.parse_config_files()
    command = distribution.get_command_obj("build_py")
    command.ensure_finalized()
    shipped = {Path(path).relative_to(command.build_lib).as_posix() for path in command.get_outputs(include_bytecode=0)}
    expected = {
        (Path("clgeom") / path.relative_to(ROOT if base != "clgeom" else ROOT / base)).as_posix()
        for base in ("clgeom", *BESIDE)
        for path in (ROOT / base).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ROOT / "bench" / "results" not in path.parents
    }
    assert shipped == expected


def test_kernel_sources_are_found_from_anywhere(tmp_path):
    files = {path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*.cl.mako")}
    twins = {name for name in files if name.endswith("_serial.cl.mako")}
    assert {name.replace("_serial", "") for name in twins} <= files
    assert len(sources.kernels()) == len(files - twins)
    for path in (ROOT / "cl_src").glob("*.h"):
        assert sources.header(path.name) == path.read_text(encoding="utf-8")


def test_import_is_light():
    """`import clgeom` takes no time: neither NumPy nor OpenCL is loaded before the first use."""
    late = {"numpy", "pyopencl", "mako", "click", "rich", "platformdirs"}
    code = f"import sys, clgeom; print(sorted({late} & set(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert out.stdout == "[]\n"


def test_public_names_resolve():
    for name in clgeom.__all__:
        assert getattr(clgeom, name) is not None


def test_versions_agree():
    assert f"\n{clgeom.__version__}" in (ROOT / "CHANGELOG.rst").read_text()


def test_readme_commands_are_those_that_ci_runs():
    readme, ci = (ROOT / "README.rst").read_text(), (ROOT / ".ci" / "run").read_text()
    for name in ("run-demo", "run-tests"):
        assert len(re.findall(rf"^   :name: {name}$", readme, re.MULTILINE)) == 1
        assert f"readme_command {name}" in ci
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_readme_fits_a_first_visit():
    assert len((ROOT / "README.rst").read_text(encoding="utf-8").split()) <= 1100


def test_source_layout_names_every_folder():
    text = (ROOT / "CONTRIBUTING.rst").read_text(encoding="utf-8")
    layout = text.split("Source layout\n")[1].split("Layers\n")[0]
    families = dict(re.findall(r"^   ((?:clgeom/)?\w+/)  ((?:.+\n)(?: {10,}.+\n)*)", layout, re.MULTILINE))
    assert all((ROOT / folder).is_dir() for folder in families)
    for path in (ROOT / "clgeom").glob("*/**/__init__.py"):
        family, *inner = path.parent.relative_to(ROOT / "clgeom").parts
        assert f"clgeom/{family}/" in families
        assert not inner or f"{inner[0]}/" in families[f"clgeom/{family}/"]


def test_extras_are_explained_and_exist(setup_cfg):
    """docs/platforms.rst says what each extra is for, and no message or page names another."""
    extras = set(setup_cfg["options.extras_require"])
    page = (ROOT / "docs" / "platforms.rst").read_text(encoding="utf-8")
    table = page.split("Extras\n------")[1].split("Python\n------")[0]
    assert set(re.findall(r"^``(\w+)``", table, re.MULTILINE)) | {"files"} == extras
    pages = [*ROOT.glob("*.rst"), *(ROOT / "docs").rglob("*.rst"), *(ROOT / "clgeom").rglob("*.py")]
    named = re.findall(r"(?:clgeom|\.)\[([a-z,]+)\]['\"]", "".join(path.read_text(encoding="utf-8") for path in pages))
    assert {name for names in named for name in names.split(",")} <= extras
    assert len(named) > 10


@pytest.mark.parametrize("library, required", [("glibc", True), ("", False)])
def test_pocl_is_required_where_its_wheel_runs(monkeypatch, library, required):
    pytest.importorskip("setuptools", minversion="77.0.3")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "libc_ver", lambda: (library, ""))
    distribution = runpy.run_path(str(ROOT / "setup.py"))["Distribution"]({"script_name": "setup.py"})
    distribution.parse_config_files()
    names = [re.match(r"[\w-]+", one)[0] for one in distribution.metadata.install_requires]
    assert ("pocl-binary-distribution" in names) == required and "pyopencl" in names


@pytest.mark.parametrize("old", sorted(moved.MOVED))
def test_old_paths_of_modules_work_and_warn(old):
    with pytest.warns(errors.ClgeomDeprecationWarning, match=f"clgeom.{moved.MOVED[old]}"):
        sys.modules.pop(f"clgeom.{old}", None)
        module = importlib.import_module(f"clgeom.{old}")
    assert module is importlib.import_module(f"clgeom.{moved.MOVED[old]}")
    assert module.__spec__.name == f"clgeom.{moved.MOVED[old]}"


def test_modules_below_an_old_package():
    with pytest.warns(errors.ClgeomDeprecationWarning):
        sys.modules.pop("clgeom.runtime.tuning", None)
        from clgeom.runtime.tuning import override
    assert override is importlib.import_module("clgeom.core.tuning").override
    for name in ("clgeom.runtime.no_such_module", "clgeom.runtime.arrays.no_such_module"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


def test_old_modules_are_imported_from_their_packages():
    imports = [
        "from clgeom.{0} import {2}; print({2}.__name__)".format(*old.rpartition("."))
        for old in moved.MOVED
        if "." in old
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(imports)], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == [f"clgeom.{new}" for old, new in moved.MOVED.items() if "." in old], done.stderr


def test_an_old_module_runs_as_a_script():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "clgeom.runtime.versions"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
