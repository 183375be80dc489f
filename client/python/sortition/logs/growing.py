"""Columns that blocks of rows are appended to."""

from __future__ import annotations

from typing import Optional

import numpy as np

from sortition.logs.columns import Column
from sortition.logs.ragged import Ragged


class GrowingArray:
    """One array for all blocks: the memory of a block serves the next, and few are copied twice."""

    def __init__(self, dtype: np.dtype) -> None:
        self._array = np.empty(0, dtype)
        self._used = 0

    def append(self, block: np.ndarray, share: float) -> None:
        """`share`: how much of all blocks has come with this one, as far as is known, in [0, 1]."""
        used, needed = self._used, self._used + len(block)
        dtype = np.promote_types(self._array.dtype, block.dtype)
        if needed > len(self._array) or dtype != self._array.dtype:
            # The first blocks may be unlike the others: never much more than what is there. Room
            # that is not used takes addresses, no memory.
            room = int(1.1 * needed / min(max(share, 1 / 8), 3 / 4))
            larger = np.empty(room, dtype)
            larger[:used] = self._array[:used]
            self._array = larger
        self._array[used:needed] = block
        self._used = needed

    def finish(self) -> np.ndarray:
        """Returns the array without the room that is left."""
        self._array.resize(self._used, refcheck=False)
        return self._array


class GrowingColumn:
    """A column of either kind."""

    def __init__(self, like: Column) -> None:
        self._lengths: Optional[GrowingArray] = None  # Of rows, where they have several values.
        if isinstance(like, Ragged):
            self._lengths = GrowingArray(like.offsets.dtype)
            like = like.values
        self._values = GrowingArray(like.dtype)

    def append(self, block: Column, share: float) -> None:
        if isinstance(block, Ragged):
            assert self._lengths is not None
            self._lengths.append(block.lengths, share)
            block = block.values
        self._values.append(block, share)

    def finish(self) -> Column:
        values = self._values.finish()
        if self._lengths is None:
            return values
        return Ragged(values, np.concatenate(([0], np.cumsum(self._lengths.finish()))))
