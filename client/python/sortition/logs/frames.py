"""TFRecord frames of a segment and their CRC-32C (docs/log_format.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from sortition import native
from sortition.logs.damage import Damage

HEAD = 12  # Bytes of a length and its CRC.
FRAME = 16  # Bytes of a frame beside its payload.
_SEARCH = 256 << 20  # Bytes behind a damaged place that are searched for a frame.
_WINDOW = 1 << 20
_ALL = 0xFFFFFFFF


def _tables() -> np.ndarray:
    """Returns tables for eight bytes at a time; row k is for a byte with k bytes behind it."""
    tables = np.empty((8, 256), np.uint32)
    for byte in range(256):
        register = byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
        tables[0, byte] = register
    for row in range(1, 8):
        before = tables[row - 1]
        tables[row] = (before >> np.uint32(8)) ^ tables[0][before & np.uint32(0xFF)]
    return tables


_TABLES = _tables()


def mask(crc: np.ndarray) -> np.ndarray:
    """Returns the masked form in which CRCs are stored."""
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


def _eight_bytes(register: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """Returns the registers after eight more bytes each; columns[k] holds the k-th bytes."""
    result = np.zeros_like(register)
    for k, column in enumerate(columns):
        index = column
        if k < 4:
            index = column ^ ((register >> np.uint32(8 * k)) & np.uint32(0xFF)).astype(np.uint8)
        result ^= _TABLES[7 - k][index]
    return result


def crc32c_many(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the CRC-32C of each data[starts[i] : starts[i] + lengths[i]]."""
    if native.crc32c_register is not None and len(data):
        register_of, base = native.crc32c_register, data.ctypes.data
        registers = [
            register_of(start, length, _ALL)
            for start, length in zip((starts + base).tolist(), lengths.tolist())
        ]
        return ~np.array(registers, np.uint32)
    return _crc32c_by_tables(data, starts, lengths)


def _crc32c_by_tables(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    # Longest first, so that those with eight bytes left are always a prefix.
    order = np.argsort(-lengths, kind="stable")
    place, left = starts[order].copy(), lengths[order].copy()
    registers = np.full(len(order), _ALL, np.uint32)
    while True:
        some = int(np.searchsorted(-left, -7, side="left"))
        if some == 0:
            break
        at = place[:some]
        registers[:some] = _eight_bytes(registers[:some], [data[at + k] for k in range(8)])
        place[:some] += 8
        left[:some] -= 8
    for k in range(8):
        rows = np.flatnonzero(left > k)
        low = (registers[rows] ^ data[place[rows] + k]) & np.uint32(0xFF)
        registers[rows] = _TABLES[0][low] ^ (registers[rows] >> np.uint32(8))
    result = np.empty_like(registers)
    result[order] = ~registers
    return result


def length_checks(data: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Returns the masked CRCs of the eight bytes at each place."""
    registers = np.full(len(places), _ALL, np.uint32)
    return mask(~_eight_bytes(registers, [data[places + k] for k in range(8)]))


def words(data: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Returns the little-endian 32-bit numbers at the places."""
    parts = [data[places + k].astype(np.uint32) << np.uint32(8 * k) for k in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


@dataclass(frozen=True)
class Frames:
    starts: np.ndarray  # Of the payloads.
    lengths: np.ndarray
    damage: list[Damage]


def read_frames(data: np.ndarray, name: str, is_finished: bool = False) -> Frames:
    """Returns the intact frames of a segment, whose bytes are `data`, and what is damaged.

    `is_finished`: nobody writes to it any more, so that a broken end is corrupt, too.
    """
    starts: list[np.ndarray] = []
    lengths: list[np.ndarray] = []
    bad: list[tuple[int, int]] = []  # From, to.
    place = 0
    while True:
        begin, size, place, is_end = _walk(data, place)
        intact = mask(crc32c_many(data, begin, size)) == words(data, begin + size)
        for row in np.flatnonzero(~intact).tolist():
            bad.append((int(begin[row]) - HEAD, int(begin[row] + size[row]) + 4))
        starts.append(begin[intact])
        lengths.append(size[intact])
        if is_end:
            break
        following = _find_frame(data, place + 1)
        bad.append((place, len(data) if following is None else following))
        if following is None:
            break
        place = following
    all_starts = np.concatenate(starts)
    last = int(all_starts[-1]) if len(all_starts) else -1
    damage = [
        Damage(name, begin, end - begin, is_finished or begin < last)
        for begin, end in _join_adjacent(bad)
    ]
    return Frames(all_starts, np.concatenate(lengths), damage)


def _join_adjacent(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in ranges:
        if joined and joined[-1][1] == begin:
            begin = joined.pop()[0]
        joined.append((begin, end))
    return joined


def _walk(data: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Steps from frame to frame while lengths are intact.

    Returns payloads, their sizes, the place behind them, and whether the segment ends there.
    """
    begin: list[int] = []
    unpack, last, view = struct.Struct("<Q").unpack_from, len(data) - FRAME, memoryview(data)
    while place <= last:
        (length,) = unpack(view, place)
        if length > last - place or length == 0:
            break
        begin.append(place)
        place += FRAME + length
    heads = np.array(begin, np.int64)
    sizes = np.diff(heads, append=place) - FRAME
    wrong = np.flatnonzero(length_checks(data, heads) != words(data, heads + 8))
    begins = heads + HEAD
    if len(wrong):
        first = int(wrong[0])
        return begins[:first], sizes[:first], begin[first], False
    # Zeros with something behind them are no end: a disk can lose pages.
    is_end = place == len(data) or (place + HEAD <= len(data) and not data[place:].any())
    return begins, sizes, place, is_end


def _find_frame(data: np.ndarray, place: int) -> int | None:
    """Returns where the next intact frame begins."""
    stop = min(len(data) - FRAME, place + _SEARCH)
    if 0 < place <= stop + 1 and place + HEAD - 1 <= len(data):
        # Never look inside a payload whose length is known.
        at = np.array([place - 1])
        if length_checks(data, at)[0] == words(data, at + 8)[0]:
            return None
    while place <= stop:
        places = np.arange(place, min(place + _WINDOW, stop + 1), dtype=np.int64)
        hits = places[length_checks(data, places) == words(data, places + 8)]
        for hit in hits.tolist():
            length = int.from_bytes(data[hit : hit + 8].tobytes(), "little")
            if length > len(data) - hit - FRAME:
                continue
            one = np.array([hit + HEAD]), np.array([length])
            if mask(crc32c_many(data, *one))[0] == words(data, one[0] + length)[0]:
                return hit
        place = int(places[-1]) + 1
    return None
