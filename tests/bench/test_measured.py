"""Hashes of what a record measured: they change with kernels, headers, policies and modules, and with nothing else."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import measured
import report

import clgeom
from clgeom.core import sources, tuning
from clgeom.core.device import Session
from clgeom.core.families import rows_of
from clgeom.core.policies import Policy
from clgeom.hull.policies import POLICIES

ROOT = Path(__file__).resolve().parents[2]
SIEVE = "hull/sieve/sieve_serial"


@pytest.fixture
def record(session):
    """What a record of a hull would carry, and the device it names."""
    if not session.profile.is_cpu:
        pytest.skip("names the serial kernels")
    alone = Session(session.device)  # other tests have built more kernels
    clgeom.convex_hull(np.random.default_rng(1).normal(size=(100_000, 2)), device=alone)
    return {"device": alone.profile.name, **measured.measured(alone)}


def test_record_names_the_kernels_and_the_modules_that_planned_them(record):
    assert SIEVE in record["kernels"] and measured.CHECK not in record["kernels"]
    assert {"clgeom/hull/convex.py", "clgeom/hull/sieve/sieve.py", *measured.SHARED} <= set(record["modules"])
    families = {name.split("/")[0] for name in record["kernels"]} | {"core", "intake"}
    assert {path.split("/")[1] for path in record["modules"]} <= families
    assert measured.changed(json.loads(json.dumps(record))) == []


def test_what_several_processes_measured_is_one_record(record):
    names = sorted(record["kernels"])
    parts = [{**record, "kernels": {name: record["kernels"][name]}, "tuned": {name: ["x"]}} for name in reversed(names)]
    whole = measured.together([{"kernels": {}, "modules": {}}, *parts, {}])
    assert len(names) > 1 and list(whole["kernels"].items()) == sorted(record["kernels"].items())
    assert whole["modules"] == record["modules"] and whole["tuned"] == {name: ["x"] for name in names}
    assert whole["hashes"] == measured.FORMAT


def test_record_without_hashes_is_of_unknown_age():
    assert measured.changed({"device": "any", "rows": []}) is None
    assert measured.changed({"device": "any", "kernels": {}, "modules": {}}) is None  # its children built them


def test_changed_names_the_kernels_that_include_a_header(record, monkeypatch):
    true = sources.header
    name = next(name for name in measured.sources.INCLUDE.findall(sources.template("hull/sieve/sieve", "serial")))
    monkeypatch.setattr(sources, "header", lambda asked: true(asked) + ("// said\n" if asked == name else ""))
    assert measured.changed(record) == []
    monkeypatch.setattr(sources, "header", lambda asked: true(asked) + ("int more;\n" if asked == name else ""))
    assert SIEVE in measured.changed(record)
    assert not any(path.endswith(".py") for path in measured.changed(record))


def test_changed_names_kernels_that_are_gone(record):
    record["kernels"]["hull/sieve/former"] = record["kernels"].pop(SIEVE)
    record["modules"]["clgeom/hull/former.py"] = "0"
    assert measured.changed(record) == ["hull/sieve/former", "clgeom/hull/former.py"]


def test_changed_names_a_kernel_whose_policy_on_its_device_is_another(record, monkeypatch):
    rows = rows_of("hull/sieve/sieve")
    others = {**rows, "another vendor": Policy("group", wg_size=32), "any": Policy("group", wg_size=32)}
    monkeypatch.setitem(POLICIES, "hull/sieve/sieve", others)
    assert measured.changed(record) == []
    own = {**rows, "cpu": Policy("serial", wg_size=1, items_per_thread=77)}
    monkeypatch.setitem(POLICIES, "hull/sieve/sieve", own)
    assert measured.changed(record) == [SIEVE]
    monkeypatch.setitem(POLICIES, "hull/sieve/sieve", {**rows, "cpu": lambda profile, dtype, n: rows["any"]})
    assert measured.changed(record) == [SIEVE]


def test_changed_names_kernels_whose_policies_have_other_defaults(record, monkeypatch):
    @dataclass(frozen=True)
    class Other(Policy):
        groups_per_unit: int = 3

    rows, one = rows_of("hull/sieve/sieve"), Policy("serial", wg_size=1)
    Other.__name__ = "Policy"
    for policy, expected in ((one, []), (Other("serial", wg_size=1), [SIEVE])):
        if not expected:
            monkeypatch.setitem(POLICIES, "hull/sieve/sieve", {**rows, "cpu": one})
            profile = {key: record[key] for key in ("device", "architecture", "runtime", "kind")}
            record["kernels"][SIEVE] = measured.kernel_hash(SIEVE, measured.rows_of(*profile.values()))
        monkeypatch.setitem(POLICIES, "hull/sieve/sieve", {**rows, "cpu": policy})
        assert measured.changed(record) == expected


def test_hashes_of_another_format_say_nothing(record):
    assert "clgeom/core/policies.py" in record["modules"]
    former = {name: value for name, value in record.items() if name != "hashes"}
    assert measured.changed(former) is None and measured.changed({**record, "hashes": 1}) is None
    assert "cannot be compared" in report.age(former)


def test_record_names_policies_that_are_not_shipped(session):
    """Rows of the table that did not run are named nowhere, and their changes are none of the record's."""
    if not session.profile.is_cpu:
        pytest.skip("names the serial kernels")
    kernel, alone = "hull/sieve/sieve", Session(session.device)
    own = Policy("serial", wg_size=1, items_per_thread=1024, groups_per_unit=4)
    with tuning.override({kernel: own}):
        clgeom.convex_hull(np.random.default_rng(1).normal(size=(100_000, 2)), device=alone)
        record = {"device": alone.profile.name, **measured.measured(alone)}
    assert record["tuned"] == {kernel: [str(own)]} and measured.changed(record) == []
    assert "other policies than those that ship, of hull/sieve/sieve" in report.age(record)
    del record["tuned"]
    assert measured.changed(record) == [SIEVE]


