"""What is written for readers holds: the examples of docstrings, and the Python of the pages and the README, run."""

import ast
import builtins
import contextlib
import dataclasses
import doctest
import functools
import importlib
import importlib.util
import inspect
import itertools
import re
import runpy
import shlex
import textwrap
from pathlib import Path, PurePosixPath

import click
import clouds
import mutation
import numpy as np
import pytest
from command_line import done

import clgeom
from clgeom import conformance, dp, errors, radio, scale, selftest
from clgeom.commands.bench import FAMILIES
from clgeom.commands.hull_files import LARGE_BYTES
from clgeom.commands.main import cli
from clgeom.core.policies import Policy
from clgeom.data import cities
from clgeom.dp.filling import PATHS
from clgeom.dp.fills import KEEPS
from clgeom.dp.language import nodes, trace, users_c
from clgeom.hull import stream
from clgeom.hull.sieve import launches
from clgeom.io import arrays, rasters
from clgeom.radio import sites
from clgeom.sequences import scoring
from clgeom.sequences.matrices import MATRICES
from clgeom.sorting import search
from clgeom.sorting.radix import host, work
from clgeom.sorting.shellsort import study
from clgeom.sorting.shellsort.sort import LEAST_ELEMENTS, MOST_ITEMS, VARIANTS
from clgeom.tuner.explain import STEPS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (clgeom, dp, dp.problems, radio, scale)
if importlib.util.find_spec("dask") is not None:
    import clgeom.dask

    PACKAGES += (clgeom.dask,)
DOCS = ROOT / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.rst")) if not {"generated", "_templates"} & set(page.parts)]
PAGES += [ROOT / "README.rst", ROOT / "CONTRIBUTING.rst", ROOT / "SECURITY.rst"]

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="needs the checkout")


@pytest.fixture(autouse=True)
def in_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


# Docstrings -----------------------------------------------------------------------------------------------------


