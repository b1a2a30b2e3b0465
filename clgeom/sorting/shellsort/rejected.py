"""Two forms of variant D that its study tried and rejected: several exchanges a pass, and work-items that rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clgeom.arguments import boolean, integer
from clgeom.core.call import Call
from clgeom.core.host_floats import keeps_subnormals
from clgeom.intake.dispatch import choose_sessions
from clgeom.intake.typing import AnyArray, DeviceLike, IntLike
from clgeom.sorting.arrays import as_key_array
from clgeom.sorting.shellsort.gaps import gaps_for
from clgeom.sorting.shellsort.result import ShellsortResult
from clgeom.sorting.shellsort.sort import LEAST_ELEMENTS, MOST_ITEMS, sort_by_gaps

#: Most work-items of an h-subsequence: each has a byte of local memory that says whether it rests.
MOST_RESTING = 4096


@keeps_subnormals
def shellsort_d(
    keys: AnyArray,
    *,
    exchanges: IntLike = 1,
    resting: bool = False,
    gaps: str | Sequence[int] = "sedgewick86",
    max_items_per_subsequence: IntLike = MOST_ITEMS,
    min_elements_per_item: IntLike = LEAST_ELEMENTS,
    device: DeviceLike = None,
    profile: bool = False,
) -> ShellsortResult[Any]:
    """Sorted copy of an array by a form of Shellsort's variant D, with its counts.

    Parameters
    ----------
    keys : array_like, shape (n,)
        As for `clgeom.shellsort`.
    exchanges : int
        Most elements that neighbouring chunks exchange in a pass: the largest of one for the smallest of the next,
        then the second ones, and so on while they are out of order.
    resting : bool
        Whether a work-item rests in a pass if no exchange has changed its chunk. An exchange wakes it.
    gaps, device, profile
        As for `clgeom.shellsort`.
    max_items_per_subsequence : int
        From 1 to 4096.
    min_elements_per_item : int

    Returns
    -------
    ShellsortResult
        Its keys are the same for every form.

    Raises
    ------
    InvalidInput, DeviceLimit
        As for `clgeom.shellsort`.

    Examples
    --------
    >>> from clgeom.sorting.shellsort.rejected import shellsort_d
    >>> plain = shellsort_d([4, 3, 2, 1], gaps=[1], max_items_per_subsequence=2)
    >>> several = shellsort_d([4, 3, 2, 1], gaps=[1], max_items_per_subsequence=2, exchanges=2)
    >>> plain.keys.tolist(), plain.phases[0].passes, several.phases[0].passes
    ([1, 2, 3, 4], 3.0, 2.0)
    """
    call = Call(caller="shellsort_d", profile=profile)
    array: Any = as_key_array(keys, caller=call.caller)
    count = integer(exchanges, "exchanges", caller=call.caller)
    form: dict[str, Any] = {"exchanges": count} if count > 1 else {}
    if boolean(resting, "resting", caller=call.caller):
        form["resting"] = MOST_RESTING
    how: dict[str, Any] = {
        "most_items": integer(
            max_items_per_subsequence, "max_items_per_subsequence", caller=call.caller, most=MOST_RESTING
        ),
        "least_elements": integer(min_elements_per_item, "min_elements_per_item", caller=call.caller),
    }
    choose_sessions(call, array, device, shared=False)
    return sort_by_gaps(call, array, "D", gaps_for(gaps, len(array)), gaps, stats=True, form=form, **how)
