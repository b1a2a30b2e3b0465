"""Problems with states: alignments whose gaps have an opening, hidden Markov models, and change in coins."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from clgeom.core.device import as_session
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.equation import Equation
from clgeom.dp.language.functions import maximum, where, which_max
from clgeom.dp.problems.allocation import Allocation
from clgeom.dp.problems.arguments import INF, Arguments
from clgeom.dp.problems.edits import Edits, Letters
from clgeom.dp.problems.recurrence import fill, least, most, recurrence, traceback, with_base
from clgeom.intake.letters import codes_of, in_one_type
from clgeom.intake.typing import ArrayLike, DeviceLike, IntLike, NDArray

# Gaps with an opening: Gotoh (1982) ---------------------------------------------------------------------------------

#: Where the traceback goes on from each field, by choice: a pair, a deletion and an insertion come last.
MOVES = {
    "pair": [(-1, -1, "pair"), (-1, -1, "delete"), (-1, -1, "insert")],
    "delete": [(-1, 0, "pair"), (-1, 0, "delete")],
    "insert": [(0, -1, "pair"), (0, -1, "insert"), (0, -1, "delete")],
}


def _gapped_alignment(
    M: Any, i: Any, j: Any, a: Any, b: Any, match: Any, mismatch: Any, opening: Any, extension: Any, far: Any
) -> Any:
    """The best score of an alignment by its last column, in three fields. A run of gaps in two sequences has its
    deletions first, which is no restriction, since the order of columns in it does not matter.
    """
    start, edge, first = (i == 0) & (j == 0), (i == 0) | (j == 0), opening + extension
    pair = M.pair[i - 1, j - 1], M.delete[i - 1, j - 1], M.insert[i - 1, j - 1]
    delete = M.pair[i - 1, j] - first, M.delete[i - 1, j] - extension
    insert = M.pair[i, j - 1] - first, M.insert[i, j - 1] - extension, M.delete[i, j - 1] - first
    paired = maximum(*pair) + where(a[i - 1] == b[j - 1], match, mismatch)
    value = {
        "pair": where(start, 0, where(edge, far, maximum(paired, far))),
        "delete": where(i == 0, far, maximum(*delete, far)),
        "insert": where(j == 0, far, maximum(*insert, far)),
    }
    choice = {
        "pair": where(edge, 0, which_max(*pair)),
        "delete": where(i == 0, 0, which_max(*delete)),
        "insert": where(j == 0, 0, which_max(*insert)),
    }
    return value, choice


_LETTERS_AND_SCORES = {"a": "int32[]", "b": "int32[]"}
_LETTERS_AND_SCORES |= dict.fromkeys(("match", "mismatch", "opening", "extension", "far"), "int32")


@lru_cache
def gaps_equation(dtype: str = "int32") -> Equation:
    """The equation of `gapped_alignment`, for scores of a type."""
    types = dict.fromkeys(MOVES, dtype)
    return recurrence("NOSE", types, _LETTERS_AND_SCORES, overflow="wrap")(_gapped_alignment)


@keeps_subnormals
@dataclass(frozen=True)
class GappedAlignment:
    """The result of `gapped_alignment`.

    Attributes
    ----------
    score : int
    operations : tuple of str
        "match", "change", "delete" or "insert", from the beginning.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> found = problems.gapped_alignment("ACGTTTACG", "ACGACG")
    >>> found.score, found.aligned("ACGTTTACG", "ACGACG")
    (4, ('ACGTTTACG', 'ACG---ACG'))
    """

    score: int
    operations: tuple[str, ...] = field(repr=False)

    def aligned(self, a: Letters, b: Letters, gap: str = "-") -> tuple[Letters, Letters]:
        """Both sequences with gaps, such that symbols that are paired have the same index.

        Parameters
        ----------
        a, b : str or bytes
            The sequences given to `gapped_alignment`, in this order, both of one type.
        gap : str
            What stands where the other sequence has a symbol of its own.

        Returns
        -------
        tuple of 2 str or bytes

        Raises
        ------
        InvalidInput
            As `Edits.aligned`.

        Examples
        --------
        >>> from clgeom.dp.problems import gapped_alignment
        >>> gapped_alignment("ACGTT", "ACG").aligned("ACGTT", "ACG", gap=".")
        ('ACGTT', 'ACG..')
        """
        return Edits(-self.score, self.operations).aligned(a, b, gap)


@keeps_subnormals
def gapped_alignment(
    a: ArrayLike,
    b: ArrayLike,
    *,
    match: IntLike = 2,
    mismatch: IntLike = -3,
    opening: IntLike = 5,
    extension: IntLike = 1,
    device: DeviceLike = None,
) -> GappedAlignment:
    """Best alignment of two whole sequences, where a gap of k letters costs ``opening + k * extension``.

    Parameters
    ----------
    a, b : str, bytes, or array of integers or letters, one-dimensional
    match, mismatch : int
        The scores of two equal symbols and of two others, one above the other.
    opening, extension : int
        What each gap costs, and each symbol in it; not negative.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    GappedAlignment
        Of several best ones, the one whose traceback from the end takes a pair if it can, else a deletion, else an
        insertion.

    Raises
    ------
    InvalidInput
        `a` or `b` is no sequence, a score or cost is no whole number up to 2**20, `mismatch` is above `match`, or
        scores may not fit int32.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import gapped_alignment
    >>> gapped_alignment("ACGTTTACG", "ACGACG").score
    4
    """
    check, most = Arguments("gapped_alignment"), 1 << 20
    codes = in_one_type(codes_of(a, "a", caller=check.caller), codes_of(b, "b", caller=check.caller))
    match = check.whole_number(match, "match", least=-most, most=most)
    mismatch = check.whole_number(mismatch, "mismatch", least=-most, most=most)
    opening = check.whole_number(opening, "opening", most=most)
    extension = check.whole_number(extension, "extension", most=most)
    if mismatch > match:
        raise check.wrong("mismatch", f"at most 'match', {match}", mismatch)
    symbols, numbers = np.unique(np.concatenate(codes), return_inverse=True)
    a, b = np.split(numbers.astype(np.int32), [len(codes[0])])
    # no alignment scores beyond this; twice as much stands for none
    bound = (len(a) + len(b) + 1) * max(abs(match), abs(mismatch), extension, 1) + 2 * opening
    dtype = next((name for name in ("int16", "int32") if 3 * bound < np.iinfo(name).max), None)
    if dtype is None:
        raise check.wrong("match", "so small that scores of these sequences stay within int32", match)
    scores: dict[str, Any] = {"match": match, "mismatch": mismatch, "opening": opening, "extension": extension}
    session = as_session(device)
    path = traceback(
        gaps_equation(dtype),
        (len(a) + 1, len(b) + 1),
        MOVES,
        field=lambda corner: max(MOVES, key=lambda name: corner[name]),
        band_bytes=min(1 << 28, session.profile.max_alloc_bytes // 2),
        a=a,
        b=b,
        device=session,
        far=-2 * bound,
        **scores,
    )
    operations = [
        name if name != "pair" else "match" if a[i - 1] == b[j - 1] else "change"
        for (i, j), name in zip(path.cells.tolist(), path.fields)
        if i or j
    ]
    return GappedAlignment(int(max(path.value[name] for name in MOVES)), tuple(operations[::-1]))


# Hidden Markov models: Viterbi (1967) -------------------------------------------------------------------------------


@recurrence(
    "RUD",
    "float64",
    {"start": "float64[]", "transitions": "float64[,]", "emissions": "float64[,]", "observed": "int32[]"},
)
def VITERBI(M: Any, i: Any, j: Any, start: Any, transitions: Any, emissions: Any, observed: Any, m: Any) -> Any:
    """Row i: the first i + 1 observations; column j: the state at the last of them. Choice: the state before it."""
    seen, (value, before) = emissions[j, observed[i]], most(0, m, lambda k: M[i - 1, k] + transitions[k, j])
    return where(i == 0, start[j] + seen, value + seen), where(i == 0, -1, before)


STATES_BACK = """
for (int i = n - 1; i > 0; --i)
    out[i - 1] = D(i, out[i]);
