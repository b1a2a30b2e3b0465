"""Bars: on a terminal only, after half a second, with the time left where work says how far it is."""

import io
import re
import sys
import time

import numpy as np
import pytest

import clgeom
from clgeom.commands import terminal
from clgeom.core.call import each, watched
from clgeom.io.keys import read_numbers, write_numbers


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(monkeypatch):
    """What a terminal would show. Called in a test: pytest replaces stderr between fixtures and tests."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(terminal, "BAR_AFTER_SECONDS", 0.01)
    for name, value in (("TERM", "xterm"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return shown


def wait_for(screen, words):
    until = time.monotonic() + 20
    while words not in screen.getvalue():
        assert time.monotonic() < until, screen.getvalue()
        time.sleep(0.02)


def test_bar_has_the_time_that_passes_then_the_share_and_the_time_left(monkeypatch):
    screen = on_a_terminal(monkeypatch)
    with terminal.progress("sorting [a file]") as progress:
        wait_for(screen, "0:00")
        assert "sorting [a file]" in screen.getvalue() and "%" not in screen.getvalue()
        progress(1, 4)
        time.sleep(0.1)
        progress(2, 4)
        wait_for(screen, "50%")
        wait_for(screen, " left")


def test_bar_is_not_drawn_for_short_work_nor_without_a_terminal(monkeypatch):
    screen = on_a_terminal(monkeypatch)
    monkeypatch.setattr(terminal, "BAR_AFTER_SECONDS", 30)
    with terminal.progress("sorting") as progress:
        progress(1, 1)
    with terminal.progress("sorting", hidden=True) as progress:
        assert progress is None
    assert "sorting" not in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal.progress("sorting") as progress:
        assert progress is None


def test_first_calls_say_that_kernels_are_compiled(monkeypatch):
    screen = on_a_terminal(monkeypatch)
    call = terminal.Call(None, as_json=False)
    found, work = call.compute(lambda a, as_json: wait_for(screen, "compiles kernels") or a, 3, as_json=4)
    assert found == 3 and work.seconds > 0
    screen.truncate(0)
    terminal.Call(None, as_json=True).compute(time.sleep, 0.1)
    assert not screen.getvalue()


def test_each_reports_only_when_watched(session):
    seen = []
    assert list(each(session, range(3))) == [0, 1, 2]
    with watched(lambda *share: seen.append(share)):
        assert list(each(session, range(3))) == [0, 1, 2]
        with watched(None):
            list(each(session, range(2)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("variant", ("A", "F", "auto"))
def test_shellsort_reports_each_phase(session, variant):
    keys, seen = np.random.default_rng(1).permutation(5000).astype(np.int32), []
    with watched(lambda *share: seen.append(share)):
        result = clgeom.shellsort(keys, variant=variant, device=session)
    assert (result.keys == np.arange(5000)).all()
    assert seen == [(k + 1, len(result.phases)) for k in range(len(result.phases))]


def test_numbers_report_reading_and_writing(tmp_path):
    keys, seen = np.arange(150_000), []
    write_numbers(tmp_path / "keys.csv", keys, progress=lambda *share: seen.append(share))
    assert seen[-1] == (150_000, 150_000) and len(seen) == 3
    seen.clear()
    assert (read_numbers(tmp_path / "keys.csv", progress=lambda *share: seen.append(share)) == keys).all()
    assert seen[-1][0] == seen[-1][1] == (tmp_path / "keys.csv").stat().st_size


@pytest.mark.parametrize("columns, lines", ((200, 2), (80, 3), (40, 2)))
def test_tables_cut_no_text_off_in_narrow_terminals(monkeypatch, capsys, columns, lines):
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", columns), ("LINES", 24), ("TERM", "xterm")):
        monkeypatch.setenv(name, str(value))
    heads = ("family", "case", ">size", "clgeom", ">figure", "rival", ">times as fast", "faster")
    row = ("sort", "host, float32", "1e6", "argsort", "20.3 ms", "np.argsort stable", "8.32", "from 10,000 on")
    terminal.print_table(heads, [row])
    text = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)
    assert len(text.splitlines()) == lines and "…" not in text
    letters = "".join(text.split())
    assert sorted(letters) == sorted("".join(word.lstrip(">") for word in (*heads, *row)).replace(" ", ""))
