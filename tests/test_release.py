"""What a release is made of agrees: version, citation, recipe, hooks, workflow, changelog, deprecated names."""

import configparser
import contextlib
import importlib.util
import os
import re
import runpy
import warnings
from pathlib import Path

import click
import pytest
import yaml  # comes with Dask
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import clgeom
from clgeom import dp, errors, radio, scale
from clgeom.commands.main import cli

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (clgeom, dp, dp.problems, radio, scale)
#: Wheels of OpenCL drivers, whose place pocl takes in the conda package.
DRIVERS = {"intel-cmplr-lib-rt", "intel-opencl-rt", "pocl-binary-distribution"}
RENAMED = [(package, old, *entry) for package in PACKAGES for old, entry in getattr(package, "_RENAMED", {}).items()]

pytestmark = pytest.mark.skipif(not (ROOT / "setup.cfg").exists(), reason="needs the checkout")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def setup_cfg():
    parser = configparser.ConfigParser()
    parser.read_string(read("setup.cfg"))
    return parser


@pytest.fixture(scope="module")
def recipe():
    loaded = yaml.safe_load(read("conda/recipe.yaml"))
    text = read("conda/recipe.yaml")
    for name, value in loaded["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    return yaml.safe_load(text)


def bounds(lines):
    """The names of requirements and their bounds, without markers and comments."""
    found = [Requirement(line) for line in lines if line and line[0] != "#"]
    return {one.name.lower(): one.specifier for one in found}


# Metadata -------------------------------------------------------------------------------------------------------


def test_version_is_the_same_everywhere(recipe):
    newest = re.search(r"^(\d\S*)(?: \(\S+\))?\n-+$", read("CHANGELOG.rst"), re.MULTILINE)[1]
    assert newest == clgeom.__version__ == str(yaml.safe_load(read("CITATION.cff"))["version"])
    assert recipe["package"] == {"name": "clgeom", "version": clgeom.__version__}


def test_citation_is_the_metadata(setup_cfg):
    citation, metadata = yaml.safe_load(read("CITATION.cff")), setup_cfg["metadata"]
    assert citation["title"] == metadata["name"]
    assert citation["abstract"] == f"{metadata['description']}."
    assert citation["license"] == (metadata.get("license_expression") or metadata["license"])
    assert citation["keywords"] == metadata["keywords"].split(", ")
    assert [author["name"] for author in citation["authors"]] == [metadata["author"]]


def test_recipe_requires_what_the_package_requires(recipe, setup_cfg):
    options = setup_cfg["options"]
    required = bounds(options["install_requires"].splitlines())
    wheels = DRIVERS & set(required)
    run = bounds(recipe["requirements"]["run"])
    assert run.pop("python") == SpecifierSet(options["python_requires"])
    assert run.pop("pocl") == required["pocl-binary-distribution"]
    assert run == {name: bound for name, bound in required.items() if name not in wheels}
    # pip does not know that pocl takes the place of these wheels
    assert recipe["tests"][0]["python"]["pip_check"] is (not wheels)


def test_recipe_builds_what_the_package_is(recipe, setup_cfg):
    build, about = recipe["build"], recipe["about"]
    assert build["noarch"] == "python"
    scripts = setup_cfg["options.entry_points"]["console_scripts"].strip().splitlines()
    assert build["python"]["entry_points"] == scripts
    backend = re.search(r'^requires = \["(.*)"\]', read("pyproject.toml"), re.MULTILINE)[1]
    (required,) = bounds([backend])["setuptools"]
    (taken,) = bounds(line for line in recipe["requirements"]["host"] if "setuptools" in line)["setuptools"]
    assert required.operator == taken.operator == ">=" and Version(taken.version) >= Version(required.version)
    assert about["summary"] == setup_cfg["metadata"]["description"] and (ROOT / about["license_file"]).exists()
    for name in recipe["tests"][0]["python"]["imports"]:
        importlib.import_module(name)
    for line in recipe["tests"][1]["script"]:
        words = line.split()
        assert words[0] == "clgeom" and (words[1] == "--version" or words[1] in cli.list_commands(None))


# Automation -----------------------------------------------------------------------------------------------------


def test_hooks_are_checks_of_ci():
    ci = re.findall(r"^ +\.venv/bin/(.*)$", read(".ci/run"), re.MULTILINE)
    (local,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local" and {hook["language"] for hook in local["hooks"]} == {"system"}
    commands = {hook["id"]: hook["entry"] for hook in local["hooks"]}
    tests = commands.pop("tests")
    assert commands.pop("mypy") == "mypy" and any("tests/test_types.py -m slow" in command for command in ci)
    assert {re.sub(r" --\S+", "", entry) for entry in commands.values()} <= {
        re.sub(r" --\S+| \.$", "", command) for command in ci
    }
    assert all((ROOT / path).exists() for path in re.findall(r"tests/\S+", tests))


def test_workflow_calls_what_there_is():
    text = read(".github/workflows/ci.yml")
    jobs = yaml.safe_load(text)["jobs"]
    assert text.startswith("# Untried")
    assert ".ci/run" in [step.get("run") for step in jobs["linux"]["steps"]] and (ROOT / ".ci" / "run").exists()
    assert jobs["selftest"]["strategy"]["matrix"]["os"] == ["windows-latest", "macos-latest"]
    assert jobs["windows-pip"]["runs-on"] == "windows-latest"
    for job in ("selftest", "windows-pip"):
        commands = [step["run"].split()[1] for step in jobs[job]["steps"] if step.get("run", "")[:7] == "clgeom "]
        assert commands == ["devices", "selftest"] and set(commands) <= set(cli.list_commands(None))


def test_ci_takes_the_lowest_versions_of_the_metadata(setup_cfg):
    """Each requirement of users has a lowest version, which .ci/run and .ci/more install."""
    lowest = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"]
    extras = re.search(r"clgeom\[(.*)\]", setup_cfg["options.extras_require"]["all"])[1].split(",")
    pinned = [Requirement(line) for line in lowest([*extras, "intel"])]
    assert {len(one.specifier) for one in pinned} == {1} and {next(iter(one.specifier)).operator for one in pinned} == {
        "=="
    }
    taken = {
        name: set(re.findall(r"lowest\.py ([a-z ]+) >", read(name))[0].split()) for name in (".ci/run", ".ci/more")
    }
    assert taken[".ci/run"] < taken[".ci/more"] == set(extras)


def test_jobs_try_every_python_of_the_metadata(setup_cfg):
    jobs = re.search(r"^all=\((.*)\)$", read(".ci/more"), re.MULTILINE)[1].split()
    versions = re.findall(r":: (3\.\d+)", setup_cfg["metadata"]["classifiers"])
    assert [job for job in jobs if job.startswith("python")] == [f"python{version}" for version in versions]
    guide = read("CONTRIBUTING.rst")
    assert all(f"``{job}``" in guide for job in jobs if job not in [f"python{version}" for version in versions[1:-1]])


@pytest.mark.parametrize("name", [".ci/run", ".ci/more"])
def test_tests_that_ci_names_exist(name):
    words = [word.rstrip(".,") for word in re.findall(r"\btests/[\w/.{},]+", read(name))]
    paths = [
        re.sub(r"\{.*\}", choice, word)
        for word in words
        for choice in (re.search(r"\{(.*)\}|$", word)[1] or "").split(",")
    ]
    assert len(paths) > 5 and [path for path in paths if not (ROOT / path).exists()] == []


def test_source_distributions_have_what_these_tests_read():
    manifest = read("MANIFEST.in")
    for name in ("CITATION.cff", "CHANGELOG.rst", ".pre-commit-config.yaml", "conda", ".github", ".ci"):
        assert re.search(rf"^(include|graft)\b.* {re.escape(name)}( |$)", manifest, re.MULTILINE), name


# Changelog ------------------------------------------------------------------------------------------------------


def exists(name):
    """Whether a dotted name is a module of clgeom, or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    with contextlib.suppress(ModuleNotFoundError):  # find_spec imports the parent, and not the module
        if importlib.util.find_spec(name):
            return True
    return hasattr(importlib.import_module(module), attribute)


def test_new_names_of_the_changelog_exist():
    rows = re.findall(r"^``[^`]+`` +(\S.*)$", read("CHANGELOG.rst"), re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"``(clgeom[\w.]+)``", row)]
    assert len(rows) > 15 and len(names) > 15
    assert [name for name in names if not exists(name)] == []


def test_commands_of_the_changelog_exist():
    newest = read("CHANGELOG.rst").split("\n0.1.0\n")[0]
    calls = [call.split() for call in re.findall(r"``clgeom ([a-z][^`]*)``", newest)]
    assert len(calls) > 10
    for words in calls:
        command = cli
        while words and isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, words


# Deprecation ----------------------------------------------------------------------------------------------------


def test_a_deprecated_name_works_and_warns_where_it_is_used():
    with pytest.warns(
        errors.ClgeomDeprecationWarning, match=r"walk_back is deprecated since .* Use clgeom.dp.trace"
    ) as got:
        assert dp.walk_back is dp.traceback
    assert [Path(one.filename) for one in got] == [Path(__file__)]
    with pytest.warns(errors.ClgeomDeprecationWarning) as got:
        from clgeom.dp import walk_back
    assert walk_back is dp.traceback and len(got) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dp.traceback and not hasattr(dp, "walk_forth")


def test_deprecation_is_shown_by_default():
    """Python's own filters hide `DeprecationWarning` outside the script that was started."""
    assert issubclass(errors.ClgeomDeprecationWarning, FutureWarning)
    assert not issubclass(errors.ClgeomDeprecationWarning, DeprecationWarning)


@pytest.mark.parametrize(
    "package, old, new, since, removal", RENAMED, ids=lambda value: getattr(value, "__name__", value)
)
def test_deprecated_names_are_listed_until_they_are_removed(package, old, new, since, removal):
    assert new in package.__all__ and old not in {*package.__all__, *dir(package)}
    assert Version(since) <= Version(clgeom.__version__) < Version(removal), "remove it"
    short = package.__name__.removeprefix("clgeom").removeprefix(".")
    row = [f"``{short}.{name}``".replace("``.", "``") for name in (old, new)]
    assert re.search(rf"^{row[0]} +{row[1]} +{since} +{removal}$", read("docs/versions.rst"), re.MULTILINE)


def test_readme_counts_the_tests(request):
    """Of a run of all tests as CI runs them: their number to the nearest hundred, or the one beside."""
    chosen, config = request.session.items, request.config
    whole = not config.option.keyword and config.option.markexpr in ("", "not slow") and os.environ.get("CI") == "true"
    if not whole or len({item.path for item in chosen}) < 150:
        pytest.skip("not all tests are run")
    said = re.search(r"``CI=true`` selects ([\d,]+) of them", read("README.rst"))
    assert said and abs(int(said[1].replace(",", "")) - len(chosen)) < 150
