"""Edit distances, common subsequences and alignments of Dask's collections are those of all pairs at once."""

import numpy as np
import pytest

import clgeom
from clgeom import errors
from clgeom.dp import problems

dask = pytest.importorskip("dask")
da, db = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
import clgeom.dask as lazily  # noqa: E402


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def letters(count, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), rng.integers(1, 40))) for _ in range(count)]


def test_values_of_pairs():
    dd, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    a, b = letters(50, 1), letters(50, 2)
    collections = [
        [db.from_sequence(one, npartitions=4) for one in (a, b)],
        [da.from_array(np.array(one), chunks=13) for one in (a, b)],
        [da.from_array(np.array(one, object), chunks=13) for one in (a, b)],
        [dd.from_pandas(pandas.Series(one), npartitions=3) for one in (a, b)],
        [db.from_sequence(list(zip(a, b)), npartitions=6)],
    ]
    for function in ("edit_distance", "lcs"):
        for options in ({}, {"score_cutoff": 9}):
            expected = getattr(problems, function)(a, b, **options)
            for given_ in collections:
                found = getattr(lazily, function)(*given_, **options)
                assert found.dtype == np.int32 and found.compute().tolist() == expected.tolist()
        one = getattr(lazily, function)(collections[0][0], b[0]).compute()
        assert one.tolist() == getattr(problems, function)(a, [b[0]] * 50).tolist()
    rows = np.random.default_rng(3).integers(0, 4, (30, 17), np.int64)
    found = lazily.edit_distance(da.from_array(rows, chunks=(7, 9)), da.from_array(rows[::-1], chunks=(7, 17)))
    assert found.chunks == ((7, 7, 7, 7, 2),)
    assert found.compute().tolist() == problems.edit_distance(rows, rows[::-1]).tolist()
    table = dd.from_pandas(pandas.DataFrame({"a": a, "b": b}), npartitions=3)
    table = table.assign(distance=lazily.edit_distance(table["a"], table["b"])).compute()
    assert table["distance"].tolist() == problems.edit_distance(a, b).tolist()


def test_partitions_that_are_iterators():
    a, b = letters(9, 1), letters(9, 2)
    pairs = db.from_sequence(list(zip(a, b)), npartitions=3).map_partitions(lambda part: (pair for pair in part))
    expected = problems.edit_distance(a, b).tolist()
    assert lazily.edit_distance(pairs).compute().tolist() == expected
    assert lazily.edit_distance(pairs.map(lambda pair: pair[0]), "ACGT").compute().tolist() == [
        problems.edit_distance(one, "ACGT").distance for one in a
    ]
    points = db.from_sequence([(0, 0), (4, 0), (1, 1), (4, 3), (0, 3)], npartitions=2)
    found = lazily.convex_hull(points.map_partitions(lambda part: iter(list(part)))).compute()
    assert found.vertices.tolist() == [0, 1, 3, 4]


def test_single_letters_and_empty_chunks_are_batches():
    a = db.from_sequence(["A", "C", "G", "GA"], npartitions=4).filter(lambda text: text != "C")
    b = db.from_sequence(["A", "G", "TT"], npartitions=3)
    assert lazily.lcs(a, "GA").compute().tolist() == [1, 1, 2]
    with pytest.raises(errors.InvalidInput, match="as many chunks"):
        lazily.lcs(a, b)
    assert lazily.edit_distance(da.from_array(np.array(["A", "C"]), chunks=2), "C").compute().tolist() == [1, 0]


def test_alignments_are_a_table():
    dd, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    a, b = letters(30, 1), letters(30, 2)
    index = pandas.Index(np.arange(30) * 2, name="read")
    frame = dd.from_pandas(pandas.DataFrame({"a": a, "b": b}, index=index), npartitions=4)
    options = {"mode": "local", "matrix": "NUC.4.4", "strand": "both"}
    for path in (True, False):
        lazy = lazily.align(frame["a"], frame["b"], path=path, **options)
        found, expected = lazy.compute(), clgeom.align(a, b, path=path, **options)
        assert found.index.equals(index) and lazy.divisions == frame.divisions
        assert found.dtypes.equals(lazy.dtypes) and ("cigar" in found) == path
        for name in ("score", "a_start", "a_end", "b_start", "b_end", "strand"):
            assert found[name].tolist() == getattr(expected, f"{name}s").tolist()
        assert not path or found["cigar"].tolist() == expected.cigars
    pairs = db.from_sequence(list(zip(a, b)), npartitions=3)
    assert lazily.align(pairs, **options).compute()["cigar"].tolist() == clgeom.align(a, b, **options).cigars
    with pytest.raises(errors.InvalidInput, match="options of dask.align are mode, .* Got 'matrices'"):
        lazily.align(pairs, matrices=None)


@pytest.mark.parametrize(
    "options, said",
    (
        ({"mode": "globl"}, "'mode' parameter of align"),
        ({"matrix": "BLOSUM99"}, "'matrix' parameter of align"),
        ({"strand": "sideways"}, "'strand' parameter of align"),
        ({"band": -1}, "'band' parameter of align"),
        ({"gap_open": -2}, "'gap_open' parameter of align"),
        ({"free_ends": "x", "mode": "semiglobal"}, "'free_ends' parameter of align"),
        ({"path": 3}, "'path' parameter of dask.align"),
    ),
)
def test_options_are_checked_at_once(options, said):
    reads = db.from_sequence(["ACGT", "AC"], npartitions=2)
    with pytest.raises(errors.InvalidInput, match=said):
        lazily.align(reads, "ACG", **options)
    with pytest.raises(errors.InvalidInput, match="'score_cutoff' parameter of dask.lcs"):
        lazily.lcs(reads, "ACG", score_cutoff="few")


def test_malformed_sequences_name_their_chunk():
    bag = db.from_sequence(["ACGT", "AC", None, "GT"], npartitions=2)
    with pytest.raises(errors.InvalidInput, match="str or bytes. Got None at index 0 instead.*chunk 1"):
        lazily.lcs(bag, "AC").compute()
    with pytest.raises(errors.InvalidInput, match="bag of pairs.*Got 'AC' at index 1.*chunk 0"):
        lazily.edit_distance(db.from_sequence([("A", "C"), "AC"], npartitions=1)).compute()
    with pytest.raises(errors.InvalidInput, match="letters of the alphabet|alphabet.*chunk 1"):
        lazily.align(db.from_sequence(["ACGT", "AC!"], npartitions=2), "ACG", matrix="NUC.4.4").compute()
    short = db.from_sequence(["A", "C", "G"], npartitions=1), db.from_sequence(["A", "C"], npartitions=1)
    with pytest.raises(errors.InvalidInput, match="as many sequences as 'a', 3. Got 2"):
        lazily.lcs(*short).compute()
    with pytest.raises(errors.InvalidInput, match="left out for a bag of pairs"):
        lazily.lcs(da.from_array(np.array(["AC"])))
