"""Rows of different lengths."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Iterable, Sequence, Union, overload

import numpy as np


def places_of(rows: Any, count: int) -> np.ndarray:
    """Returns the indexes below `count` that `rows`, a slice, a mask or indexes, stands for."""
    if not isinstance(rows, slice):
        rows = np.asarray(rows)
        # NumPy makes floats of an empty list.
        rows = rows if rows.size else rows.astype(np.intp)
    return np.arange(count)[rows]


@dataclass
class Ragged:
    """Row i is values[offsets[i] : offsets[i + 1]]."""

    values: np.ndarray
    offsets: np.ndarray  # One more than there are rows; the first is 0.

    @staticmethod
    def from_rows(rows: Sequence[Iterable[Any]], dtype: Any) -> Ragged:
        arrays = [np.asarray(row, dtype=dtype).ravel() for row in rows]
        offsets = np.concatenate(([0], np.cumsum([len(row) for row in arrays]))).astype(np.int64)
        return Ragged(np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype), offsets)

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, row: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, row: Union[slice, Sequence[int], np.ndarray]) -> Ragged: ...

    def __getitem__(self, row: Any) -> Union[np.ndarray, Ragged]:
        """Returns the values of a row; of a slice, of indexes or of a mask a Ragged, as `take`.

        A slice of step 1 shares the values of this one.
        """
        if isinstance(row, slice):
            begin, end, step = row.indices(len(self))
            if step != 1:
                return self.take(row)
            offsets = self.offsets[begin : max(begin, end) + 1]
            return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])
        if isinstance(row, (list, np.ndarray)) and np.ndim(row) == 1:
            return self.take(row)
        try:
            place = operator.index(row)
        except TypeError:
            raise TypeError(
                f"row is {row!r}, must be an integer, a slice, or a list or array of integers or of"
                " True and False"
            ) from None
        if not -len(self) <= place < len(self):
            raise IndexError(f"row is {place}, must be in [{-len(self)}, {len(self)})")
        place %= len(self)
        return self.values[self.offsets[place] : self.offsets[place + 1]]

    def take(self, rows: Union[slice, Sequence[int], np.ndarray]) -> Ragged:
        """Returns these rows. `rows`: indexes, negative ones from the end, a mask, or a slice."""
        rows = places_of(rows, len(self))
        lengths = self.lengths[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Ragged(self.values[places], offsets)

    def first(self, missing: Any) -> np.ndarray:
        """Returns the first value of each row; `missing` of rows that are empty."""
        result = np.full(len(self), missing, dtype=self.values.dtype)
        rows = self.lengths > 0
        result[rows] = self.values[self.offsets[:-1][rows]]
        return result