def documented():
    """(name, object) of every function and class of the reference whose module can be imported."""
    module = None
    for line in (DOCS / "reference" / "api.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        needed = {"clgeom.dask": "dask", "clgeom.pandas": "pandas"}.get(module)
        if re.fullmatch(r"   [A-Za-z]\w*", line) and (needed is None or importlib.util.find_spec(needed)):
            yield pytest.param(getattr(importlib.import_module(module), line.strip()), id=f"{module}.{line.strip()}")


def run_examples(value, name, names):
    """How many examples of an object's docstring, and of its methods', were tried; each must give what it shows."""
    runner, said = doctest.DocTestRunner(), []
    for test in doctest.DocTestFinder(recurse=inspect.isclass(value)).find(value, name, globs=names):
        if "to_file" in test.docstring and not importlib.util.find_spec("rasterio"):
            continue
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    return runner.tries


@pytest.mark.parametrize("value", list(documented()))
def test_docstring_has_examples_that_run(value):
    text = inspect.getdoc(value)
    summary = text.split("\n\n")[0]
    assert summary[-1] in ".:" and not summary.startswith(f"{value.__name__}("), "a sentence of its own"
    assert not re.search(r"\bdocs/", text), "a link in place of a path: :doc:`/reference/dp`"
    assert run_examples(value, value.__qualname__, {"__name__": "__main__"})
    assert not list(Path().iterdir()), "an example leaves no file behind"


#: Parameters that functions of clgeom alone pass: the name of the public function, for messages.
NOT_PUBLIC = {"self", "cls", "of", "caller"}
#: Members of classes that the reference leaves out.
INTERNAL = runpy.run_path(str(DOCS / "conf.py"))["INTERNAL"] if DOCS.exists() else set()


def sections(value):
    """{title: the heads of its entries, as "name : type"} of a docstring of numpydoc."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", inspect.getdoc(value) or "", flags=re.MULTILINE)
    return {
        title: [line for line in text.split("\n") if line and line[0] != " "]
        for title, text in zip(parts[1::2], parts[2::2])
    }


def names_in(heads):
    return [name.strip(" *") for head in heads for name in head.split(" : ")[0].split(",")]


def faults_of_sections(function):
    """What the docstring of a function or a method lacks."""
    found, signature = sections(function), inspect.signature(function)
    parameters = sorted(set(signature.parameters) - NOT_PUBLIC)
    if sorted(set(names_in(found.get("Parameters", ()))) - NOT_PUBLIC) != parameters:
        yield f"Parameters, of {parameters}"
    if signature.return_annotation not in (None, "None") and not {"Returns", "Yields"} & set(found):
        yield "Returns or Yields"
    if parameters and not found.get("Raises"):
        yield "Raises"
    yield from faults_of_errors(found)


def faults_of_errors(found):
    for name in names_in(found.get("Raises", ())):
        error = next((vars(one)[name] for one in (errors, clgeom, builtins) if name in vars(one)), None)
        if not (inspect.isclass(error) and issubclass(error, Exception)):
            yield f"a known error in place of {name}"


def members(cls):
    """(name, member) of what a class has of its own and of classes of clgeom, as the reference lists them."""
    for base in cls.__mro__:
        for name, member in vars(base).items() if base.__module__.startswith("clgeom") else ():
            if not name.startswith("_") and f"{base.__name__}.{name}" not in INTERNAL:
                if getattr(cls, name, None) is getattr(base, name):  # it is not overridden
                    yield name, getattr(member, "__func__", member)


def faults_of_class(cls):
    """What the docstrings of a class and of its members lack.

    The class lists the parameters of its constructor under Parameters, or under Attributes if they become attributes;
    a class that functions of clgeom make needs only the latter. It lists errors if its constructor raises some itself.
    """
    found = sections(cls)
    listed = names_in(found.get("Parameters", [])) + names_in(found.get("Attributes", []))
    if not issubclass(cls, BaseException):
        attributes = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
        for name in inspect.signature(cls).parameters:
            if not name.startswith("_") and name not in listed and ("Parameters" in found or name in attributes):
                yield f"the parameter {name}"
        own = vars(cls).get("__post_init__" if dataclasses.is_dataclass(cls) else "__init__")
        if inspect.isfunction(own) and "raise " in inspect.getsource(inspect.unwrap(own)) and not found.get("Raises"):
            yield "Raises"
    yield from faults_of_errors(found)
    for name, member in members(cls):
        if inspect.isfunction(member):
            yield from (f"{name}: {fault}" for fault in faults_of_sections(member))
        elif isinstance(member, (property, functools.cached_property)):
            if not inspect.getdoc(getattr(member, "fget", None) or member.func) and name not in listed:
                yield f"{name}: a docstring, or an entry under Attributes"


@pytest.mark.parametrize("value", list(documented()))
def test_docstring_has_the_sections_of_numpydoc(value):
    """Parameters (each of them, and no other), Returns, Raises for whatever takes parameters, and Examples.

    Errors are classes of ``clgeom.errors`` or of Python. Methods share the Examples of their class.
    """
    faults = list(faults_of_class(value) if inspect.isclass(value) else faults_of_sections(value))
    assert not faults, f"the docstring lacks {'; '.join(faults)}"
    assert "Examples" in sections(value)


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


def value_in(comment):
    """The value of Python that a comment is or begins with, before a colon or a semicolon; None if it has none."""
    for end in (*(found.start() for found in re.finditer(r"[:;] ", comment)), len(comment)):
        try:
            return ast.Constant(ast.literal_eval(comment[:end]))
        except (ValueError, SyntaxError):
            continue
    return None


def is_as_shown(found, expected):
    """Whether a value is what a page shows, where an ellipsis at the end of a sequence is any rest of it."""
    found = found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found
    if not isinstance(expected, (list, tuple)):
        return found == expected
    rest = expected[-1:] in ([...], (...,))
    expected = expected[:-1] if rest else expected
    if not isinstance(found, type(expected)) or (len(found) < len(expected) if rest else len(found) != len(expected)):
        return False
    return all(map(is_as_shown, found, expected))


class Shown(ast.NodeTransformer):
    """Passes the values of expressions, at any depth, to ``_shown`` with the comments behind them."""

    def __init__(self, rows):
        self._rows = rows

    def visit_Expr(self, node):  # noqa: N802
        comment = re.search(r"  # (.*)$", self._rows[node.end_lineno - 1])
        if comment:
            is_print = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", None) == "print"
            value = node.value.args[0] if is_print else node.value
            call = ast.Call(ast.Name("_shown", ast.Load()), [value, ast.Constant(comment[1])], [])
            node.value = ast.copy_location(call, node.value)
        return node


def run_block(code, names, page, line):
    """Run a block; return how many values it shows.

    A comment behind an expression that is, or begins with, a value of Python must be the expression's value, one that
    begins with a call its representation, and one between ellipses a part of its text. The argument of `print` counts
    as such an expression, and is not printed.
    """
    code, compared = small(code), []

    def shown(value, comment):
        expected = value_in(comment)
        if re.fullmatch(r"\.\.\. .* \.\.\.", comment):
            assert comment.strip(". ") in str(value), f"{page}, below line {line}: {value!r} is not {comment}"
        elif expected is not None:
            assert is_as_shown(value, expected.value), f"{page}, below line {line}: {value!r} is not {comment}"
        elif re.match(r"[A-Z]\w*\(.*\)", comment):
            assert comment.startswith(repr(value)), f"{page}, below line {line}: {value!r} is not {comment}"
        else:
            return
        compared.append(comment)

    tree = Shown(code.split("\n")).visit(ast.parse(code))
    ast.increment_lineno(ast.fix_missing_locations(tree), line - 1)
    names["_shown"] = shown
    exec(compile(tree, page, "exec"), names)  # noqa: S102
    return len(compared)


@pytest.mark.parametrize(
    "code",
    (
        "3 + 1  # 5",
        "3 + 1  # 5: a sum",
        "[1, 2, 3]  # [1, 3, ...]",
        "(1, 2)  # [1, 2]; a list",
        "print({1: 2})  # {1: 3}: a dict",
        "print('one two')  # ... three ...",
        "Path('a')  # PosixPath('b'): a path",
        "for i in range(2):\n    i  # 0",
        "with suppress(KeyError):\n    dict(a=1)['a']  # 2",
    ),
)
def test_block_with_another_value_is_found(code):
    names = {"suppress": contextlib.suppress, "Path": PurePosixPath}
    with pytest.raises(AssertionError, match="a page, below line 7"):
        run_block(code, names, "a page", 7)


def test_values_of_blocks_are_counted():
    code = "[1, 2, 3]  # [1, ...]: a list\nprint('one two')  # ... two ...\n4  # four\n"
    assert run_block(code, {}, "a page", 1) == 2


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
        try:
            run_block(code, names, page.name, line)
        except (errors.InvalidInput, errors.NoDevice) as error:
            if isinstance(error, errors.InvalidInput) and "which is not installed" not in str(error):
                raise
            pytest.skip(str(error))  # .ci/run allows no skipped page


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


@pytest.mark.filterwarnings("error::clgeom.errors.InputWarning")
def test_commands_of_tutorial_work():
    """Those that read files, as they stand, in the folder where the Python of the page has written these."""
    text = (DOCS / "tutorial.rst").read_text(encoding="utf-8")
    write, lines = [code for _, language, code in blocks(text) if language in ("python", "sh")][-2:]
    world = cities()
    names = {"np": np, "world": world, "countries": np.array(world.countries), "keys": np.arange(9)[::-1]}
    if list(missing(write)):
        pytest.skip(f"needs {', '.join(missing(write))}")
    run_block(write, names, "tutorial.rst", 1)
    for line in lines.strip().splitlines():
        command, *words = shlex.split(line, comments=True)[1:]
        if command not in ("demo", "region", "trace"):
            assert any(Path(word).exists() for word in words), line
            done(command, *words)


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
    assert counts["README.rst"] >= 1 and counts["dp.rst"] >= 6 and counts["coverage.rst"] >= 3


#: A path of the checkout: from one of its folders, or of its hidden folders, on.
PATH = re.compile(r"(?<![\w/.-])((?:clgeom|cl_src|templates|tests|docs|bench|examples|\.ci)/[\w/.-]*\w/?)")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.rst"], ids=lambda page: page.name)
def test_paths_of_page_exist(page):
    assert not [path for path in PATH.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()]


# Claims ---------------------------------------------------------------------------------------------------------


def words_of(page):
    """The text of a page of docs, without line breaks and marks of code."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").replace("``", "").split())


