"""What is wrong with a segment, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Damage:
    """Bytes of a segment that are no intact record. Offsets are those before compression."""

    file: str
    offset: int
    size: int
    # Intact records follow. Otherwise the tail is torn, or still being written.
    is_corrupt: bool

    def __str__(self) -> str:
        what = "corrupt" if self.is_corrupt else "torn or being written"
        return f"{self.file}: offset {self.offset}: {self.size} bytes are {what}"
