"""The command that tries mutants: which changes it makes, and what it says of them."""

import ast
import json
import random
import re

import mutation
import pytest
from mutants import mutants_of

PYTHON = '''
"""A text with 1 < 2 is left alone."""
from typing import Literal

def first(values: Literal[1, 2], n=4) -> bool:
    """So is 1 + 1 here."""
    if not values or n <= max(n, 3):
        raise ValueError(f"{n + 1} and {n - 1}")
    return (values[n - 1] is not None) == True, values[1:n]
'''
OF_PYTHON = [
    ("def first(values: Literal[1, 2], n=4) -> bool:", "def first(values: Literal[1, 2], n=5) -> bool:"),
    ("if not values or n <= max(n, 3):", "if not values and n <= max(n, 3):"),
    ("if not values or n <= max(n, 3):", "if not values or n < max(n, 3):"),
    ("if not values or n <= max(n, 3):", "if not values or n <= max(n, 4):"),
    ("if not values or n <= max(n, 3):", "if not values or n <= min(n, 3):"),
    ("if not values or n <= max(n, 3):", "if values or n <= max(n, 3):"),
    *(
        ("return (values[n - 1] is not None) == True, values[1:n]", f"return {after}")
        for after in (
            "(values[n + 1] is not None) == True, values[1:n]",
            "(values[n - 1 + 1] is not None) == True, values[1:n]",
            "(values[n - 1] is None) == True, values[1:n]",
            "(values[n - 1] is not None) != True, values[1:n]",
            "(values[n - 1] is not None) == False, values[1:n]",
            "(values[n - 1] is not None) == True, values[1:n + 1]",
            "(values[n - 1] is not None) == True, values[2:n]",
            "(values[n - 2] is not None) == True, values[1:n]",
        )
    ),
]
KERNEL = """
## A comment of Mako with 1 < 2.
#include "a/b.h"
#define SIZE 8
#define HALF ${size // 2 if name == "f 1 + 1" else n}  // 1 + 1
% if wide and n == 2:
kernel void one(global ${real}2 *out)  // 1 + 1
{
    local int kept[SIZE + 1];
    out[lid + 1] = a && !b ? min(x, 0x1fu) : -1.5f;
    barrier(CLK_LOCAL_MEM_FENCE);
    GROUP_BARRIER();
    else a[0] = fmin(x, y);
    total -= a[b[i]] << 1;
    return a[i];
}
% endif
"""
OF_KERNEL = [
    ("#define SIZE 8", "#define SIZE 9"),
    *(
        ('#define HALF ${size // 2 if name == "f 1 + 1" else n}  // 1 + 1', after)
        for after in (
            '#define HALF ${size // 3 if name == "f 1 + 1" else n}  // 1 + 1',
            '#define HALF ${size // 2 if name != "f 1 + 1" else n}  // 1 + 1',
        )
    ),
    ("% if wide and n == 2:", "% if wide and n != 2:"),
    ("% if wide and n == 2:", "% if wide and n == 3:"),
    ("% if wide and n == 2:", "% if wide or n == 2:"),
    ("local int kept[SIZE + 1];", "local int kept[SIZE - 1];"),
    *(
        ("out[lid + 1] = a && !b ? min(x, 0x1fu) : -1.5f;", after)
        for after in (
            "out[lid + 1 + 1] = a && !b ? min(x, 0x1fu) : -1.5f;",
            "out[lid + 1] = a && !b ? max(x, 0x1fu) : -1.5f;",
            "out[lid + 1] = a && !b ? min(x, 0x1fu) : -2.5f;",
            "out[lid + 1] = a && !b ? min(x, 0x20u) : -1.5f;",
            "out[lid + 1] = a && b ? min(x, 0x1fu) : -1.5f;",
            "out[lid + 1] = a || !b ? min(x, 0x1fu) : -1.5f;",
            "out[lid + 2] = a && !b ? min(x, 0x1fu) : -1.5f;",
            "out[lid - 1] = a && !b ? min(x, 0x1fu) : -1.5f;",
        )
    ),
    ("barrier(CLK_LOCAL_MEM_FENCE);", ";"),
    ("GROUP_BARRIER();", ";"),
    *(
        ("total -= a[b[i]] << 1;", after)
        for after in (
            "total += a[b[i]] << 1;",
            "total -= a[b[i + 1]] << 1;",
            "total -= a[b[i] + 1] << 1;",
            "total -= a[b[i]] << 2;",
            "total -= a[b[i]] >> 1;",
        )
    ),
    ("return a[i];", "return a[i + 1];"),
    ("else a[0] = fmin(x, y);", "else a[1] = fmin(x, y);"),
    ("else a[0] = fmin(x, y);", "else a[0] = fmax(x, y);"),
]


