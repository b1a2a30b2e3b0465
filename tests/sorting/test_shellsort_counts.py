"""Counts of shellsort against a plain Python simulation."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import shellsort as reference
from shellsorts import few, random, shapes

from clgeom import shellsort
from clgeom.core.build import build
from clgeom.core.device import Session
from clgeom.core.launch import allocate, fill, read, write
from clgeom.core.policies import Policy
from clgeom.core.render import render_text
from clgeom.core.tuning import override
from clgeom.sorting.shellsort.codes import Codes
from clgeom.sorting.shellsort.rejected import shellsort_d
from clgeom.sorting.shellsort.sort import SEVERAL_ITEMS

pytestmark = pytest.mark.optimised


@functools.cache
def small_session(session):
    """With local memory for 64 keys of 4 bytes; it builds its kernels once."""
    return Session(session.device, context=session.context, local_mem_bytes=512)


@pytest.mark.parametrize("variant", ["0", "A", "B", "C", "D", "E", "F"])
@pytest.mark.parametrize("wg_size", [1, 8])
def test_counts_match_the_simulation(subtests, session, variant, wg_size):
    small = small_session(session)
    rng = np.random.default_rng(8)
    with override({**shapes(wg_size, 8), "sorting/shellsort/shell_a": Policy("group", wg_size=1)}):
        for n, most, least in ((50, 512, 1), (200, 512, 5), (201, 6, 2), (333, 16, 1), (5, 3, 2)):
            with subtests.test(n=n, most=most, least=least):
                if variant == "E" and n // most > 64:
                    continue
                several = variant in SEVERAL_ITEMS
                items = {"max_items_per_subsequence": most, "min_elements_per_item": least} if several else {}
                for keys in (random(rng, n, np.dtype(np.int32)), few(rng, n, np.dtype(np.int32))):
                    result = shellsort(
                        keys,
                        variant=variant,
                        **items,
                        device=small,
                        stats=True,
                    )
                    wanted, phases = reference.shellsort(
                        keys.tolist(), variant, result.gaps, most_items=most, least_elements=least, capacity=64
                    )
                    assert result.keys.tolist() == wanted
                    found = [
                        reference.Counted(p.gap, p.groups, p.items_per_group, p.passes, p.reads, p.writes)
                        for p in result.phases
                    ]
                    assert found == phases


@pytest.mark.parametrize("wg_size", [1, 8])
@pytest.mark.parametrize(("exchanges", "resting"), [(1, True), (2, False), (3, True)])
def test_rejected_forms_sort_with_the_counts_of_the_simulation(session, exchanges, resting, wg_size):
    rng = np.random.default_rng(9)
    with override(shapes(wg_size, 8)):
        for n, most, least in ((200, 512, 5), (201, 6, 2), (5, 3, 2), (1, 1, 1)):
            for keys in (random(rng, n, np.dtype(np.int32)), few(rng, n, np.dtype(np.int32))):
                items = {"max_items_per_subsequence": most, "min_elements_per_item": least}
                result = shellsort_d(keys, exchanges=exchanges, resting=resting, **items, device=session)
                form = "D", exchanges, resting
                gaps = result.gaps if n > 1 else ()
                wanted, phases = reference.shellsort(keys.tolist(), form, gaps, most_items=most, least_elements=least)
                assert result.keys.tolist() == wanted == sorted(keys.tolist())
                found = [
                    reference.Counted(p.gap, p.groups, p.items_per_group, p.passes, p.reads, p.writes)
                    for p in result.phases
                ]
                assert found == phases


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=60),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_rejected_forms_end_sorted(keys, most, least, exchanges, resting):
    """The simulation, with which the kernels agree, ends sorted for any keys and chunks."""
    gaps, form = (5, 1) if len(keys) > 5 else (1,), ("D", exchanges, resting)
    found, _ = reference.shellsort(keys, form, gaps, most_items=most, least_elements=least)
    assert found == sorted(keys)


#: Every item sorts `rows` keys, and adds what that takes to what it counted before: `reads` and its number, `writes`.
COUNTING = """
#define WG_SIZE {wg_size}
typedef uint code_t;
#define COUNTING 1
#include "keys/shell_chunk.h"
kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void counted(global uint *codes, const uint rows, const ulong reads, const ulong writes, global ulong *counts)
{{
    traffic_t traffic = {{reads + get_global_id(0), writes}};
    insertion_{way}(codes + get_global_id(0) * rows, 0, 1, rows, &traffic);
    COUNT_GROUP(counts, get_group_id(0), traffic, 1);
}}
"""


@pytest.mark.parametrize("wg_size", (1, 8, 64))
@pytest.mark.parametrize("way", ("upwards", "downwards", "carrying"))
def test_counts_have_64_bits(session, wg_size, way):
    """Sums of a work-item, of a group, and of several launches, each beyond 2**32 and carrying into its upper half."""
    groups, rows, launches = 2, 10, 3
    items = wg_size * groups
    reads, writes = (1 << 32) - 2, (1 << 35) + (1 << 32) - 1
    source = render_text(COUNTING.format(wg_size=wg_size, way=way))
    kernel = build(session, source).counted
    keys, counts = allocate(session, 4 * rows * items), allocate(session, 24 * groups)
    fill(session, counts, np.uint64(0), 3 * groups)
    for _ in range(launches):
        write(session, keys, np.tile(np.arange(rows, dtype=np.uint32)[::-1], items))
        kernel(
            session.queue,
            (items,),
            (wg_size,),
            keys,
            np.uint32(rows),
            np.uint64(reads),
            np.uint64(writes),
            counts,
        )
    # In a reversed h-subsequence each element meets all before it; the one that is carried along is not read again.
    written = rows * (rows - 1) // 2 + rows - 1
    met = rows * (rows - 1) // 2 + 1 if way == "carrying" else written
    found = read(session, counts, np.uint64, 3 * groups).reshape(-1, 3).tolist()
    for group, counted in enumerate(found):
        numbers = sum(range(group * wg_size, (group + 1) * wg_size))
        per_item = launches * wg_size
        assert counted == [per_item * (reads + met) + launches * numbers, per_item * (writes + written), launches]


@pytest.mark.parametrize("variant", ["0", "A", "D", "F"])
def test_counts_of_a_phase_go_beyond_32_bits(session, variant, monkeypatch):
    """What is counted before 2**32 and after it adds up to one number."""
    before = (1 << 32) - 5
    clear = Codes.clear

    def preloaded(codes, name, count, number=np.uint32):
        clear(codes, name, count, number)
        if name == "counts":
            fill(codes.session, codes.buffers[name], number(before), count)

    keys = random(np.random.default_rng(15), 300, np.dtype(np.uint32))
    plain = shellsort(keys, variant=variant, stats=True, device=session)
    monkeypatch.setattr(Codes, "clear", preloaded)
    found = shellsort(keys, variant=variant, stats=True, device=session)
    for a, b in zip(plain.phases, found.phases):
        assert (b.reads, b.writes) == (a.reads + before * b.groups, a.writes + before * b.groups)


def test_items_are_those_of_the_study(session):
    """The study's example: 100 elements, at most a quarter as many items as an h-subsequence has elements."""
    result = shellsort(np.arange(100), variant="B", min_elements_per_item=4, device=session)
    found = [(p.gap, p.groups, p.items_per_group) for p in result.phases]
    assert found == [(41, 41, 1), (19, 19, 1), (5, 5, 5), (1, 1, 25)]
    assert [p.items for p in result.phases] == [41, 19, 25, 25]


def test_stats_and_times_only_when_asked_for(session):
    keys = random(np.random.default_rng(9), 500, np.dtype(np.float32))
    plain = shellsort(keys, variant="D", device=session)
    assert plain.seconds is None and all(p.reads is None and p.passes is None for p in plain.phases)
    full = shellsort(keys, variant="D", device=session, stats=True, profile=True)
    assert full.seconds > 0 and all(p.reads >= 0 and p.passes >= 1 and p.seconds > 0 for p in full.phases)
    assert full.phases[0].asdict()["gaps"] == [full.phases[0].gap]
    auto = shellsort(keys, device=session, profile=True)
    assert all(p.passes == 1 and p.reads >= 500 and p.writes == 500 for p in auto.phases)
