"""Graphs over the chunks of collections: a task for each chunk, and trees that join the results of neighbours.

chunks   | 0 | 1 | 2 | .. | 31 | 32 | 33 | ..
leaves     |   |   |        |    |    |          the partial result of each chunk, on the worker that has it
joins      +---+---+--..----+    +----+--..      `split_every` neighbours at a time, in their order
result             +-------------+               the last join
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.base import get_annotations, tokenize
from dask.core import get_dependencies
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from clgeom.arguments import integer, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, short
from clgeom.optional import is_instance

#: Partial results of one join. More make less depth, and a larger union on one worker. A level takes as long as 5 to 10
#: tasks more, and 32 hulls have a few thousand vertices.
SPLIT_EVERY = 32
EXPECTED = "an array, a dataframe, a series or a bag of Dask"


@dataclass(frozen=True, eq=False)
class Blocks:
    """The chunks of a collection: their keys, the graph that makes them, their numbers of rows if these are known."""

    keys: tuple[Any, ...]
    graph: HighLevelGraph
    rows: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.keys)


def is_array(value: Any) -> bool:
    return isinstance(value, da.Array)


def is_frame(value: Any) -> bool:
    """Return whether a value is a dataframe of Dask, of dask-geopandas too."""
    return is_instance(value, "dask.dataframe", "DataFrame")


def is_series(value: Any) -> bool:
    return is_instance(value, "dask.dataframe", "Series")


def is_bag(value: Any) -> bool:
    return is_instance(value, "dask.bag", "Bag")


def is_collection(value: Any) -> bool:
    return is_array(value) or is_frame(value) or is_series(value) or is_bag(value)


def blocks_of(collection: Any) -> Blocks:
    """Return the chunks of a collection, whose graph is optimised first."""
    chunks = np.ravel(collection.to_delayed()).tolist() if is_array(collection) else list(collection.to_delayed())
    graph = _with_futures(chunks[0].dask, collection)
    rows = None
    if is_array(collection):
        heights = collection.chunks[0]
        sizes = np.repeat(heights, len(chunks) // max(len(heights), 1)).tolist()
        rows = None if any(map(math.isnan, sizes)) else tuple(sizes)
    return Blocks(tuple(chunk.key for chunk in chunks), graph, rows)


def _with_futures(graph: HighLevelGraph, collection: Any) -> HighLevelGraph:
    """Return a collection's optimised graph with its futures, which Dask's optimisation drops."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return graph
    nodes = collection.__dask_graph__()
    futures = {key: value for key, value in nodes.items() if isinstance(value, distributed.Future) and key not in graph}
    if not futures:
        return graph
    name = f"futures-{tokenize(sorted(futures, key=str))}"
    return HighLevelGraph.merge(graph, HighLevelGraph({name: MaterializedLayer(futures)}, {name: set()}))


def require_alike(first: Blocks, second: Blocks, name: str, *, caller: str) -> None:
    """Refuse collections whose chunks do not go together."""
    if len(first) != len(second):
        raise wrong(
            name, caller, f"as many chunks as the other collection, {len(first):,}", f"{len(second):,}", verb="have"
        )
    if first.rows is not None and second.rows is not None and first.rows != second.rows:
        k = next(k for k, (one, other) in enumerate(zip(first.rows, second.rows)) if one != other)
        raise wrong(
            name,
            caller,
            "chunks of as many rows as the other collection",
            f"{second.rows[k]:,} for {first.rows[k]:,} in chunk {k}: collections of equal length can be rechunked",
            verb="have",
        )


def checked_resources(resources: Any, *, caller: str) -> dict[str, float] | None:
    """Return the `resources` parameter, as `distributed` takes it."""
    if resources is None:
        return None
    if not isinstance(resources, Mapping) or not all(
        isinstance(name, str) and isinstance(amount, (int, float)) and amount is not True and amount > 0
        for name, amount in resources.items()
    ):
        raise wrong("resources", caller, 'amounts by name, such as {"GPU": 1}', short(resources))
    return dict(resources)


def name_of(what: str, collections: Sequence[Any], *options: Any) -> str:
    """Return the name of a result: the same for the same collections and options, another for others."""
    return f"clgeom-{what}-{tokenize(*collections, *options)}"


