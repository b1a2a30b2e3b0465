"""Values of pairs of sequences by any measure of `clgeom.sequences.measures`."""

from __future__ import annotations

from typing import Any

from clgeom.arguments import one_of
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.dispatch import dispatch
from clgeom.intake.interop.cuda import takes_cuda
from clgeom.intake.letters import Batch, choose_sessions_of, in_pairs
from clgeom.intake.typing import DevicesLike, NDArray
from clgeom.sequences.distances import PairsWork
from clgeom.sequences.measures import MEASURES, Measured


@keeps_subnormals
@takes_cuda
def cpdist(
    a: Batch,
    b: Batch,
    *,
    problem: Measured = "edit",
    score_cutoff: float | None = None,
    device: DevicesLike = None,
) -> NDArray[Any]:
    """Distances or similarities of pairs of sequences, the first of one batch with the first of another and so on.

    Parameters
    ----------
    a, b : list of str or of bytes, array of strings, or (letters, offsets)
        As many sequences each, as in `edit_distance`.
    problem : {"edit", "lcs", "indel", "ratio", "partial_ratio", "jaro", "jaro_winkler"}
        As in `dp.cdist`.
    score_cutoff : int or float, optional
        Distances beyond it become ``score_cutoff + 1``, lengths and similarities below it 0.
    device : str, pyopencl.Device or Session, or several, optional
        "all", or a list of devices, shares pairs on the host out among them.

    Returns
    -------
    ndarray of int32 or float64, shape (pairs,)

    Raises
    ------
    InvalidInput
        Something is no batch; there are not as many of `a` as of `b`; the cutoff is no value of the problem.

    See Also
    --------
    clgeom.dp.cdist : Each sequence with each.
    clgeom.dp.problems.edit_distance, clgeom.dp.problems.lcs : Two sequences, with operations; chunks of pairs.

    Examples
    --------
    >>> from clgeom import dp
    >>> dp.cpdist(["kitten", "cat"], ["sitting", "cart"], problem="ratio").round(2).tolist()
    [61.54, 85.71]
    """
    measure = MEASURES[one_of(problem, tuple(MEASURES), "problem", caller="cpdist")]
    cutoff = measure.cutoff_of(score_cutoff, caller="cpdist")
    first, second = in_pairs(a, b, caller="cpdist", device=device)
    call = Call(caller="cpdist")
    choose_sessions_of(call, (first, second), device)
    found: NDArray[Any] = dispatch(call, PairsWork("cpdist", problem, first, second, cutoff))
    return found
