"""Protobuf's wire format, of many messages at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


_MANY = 32  # Occurrences of a field one after the other that get a step each.


@dataclass
class Field:
    """The occurrences of a field, by message and then as they come."""

    owner: np.ndarray  # Number of the message.
    # A number's bits as uint64; of strings, messages and packed numbers where they start.
    value: np.ndarray
    length: np.ndarray  # Of these, in bytes; else 0.


def _varints(data: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the varints at the places, and the places behind them."""
    byte = data[place]
    value = (byte & 0x7F).astype(np.uint64)
    behind = place + 1
    rows = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(rows) and shift < 70:
        byte = data[behind[rows]]
        value[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        behind[rows] += 1
        rows = rows[(byte & 0x80) != 0]
        shift += 7
    return value, behind


def numbers(data: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """Returns the little-endian numbers of `size` bytes at the places, as uint64."""
    wide = data[place[:, None] + np.arange(size)]
    return wide.view(f"<u{size}").ravel().astype(np.uint64)


def scan(
    data: np.ndarray, begin: np.ndarray, end: np.ndarray, wanted: set[int]
) -> dict[int, Field]:
    """Returns the wanted fields of the messages data[begin[i] : end[i]].

    Steps through all messages side by side, a field at a time. ValueError for what protobuf's
    encoders do not write.
    """
    found: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {n: [] for n in wanted}
    owner = np.flatnonzero(begin < end)
    stop = end[owner]
    key, place = _varints(data, begin[owner])
    last, steps = -1, 0
    while len(owner):
        # The smallest key first: messages that lack a field wait for the others, so that most
        # steps are the same for all of them.
        least = int(key.min())
        last, steps = least, steps + 1 if least == last else 0
        rows = np.flatnonzero(key == least)
        some = slice(None) if len(rows) == len(owner) else rows
        limit = stop[some]
        if steps >= _MANY and least < 128 and least & 7 == 2:
            behind = _run(data, least, owner[some], place[some], limit, found)
        else:
            behind = _step(data, least, owner[some], place[some], found)
        place[some] = behind
        if (behind > limit).any():
            raise ValueError("a message has a field that goes beyond its end")
        more = behind < limit
        if not more.all():
            stays = np.ones(len(owner), bool)
            stays[rows[~more]] = False
            rows = (np.cumsum(stays) - 1)[rows[more]]
            owner, place, stop, key = owner[stays], place[stays], stop[stays], key[stays]
        if len(rows):
            key[rows], place[rows] = _varints(data, place[rows])
    return {number: _join(parts) for number, parts in found.items()}


def _step(
    data: np.ndarray,
    key: int,
    owner: np.ndarray,
    place: np.ndarray,
    found: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]],
) -> np.ndarray:
    """Notes one field of some messages and returns the places behind it."""
    number, kind = key >> 3, key & 7
    if kind == 0:
        value, behind = _varints(data, place)
        length = np.zeros_like(place)
    elif kind == 2:
        size, value = _varints(data, place)
        length = size.astype(np.int64)
        behind = value + length
        if (length < 0).any() or (behind > len(data)).any():
            raise ValueError("a message has a field that goes beyond its end")
    elif kind in (1, 5):
        size_of = 8 if kind == 1 else 4
        value = numbers(data, place, size_of) if number in found else place
        length = np.zeros_like(place)
        behind = place + size_of
    else:
        raise ValueError(f"a message has a field of wire type {kind}")
    if number in found:
        found[number].append((owner, value, length))
    return behind


def _run(
    data: np.ndarray,
    key: int,
    owner: np.ndarray,
    place: np.ndarray,
    stop: np.ndarray,
    found: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]],
) -> np.ndarray:
    """As _step, for all strings that follow each other in a message: there are many."""
    behind = np.empty_like(place)
    for row, (begin, end) in enumerate(zip(place.tolist(), stop.tolist())):
        message, limit = data[begin : end + 10].tobytes(), end - begin
        starts, at = [], 0
        while True:
            size, shift = message[at], 7
            at += 1
            if size > 127:
                size &= 127
                while True:
                    byte = message[at]
                    at += 1
                    size |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
            starts.append((at, size))
            at += size
            if at >= limit or message[at] != key:
                break
            at += 1
        behind[row] = begin + min(at, limit + 1)
        if key >> 3 in found:
            value, length = np.array(starts, np.int64).T
            found[key >> 3].append((np.full(len(value), owner[row]), value + begin, length))
    return behind


def _join(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Field:
    if not parts:
        none = np.empty(0, np.int64)
        return Field(none, none, none)
    owner, value, length = (np.concatenate(part) for part in zip(*parts))
    if len(parts) > 1:
        order = np.argsort(owner, kind="stable")
        owner, value, length = owner[order], value[order], length[order]
    return Field(owner, value, length)


def packed_varints(data: np.ndarray, field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Returns the numbers of packed varints, as uint64, and how many each occurrence has."""
    ends = np.cumsum(field.length)
    total = int(ends[-1]) if len(ends) else 0
    if total == 0:
        return np.empty(0, np.uint64), np.zeros(len(field.length), np.int64)
    first = ends - field.length
    places = np.arange(total) + np.repeat(field.value.astype(np.int64) - first, field.length)
    byte = data[places]
    is_last = byte < 0x80
    before = np.concatenate(([0], np.cumsum(is_last)))
    counts = before[ends] - before[first]
    if is_last.all():
        return byte.astype(np.uint64), counts
    starts = np.concatenate(([0], np.flatnonzero(is_last)[:-1] + 1))
    shift = (np.arange(total) - np.repeat(starts, np.diff(np.append(starts, total)))) * 7
    parts = (byte & 0x7F).astype(np.uint64) << shift.astype(np.uint64)
    return np.bitwise_or.reduceat(parts, starts), counts


def unzigzag(values: np.ndarray) -> np.ndarray:
    """Returns the numbers of a sint32 or sint64 field."""
    return ((values >> np.uint64(1)) ^ (~(values & np.uint64(1)) + np.uint64(1))).view(np.int64)
