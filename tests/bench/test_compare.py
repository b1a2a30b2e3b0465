"""The command that compares two commits: what it finds in equal, slower, other and failing code."""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # behind all others: its names are plain

import compare
import compare_cases

import clgeom
from clgeom.core.device import named

ROOT = Path(compare.__file__).resolve().parents[1]
#: A clgeom whose sorts are slow and descend, with the modules of this one.
OTHER = """
import time
import numpy as np
__path__.append({path!r})
__version__ = {version!r}  # that of the verdicts on the device
def Session(device=None):
    from clgeom.core.device import Session
    return Session(device)
def sort(keys, device=None):
    time.sleep(0.02)
    return np.sort(keys)[::-1].copy()
"""


def times(middle, spread=0.01, count=20, seed=0):
    rng = random.Random(seed)
    return [middle * (1 + rng.uniform(-spread, spread)) for _ in range(count)]


def test_judged_is_about_the_medians():
    row = compare.judged(times(1.0), times(1.0, seed=1), times(1.2, seed=2))
    assert row["new/old"] == pytest.approx(1.2, rel=0.02) and row["old ms"] == pytest.approx(1e3, rel=0.02)
    assert 0 < row["noise"] < 0.02
    assert compare.judged(times(1.0), times(1.5), times(1.0))["noise"] > 0.4  # two processes of the same differ
    assert compare.judged(times(1.0), times(1.0), times(1.0, spread=0.9))["noise"] > 0.2


def test_slower_is_beyond_noise_threshold_and_usual_noise():
    def row(case, ratio, noise):
        return {"case": case, "new/old": ratio, "noise": noise}

    rows = [row("a", 1.2, 0.05), row("b", 1.2, 0.3), row("c", 1.04, 0.01), row("d", 0.5, 0.01), row("e", 1.06, 0.01)]
    assert compare.slower(rows, 0.05) == ["a", "e"]
    assert compare.slower([row("a", 1.2, 0.01), row("b", 1.0, 0.3), row("c", 1.0, 0.3)], 0.05) == []
    assert compare.slower([{"case": "a", "said": "old: no such call", "failed": False}], 0.05) == []


def test_every_case_runs_and_repeats_its_result(session):
    cases = compare_cases.Cases(session, 0.002)
    assert len(cases.known) >= 12
    for name in cases.known:
        first = cases.answer(name, 0)
        assert first["seconds"] > 0 and cases.answer(name, 0)["digest"] == first["digest"]
        assert cases.answer(name, 2)["seconds"] > 0


def test_digests_tell_results_apart():
    values = [compare_cases.np.arange(5), compare_cases.np.arange(5.0), 5, 5.0, [compare_cases.np.arange(5)]]
    assert len(set(map(compare_cases.digest, values))) == len(values)


def test_equal_commits_are_said_to_be_equal(capsys, monkeypatch):
    rows = [{"case": "sort", "old ms": 1.0, "new ms": 1.02, "new/old": 1.02, "noise": 0.03, "results": "same"}]
    monkeypatch.setattr(compare, "measured", lambda folders, names, options: rows)
    assert compare.main([str(ROOT), str(ROOT)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "nothing is slower beyond the noise, and all results are the same" and len(said) == 3


@pytest.mark.skipif(not named("cpu"), reason="needs a CPU device")
@pytest.mark.slow
def test_other_and_slower_code_is_found_beside_a_commit(capsys, tmp_path, monkeypatch):
    (tmp_path / "clgeom").mkdir()
    (tmp_path / "clgeom" / "__init__.py").write_text(
        OTHER.format(path=str(ROOT / "clgeom"), version=clgeom.__version__)
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    is_git = (ROOT / ".git").exists()
    how = ["--what", "sort small,hull small", "--seconds", "0", "--scale", "0.01", "--threshold", "3"]
    assert compare.main(["HEAD" if is_git else str(ROOT), str(tmp_path), *how, "--device", "cpu"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-3:] == ["slower: sort small", "other results: sort small", "failed: hull small"]
    assert any("no attribute 'convex_hull'" in line for line in said)
    if is_git:
        worktrees = subprocess.run(["git", "-C", str(ROOT), "worktree", "list"], capture_output=True, text=True)
        assert worktrees.returncode == 0 and str(temporary) not in worktrees.stdout and not list(temporary.iterdir())


def test_what_cannot_be_compared_is_said_in_a_line(capsys):
    assert compare.main(["no-such-commit", str(ROOT)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("compare.py: git worktree says: ") and "no-such-commit" in errors
    with pytest.raises(compare.Stopped, match="no case begins with nothing; there are hull small, batch"):
        compare.chosen(["hull small", "batch"], "hull,nothing")
    assert compare.chosen(["hull small", "batch", "sort"], "hull,batch") == ["hull small", "batch"]
    assert compare.chosen(["hull small", "batch"], None) == ["hull small", "batch"]


def test_code_that_cannot_be_imported_is_said(tmp_path, capsys):
    (tmp_path / "clgeom").mkdir()
    (tmp_path / "clgeom" / "__init__.py").write_text("raise ImportError('damaged')\n")
    assert compare.main([str(tmp_path), str(tmp_path)]) == 2
    assert "damaged" in capsys.readouterr().err


def test_a_process_that_ends_is_said(tmp_path, capsys):
    (tmp_path / "clgeom").mkdir()
    (tmp_path / "clgeom" / "__init__.py").write_text(
        "import os, sys; print('out of luck', file=sys.stderr); os._exit(7)\n"
    )
    assert compare.main([str(tmp_path), str(tmp_path)]) == 2
    assert "ended with code 7: out of luck" in capsys.readouterr().err


@pytest.mark.parametrize("words", (["--seconds", "nan"], ["--scale", "-1"], ["--threshold", "inf"]))
def test_bad_numbers_are_refused(capsys, words):
    with pytest.raises(SystemExit) as ended:
        compare.main(["HEAD", ".", *words])
    assert ended.value.code == 2 and f"{words[0]}: must be finite and at least 0" in capsys.readouterr().err
