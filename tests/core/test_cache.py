"""Results that sessions, threads and equations keep: made once, bounded, and for the policies in force."""

import ast
import copy
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import clgeom
from clgeom.core import stored_policies
from clgeom.core.cache import MOST, Cache
from clgeom.core.device import Session
from clgeom.core.policies import Policy
from clgeom.core.tuning import override, select

KERNEL = "hull/orient2d_signs"
#: Names of parameters with few different values: kernels, files and folders, classes of policies, types of elements.
FEW = {"dtype", "family", "folder", "kernel", "made", "name", "variant"}


def counter():
    made = []

    def make():
        made.append(len(made))
        return made[-1]

    return make


def test_results_are_made_once_and_the_older_half_is_dropped():
    cache, make = Cache(), counter()
    assert [cache.get(("a", k), make) for k in (1, 2, 1, 2)] == [0, 1, 0, 1]
    assert cache.get(("b", 1), make) == 2 and cache.known(("a", 1)) == 0 and cache.known(("c", 1)) is None
    assert [cache.get(("c", k), make, most=2) for k in (1, 2, 3, 2, 3, 1)] == [3, 4, 5, 4, 5, 6]
    for k in range(3 * MOST):
        cache.get(("d", k), make)
        assert len(cache.of("d")) <= MOST
    assert list(cache.of("d"))[-1] == ("d", 3 * MOST - 1)
    cache.drop(("a", 1))
    cache.drop(("a", 1))
    assert cache.of("a") == {("a", 2): 1}


def test_none_is_a_result_and_an_error_is_not():
    cache, calls = Cache(), []
    for _ in range(2):
        assert cache.get(("a",), lambda: calls.append(1)) is None
    assert calls == [1]
    with pytest.raises(ZeroDivisionError):
        cache.get(("b",), lambda: 1 / 0)
    assert cache.get(("b",), lambda: 7) == 7


@pytest.mark.parametrize("lock", (None, threading.RLock()))
def test_threads_have_one_result(lock):
    cache, made, together = Cache(lock), [], threading.Barrier(4)

    def make():
        made.append(object())
        return made[-1]

    def ask(_):
        together.wait()
        return [cache.get(("a", k), make, most=16) for k in range(8)]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(ask, range(4))
    assert all(other == first for other in others) and (lock is None or len(made) == 8)


def test_a_result_may_need_others_of_the_same_cache():
    cache = Cache(threading.RLock())
    assert cache.get(("a", 1), lambda: cache.get(("a", 2), lambda: 5) + 1) == 6


def test_copies_start_empty():
    cache = Cache(threading.RLock())
    cache.get(("a",), lambda: 1)
    for twin in (copy.copy(cache), copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert not twin._by_kind


def test_plans_are_for_the_policies_in_force(session, monkeypatch, tmp_path):
    monkeypatch.setenv("CLGEOM_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(stored_policies, "current", stored_policies._Store())
    fresh, make = Session(session.device), counter()

    def plan():
        return fresh.cached(("plan", 1), make, policies=True)

    assert plan() == plan() == 0 == fresh.known(("plan", 1), policies=True)
    assert fresh.known(("plan", 1)) is None
    for _ in range(2):
        with override({KERNEL: Policy("serial", wg_size=1)}):
            assert plan() == 1
    assert plan() == 0
    policy = Policy("serial", wg_size=1, items_per_thread=7)
    stored_policies.store_policy(fresh.profile, KERNEL, policy, measured=json.loads("{}"))
    assert plan() == 0
    stored_policies.reload_store()
    assert select(fresh.profile, KERNEL) == policy and plan() == 2


def test_threads_have_kernels_of_their_own(session):
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: session.thread_cache).result()
    assert session.thread_cache is session.thread_cache is not other


def test_functions_that_keep_results_have_a_bound():
    """`functools.cache` has none, so it is for functions without arguments, or with few different ones."""
    for path in Path(clgeom.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                if any(ast.unparse(one) in ("functools.cache", "cache") for one in node.decorator_list):
                    names = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
                    assert names <= FEW, f"bound {node.name} of {path} by functools.lru_cache, or enter {names - FEW}"
