"""Segment files: which there are, and their bytes."""

from __future__ import annotations

import pathlib
import struct
from typing import Iterable, Optional, Union

import numpy as np

from sortition import native
from sortition.logs.frames import Frames, read_frames
from sortition.log.v1 import log_pb2

Paths = Union[str, pathlib.Path, Iterable[Union[str, pathlib.Path]]]

_FOOTER = struct.Struct("<IBI")  # Frames of the file, flags, magic.
_MAGIC = 0x8F92EAB1
_FRAME_BYTES = 1 << 20  # The most that a frame holds when decompressed.
_HEADER_TAG, _FOOTER_TAG = 0x0A, 0x12


def list_segments(paths: Paths) -> list[pathlib.Path]:
    """Returns the segments in the order of their names. `paths`: directories and segments.

    Of a segment that is there plain and compressed it is the plain one. ValueError if a path is
    not there, or a directory has no segment.
    """
    if isinstance(paths, (str, pathlib.Path)):
        paths = [paths]
    found: dict[tuple[pathlib.Path, str], pathlib.Path] = {}
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            files = sorted(p for p in path.iterdir() if p.name.endswith((".seg", ".seg.zst")))
        elif path.is_file():
            files = [path]
        else:
            files = []
        if not files:
            # A sidecar writes a tuple only when the window for its feedback is over.
            state = "has no segment yet" if path.is_dir() else "does not exist"
            raise ValueError(f"{path} {state}, must be a segment or a directory with segments")
        for file in files:
            # NAME.seg comes before NAME.seg.zst.
            found.setdefault((file.resolve().parent, file.name.removesuffix(".zst")), file)
    return [found[key] for key in sorted(found, key=lambda key: (key[1], key[0]))]


class Segment:
    """The intact records of a segment. `data` are its bytes, decompressed."""

    def __init__(self, path: pathlib.Path) -> None:
        """ValueError if the file is no segment."""
        self.path = path
        is_compressed = path.name.endswith(".zst")
        self.data, self.frames = self._read(is_compressed)
        if not len(self.frames.starts) and self.data.any():
            raise ValueError(f"{path} has no record, must be a segment")
        # Of a damaged header nothing is known; the damage is listed.
        self.header = log_pb2.SegmentHeader(format_version=1)
        first, last = (self.payload(n) if len(self.frames.starts) else b"" for n in (0, -1))
        if first[:1] == bytes([_HEADER_TAG]):
            self.header = log_pb2.LogRecord.FromString(first).header
        if self.header.format_version != 1:
            raise ValueError(f"{path} has format_version {self.header.format_version}, must be 1")
        self.is_closed = is_compressed or last[:1] == bytes([_FOOTER_TAG])

    def _read(self, is_compressed: bool) -> tuple[np.ndarray, Frames]:
        if is_compressed:
            data = _decompress(self.path)
            return data, read_frames(data, str(self.path), is_finished=True)
        seen = None
        while True:
            # Not mapped: whoever closes a segment that is being written cuts the file.
            data = np.fromfile(self.path, np.uint8)
            frames = read_frames(data, str(self.path))
            # A frame may have been written after its place was read and before the next was.
            if frames.damage == seen or not any(place.is_corrupt for place in frames.damage):
                return data, frames
            seen = frames.damage

    def payload(self, record: int) -> bytes:
        """Returns the bytes of a LogRecord."""
        start = int(self.frames.starts[record])
        return self.data[start : start + int(self.frames.lengths[record])].tobytes()


def open_segment(path: pathlib.Path) -> Optional[Segment]:
    """Returns the segment, compressed if it has been since it was listed; None if it is gone."""
    for place in (path, path.with_name(path.name + ".zst")):
        try:
            return Segment(place)
        except FileNotFoundError:
            continue
    return None


def size_of(path: pathlib.Path) -> int:
    """Returns the bytes of a file; 0 if it is gone."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _decompress(path: pathlib.Path) -> np.ndarray:
    """Returns the segment of a file in zstd's seekable format. Damaged frames become bytes 255."""
    if native.unzstd is None:
        raise ValueError(f"{path} is compressed; libzstd (package libzstd1) is not here")
    file = path.read_bytes()
    count, flags, magic = _FOOTER.unpack(file[-9:]) if len(file) >= 17 else (0, 0, 0)
    table = len(file) - 9 - 8 * count
    if magic != _MAGIC or flags != 0 or table < 8:
        raise ValueError(f"{path} has no table of its frames, must be in zstd's seekable format")
    sizes = np.frombuffer(file, "<u4", 2 * count, table).reshape(count, 2).tolist()
    if sum(packed for packed, _ in sizes) != table - 8:
        raise ValueError(f"{path} has a table that does not fit its frames")
    for packed, size in sizes:
        if packed == 0 or not 0 < size <= _FRAME_BYTES:
            raise ValueError(
                f"{path} has a frame of {packed} bytes with {size} bytes in it, must have at least "
                f"1, and 1 to {_FRAME_BYTES}"
            )
    parts, place = [], 0
    for packed, size in sizes:
        part = native.unzstd(file[place : place + packed], size)
        parts.append(b"\xff" * size if part is None else part)
        place += packed
    return np.frombuffer(b"".join(parts), np.uint8)
