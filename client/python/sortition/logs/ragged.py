"""Rows of different lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Sequence

import numpy as np


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

    def __getitem__(self, row: int) -> np.ndarray:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row is {row}, must be in [{-len(self)}, {len(self)})")
        row %= len(self)
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: np.ndarray) -> Ragged:
        """Returns these rows. `rows`: indexes, negative ones from the end, or a mask."""
        rows = np.arange(len(self))[rows]
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