def first_words(page, begin, end):
    """What the first column of the table between two texts of a page has."""
    text = (DOCS / page).read_text(encoding="utf-8").split(begin, 1)[1].split(end, 1)[0]
    return [word.strip('`"') for word in re.findall(r"^ *(?:\* - )?(\S+)", text, re.MULTILINE)]


GAPS_OF_BLOSUM62 = MATRICES["BLOSUM62"][1]
TEST_FUNCTIONS = [
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^ *def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]
CLAIMS = {
    "explanation/coverage.rst": [f"by strips of {rasters.BLOCK_BYTES >> 20} MiB"],
    "explanation/hull.rst": [
        f"of {stream.LARGER * stream.CHUNK_BYTES >> 20} MiB on a device with at least "
        f"{stream.LARGER * stream.SMALL_PART * stream.CHUNK_BYTES >> 30} GiB of memory, where arrays of "
        f"{2 * stream.LARGER * stream.CHUNK_BYTES >> 20} MiB or more are large, else of {stream.CHUNK_BYTES >> 20} MiB "
        f"from {2 * stream.CHUNK_BYTES >> 20} MiB on",
        f"in {launches.DIRECTIONS} directions",
        f"up to {launches.DIRECTIONS * launches.FINE} directions",
        f"{launches.BINS} bins of x",
        f"maps files from {arrays.MAP_FROM >> 20} MiB on",
    ],
    "explanation/radio.rst": [f"up to {sites.MOST_TRANSMITTERS:,} transmitters"],
    "explanation/shellsort.rst": [
        f"max_items_per_subsequence ({MOST_ITEMS}) is the most",
        f"min_elements_per_item ({LEAST_ELEMENTS}) the fewest",
        f"at most {study.MOST_LAUNCHES} launches a phase",
    ],
    "howto/measure_device.rst": ["families are {} and {}".format(", ".join(FAMILIES[:-1]), FAMILIES[-1])],
    "reference/align.rst": [
        "The defaults are {} and {}, or those of BLAST".format(*scoring.DEFAULTS[2:]),
        "such as {} and {} for BLOSUM62".format(*GAPS_OF_BLOSUM62),
        "Equal letters score match ({}), different ones mismatch ({})".format(*scoring.DEFAULTS[:2]),
        ", ".join(name for name in MATRICES if name != "NUC.4.4") + "; NUC.4.4",
    ],
    "trust.rst": [
        f"one for each of {sum(len(one.kernels) for one in selftest.checks())} kernels",
        f"kernels and {len(selftest.QUESTIONS)} for public functions",
        f"more than {len(TEST_FUNCTIONS) // 1000 * 1000:,} test functions",
        f"on {len(clouds.CLOUDS)} named distributions of points",
        f"lists {len(mutation.equivalents())} such mutants",
    ],
    "reference/dp.rst": [
        f"lists the {len(dp.problems.CATALOGUE)} of the thesis",
        f"at most {trace.MOST_NODES:,} operations, {nodes.MOST_DEEP} inside each other",
        f"a text in C {users_c.MOST_TOKENS:,} words and marks, {users_c.MOST_IN_STATEMENT:,} of them in a statement",
    ],
    "reference/files.rst": [f"for one hull of more than {LARGE_BYTES >> 30} GiB of files"],
    "reference/scipy.rst": [
        f"sorts up to {host.FEW} keys on the host",
        f"up to {host.FEW_ALONE:,} integers without values, up to {host.FEW_NARROW:,} integers of 8 or 16 bits",
    ],
    "reference/sort.rst": [
        f"sorts of {work.SURVEYED_BYTES >> 20} MiB of keys and more",
        f"if it is at most {search.TESTED} times as long as the needles",
    ],
}


