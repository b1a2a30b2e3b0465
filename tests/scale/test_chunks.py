"""Sources of chunks: reading ahead in bounded memory, errors and ends."""

import itertools
import sqlite3
import threading
import time

import numpy as np
import pytest

import clgeom
from clgeom import scale
from clgeom.dp import problems
from clgeom.errors import InvalidInput
from clgeom.intake import chunks as module
from clgeom.intake.chunks import Chunks, Meter, as_chunks, read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "clgeom-read"]


@pytest.fixture(autouse=True)
def no_threads_left():
    yield
    for thread in readers():
        thread.join(60)
    assert not readers()


@pytest.mark.parametrize("thread", (True, False))
@pytest.mark.parametrize("max_bytes", (1, 5, 1000))
def test_items_come_in_order(thread, max_bytes):
    meter = Meter()
    items = read_ahead(range(100), max_bytes=max_bytes, size=lambda item: 1, meter=meter, thread=thread)
    assert list(items) == list(range(100))
    assert meter.held == 0 and 1 <= meter.most <= max(max_bytes, 1)


@pytest.mark.parametrize("sizes", ([3] * 40, [1, 9, 2, 30, 1, 1], [50], []))
def test_what_is_held_is_bounded(sizes):
    """By the limit, or by what the source gives at once."""
    meter, seen, alive = Meter(), [], 0
    for item in read_ahead(sizes, max_bytes=10, size=lambda item: item, meter=meter):
        time.sleep(0.001)
        seen.append(item)
        alive = max(alive, meter.held)
    largest = max(sizes, default=0)
    assert seen == sizes and alive <= meter.most <= max(10, 2 * largest) and meter.held == 0


def test_the_thread_is_ahead_but_not_too_far():
    begun = []

    def source():
        for number in range(50):
            begun.append(number)
            yield number

    items = read_ahead(source(), max_bytes=4, size=lambda item: 1)
    assert next(items) == 0
    deadline = time.monotonic() + 60
    while len(begun) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert begun == [0, 1, 2, 3]
    items.close()


@pytest.mark.parametrize("thread", (True, False))
def test_an_error_comes_in_its_place(thread):
    def source():
        yield from range(3)
        raise KeyError("lost")

    seen = []
    with pytest.raises(KeyError, match="lost"):
        for item in read_ahead(source(), max_bytes=100, size=lambda item: 1, thread=thread):
            seen.append(item)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("thread", (True, False))
def test_the_source_is_closed_early(thread):
    closed = threading.Event()

    def source():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    meter = Meter()
    items = read_ahead(source(), max_bytes=3, size=lambda item: 1, meter=meter, thread=thread)
    assert next(items) == 0
    items.close()
    assert closed.wait(60) and meter.held == 0


def test_a_source_that_blocks_does_not_hold_its_reader(monkeypatch):
    monkeypatch.setattr(module, "END_SECONDS", 0.05)
    go, ended = threading.Event(), threading.Event()

    def source():
        yield 1
        go.wait(60)
        ended.set()
        yield 2

    items = read_ahead(source(), max_bytes=100, size=lambda item: 1)
    assert next(items) == 1
    items.close()
    assert not ended.is_set()
    go.set()


def test_chunks_that_can_be_read_again():
    for source in ([1, 2], lambda: iter([1, 2]), lambda: [1, 2]):
        chunks = Chunks(source)
        assert chunks.is_reiterable and list(chunks) == list(chunks) == [1, 2]
        chunks.require_reiterable("here", caller="test")
    once = Chunks(iter([1, 2]))
    assert not once.is_reiterable and list(once) == [1, 2]
    with pytest.raises(InvalidInput, match="have been read already, and it gives them once. Pass clgeom.scale.Chunks"):
        list(once)
    with pytest.raises(InvalidInput, match="test reads the chunks several times for fun, and an iterator"):
        once.require_reiterable("for fun", caller="test")
    assert repr(once) == "Chunks(max_bytes=268,435,456, to be read once)" and repr(Chunks([])).endswith("456)")


class Items:
    """An iterator of a class of its own."""

    def __init__(self, items):
        self.items = list(items)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.items:
            raise StopIteration
        return self.items.pop(0)