def graph_over(name: str, tasks: dict[Any, Any], sources: Sequence[Blocks], resources: Any) -> HighLevelGraph:
    """Return the graphs of the chunks with a layer of these tasks.

    A chunk is made within the task that uses it, not in one of its own: so no worker sends chunks to another one, and
    resources are those of the worker that reads. 4e7 points of Parquet on two workers took 2.1 s, and 4.2 s with tasks
    of their own. What is persisted, or used by other tasks too, stays.
    """
    base = HighLevelGraph.merge(*(blocks.graph for blocks in sources))
    nodes = dict(base)
    used = Counter(needed for key in nodes for needed in get_dependencies(nodes, key))
    chunks = {key: nodes[key] for blocks in sources for key in blocks.keys if not used[key] and is_task(nodes.get(key))}
    tasks = {
        key: (function, *(chunks.get(one, one) if isinstance(one, (str, tuple)) else one for one in arguments))
        for key, (function, *arguments) in tasks.items()
    }
    kept = {key: task for key, task in nodes.items() if key not in chunks}
    read, annotations = f"{name}-read", dict(get_annotations())  # those in force where the caller is
    if resources:
        annotations["resources"] = resources
    layer = MaterializedLayer(tasks, annotations=annotations or None)
    return HighLevelGraph({read: MaterializedLayer(kept), name: layer}, {read: set(), name: {read}})


def is_task(node: Any) -> bool:
    """Return whether a node of a graph is a call, and no value, future or other name."""
    return hasattr(node, "func") or (isinstance(node, tuple) and len(node) > 0 and callable(node[0]))


def leaf_tasks(name: str, leaf: Callable[..., Any], options: Any, sources: Sequence[Blocks]) -> dict[Any, Any]:
    """Return a task ``leaf(options, number, chunk of each source ..)`` for each chunk."""
    return {
        (f"{name}-chunk", number): (partial(_of_lists, leaf, options, number), *keys)
        for number, keys in enumerate(zip(*(blocks.keys for blocks in sources)))
    }


@keeps_subnormals
def _of_lists(leaf: Callable[..., Any], options: Any, number: int, *chunks: Any) -> Any:
    """Return the result of a leaf; partitions of bags may be iterators, which it gets as lists."""
    return leaf(options, number, *(list(chunk) if isinstance(chunk, Iterator) else chunk for chunk in chunks))


def tree(
    name: str,
    leaf: Callable[..., Any],
    join: Callable[..., Any],
    finish: Callable[..., Any],
    options: Any,
    sources: Sequence[Blocks],
    *,
    split_every: Any,
    resources: Any,
    caller: str,
) -> Delayed:
    """Graph of ``finish(options, result)`` of the joined results of ``leaf(options, number, chunk ..)``."""
    width = integer(split_every, "split_every", caller=caller, least=2)
    tasks = leaf_tasks(name, leaf, options, sources)
    keys, level = list(tasks), 0
    while len(keys) > width:
        groups = [keys[first : first + width] for first in range(0, len(keys), width)]
        tasks |= {
            (f"{name}-join-{level}", k): (partial(_joined, join, options), group) for k, group in enumerate(groups)
        }
        keys, level = [(f"{name}-join-{level}", k) for k in range(len(groups))], level + 1
    tasks[name] = (partial(_last, join, finish, options), keys)
    graph = graph_over(name, tasks, sources, checked_resources(resources, caller=caller))
    return Delayed(name, graph, layer=name)


@keeps_subnormals
def _joined(join: Callable[..., Any], options: Any, results: list[Any]) -> Any:
    """Return the result of a join of neighbours. Threads of Dask may flush subnormal numbers."""
    return join(options, results)


@keeps_subnormals
def _last(join: Callable[..., Any], finish: Callable[..., Any], options: Any, results: list[Any]) -> Any:
    """Return the result of the last join."""
    return finish(options, join(options, results))


@contextlib.contextmanager
def in_chunk(number: int) -> Iterator[None]:
    """Name the chunk in errors of its data."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{error} This is chunk {number} of the collection; indices are those in it.") from error
