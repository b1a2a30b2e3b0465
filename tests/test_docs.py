"""What is written for readers holds: the examples of docstrings, and the Python of the pages and the README, run."""

import ast
import doctest
import importlib.util
import inspect
import itertools
import re
import shlex
import textwrap
from pathlib import Path

import click
import numpy as np
import pytest

import clgeom
from clgeom import conformance, dp, radio, scale
from clgeom.commands.main import cli
from clgeom.runtime.policies import Policy

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (clgeom, dp, dp.problems, radio, scale)
if importlib.util.find_spec("dask") is not None:
    import clgeom.dask

    PACKAGES += (clgeom.dask,)
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.rst")) if not {"generated", "_templates"} & set(page.parts)]
PAGES += [ROOT / "README.rst", ROOT / "CONTRIBUTING.rst"]

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="needs the checkout")


@pytest.fixture(autouse=True)
def in_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


# Docstrings -----------------------------------------------------------------------------------------------------


def documented():
    """(name, object) of every public function and class."""
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield pytest.param(value, id=f"{package.__name__}.{name}")


def run_examples(value, name, names):
    """How many examples of an object's docstring, and of its methods', were tried; each must give what it shows."""
    runner, said = doctest.DocTestRunner(), []
    for test in doctest.DocTestFinder(recurse=inspect.isclass(value)).find(value, name, globs=names):
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    return runner.tries


@pytest.mark.parametrize("value", list(documented()))
def test_docstring_has_examples_that_run(value):
    text = inspect.getdoc(value)
    summary = text.split("\n\n")[0]
    assert summary[-1] in ".:" and not summary.startswith(f"{value.__name__}("), "a sentence of its own"
    assert re.search(r"^Examples\n-{8}\n", text, re.MULTILINE)
    assert run_examples(value, value.__qualname__, {"__name__": "__main__"})


#: Parameters that functions of clgeom alone pass: the name of the public function, for messages.
NOT_PUBLIC = {"of", "caller"}


@pytest.mark.parametrize("value", [case for case in documented() if inspect.isfunction(case.values[0])])
def test_docstring_lists_the_parameters(value):
    """As numpydoc has them: in the section, by name, all of them, and no other."""
    parameters = set(inspect.signature(value).parameters) - NOT_PUBLIC
    after = re.split(r"^Parameters\n-{10}\n", inspect.getdoc(value), flags=re.MULTILINE)[1:]
    lines = re.split(r"\n\n[\w ]+\n---", after[0])[0].split("\n") if after else []
    listed = [name.strip(" *") for line in lines if line and line[0] != " " for name in line.split(" : ")[0].split(",")]
    assert sorted(listed) == sorted(parameters)


@pytest.mark.parametrize("module", (dp, conformance, *PACKAGES[4:]), ids=lambda module: module.__name__)
def test_examples_of_modules_run(module):
    test = doctest.DocTestParser().get_doctest(module.__doc__, {"__name__": "__main__"}, module.__name__, None, None)
    runner, said = doctest.DocTestRunner(), []
    runner.run(test, out=said.append)
    assert runner.tries and not runner.failures, "".join(said)


# Pages ----------------------------------------------------------------------------------------------------------


def blocks(text):
    """(line, language, code) of the blocks of a page; the language of a literal block is None."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        directive = re.match(r"( *)\.\. code-block:: (\w+)$", line)
        literal = re.match(r"( *)(?!\.\. ).*::$", line)
        if not directive and not literal:
            continue
        indent, rest = (directive or literal)[1], lines[number + 1 :]
        last = next((i for i, one in enumerate(rest) if one.strip() and not one.startswith(indent + " ")), len(rest))
        body = textwrap.dedent("\n".join(one for one in rest[:last] if not re.match(r" *:\w+: ", one)))
        yield number + 2, directive and directive[2], body


def small(code):
    """The code with thousands for millions: pages show sizes at which a device pays."""
    return re.sub(r"\b(\d+)_000_00(\d)\b", r"\1_00\2", code)


def run_block(code, names, page, line):
    """Run a block; a comment behind an expression that is a value of Python must be the expression's value."""
    code = small(code)
    rows = code.split("\n")
    for statement in ast.parse(code).body:
        part = ast.Module([statement], [])
        ast.increment_lineno(part, line)
        if not isinstance(statement, ast.Expr):
            exec(compile(part, page, "exec"), names)  # noqa: S102
            continue
        value = eval(compile(ast.Expression(statement.value), page, "eval"), names)  # noqa: S307
        shown = re.search(r"  # (.*)$", rows[statement.end_lineno - line - 1])
        try:
            expected = ast.literal_eval(shown[1]) if shown else ...
        except (ValueError, SyntaxError):
            expected = ...
        if expected is not ... and "..." not in shown[1]:
            found = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
            assert found == expected, f"{page}, line {statement.lineno}"


