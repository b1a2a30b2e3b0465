"""Edit distances, longest common subsequences and alignments of pairs of sequences in the chunks of collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from clgeom.arguments import boolean, instance, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dask.graphs import (
    Blocks,
    blocks_of,
    checked_resources,
    graph_over,
    in_chunk,
    is_array,
    is_bag,
    is_collection,
    is_series,
    leaf_tasks,
    name_of,
    require_alike,
)
from clgeom.dask.workers import checked_device, session_of_worker
from clgeom.errors import InvalidInput, short
from clgeom.optional import require
from clgeom.sequences import align as alignments
from clgeom.sequences import distances
from clgeom.sequences.pairs_bits import cutoff_of

EXPECTED = "a bag, a series or an array of Dask that holds sequences"
#: Columns of the table of alignments, without the path.
COLUMNS = {
    "score": np.int64,
    "a_start": np.int64,
    "a_end": np.int64,
    "b_start": np.int64,
    "b_end": np.int64,
    "strand": np.int8,
}


@keeps_subnormals
def edit_distance(
    a: Any,
    b: Any = None,
    *,
    score_cutoff: int | None = None,
    device: str | None = None,
    resources: dict[str, float] | None = None,
) -> da.Array:
    """Fewest symbols to insert, delete or change for each pair of sequences (Levenshtein's distance); lazily.

    Parameters
    ----------
    a, b : Bag, dask.dataframe.Series or dask.array.Array
        Sequences as str or bytes, or an array of integers with a sequence in each row. `b` has as many chunks as `a`,
        of equal lengths. One str or bytes goes with each of the other. Without `b` the items of a bag are pairs.
    score_cutoff : int, optional
        Distances beyond it become ``score_cutoff + 1``.
    device, resources
        As for `convex_hull`.

    Returns
    -------
    dask.array.Array of int32, shape (pairs,)
        With the chunks of the sequences.

    Raises
    ------
    InvalidInput
        Collections do not go together. When it is computed, for an item that is no sequence; the message names the
        chunk.

    Examples
    --------
    >>> import dask.bag, clgeom.dask
    >>> pairs = dask.bag.from_sequence([("kitten", "sitting"), ("cat", "cart")], npartitions=2)
    >>> clgeom.dask.edit_distance(pairs).compute(scheduler="threads").tolist()
    [3, 1]
    """
    return _values("edit_distance", a, b, {"score_cutoff": score_cutoff}, device, resources)


@keeps_subnormals
def lcs(
    a: Any,
    b: Any = None,
    *,
    score_cutoff: int | None = None,
    device: str | None = None,
    resources: dict[str, float] | None = None,
) -> da.Array:
    """Return the lengths of the longest common subsequences of pairs of sequences; lazily.

    Parameters
    ----------
    a, b, device, resources
        As for `edit_distance`.
    score_cutoff : int, optional
        Lengths below it become 0.

    Returns
    -------
    dask.array.Array of int32, shape (pairs,)
        With the chunks of the sequences.

    Raises
    ------
    InvalidInput
        As for `edit_distance`.

    Examples
    --------
    >>> import dask.bag, clgeom.dask
    >>> reads = dask.bag.from_sequence(["abcbdab", "cat"], npartitions=2)
    >>> clgeom.dask.lcs(reads, "bdcaba").compute(scheduler="threads").tolist()
    [4, 2]
    """
    return _values("lcs", a, b, {"score_cutoff": score_cutoff}, device, resources)


@keeps_subnormals
def align(a: Any, b: Any = None, *, path: bool = True, device: str | None = None, **options: Any) -> Any:
    """Align sequences in pairs: a table of scores, positions and CIGARs; lazily.

    Parameters
    ----------
    a, b, device
        As for `edit_distance`.
    path : bool
        Find the alignments, not only scores and ends.
    **options
        Those of `clgeom.align` but offsets: mode, match, mismatch, matrix, gap_open, gap_extend, free_ends, strand,
        band, ends.

    Returns
    -------
    dask.dataframe.DataFrame
        Columns `score`, `a_start`, `a_end`, `b_start`, `b_end`, `strand` (1 or -1), and with `path` also `cigar`. Its
        partitions are the chunks of the sequences. The index is that of a series, else it counts within the partition.

    Raises
    ------
    InvalidInput
        As for `edit_distance`; an option is none of `clgeom.align`, or has a value that it refuses; pandas or PyArrow
        is not installed.

    Examples
    --------
    >>> import dask.bag, clgeom.dask
    >>> reads = dask.bag.from_sequence(["ACTTCAG", "ACGTTCA"], npartitions=2)
    >>> table = clgeom.dask.align(reads, "ACGTTCA", matrix="NUC.4.4").compute(scheduler="threads")
    >>> table["cigar"].tolist()
    ['2=1I4=1D', '7=']
    """
    caller = "dask.align"
    require("pandas", "clgeom.dask.align", "dask")
    require("PyArrow", "clgeom.dask.align", "dask")
    import dask.dataframe as dd

    for name in options:
        if name not in ALIGN_OPTIONS:
            raise InvalidInput(f"The options of {caller} are {', '.join(ALIGN_OPTIONS)}. Got {short(name)} instead.")
    if isinstance(options.get("free_ends"), Iterator):  # read for each chunk
        options["free_ends"] = tuple(options["free_ends"])
    alignments.align(iter(()), **options)  # checks the options; no chunk, so nothing is computed
    task = PairsTask("align", options | {"path": boolean(path, "path", caller=caller)}, device)
    name, tasks, sources, first = _tasks(task, a, b)
    graph = graph_over(name, tasks, sources, None)
    parts = [Delayed(key, graph, layer=name) for key in tasks]
    divisions = {"divisions": first.divisions} if is_series(first) else {}
    return dd.from_delayed(parts, meta=_table(task, [], None), prefix="clgeom-align", verify_meta=False, **divisions)


ALIGN_OPTIONS = ("mode", "match", "mismatch", "matrix", "gap_open", "gap_extend", "free_ends", "strand", "band", "ends")


@dataclass(frozen=True)
class PairsTask:
    """The work on a chunk: a function, its options, and the sequences that go with all chunks."""

    function: str
    options: dict[str, Any]
    device: str | None
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def caller(self) -> str:
        return f"dask.{self.function}"


def _values(function: str, a: Any, b: Any, options: dict[str, Any], device: str | None, resources: Any) -> da.Array:
    cutoff_of(options["score_cutoff"], caller=f"dask.{function}")
    task = PairsTask(function, options, device)
    name, tasks, sources, _ = _tasks(task, a, b)
    graph = graph_over(name, tasks, sources, checked_resources(resources, caller=task.caller))
    rows = sources[0].rows or (np.nan,) * len(sources[0])
    return da.Array(graph, name, (tuple(rows),), np.int32)


def _tasks(task: PairsTask, a: Any, b: Any) -> tuple[str, dict[Any, Any], list[Blocks], Any]:
    """(name, tasks, chunks, first collection) of a task."""
    checked_device(task.device, caller=task.caller)
    if b is None and not is_bag(a):
        raise wrong("b", task.caller, f"{EXPECTED}, or left out for a bag of pairs", "none")
    collections = {name: one for name, one in (("a", a), ("b", b)) if is_collection(one)}
    constants = {name: one for name, one in (("a", a), ("b", b)) if name not in collections and one is not None}
    if not collections:
        raise wrong("a", task.caller, EXPECTED, f"{type(a).__name__}; without Dask: clgeom's {task.function}")
    for name, one in constants.items():
        instance(one, (str, bytes), f"{EXPECTED}, or one str or bytes", name, caller=task.caller)
    chosen = [_whole_rows(one, name, task.caller) for name, one in collections.items()]
    sources = [blocks_of(one) for one in chosen]
    for other in sources[1:]:
        require_alike(sources[0], other, "b", caller=task.caller)
    task = PairsTask(task.function, task.options, task.device, constants)
    name = name_of(task.function.replace("_", "-"), chosen, task)
    tasks = {(name, k): task for k, task in enumerate(leaf_tasks(name, _results_of_chunk, task, sources).values())}
    return name, tasks, sources, chosen[0]


def _whole_rows(collection: Any, name: str, caller: str) -> Any:
    """Return the collection of one sequence; sequences in the rows of an array are not cut."""
    if is_array(collection):
        rows = collection.dtype.kind in "iu"
        if collection.ndim != 1 + rows:
            shape = f"{collection.dtype} of shape {collection.shape}"
            raise wrong(name, caller, "strings of shape (n,), or rows of integers of shape (n, letters)", shape)
        return collection.rechunk({1: -1}) if rows and collection.numblocks[1] > 1 else collection
    if not (is_bag(collection) or is_series(collection)):
        raise wrong(name, caller, EXPECTED, type(collection).__name__)
    return collection


def _sequences(task: PairsTask, chunks: Sequence[Any]) -> tuple[Any, Any, int, Any]:
    """Return the sequences a and b of a chunk, and its index if it has one."""
    index = getattr(chunks[0], "index", None) if not isinstance(chunks[0], list) else None
    if len(chunks) == 1 and not task.constants:
        pairs = chunks[0]
        for k, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise wrong("a", task.caller, "a bag of pairs of sequences", f"{short(pair)} at index {k}")
        columns = {"a": [pair[0] for pair in pairs], "b": [pair[1] for pair in pairs]}
    else:
        columns = dict(zip([name for name in ("a", "b") if name not in task.constants], chunks))
    sequences = {name: _listed(column, name, task.caller) for name, column in columns.items()}
    n = len(next(iter(sequences.values())))
    if any(len(column) != n for column in sequences.values()):
        raise wrong("b", task.caller, f"as many sequences as 'a', {n:,}", f"{len(sequences['b']):,}", verb="have")
    sequences |= {name: [one] * n for name, one in task.constants.items()}
    return sequences["a"], sequences["b"], n, index


def _listed(chunk: Any, name: str, caller: str) -> Any:
    """Sequences of a chunk: rows of integers and text of Arrow as they are, others as a list of str or bytes."""
    if isinstance(chunk, np.ndarray) and chunk.ndim == 2:
        return chunk
    if getattr(getattr(chunk, "dtype", None), "storage", None) == "pyarrow":  # text of pandas
        import pyarrow

        text = pyarrow.array(chunk.array)
        if not text.null_count:
            return text
    values = list(chunk) if isinstance(chunk, (list, tuple)) else chunk.tolist()
    for k, value in enumerate(values):
        if not isinstance(value, (str, bytes)):
            raise wrong(name, caller, "sequences of str or bytes", f"{short(value)} at index {k}")
    return values


def _results_of_chunk(task: PairsTask, number: int, *chunks: Any) -> Any:
    """Return the values of the pairs of a chunk, or the table of their alignments."""
    with in_chunk(number):
        a, b, n, index = _sequences(task, chunks)
        options: dict[str, Any] = {**task.options, "device": session_of_worker(task.device)} if n else {}
        if task.function == "align":
            return _table(task, alignments.align(a, b, **options) if n else [], index)
        return getattr(distances, task.function)(a, b, **options) if n else np.empty(0, np.int32)


def _table(task: PairsTask, batch: Any, index: Any) -> Any:
    import pandas

    if not len(batch):
        columns = {name: np.empty(0, dtype) for name, dtype in COLUMNS.items()}
    else:
        columns = {name: getattr(batch, f"{name}s").astype(dtype) for name, dtype in COLUMNS.items()}
    if task.options["path"]:
        columns["cigar"] = pandas.Series(batch.cigars if len(batch) else [], dtype=pandas.Series([""]).dtype).array
    return pandas.DataFrame(columns, index=index)