@pytest.mark.parametrize("name, text, changes", [("a.py", PYTHON, OF_PYTHON), ("a.cl.mako", KERNEL, OF_KERNEL)])
def test_changes_of_a_text(tmp_path, name, text, changes):
    (tmp_path / name).write_text(text)
    found = [mutant.lines(text.encode()) for mutant in mutants_of(tmp_path, name)]
    assert sorted(found) == sorted(changes)


@pytest.mark.slow
def test_mutants_differ_by_one_line_and_are_programs():
    pools = [mutation.candidates(name, of) for name in mutation.FAMILIES for of in ("python", "kernels")]
    every = [mutant for pool in pools for mutants in pool.values() for mutant in mutants]
    assert len(every) > 20_000
    for mutant in random.Random(5).sample(every, 100):
        source = (mutation.ROOT / mutant.path).read_bytes()
        changed = mutant.applied(source)
        different = [one != other for one, other in zip(source.split(b"\n"), changed.split(b"\n"))]
        assert sum(different) == 1 and different[mutant.line - 1], mutant
        if mutant.path.endswith(".py"):
            ast.parse(changed)


@pytest.mark.slow
def test_draws_are_repeated_and_spread():
    drawn = mutation.draw(["hull", "dp"], "both", 40, seed=3)
    assert drawn == mutation.draw(["hull", "dp"], "both", 40, seed=3) != mutation.draw(["hull", "dp"], "both", 40, 4)
    groups = [(family, mutant.path.endswith(".py")) for family, mutant in drawn]
    assert max(groups.count(group) for group in set(groups)) - min(groups.count(group) for group in set(groups)) <= 2
    assert len({(mutant.path, mutant.line) for _, mutant in drawn}) == 40
    every = mutation.draw(["sequences"], "kernels", 10**6, 5)
    assert 300 < len(every) == len({(mutant.path, mutant.line) for _, mutant in every})


def test_names_of_tests_in_output():
    lines = "tests/a/test_b.py::test_c[x y-1] PASSED [  3%]", "tests/test_d.py::test_e SUBPASSED(n=3) [ 5%]"
    lines += (
        "tests/test_d.py::test_f[a b] ",
        "tests/test_d.py::test_h[of BLOSUM45] PASSED [ 6%]",
        "tests/test_d.py::test_h[the NUMBER n] FAILED [ 6%]",
        "tests/test_d.py:12: Error",
        "tests/test_d.py::test_g[a] Fatal Python error: x",
        *("=== FAILURES ===", "=== warnings summary ===", "tests/a/test_b.py::test_c[x y-1]", "  a warning"),
    )
    assert mutation.tests_in("\n".join(lines)) == [
        *("tests/a/test_b.py::test_c[x y-1]", "tests/test_d.py::test_e", "tests/test_d.py::test_f[a b]"),
        *("tests/test_d.py::test_h[of BLOSUM45]", "tests/test_d.py::test_h[the NUMBER n]"),
        "tests/test_d.py::test_g[a]",
    ]


def test_tests_of_like_names_come_first():
    for family, path, first in (
        ("sorting", "cl_src/keys/shell_chunk.h", "tests/sorting/test_shellsort.py"),
        ("hull", "templates/hull/wagener/hood_merge.cl.mako", "tests/hull/test_hoods.py"),
        ("commands", "clgeom/commands/tune.py", "tests/commands/test_tune_command.py"),
    ):
        files = mutation.test_files(family, path)
        assert first in files[:3] and set(mutation.SHARED_TESTS) <= set(files)
        assert all((mutation.ROOT / file).is_file() for file in files) and len(set(files)) == len(files)