def test_changed_names_modules(record, monkeypatch, tmp_path):
    for path in record["modules"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    monkeypatch.setattr(measured, "ROOT", tmp_path)
    file = tmp_path / "clgeom/hull/convex.py"
    file.write_text(file.read_text() + "\n\n# said\n")
    assert measured.changed(record) == []
    file.write_text(file.read_text() + "MORE = 1\n")
    assert measured.changed(record) == ["clgeom/hull/convex.py"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int a = 1;  // said\nint b;", "int a = 1;\n\n  int b;"),
        ("int a /* of\nlines */ = 1;", "int a=1;"),
        ("## said\nint a;", "int a;"),
        ('f("a // b"); // c', 'f("a // b");'),
        ("a = b+c;", "a  =  b + c ;"),
        ("#define  A \\\n 1\nint b;", "#define A 1\n\nint b;"),
    ],
)
def test_plain_source_leaves_out_comments_and_spaces(one, other):
    assert measured.plain_source(one) == measured.plain_source(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int a[${n // 2}];", "int a[${n // 4}];"),
        ("% for k in range(n // 2):\nx\n% endfor", "% for k in range(n // 4):\nx\n% endfor"),
        ("<%\nk = n // 2\n%>", "<%\nk = n // 4\n%>"),
        ('f("a // b");', 'f("a // c");'),
        ("int a;", "inta;"),
        ("a = b; // c\nd = e;", "a = b; // c"),
        ("#define S (x)", "#define S(x)"),
        ("#define S 1\nint a;", "#define S 1 int a;"),
        ("a - -b;", "a--b;"),
        ('f("a  b");', 'f("a b");'),
        ("${kind} a;", "${kind}a;"),
    ],
)
def test_plain_source_keeps_what_counts(one, other):
    assert measured.plain_source(one) != measured.plain_source(other)


def test_plain_python_leaves_out_docstrings_comments_and_format():
    one = '"""Module."""\n\ndef f(a, b=None):\n    """Say."""\n    return {"a": a,  # first\n            \'b\': (b)}\n'
    other = 'def f(\n    a, b=None\n):\n    return {"a": a, "b": b}'
    assert measured.plain_python(one) == measured.plain_python(other)
    assert measured.plain_python(one) != measured.plain_python(other.replace("None", "0"))
    assert measured.plain_python("a = None") != measured.plain_python("a = ...")
    assert measured.plain_python("f'{a}b'") != measured.plain_python("f'{a}c'")


def test_page_is_what_the_report_writes():
    text = (ROOT / "docs" / "benchmarks.rst").read_text(encoding="utf-8")
    assert text == report.page(), "a record, kernel or module changed: run  python bench/report.py --text"


def test_report_says_what_changed(record):
    assert report.age(record) == ""
    for count, said in ((1, "``hull/a0``."), (8, " and 2 more.")):
        kernels = record["kernels"] | {f"hull/a{k}": "0" for k in range(count)}
        assert report.age({**record, "kernels": kernels}).endswith(said)
    assert "before records named" in report.age({"device": "any", "rows": []})
    assert "are not named" in report.age({"device": "any", "kernels": {}, "modules": {}, "rows": []})
