"""The columns of tuples, from their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sortition.log.v1 import log_pb2
from sortition.logs import wire
from sortition.logs.ragged import Ragged
from sortition.logs.wire import Field

Column = Union[np.ndarray, Ragged]


@dataclass(frozen=True)
class Kind:
    """How a column comes from a field of a message."""

    message: str  # tuple, decision or shown.
    field: str
    form: str  # What _column and _ragged make of it.
    default: Any = 0


# In the order in which they are documented (docs of read_tuples).
KINDS = {
    "decision_id": Kind("decision", "decision_id", "text"),
    "time_us": Kind("decision", "time_us", "number"),
    "model": Kind("decision", "model", "text"),
    "version": Kind("decision", "version", "unsigned"),
    "action_kind": Kind("decision", "action_kind", "number"),
    "action": Kind("decision", "action", "signed"),
    "log_propensity": Kind("decision", "log_propensity", "real", 0.0),
    "reward": Kind("tuple", "reward", "real", 0.0),
    "has_feedback": Kind("tuple", "has_feedback", "flag"),
    "unit_id": Kind("decision", "unit_id", "text"),
    "keep_probability": Kind("tuple", "keep_probability", "real", 0.0),
    "can_abstain": Kind("decision", "can_abstain", "flag"),
    "num_candidates": Kind("decision", "num_candidates", "number"),
    "num_features": Kind("decision", "num_features", "number"),
    "features": Kind("decision", "dense_values", "floats"),
    "censored": Kind("tuple", "censored", "presence"),
    "conditional_log_propensities": Kind("decision", "conditional_log_propensities", "reals"),
    "top_k": Kind("decision", "top_k", "number"),
    "eligible": Kind("decision", "eligible", "numbers"),
    "candidate_ids": Kind("decision", "candidate_ids", "texts"),
    "degraded": Kind("decision", "degraded", "text"),
    "seed": Kind("decision", "seed", "unsigned"),
    "has_seed": Kind("decision", "seed", "presence"),
    "num_labels": Kind("decision", "num_labels", "number"),
    "spool_writer": Kind("tuple", "spool_writer", "text"),
    "shown": Kind("shown", "shown", "numbers"),
    "not_shown": Kind("shown", "not_shown", "flag"),
    "first_rank": Kind("shown", "first_rank", "number"),
    "seen_ranks": Kind("shown", "seen_ranks", "number", -1),
    # Bytes of messages, for those who need more: a BanditTuple, its place, and a Columns.
    "record": Kind("tuple", "", "bytes"),
    "position": Kind("tuple", "position", "bytes"),
    "columns": Kind("decision", "columns", "bytes"),
    "sparse": Kind("decision", "sparse", "bytes"),
}
_MESSAGES = {
    "tuple": log_pb2.BanditTuple.DESCRIPTOR,
    "decision": log_pb2.Decision.DESCRIPTOR,
    "shown": log_pb2.Shown.DESCRIPTOR,
}
_LONGEST_FIXED = 256  # Bytes of texts that become an array of one width.


def parse_columns(
    data: np.ndarray, begin: np.ndarray, end: np.ndarray, names: list[str]
) -> dict[str, Column]:
    """Returns the columns `names` of the BanditTuples data[begin[i] : end[i]]."""
    count = len(begin)
    by_message: dict[str, set[int]] = {}
    for name in names:
        kind = KINDS[name]
        by_message.setdefault(kind.message, set()).add(_number(kind.message, kind.field))
    inner = {"decision": _number("tuple", "decision"), "shown": _number("tuple", "shown")}
    outer = by_message.get("tuple", set()) | {
        number for message, number in inner.items() if message in by_message
    }
    fields = {"tuple": wire.scan(data, begin, end, outer)}
    for message, number in inner.items():
        if message in by_message:
            place = fields["tuple"][number]
            scanned = wire.scan(data, place.value, place.value + place.length, by_message[message])
            fields[message] = {
                key: Field(place.owner[field.owner], field.value, field.length)
                for key, field in scanned.items()
            }
    columns: dict[str, Column] = {}
    for name in names:
        kind = KINDS[name]
        if not kind.field:
            columns[name] = _bytes(data, Field(np.arange(count), begin, end - begin), count)
        else:
            field = fields[kind.message][_number(kind.message, kind.field)]
            columns[name] = _column(data, field, count, kind)
    return columns


def _number(message: str, field: str) -> int:
    return _MESSAGES[message].fields_by_name[field].number if field else -1


def _column(data: np.ndarray, field: Field, count: int, kind: Kind) -> Column:
    if kind.form == "number":
        column = np.full(count, kind.default, np.int64)
        column[field.owner] = field.value.astype(np.uint64).view(np.int64)
    elif kind.form == "unsigned":
        column = np.full(count, kind.default, np.uint64)
        column[field.owner] = field.value
    elif kind.form == "real":
        column = np.full(count, kind.default, np.float64)
        column[field.owner] = field.value.astype(np.uint64).view(np.float64)
    elif kind.form == "flag":
        column = np.zeros(count, bool)
        column[field.owner] = field.value != 0
    elif kind.form == "presence":
        column = np.zeros(count, bool)
        column[field.owner] = True
    elif kind.form == "text":
        column = _texts(data, field, count)
    elif kind.form == "bytes":
        column = _bytes(data, field, count)
    else:
        return _ragged(data, field, count, kind.form)
    return column


def _ragged(data: np.ndarray, field: Field, count: int, form: str) -> Ragged:
    if form == "texts":
        ones = Field(np.arange(len(field.owner)), field.value, field.length)
        values: np.ndarray = _texts(data, ones, len(field.owner))
        counts = np.ones(len(field.owner), np.int64)
    elif form in ("reals", "floats"):
        dtype = np.dtype("<f8" if form == "reals" else "<f4")
        values = _copy_bytes(data, field).view(dtype)
        counts = field.length // dtype.itemsize
    else:
        bits, counts = wire.packed_varints(data, field)
        values = wire.unzigzag(bits) if form == "signed" else bits.view(np.int64)
    lengths = np.bincount(field.owner, weights=counts, minlength=count).astype(np.int64)
    return Ragged(values, np.concatenate(([0], np.cumsum(lengths))))


def _copy_bytes(data: np.ndarray, field: Field) -> np.ndarray:
    """Returns the bytes of all occurrences, one behind the other."""
    copied = np.empty(int(field.length.sum()), np.uint8)
    source, target = memoryview(data), memoryview(copied)
    place = 0
    for start, length in zip(field.value.tolist(), field.length.tolist()):
        target[place : place + length] = source[start : start + length]
        place += length
    return copied


def _bytes(data: np.ndarray, field: Field, count: int) -> np.ndarray:
    column = np.full(count, b"", object)
    view = memoryview(data)
    starts, ends = field.value.tolist(), (field.value + field.length).tolist()
    column[field.owner] = [bytes(view[start:end]) for start, end in zip(starts, ends)]
    return column


def _texts(data: np.ndarray, field: Field, count: int) -> np.ndarray:
    """Returns strings; an array of one width where they are ASCII and not long."""
    longest = int(field.length.max()) if len(field.length) else 0
    if longest == 0:
        return np.zeros(count, "<U1")
    if longest > _LONGEST_FIXED or int(field.value.max()) + longest > len(data):
        return _any_texts(data, field, count)
    # An array of one width would drop zeros at the end of a text.
    if (data[field.value + field.length - 1] == 0)[field.length > 0].any():
        return _any_texts(data, field, count)
    characters = sliding_window_view(data, longest)[field.value]
    if (field.length != longest).any():
        characters[np.arange(longest) >= field.length[:, None]] = 0
    if characters.max() > 127:
        return _any_texts(data, field, count)
    column = np.zeros((count, longest), np.uint32)
    column[field.owner] = characters
    return column.view(f"<U{longest}").ravel()


def _any_texts(data: np.ndarray, field: Field, count: int) -> np.ndarray:
    column = np.full(count, "", object)
    view = memoryview(data)
    starts, ends = field.value.tolist(), (field.value + field.length).tolist()
    column[field.owner] = [str(view[start:end], "utf-8") for start, end in zip(starts, ends)]
    return column