def test_equivalents_are_lines_of_the_sources():
    for one in mutation.equivalents():
        source = (mutation.ROOT / one["path"]).read_bytes()
        found = [mutant.lines(source) for mutant in mutants_of(mutation.ROOT, one["path"])]
        assert (one["before"], one["after"]) in found, one
        assert len(one["reason"].split()) > 3, one


def test_table_of_the_page_adds_up():
    page = (mutation.ROOT / "docs" / "trust.rst").read_text(encoding="utf-8")
    rows = re.findall(r"^(\*\*)?(kernels|Python)(?:: \w+|\*\*) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", page, re.MULTILINE)
    sums = {"kernels": [0] * 5, "Python": [0] * 5}
    for whole, part, *numbers in rows:
        numbers = [int(number) for number in numbers]
        assert numbers[0] == sum(numbers[1:])
        if whole:
            assert numbers == sums[part]
        sums[part] = [before + number for before, number in zip(sums[part], numbers)]
    assert len(rows) == 2 + sum(bool(one.python) + bool(one.kernels) for one in mutation.FAMILIES.values())
    drawn, noticed, added, races, equivalent = (sum(column) // 2 for column in zip(*sums.values()))
    others = drawn - equivalent
    assert f"{noticed} of the {others} mutants that are not equivalent, {100 * noticed / others:.0f} %" in " ".join(
        page.split()
    )
    page = " ".join(page.split())
    assert f"Each of the other {added + races} was looked into: tests were added or widened for {added}, or" in page
    assert f"removed, and {races}, barriers and accesses beyond buffers, are noticed by" in page
    left_out = re.search(r"and (\w+) of seeds 21 and 22, (\w+) barriers and (\w+) accesses beyond arrays", page)
    assert left_out and f"{left_out[1].capitalize()} more kernel mutants of the last seeds" in page
    words = "none one two three four five six seven eight nine ten".split()
    assert words.index(left_out[1]) == words.index(left_out[2]) + words.index(left_out[3])


TOY = """
SEEN = []

def see(n):
    SEEN.append(n)

def most():
    return min(len(SEEN), 1)

def steps(n):
    count = 0
    while count < n:
        count += 1
    return count, n > 1 << 40
"""
TESTS = """
import pathlib

from toy import most, see, steps

def test_see():
    see(1), see(2)

def test_step():
    assert "copy" not in str(pathlib.Path.cwd())  # where mutants are tried

def test_steps():
    assert steps(3)[0] == 3 and most() <= 1  # the latter fails after test_see only
"""
VERDICTS = {
    "return max(len(SEEN), 1)": "killed",
    "count = 1": "survived",
    "count += 2": "killed",
    "return count, n > 2 << 40": "equivalent",
}


@pytest.mark.slow
def test_verdicts(tmp_path, monkeypatch, capfd):
    """And a test that fails without a mutant, too, kills none; one whose name goes on after its name still does."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS)
    chosen = [("toy", mutant) for mutant in mutants_of(tmp_path, "toy.py") if mutant.lines(TOY.encode())[1] in VERDICTS]
    equivalent = {"path": "toy.py", "before": "return count, n > 1 << 40", "after": "return count, n > 2 << 40"}
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    monkeypatch.setattr(mutation, "FAMILIES", {"toy": mutation.Family(("toy.py",), (), ("tests/test_toy.py",))})
    monkeypatch.setattr(mutation, "SHARED_TESTS", ())
    monkeypatch.setattr(mutation, "equivalents", lambda: [equivalent])
    monkeypatch.setattr(mutation, "draw", lambda *_: chosen)
    record = tmp_path / "record.json"
    assert mutation.main(["--family", "toy", "--jobs", "1", "--record", str(record)]) == 1
    results = json.loads(record.read_text())
    assert {one["after"]: one["verdict"] for one in results} == VERDICTS
    assert {one["by"] for one in results} == {"", "tests/test_toy.py::test_steps"}
    assert "without a mutant or not always: tests/test_toy.py::test_step\n" in capfd.readouterr().out