def missing(code):
    """The modules that Python code imports and that are not installed."""
    for node in ast.walk(ast.parse(code)):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if importlib.util.find_spec(name.split(".")[0]) is None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_page_runs(page):
    """From its top, with nothing imported or made before."""
    names = {"__name__": "__main__"}
    found = [(line, code) for line, language, code in blocks(page.read_text(encoding="utf-8")) if language == "python"]
    absent = sorted({name for _, code in found for name in missing(code)})
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")
    for line, code in found:
        run_block(code, names, page.name, line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_page_is_marked(page):
    """A literal block that is Python would not be run, nor shown in colours."""
    for line, language, code in blocks(page.read_text(encoding="utf-8")):
        if language is None:
            with pytest.raises(SyntaxError):
                ast.parse(code)
                pytest.fail(f"{page.name}, line {line}: write '.. code-block:: python'")


def typed(text):
    """(line, words) of the lines of a page that call the command; "hull|sort" is two of them."""
    for start, language, code in blocks(text):
        for line, row in enumerate(code.split("\n") if language in (None, "sh") else (), start):
            found = re.search(r"(?:^|[ /(|])clgeom (\S.*?)(?: {3,}.*)?$", row)
            if found and not row.startswith("python"):
                words = shlex.split(re.sub(r"[)&].*", "", found[1]), comments=True)
                options = [word.split("|") for word in words]
                yield from ((line, list(one)) for one in itertools.product(*options))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_page_have_these_options(page):
    """Commands, options and choices as the command has them; files need not be there."""
    for line, words in typed(page.read_text(encoding="utf-8")):
        command, context = cli, click.Context(cli)
        while isinstance(command, click.Group) and words and words[0][0] != "-":
            command = command.get_command(context, words.pop(0))
            assert command, f"{page.name}, line {line}"
            context = click.Context(command, parent=context)
        given, _, _ = command.make_parser(context).parse_args(words)
        for parameter in command.params:
            for value in np.atleast_1d(given.get(parameter.name) or ()):
                if isinstance(parameter.type, click.Choice) and isinstance(value, str):  # else it is not given
                    parameter.type.convert(str(value), parameter, context)


def test_pages_have_commands():
    counts = {page.name: len(list(typed(page.read_text(encoding="utf-8")))) for page in PAGES}
    assert counts["README.rst"] >= 15 and counts["tutorial.rst"] >= 8 and counts["lidar_tiles.rst"] >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/.])((?:clgeom|cl_src|templates|tests|bench|docs|examples)/[\w./-]*\w/?)", text)
    assert not [path for path in named if not (ROOT / path).exists()]


def test_pages_have_python():
    counts = {p.name: sum(b[1] == "python" for b in blocks(p.read_text(encoding="utf-8"))) for p in PAGES}
    assert counts["README.rst"] >= 5 and counts["dp.rst"] >= 6 and counts["coverage.rst"] >= 3


#: A path of the checkout: from one of its folders, or of its hidden folders, on.
PATH = re.compile(r"(?<![\w/.-])((?:clgeom|cl_src|templates|tests|docs|bench|examples|\.ci)/[\w/.-]*\w/?)")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.rst"], ids=lambda page: page.name)
def test_paths_of_page_exist(page):
    assert not [path for path in PATH.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()]


# Glossary -------------------------------------------------------------------------------------------------------

GLOSSARY = DOCS / "reference" / "glossary.rst"


def test_glossary_names_what_is_there():
    """Every path, and every public name and attribute, that a term is said to be used in."""
    text = GLOSSARY.read_text(encoding="utf-8")
    paths = re.findall(r"``((?:clgeom|cl_src|templates)/[\w/.]*)``", text)
    names = re.findall(r"``clgeom\.([\w.]+)``", text)
    attributes = re.findall(r"``([A-Z]\w+)\.(\w+)``", text)
    assert len(paths) > 20 and len(names) > 10 and len(attributes) > 5
    assert not [path for path in paths if not (ROOT / path).exists()]
    for name in names:
        found = clgeom
        for part in name.split("."):
            found = getattr(found, part)
    for owner, attribute in attributes:
        cls = next((getattr(package, owner) for package in PACKAGES if owner in package.__all__), Policy)
        assert cls is not Policy or owner == "Policy"
        assert hasattr(cls, attribute) or any(
            attribute in vars(base).get("__annotations__", ()) for base in cls.__mro__
        )


def test_glossary_has_a_sentence_or_two_for_each_term():
    text = GLOSSARY.read_text(encoding="utf-8")
    entries = re.findall(r"^(\S[^\n]*)\n((?:   \S[^\n]*\n)+)", text, re.MULTILINE)
    terms = [term for line, _ in entries for term in line.split(", ")]
    assert len(terms) >= 40 and len(set(terms)) == len(terms)
    assert all(words.strip().endswith(".") and len(words.split()) >= 8 for _, words in entries)
    assert "docs/reference/glossary.rst" in (ROOT / "README.rst").read_text(encoding="utf-8")
