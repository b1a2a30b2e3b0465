"""`TableBatch`: many filled tables, as host arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, overload

from clgeom.core.host_floats import keeps_subnormals
from clgeom.errors import InvalidInput, is_integer, short
from clgeom.intake.typing import NDArray


@keeps_subnormals
@dataclass(frozen=True)
class TableBatch:
    """Many filled tables, as host arrays: a result of `fill_batch` that can be pickled.

    Attributes
    ----------
    shapes : ndarray of int64, shape (tables, 2)
    offsets : ndarray of int64, shape (tables + 1,)
        Where the cells of each table begin in `values` and `decisions`.
    corners : ndarray, shape (tables,)
        The cell of each table that holds the answer, as in ``Table.corner``.
    values : ndarray, shape (cells,), or None
        All cells, row after row and table after table. None unless ``keep="table"``.
    decisions : ndarray of int, shape (cells,), or None
        The choices likewise; -1 stands for no index. None unless the equation has choices and they are kept.
    last : ndarray, or None
        The row (for CLR and CRL the column) of each table that is completed last, one after another, with
        ``keep="last"`` or ``"decisions"``.
    last_offsets : ndarray of int64, shape (tables + 1,), or None
        Where each begins in `last`.
    pattern, keep, name : str

    Examples
    --------
    >>> from clgeom import dp
    >>> powers = dp.Equation("i == 0 ? 1 : M(i - 1, j) * base", parameters={"base": "int32"}, name="powers")
    >>> batch = dp.fill_batch(powers, [(3, 1), (5, 1)], pattern="RUD", base=[2, 3])
    >>> batch
    <TableBatch of 2 tables, powers, RUD, keep='table'>
    >>> batch.corners.tolist(), batch[0].ravel().tolist()
    ([4, 81], [1, 2, 4])
    """

    shapes: NDArray[Any]
    offsets: NDArray[Any]
    corners: NDArray[Any]
    values: NDArray[Any] | None
    decisions: NDArray[Any] | None
    last: NDArray[Any] | None
    last_offsets: NDArray[Any] | None
    pattern: str
    keep: str
    name: str = field(default="equation")

    def __len__(self) -> int:
        return len(self.shapes)

    def __repr__(self) -> str:
        return f"<TableBatch of {len(self):,} tables, {self.name}, {self.pattern}, keep={self.keep!r}>"

    @overload
    def __getitem__(self, k: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, k: slice) -> list[NDArray[Any]]: ...
    def __getitem__(self, k: int | slice) -> NDArray[Any] | list[NDArray[Any]]:
        """Return the cells of table k, shape (rows, columns): a view of `values`. A list for a slice.

        A negative k counts from the end; IndexError for one outside the batch.
        """
        if isinstance(k, slice):
            return [self[number] for number in range(*k.indices(len(self)))]
        return self._table(self.values, "values", k)

    def decisions_of(self, k: int) -> NDArray[Any]:
        """Return the choices of a table.

        Parameters
        ----------
        k : int

        Returns
        -------
        ndarray of int, shape (rows, columns)
            A view of `decisions`.

        Raises
        ------
        InvalidInput
            The choices were not kept, or `k` is no integer.
        IndexError
            There is no such table.

        Examples
        --------
        >>> from clgeom.dp.problems.knapsacks import knapsack_equation
        >>> from clgeom import dp
        >>> batch = dp.fill_batch(knapsack_equation(), [(3, 6)], w=[[2, 3]], v=[[3, 4]])
        >>> batch.decisions_of(0)[2].tolist()
        [0, 0, 0, 1, 1, 1]
        """
        return self._table(self.decisions, "decisions", k)

    def _table(self, values: NDArray[Any] | None, name: str, k: Any) -> NDArray[Any]:
        if values is None:
            raise InvalidInput(f"The {name} of a batch with keep={self.keep!r} were not kept.")
        if not is_integer(k):
            raise InvalidInput(f"A batch takes the number of one table, or a slice. Got {short(k)} instead.")
        if not -len(self) <= k < len(self):
            raise IndexError(f"table {k} of a batch of {len(self)}")
        k = int(k) % len(self)
        return values[self.offsets[k] : self.offsets[k + 1]].reshape(self.shapes[k].tolist())
