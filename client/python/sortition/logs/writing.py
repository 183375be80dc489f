"""Tuple segments of arrays."""

from __future__ import annotations

import os
import pathlib
import secrets
import shutil
import struct
import tempfile
import time
from typing import Any, Iterator, Mapping, Union

import numpy as np

from sortition.arguments import is_missing, is_number, refuse
from sortition.features import is_frame
from sortition.log.v1 import log_pb2
from sortition.logs.checks import check_tuple
from sortition.logs.columns import KINDS
from sortition.logs.frames import crc32c_many, mask

_WRITER = "python"
_SEGMENT_BYTES = 64 << 20
_NEEDED = ("decision_id", "action_kind", "action", "log_propensity", "reward", "num_candidates")


def write_tuples(
    directory: Union[str, pathlib.Path],
    tuples: Mapping[str, Any],
    *,
    segment_bytes: int = _SEGMENT_BYTES,
) -> int:
    """Writes tuples to a new directory of closed segments and returns how many there are.

    `tuples`: Tuples, a DataFrame with their columns, or a mapping of arrays and lists of rows.
    Where it has `record`, each tuple is that one with the other columns put over it, so that
    nothing that was not read is lost; otherwise it needs the columns decision_id, action_kind,
    action, log_propensity, reward and num_candidates, and features, sparse or columns. Missing
    texts (None, NaN) are unset. The directory appears when it is complete; ValueError if it is
    there and not empty, or a value is wrong.
    """
    target = pathlib.Path(os.path.realpath(directory))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{directory} is there, must be absent or an empty directory")
    if not isinstance(tuples, Mapping) and not is_frame(tuples):
        refuse("tuples", tuples, "Tuples, a DataFrame, or a dictionary of columns")
    names = [str(name) for name in tuples]
    unknown = [name for name in names if name not in KINDS]
    absent = [name for name in _NEEDED if name not in names and "record" not in names]
    if "seed" in names and "has_seed" not in names:
        absent = ["has_seed"]  # Any seed is a number that a request may have.
    if unknown or absent:
        raise ValueError(
            f"columns {unknown} are unknown, must be of {', '.join(KINDS)}"
            if unknown
            else f"columns {absent} are missing, must be there"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}.tmp-", dir=target.parent))
    try:
        staging.chmod(0o755)
        count = _write_segments(staging, _records(tuples, names), segment_bytes)
        os.rename(staging, target)
    except BaseException:
        shutil.rmtree(staging)
        raise
    _sync(target.parent)
    return count


def _records(tuples: Mapping[str, Any], names: list[str]) -> Iterator[bytes]:
    columns = {name: tuples[name] for name in names}
    # A DataFrame's columns are indexed by label.
    columns = {n: c.to_numpy() if hasattr(c, "to_numpy") else c for n, c in columns.items()}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"columns have {sorted(lengths)} rows, must have the same number")
    for row in range(lengths.pop()):
        try:
            yield _record({name: column[row] for name, column in columns.items()})
        except (TypeError, ValueError) as error:
            raise ValueError(f"tuple {row}: {error}") from None


