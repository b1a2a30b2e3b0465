"""Two sequences: the equations of their longest common subsequence and edit distance, and lists of edits.

`clgeom.sequences.distances` solves them, with many cells in a word or by these equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clgeom.arguments import instance, wrong
from clgeom.core.host_floats import keeps_subnormals
from clgeom.dp.language.functions import maximum, minimum, where, which_max, which_min
from clgeom.dp.problems.recurrence import recurrence
from clgeom.errors import InvalidInput, short

Letters = TypeVar("Letters", str, bytes)


@recurrence("NOSE", "int32", {"a": "int32[]", "b": "int32[]"})
def LCS(M: Any, i: Any, j: Any, a: Any, b: Any) -> Any:
    """Rows are the symbols of the first sequence, columns those of the second, after an empty one each. Choices: 0
    match, 1 change, 2 delete (up), 3 insert (left).
    """
    same, inside = a[i - 1] == b[j - 1], (i > 0) & (j > 0)
    up, left = M[i - 1, j], M[i, j - 1]
    value = where(inside, where(same, M[i - 1, j - 1] + 1, maximum(up, left)), 0)
    return value, where(inside, where(same, 0, which_max(up, left) + 2), 0)


@recurrence("NOSE", "int32", {"a": "int32[]", "b": "int32[]"})
def EDIT_DISTANCE(M: Any, i: Any, j: Any, a: Any, b: Any) -> Any:
    """Rows are the symbols of the first sequence, columns those of the second, after an empty one each. Choices: 0
    match, 1 change, 2 delete (up), 3 insert (left).
    """
    inside = (i > 0) & (j > 0)
    costs = M[i - 1, j - 1] + (a[i - 1] != b[j - 1]), M[i - 1, j] + 1, M[i, j - 1] + 1
    value = where(inside, minimum(*costs), i + j)
    which = which_min(*costs)
    return value, where(inside, where(which == 0, where(a[i - 1] == b[j - 1], 0, 1), which + 1), 0)


#: The offset of the next cell for each choice.
MOVES = ((-1, -1), (-1, -1), (-1, 0), (0, -1))


@keeps_subnormals
@dataclass(frozen=True)
class Edits:
    """The result of `edit_distance`.

    Attributes
    ----------
    distance : int
    operations : tuple of str, or None
        "match", "change", "delete" or "insert", from the beginning: what makes the first sequence into the second, or
        into its part.
    b_start, b_end : int or None
        With free ends the part of the second sequence, ``b[b_start:b_end]``, else None; without operations no start.

    Examples
    --------
    >>> from clgeom.dp import problems
    >>> edits = problems.edit_distance("cat", "cart")
    >>> edits.distance, edits.operations
    (1, ('match', 'match', 'insert', 'match'))
    """

    distance: int
    operations: tuple[str, ...] | None = field(default=None, repr=False)
    b_start: int | None = field(default=None, repr=False)
    b_end: int | None = field(default=None, repr=False)

    def aligned(self, a: Letters, b: Letters, gap: str = "-") -> tuple[Letters, Letters]:
        """Both sequences, of the second one its part, with gaps: symbols that match or are changed have the same index.

        Parameters
        ----------
        a, b : str or bytes
            The sequences given to `edit_distance`, in this order, both of one type.
        gap : str
            What stands where the other sequence has a symbol of its own.

        Returns
        -------
        tuple of 2 str or bytes

        Raises
        ------
        InvalidInput
            There are no `operations`, or `a` and `b` have other lengths, other types, or `gap` is not one ASCII
            character.

        Examples
        --------
        >>> from clgeom.dp.problems import edit_distance
        >>> edit_distance("ACGTTCA", "ACTTCAG").aligned("ACGTTCA", "ACTTCAG")
        ('ACGTTCA-', 'AC-TTCAG')
        """
        if self.operations is None:
            raise InvalidInput("The method aligned of Edits needs operations=True of edit_distance.")
        if not (isinstance(gap, str) and len(gap) == 1 and gap.isascii()):
            raise wrong("gap", "aligned", "one ASCII character", short(gap))
        if isinstance(b, (str, bytes)):
            b = b[self.b_start : self.b_end]
        rows = _with_gaps(self.operations, a, "a", "insert", gap), _with_gaps(self.operations, b, "b", "delete", gap)
        if type(rows[0]) is not type(rows[1]):
            raise wrong("b", "aligned", f"of the type of 'a', {type(a).__name__}", type(b).__name__)
        return rows


def _with_gaps(operations: Sequence[str], sequence: Letters, name: str, absent: str, gap: str) -> Letters:
    """A sequence with a gap at each operation that takes none of its symbols."""
    instance(sequence, (str, bytes), "text or bytes", name, caller="aligned")
    count = len(operations) - operations.count(absent)
    if len(sequence) != count:
        raise wrong(name, "aligned", f"the sequence of edit_distance, of {count:,} symbols", f"{len(sequence):,}")
    symbols = iter(sequence if isinstance(sequence, str) else map(chr, sequence))
    row = "".join(gap if operation == absent else next(symbols) for operation in operations)
    return row if isinstance(sequence, str) else row.encode("latin-1")
