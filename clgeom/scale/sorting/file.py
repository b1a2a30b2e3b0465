"""Sort more keys than fit in memory: `sort_file`::

    keys      chunk 0 | chunk 1 | ..      each sorted by the leading bits of its keys, by the radix sort
    buckets   a..c | d..f | ..            one file; each chunk adds to every bucket
    output    a..c | d..f | ..            some buckets at a time are loaded, sorted by all bits, and written

All keys are read twice and written twice, the second time over buckets that were read (`runs`). By how many bits
chunks are sorted is told by a sample: of 64 bits usually the first 8 are enough.

The less memory, the fewer keys has a chunk, and the fewer buckets there are. A bucket that does not fit in memory is
divided into buckets of its own, in another file, when its turn comes: another pass over the keys for each factor by
which the buckets divide them. Too many keys of a bucket that are equal are in order.

Chunks of an unknown number of keys become runs instead, each in a file (`runs`): the blocks that are loaded are cut
from all runs, or many runs are divided into buckets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from clgeom.arguments import boolean, function, size_in_bytes
from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.core.messages import printable
from clgeom.errors import InvalidInput
from clgeom.intake.typing import AnyArray, DeviceLike
from clgeom.io.atomic import check_output, check_outputs
from clgeom.scale.sorting.job import FileSort
from clgeom.scale.sorting.job import SortedFile as SortedFile
from clgeom.scale.sorting.sources import CALLER, ChunkKeys, FileKeys

#: Endings of outputs.
OUTPUTS = (".npy",)
#: Least memory that is accepted: writes of less would take longer than sorts.
LEAST_BYTES = 1_000_000


@keeps_subnormals
def sort_file(
    keys: str | os.PathLike[str] | AnyArray | Iterable[AnyArray],
    out: str | os.PathLike[str],
    *,
    max_bytes: int | str = "1 GB",
    descending: bool = False,
    indices: str | os.PathLike[str] | None = None,
    device: DeviceLike = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> SortedFile:
    """Sort keys that need not fit in memory, and write them to a .npy file in the order of `sort`.

    Parameters
    ----------
    keys : path of a .npy file, array, or iterable of arrays, shape (n,) each
        Keys of any type that `sort` takes, all of one type. An iterable is read once, in a thread.
    out : path-like
        The .npy file for the sorted keys, in native byte order. It appears when it is complete.
    max_bytes : int or str
        Memory to use, such as 500_000_000, "500 MB" or "2 GiB", at least "1 MB". Python and the device's driver take
        about 150 MB more.
    descending : bool
        As in `sort`.
    indices : path-like, optional
        A second .npy file, for what `argsort` returns: the index of each key in the input, int64.
    device : optional
        As everywhere in clgeom.
    progress : callable, optional
        Called as progress(done, in_all), in bytes of keys that are read; every key is read twice. The second number is
        None as long as it is unknown.

    Returns
    -------
    SortedFile

    Raises
    ------
    InvalidInput
        The input is no such file, array or iterable, changes while it is read, or has keys of several types; `out` is
        the input, cannot be written, or another process is writing it; the disk has too little room.

    See Also
    --------
    clgeom.sort : Arrays in memory.

    Notes
    -----
    Keys are sorted in a hidden folder beside `out`, which needs about a tenth more room than the results: twice as much
    for an iterable, or where keys are unlike a sample of them. `indices` may be on another disk, which needs room for
    this file besides: it is copied there in the end. For the path of a file that folder is kept after an
    interruption or an error, as of a full disk. The same call then goes on from there; to begin anew, remove the
    folder. It is removed in the end, and always for arrays and iterables.

    Examples
    --------
    >>> import clgeom, numpy as np, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.save(os.path.join(folder.name, "keys.npy"), [0.5, np.nan, -1.0, 2.0])
    >>> found = clgeom.scale.sort_file(os.path.join(folder.name, "keys.npy"), os.path.join(folder.name, "sorted.npy"))
    >>> found.keys.tolist()
    [-1.0, 0.5, 2.0, nan]
    """
    max_bytes = size_in_bytes(max_bytes, "max_bytes", caller=CALLER, least=LEAST_BYTES)
    descending = boolean(descending, "descending", caller=CALLER)
    progress = None if progress is None else function(progress, "progress", caller=CALLER)
    path = keys if isinstance(keys, (str, os.PathLike)) else None
    check_output(out, OUTPUTS)  # of several outputs, None is one that is not wanted
    check_outputs(path, (out, OUTPUTS), (indices, OUTPUTS))
    source = ChunkKeys(keys) if path is None else FileKeys(path)
    outs = tuple(Path(os.path.realpath(path)) for path in (out, indices) if path is not None)
    work = FileSort(source, outs, max_bytes, descending, as_session(device), progress)
    try:
        return work.run()
    except OSError as error:
        if error is source.error:
            raise
        name = printable(os.fspath((out, indices or out)[work.writing]))
        raise InvalidInput(f"The output '{name}' cannot be written: {error.strerror or error}.{work.kept()}") from error