def _record(values: dict[str, Any]) -> bytes:
    """Returns a LogRecord's bytes. Dense features, the last field, are appended as they are."""
    message = log_pb2.BanditTuple.FromString(values.pop("record", b""))
    decision = message.decision
    features = values.pop("features", None)
    if features is None or len(features) == 0:
        dense = np.array(decision.dense_values, "<f4").tobytes() if features is None else b""
    else:
        dense = _dense(values, decision, features)
    decision.ClearField("dense_values")
    # After the seed.
    if "has_seed" in values:
        values["has_seed"] = values.pop("has_seed")
    for name, value in values.items():
        try:
            _set(message, name, value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from None
    check_tuple(message, len(dense) // 4)
    body = decision.SerializeToString()
    if dense:
        body += _field(20, dense)
    message.ClearField("decision")
    return _field(7, message.SerializeToString() + _field(10, body))


def _dense(values: dict[str, Any], decision: log_pb2.Decision, features: Any) -> bytes:
    with np.errstate(over="ignore"):
        matrix = np.asarray(features, dtype="<f4")
    if not np.isfinite(matrix).all():
        raise ValueError("features has a value that is not finite, must be of the range of floats")
    rows = int(values.get("num_candidates", decision.num_candidates))
    if matrix.ndim == 2:
        values.setdefault("num_features", matrix.shape[1])
    width = int(values.get("num_features", decision.num_features))
    if matrix.size != rows * width:
        raise ValueError(
            f"features has {matrix.size} values, must have num_candidates * num_features = "
            f"{rows} * {width}"
        )
    return matrix.tobytes()


def _set(message: log_pb2.BanditTuple, name: str, value: Any) -> None:
    kind = KINDS[name]
    target = {"tuple": message, "decision": message.decision, "shown": message.shown}[kind.message]
    if name == "seen_ranks" and value == kind.default:
        target.ClearField(kind.field)
    elif name == "has_seed":
        if not _flag(value):
            target.ClearField(kind.field)
        elif not target.HasField(kind.field):
            raise ValueError("is true, must be so for tuples with a seed")
    elif name == "censored":
        # The reason is not in the column: what the record has stays.
        if not _flag(value):
            message.ClearField("censored")
        elif not message.censored:
            message.censored.append(log_pb2.LOST)
    elif kind.form == "bytes":
        part = {"position": message.position, "columns": message.decision.columns}.get(
            name, message.decision.sparse
        )
        if value:
            part.ParseFromString(value)
        else:
            target.ClearField(kind.field)
    elif kind.form in ("texts", "signed", "numbers", "reals", "floats"):
        target.ClearField(kind.field)
        array = np.asarray(value)
        if array.dtype == bool and name != "eligible":
            raise ValueError(f"is {array.tolist()}, must have numbers")
        getattr(target, kind.field).extend(array.tolist())
    elif kind.form == "text" and is_missing(value):
        target.ClearField(kind.field)
    else:
        convert = {"text": str, "flag": _flag, "real": _real}.get(kind.form, _whole)
        setattr(target, kind.field, convert(value))


def _flag(value: Any) -> bool:
    if is_missing(value) or value not in (0, 1):
        raise ValueError(f"is {value}, must be true or false")
    return bool(value)


def _real(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not is_number(value):
        raise ValueError(f"is {value!r}, must be a number")
    return float(value)


def _whole(value: Any) -> int:
    is_wrong = is_missing(value) or isinstance(value, (str, bool, np.bool_))
    if is_wrong or int(value) != value:
        raise ValueError(f"is {value}, must be a whole number")
    return int(value)


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _masked(payload: bytes) -> bytes:
    data = np.frombuffer(payload, np.uint8)
    crc = crc32c_many(data, np.array([0]), np.array([len(payload)]))
    return struct.pack("<I", int(mask(crc)[0]))


def _frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + _masked(length) + payload + _masked(payload)


def _write_segments(folder: pathlib.Path, records: Iterator[bytes], segment_bytes: int) -> int:
    incarnation = secrets.token_hex(4)
    created = time.time_ns() // 1000
    count = segments = 0
    record = next(records, None)
    while record is not None or segments == 0:
        path = folder / f"{created + segments:016x}-{_WRITER}-{segments:06d}.seg"
        header = log_pb2.SegmentHeader(
            format_version=1,
            kind=log_pb2.SegmentHeader.TUPLES,
            writer_id=_WRITER,
            incarnation=incarnation,
            first_sequence=count,
            created_time_us=created + segments,
        )
        first = count
        with path.open("xb") as file:
            file.write(_frame(log_pb2.LogRecord(header=header).SerializeToString()))
            while record is not None and (count == first or file.tell() < segment_bytes):
                file.write(_frame(record))
                count += 1
                record = next(records, None)
            footer = log_pb2.SegmentFooter(
                num_records=count - first,
                last_sequence=max(count - 1, 0),
                closed_time_us=time.time_ns() // 1000,
                is_last=record is None,
            )
            file.write(_frame(log_pb2.LogRecord(footer=footer).SerializeToString()))
            file.flush()
            os.fsync(file.fileno())
        segments += 1
    _sync(folder)
    return count


def _sync(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