return n;
"""


@keeps_subnormals
@dataclass(frozen=True)
class StatePath:
    """The result of `viterbi`.

    Attributes
    ----------
    log_probability : float
        Of this path together with the observations; -inf if none is possible.
    states : ndarray of int64, shape (observations,), or None
        The state at each observation; None if no path is possible.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> path = problems.viterbi([0, 1, 1], [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]])
    >>> path.states.tolist()
    [1, 1, 1]
    """

    log_probability: float
    states: NDArray[np.int64] | None = field(default=None, repr=False)


@keeps_subnormals
def viterbi(
    observed: ArrayLike,
    start: ArrayLike,
    transitions: ArrayLike,
    emissions: ArrayLike,
    *,
    device: DeviceLike = None,
) -> StatePath:
    """The most probable states of a hidden Markov model behind a sequence of observations.

    Parameters
    ----------
    observed : array_like of whole numbers, shape (n,)
        The number of the symbol of each observation.
    start : array_like of float, shape (states,)
        The probability of each state at the first observation.
    transitions : array_like of float, shape (states, states)
        From each state (rows) to each.
    emissions : array_like of float, shape (states, symbols)
        Of each symbol in each state.
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    StatePath
        Of several paths, the one that has the lowest states at the end, then before it, and so on. Logarithms of
        probabilities are added in float64.

    Raises
    ------
    InvalidInput
        `observed` has other than numbers of symbols, a probability is not from 0 to 1, or the shapes do not fit.
    DeviceLimit
        The device has no float64, or too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import viterbi
    >>> weather = viterbi([0, 1, 2], [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> weather.states.tolist(), round(weather.log_probability, 4)
    ([0, 0, 1], -4.1917)
    """
    check = Arguments("viterbi")
    observed = check.whole_numbers(observed, "observed", least=0)
    start = _logarithms(check, start, "start")
    states = len(start)
    size = (states, states), f"of shape {(states, states)}, as 'start'"
    transitions = _logarithms(check, transitions, "transitions", ndim=2, size=size)
    emissions = _logarithms(check, emissions, "emissions", ndim=2)
    if len(emissions) != states:
        raise check.wrong("emissions", f"a row for each of {states} states", f"{len(emissions)} rows")
    if observed.max() >= emissions.shape[1]:
        raise check.wrong("observed", f"below {emissions.shape[1]}, the number of symbols", f"{observed.max()}")
    values = {"start": start, "transitions": transitions, "emissions": emissions, "observed": observed.astype(np.int32)}
    table = fill(VITERBI, (len(observed), states), values=values, keep="decisions", device=device)
    best = int(np.argmax(table.last))
    value = float(table.last[best])
    if value == -INF:
        return StatePath(value)
    source = f"out[n - 1] = {best};{STATES_BACK}"
    return StatePath(value, table.recover(source, len(observed)).astype(np.int64))


def _logarithms(check: Arguments, values: ArrayLike, name: str, **options: Any) -> NDArray[np.float64]:
    """Return the logarithms of probabilities."""
    array = check.numbers(values, name, least=0, **options)
    if array.max() > 1:
        raise check.wrong(name, "probabilities, at most 1", f"{array.max()}")
    with np.errstate(divide="ignore"):
        logarithms: NDArray[np.float64] = np.log(array.astype(np.float64))
    return logarithms


# Change in coins ----------------------------------------------------------------------------------------------------

#: More coins than any amount takes.
NEVER = 1 << 30


@recurrence("CLR", "int32", {"coins": "int32[]", "count": "int32"}, name="coin_change")
def CHANGE(M: Any, i: Any, j: Any, coins: Any, count: Any) -> Any:
    """One row; column j: the amount. Choice: the last coin."""

    def coin(k: Any) -> Any:
        value = M[i, j - coins[k]] + 1
        return where(coins[k] <= j, where(value < NEVER, value, NEVER), NEVER)

    return with_base(j == 0, 0, least(0, count, coin))


COINS_BACK = """
int taken = state[0], j = m - 1 - state[1];
const int stop = min(taken + 100000, out_size);
for (; j > 0 && taken < stop; ++taken) {
    out[taken] = D(0, j);
    j -= coins[out[taken]];
}
state[0] = taken;
state[1] = m - 1 - j;
return j > 0 ? -1 : taken;
"""


@keeps_subnormals
def coin_change(coins: ArrayLike, amount: IntLike, *, device: DeviceLike = None) -> Allocation:
    """The fewest coins that make an amount, with any number of each.

    Parameters
    ----------
    coins : array_like of whole numbers, shape (n,)
        The values of the kinds of coins, at least 1.
    amount : int
    device : str, pyopencl.Device or Session, optional

    Returns
    -------
    Allocation
        `value`: how many coins; `choice`: how many of each kind. Of several choices the one whose last coin, then the
        one before, and so on is of the first kind.

    Raises
    ------
    InvalidInput
        `coins` are no whole numbers of at least 1, or `amount` is no whole number from 0 to 2**30 - 1.
    DeviceLimit
        The device has too little memory for the table.

    Examples
    --------
    >>> from clgeom.dp.problems import coin_change
    >>> found = coin_change([1, 5, 10, 25], 99)
    >>> found.value, found.choice.tolist()
    (9, [4, 0, 2, 3])
    """
    check = Arguments("coin_change")
    coins = check.whole_numbers(coins, "coins", least=1, empty=True)
    amount = check.whole_number(amount, "amount", most=NEVER - 1)
    if amount == 0 or not len(coins):
        return Allocation(0 if amount == 0 else INF, None if amount else np.zeros(len(coins), np.int64))
    values = {"coins": np.minimum(coins, amount + 1).astype(np.int32), "count": len(coins)}
    table = fill(CHANGE, (1, amount + 1), **values, keep="decisions", device=device)
    value = int(table.corner)
    if value >= NEVER:
        return Allocation(INF)
    taken = table.recover(COINS_BACK, value, state=(0, 0))
    return Allocation(value, np.bincount(taken, minlength=len(coins)).astype(np.int64))