#: Ways to make an iterator of a list.
ITERATORS = {
    "generator": lambda items: (item for item in items),
    "list": iter,
    "tuple": lambda items: iter(tuple(items)),
    "map": lambda items: map(lambda item: item, items),
    "chain": itertools.chain,
    "islice": lambda items: itertools.islice(items, 9),
    "own": Items,
}
POINTS = np.array([(0, 0), (4, 0), (4, 3), (0, 3.0)])
#: Functions that take iterators, with chunks.
TAKERS = {
    "convex_hull": (clgeom.convex_hull, [POINTS, POINTS]),
    "convex_hulls_by_label": (clgeom.convex_hulls_by_label, [(POINTS, np.zeros(4, int))]),
    "adaptive_region": (
        lambda chunks: clgeom.adaptive_region(chunks, 2, cuts="width", bounds=(0, 0, 9, 9)),
        [POINTS, POINTS],
    ),
    "coverage_regions": (lambda chunks: clgeom.coverage_regions(chunks, 2, outline="segments"), [np.eye(2), np.eye(2)]),
    "align": (lambda chunks: list(clgeom.align(chunks, path=False)), [(["ACG"], ["AC"])]),
    "edit_distance": (lambda chunks: list(problems.edit_distance(chunks)), [(["ACG"], ["AC"])]),
    "lcs": (lambda chunks: list(problems.lcs(chunks)), [(["ACG"], ["AC"])]),
}


@pytest.mark.parametrize("kind", ITERATORS)
@pytest.mark.parametrize("name", TAKERS)
def test_iterators_that_were_read_are_refused(name, kind):
    take, chunks = TAKERS[name]
    for wrap in (lambda iterator: iterator, Chunks):
        read, used = ITERATORS[kind](chunks), ITERATORS[kind](chunks)
        list(read)
        with pytest.raises(InvalidInput, match="The iterator of chunks has no chunk: it may have been read already"):
            take(wrap(read))
        take(wrap(used))
        with pytest.raises(InvalidInput, match="The iterator of chunks has no chunk: it may have been read already"):
            take(wrap(used))


def test_iterators_that_are_new_may_be_empty():
    for source in (iter([]), iter(()), (chunk for chunk in ()), [], (), lambda: map(len, [])):
        assert list(Chunks(source)) == []
        assert clgeom.convex_hull(Chunks(source if not hasattr(source, "__next__") else [])).n == 0
    for source in (map(len, []), Items([])):  # which do not tell whether they are new
        with pytest.raises(InvalidInput, match="has no chunk"):
            list(Chunks(source))


def test_sort_file_refuses_an_iterator_that_was_read(tmp_path):
    keys = iter([np.arange(3.0)])
    assert scale.sort_file(keys, tmp_path / "sorted.npy").n == 3
    with pytest.raises(InvalidInput, match="The iterator of chunks has no chunk"):
        scale.sort_file(keys, tmp_path / "sorted.npy")


def test_what_is_taken_as_chunks():
    chunks = Chunks([])
    assert as_chunks(chunks) is chunks
    assert isinstance(as_chunks(iter([])), Chunks) and isinstance(as_chunks(x for x in ()), Chunks)
    assert as_chunks([]) is None and as_chunks(np.zeros(3)) is None and as_chunks("ab") is None


@pytest.mark.parametrize(
    "arguments, said",
    (
        (((3,), {}), "'source' parameter of Chunks must be an iterable of chunks, or a function"),
        ((([],), {"max_bytes": 0}), "'max_bytes' parameter of Chunks must be an integer from 1"),
        ((([],), {"max_bytes": 1.5}), "'max_bytes' parameter"),
        ((([],), {"read_ahead": "no"}), "'read_ahead' parameter of Chunks must be True or False"),
        ((([],), {"copy": None}), "'copy' parameter of Chunks must be True or False"),
    ),
)
def test_wrong_parameters(arguments, said):
    with pytest.raises(InvalidInput, match=said):
        Chunks(*arguments[0], **arguments[1])


def test_a_source_for_the_callers_thread_alone(session):
    from clgeom import convex_hull

    base = sqlite3.connect(":memory:")
    base.execute("create table p (x real, y real)")
    base.executemany("insert into p values (?, ?)", [(k % 7, k % 11) for k in range(500)])

    def source():
        cursor = base.execute("select x, y from p")
        while rows := cursor.fetchmany(100):
            yield rows

    hull = convex_hull(Chunks(source, read_ahead=False), device=session)
    assert hull.n == 500 and hull.area == 60.0
    with pytest.raises(sqlite3.ProgrammingError, match="thread"):
        convex_hull(Chunks(source), device=session)