@pytest.mark.parametrize("page", CLAIMS)
def test_numbers_and_lists_of_page_are_those_of_the_code(page):
    text = words_of(page)
    assert not [claim for claim in CLAIMS[page] if claim not in text]


def test_tables_have_the_names_of_the_code():
    page = "reference/dp.rst"
    listed = first_words(page, "name  stages", "infer_pattern")
    assert set(dp.PATTERNS) <= set(listed) and len(dp.PATTERNS) == sum(word.isupper() for word in listed)
    assert {*KEEPS} == {*first_words(page, "kept cells\n", "A recurrence along")[1:]} - {"=" * 18}
    assert {*PATHS} < {*first_words(page, "path        for equations", "takes the fastest path")}
    table = (DOCS / page).read_text(encoding="utf-8").split("problem                               pattern")[1]
    rows = re.findall(r" (\w+) +``(\w+)``$", table.split("``problems.VARIANTS``")[0], re.MULTILINE)
    assert rows == [(one.pattern, one.function) for one in dp.problems.CATALOGUE]
    assert all(f"``{one.function}``" in table for one in dp.problems.VARIANTS)

    steps = first_words("explanation/policies.rst", "     - source", "The architecture is")
    assert [word for word in steps if word in STEPS] == list(STEPS)
    assert [row for row in first_words("explanation/shellsort.rst", "====  ", "B and C leave") if row in VARIANTS] == [
        *VARIANTS[1:],
        VARIANTS[0],
    ]


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


@pytest.mark.parametrize("word", ("band", "chain", "label", "map", "phase", "segment"))
def test_glossary_tells_the_meanings_of_a_word_apart(word):
    text = GLOSSARY.read_text(encoding="utf-8")
    assert len(re.findall(rf"^{word} \(.+?\)(?:, .*)?\n   \S", text, re.MULTILINE)) >= 2
    assert not re.search(rf"^{word}(?:,.*)?\n   \S", text, re.MULTILINE), "an entry without its meaning"
