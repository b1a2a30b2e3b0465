"""Programs of equations: shared by text, dropped on request, and never more than a bound."""

import gc
import subprocess
import sys
import threading
import tracemalloc
import weakref
from pathlib import Path

import pytest
from children import environment
from effort import LONG

from clgeom import dp
from clgeom.core import build
from clgeom.core.device import Session


def steps(k):
    return dp.Equation(f"i == 0 ? {k} : M(i - 1, j) + {k}", pattern="RUD")


def programs(session):
    return [key for key in build.program_keys(session) if build.is_of_users(key)]


def test_equations_of_one_text_share_a_program(session):
    own = Session(session.device)
    dp.fill(steps(6), (5, 3), device=own)
    before = len(programs(own))  # with those of a trial of the device
    for _ in range(3):
        assert dp.fill(steps(7), (5, 3), device=own).corner == 35
    assert len(programs(own)) == before + 1


def test_release(session):
    own = Session(session.device)
    one, other = steps(1), steps(2)
    dp.fill(steps(6), (5, 3), device=own)
    own.release()  # programs of a trial of the device
    for equation in (one, other):
        dp.fill(equation, (5, 3), device=own)
    table = dp.fill(one, (5, 3), device=own)
    others = len(build.program_keys(own)) - len(programs(own))
    assert len(programs(own)) == 2
    one.release(own)
    assert len(programs(own)) == 1 and table[4].tolist() == [5, 5, 5]
    assert dp.fill(one, (5, 3), device=own).corner == 5 and len(programs(own)) == 2
    own.release()
    assert not programs(own) and len(build.program_keys(own)) == others
    assert dp.fill(other, (5, 3), device=own).corner == 10


def test_sessions_and_equations_do_not_hold_each_other(session):
    """Also when fills keep what they chose, plans included."""
    own, other = Session(session.device), Session(session.device)
    equation, unused = (
        dp.Equation("i == 0 || j == 0 ? 1 : M(i-1, j) + M(i, j-1)", pattern="NOSE", name=name) for name in ("a", "b")
    )
    for _ in range(3):
        for one, device in ((unused, own), (equation, own), (equation, other)):
            assert dp.fill(one, (5, 5), path="tiles", device=device).corner == 70
    assert len(equation.cache.of("fills")) == 2
    gone = weakref.ref(unused), weakref.ref(other)
    del unused, other, one, device
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    assert dp.fill(equation, (5, 5), path="tiles", device=own).corner == 70
    assert len(equation.cache.of("fills")) == 2


@pytest.mark.slow
def test_a_service_does_not_grow(session, monkeypatch):
    """Thousands of equations in several threads keep a bounded number of programs and kernels, and little memory."""
    count, most = (600, 32) if LONG else (12, 3)
    monkeypatch.setattr(build, "MOST_OF_USERS", most)
    own = Session(session.device)
    held, errors = [], []

    def serve(first):
        try:
            for k in range(first, first + count // 2):
                assert dp.fill(steps(k), (5, 3), device=own).corner == 5 * k
                kernels = own.thread_cache.of("programs of users")
                assert max(len(programs(own)), len(kernels)) <= most
                if k - first in (1, count // 2 - 1):
                    gc.collect()
                    held.append((tracemalloc.get_traced_memory()[0], memory()))
        except BaseException as error:
            errors.append(error)

    tracemalloc.start()
    try:
        for first in range(1000, 1000 + 2 * count, count // 2):
            thread = threading.Thread(target=serve, args=(first,))
            thread.start()
            thread.join()
    finally:
        tracemalloc.stop()
    assert not errors
    # of the later threads, by when all is loaded; what one of them alone takes is nothing that each fill keeps
    grown = [(end[0] - begin[0], end[1] - begin[1]) for begin, end in zip(held[2::2], held[3::2])]
    assert len(grown) == 3
    assert min(python for python, _ in grown) < 1 << 20
    if LONG:
        assert min(rss for _, rss in grown) < 64 << 20


def memory():
    """Bytes of this process in memory; 0 where that is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


@pytest.mark.parametrize("check", (True, "auto"))
def test_a_released_equation_is_checked_again(session, check):
    equation = dp.Equation("i == 0 ? 1 : M(i - 1, j) * 2", pattern="RUD")
    for _ in range(2):
        assert dp.fill(equation, (6, 2), check=check, device=session).corner == 32
        equation.release(session)


GROWTH = """
import numpy as np, clgeom
from pathlib import Path
from clgeom import dp

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

session = clgeom.Session({name!r})
fill = lambda k: dp.fill(dp.Equation(f"i == 0 ? {{k}} : M(i-1, j) + 1", dtype="int64"), (5, 5), device=session).corner
fill(1)
session.release()
begin = resident()
assert [fill(k) for k in range(2, 14)] == list(range(6, 18))
grown = resident() - begin
session.release()
print(grown, resident() - begin)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory as Linux counts it")
def test_release_returns_memory_to_the_system(session):
    """What a compiler took of the heap for programs."""
    if session.profile.runtime != "pocl":
        pytest.skip("about PoCL")
    command = [sys.executable, "-c", GROWTH.format(name=session.profile.name)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    grown, left = map(int, done.stdout.split())
    assert grown > 8 << 20 and left < grown / 2, done.stdout
