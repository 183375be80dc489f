"""Bandit tuples as arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional

import numpy as np

from sortition.arguments import refuse, text
from sortition.log.v1 import log_pb2
from sortition.logs import wire
from sortition.logs.columns import KINDS, Column, parse_columns
from sortition.logs.damage import Damage
from sortition.logs.growing import GrowingColumn
from sortition.logs.messages import candidate_frame, check_dense
from sortition.logs.ragged import Ragged, places_of
from sortition.logs.segments import Paths, Segment, list_segments, open_segment, size_of

# What read_tuples returns unless it is told otherwise: all that a policy needs. Features are in one
# of the last three, in the form in which they were sent.
DEFAULT_COLUMNS = (
    "decision_id time_us model version action_kind action log_propensity reward has_feedback "
    "unit_id keep_probability can_abstain num_candidates num_features features sparse columns"
).split()
ACTION_KINDS = {value.name: value.number for value in log_pb2.ActionKind.DESCRIPTOR.values}

_TUPLE_TAG, _INCOMPLETE_TAG = 0x3A, 0x4A
_BLOCK = 1 << 12  # Tuples that are taken apart together: their columns stay in the cache.


@dataclass
class Tuples(Mapping[str, Any]):
    """Columns of equal length by name: arrays, or Ragged where rows have several values.

    `features` are rows of num_candidates × num_features floats; of a decision, features_of. They
    are empty for decisions whose features were sent sparse or as named columns: `sparse` and
    `columns` have the bytes of these messages (SparseFeatures, Columns), and candidates_to_frame()
    returns their values.
    """

    columns: dict[str, Column]
    left_out: dict[str, int] = field(default_factory=dict)  # From reason to tuples.
    damage: list[Damage] = field(default_factory=list)

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise KeyError(f"{name} was not read; the tuples have {', '.join(self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        """Returns the number of tuples, not of columns."""
        return len(next(iter(self.columns.values()), ()))

    def take(self, rows: Any) -> Tuples:
        """Returns these tuples. `rows`: indexes, a slice, or a mask with a bool for each tuple."""
        rows = places_of(rows, len(self))
        taken = {
            name: column.take(rows) if isinstance(column, Ragged) else column[rows]
            for name, column in self.columns.items()
        }
        return Tuples(taken, self.left_out, self.damage)

    def features_of(self, row: int) -> np.ndarray:
        """Returns the dense features of a decision, of shape (num_candidates, num_features).

        ValueError if they were sent sparse or as named columns.
        """
        check_dense(self, row)
        values = self["features"][row]
        return values.reshape(int(self["num_candidates"][row]), int(self["num_features"][row]))

    def to_frame(self) -> Any:
        """Returns a DataFrame with a row for each tuple; rows of Ragged columns are arrays."""
        import pandas

        frame = {
            name: list(map(column.__getitem__, range(len(column))))
            if isinstance(column, Ragged)
            else column
            for name, column in self.columns.items()
        }
        return pandas.DataFrame(frame)

    def candidates_to_frame(self) -> Any:
        """Returns a DataFrame with a row for each candidate.

        It has tuple (number of the tuple), document_index, rank (in the action, from 0; -1: not
        chosen, or an action of labels) and chosen, and the features in the form in which they were
        sent: dense and sparse ones as f0, f1, …; named columns as candidate.NAME and query.NAME.
        Numbers are floats, categories and texts strings, sets frozensets, vectors arrays. Missing
        values are NaN in columns of numbers, else None. ValueError if the decisions differ in
        num_features.
        """
        return candidate_frame(self)


def read_tuples(
    paths: Paths,
    columns: Optional[Iterable[str]] = None,
    *,
    model: Optional[str] = None,
    with_censored: bool = False,
    with_seeded: bool = False,
    allow_incomplete: bool = False,
) -> Tuples:
    """Reads tuple segments: directories, files, or a list of them.

    `columns`: names of columns.KINDS; None: DEFAULT_COLUMNS. `model`: of whose decisions alone.
    Left out and counted in `left_out` are tuples whose feedback may be missing ("censored"), unless
    `with_censored`; those drawn with the request's own seed ("seeded"), which are not independent
    of each other, unless `with_seeded`; and copies in another directory ("copy"). ValueError if a
    segment is no tuple segment, or the log says that it is incomplete and `allow_incomplete` is not
    set. Damaged places are passed over, listed in `damage` and warned of; the unfinished end of a
    segment that is being written is not. Segments that a sidecar removes meanwhile are warned of.
    """
    if model is not None:
        text("model", model)
    if isinstance(columns, str):
        refuse("columns", columns, f'a list of names, such as ["{columns}"]')
    names = list(DEFAULT_COLUMNS if columns is None else columns)
    for name in names:
        if name not in KINDS:
            raise ValueError(f'columns has "{name}", must be one of {", ".join(KINDS)}')
    files = list_segments(paths)
    flags = {"censored": "censored", "seeded": "has_seed"}
    for reason, is_kept in (("censored", with_censored), ("seeded", with_seeded)):
        if is_kept:
            del flags[reason]
    hidden = [*flags.values()] + (["model"] if model is not None else [])
    if len({file.parent for file in files}) > 1:
        hidden += ["spool_writer", "position", "decision_id"]
    reader = _Reader(list(dict.fromkeys(names + hidden)), model, flags)
    sizes = [size_of(file) for file in files]
    done, total = 0, max(sum(sizes), 1)
    for file, size in zip(files, sizes):
        segment = open_segment(file)
        if segment is None:
            warnings.warn(f"{file} was removed before it was read", stacklevel=2)
        else:
            reader.read(segment, allow_incomplete, done / total, size / total)
        done += size
    for damage in reader.damage:
        warnings.warn(str(damage), stacklevel=2)
    found = reader.columns()
    return Tuples({name: found[name] for name in names}, reader.left_out, reader.damage)


def read_messages(paths: Paths) -> Iterator[log_pb2.LogRecord]:
    """Yields every intact record of segments of any kind as protobuf messages: slow, complete."""
    for file in list_segments(paths):
        segment = open_segment(file)
        if segment is None:
            warnings.warn(f"{file} was removed before it was read", stacklevel=2)
            continue
        for record in range(len(segment.frames.starts)):
            yield log_pb2.LogRecord.FromString(segment.payload(record))


class _Reader:
    """Collects columns, block by block."""

    def __init__(self, names: list[str], model: Optional[str], flags: dict[str, str]) -> None:
        """`flags`: from a reason to leave tuples out to the column that says which."""
        self._names = names
        self._model = model
        self._flags = flags
        none = parse_columns(*(np.empty(0, t) for t in ("u1", "i8", "i8")), names)
        self._columns = {name: GrowingColumn(column) for name, column in none.items()}
        self._seen: set[tuple[str, bytes, str]] = set()
        self.left_out: dict[str, int] = {}
        self.damage: list[Damage] = []

    def read(self, segment: Segment, allow_incomplete: bool, before: float, share: float) -> None:
        """`before`, `share`: which part of the log was read before, and is in this segment."""
        kind = segment.header.kind
        if kind not in (segment.header.TUPLES, segment.header.KIND_UNSPECIFIED):
            name = segment.header.DESCRIPTOR.enum_types_by_name["Kind"].values_by_number[kind].name
            raise ValueError(f"{segment.path} has records of kind {name}, must be TUPLES")
        self.damage += [d for d in segment.frames.damage if d.is_corrupt or segment.is_closed]
        data, starts = segment.data, segment.frames.starts
        ends = starts + segment.frames.lengths
        tags = data[starts]
        if (tags == _INCOMPLETE_TAG).any() and not allow_incomplete:
            raise ValueError(
                f"{segment.path} says that the log is incomplete: feedback of its decisions went "
                "elsewhere; allow_incomplete reads it all the same"
            )
        rows = np.flatnonzero(tags == _TUPLE_TAG)
        blocks = np.array_split(rows, max(1, -(-len(rows) // _BLOCK)))
        for number, block in enumerate(blocks, 1):
            self._take(data, starts[block], ends[block], before + share * number / len(blocks))

    def _take(self, data: np.ndarray, begin: np.ndarray, end: np.ndarray, share: float) -> None:
        inner = wire.scan(data, begin, end, {_TUPLE_TAG >> 3})[_TUPLE_TAG >> 3]
        columns = parse_columns(data, inner.value, inner.value + inner.length, self._names)
        if "keep_probability" in columns:
            keep = columns["keep_probability"]
            keep[keep == 0] = 1  # It is not written where everything is kept.
        keeps = np.ones(len(begin), bool)
        if self._model is not None:
            keeps &= columns["model"] == self._model
        for reason, name in self._flags.items():
            self._leave_out(reason, keeps & columns[name])
            keeps &= ~columns[name]
        if "position" in columns and "spool_writer" in columns:
            keeps &= ~self._copies(columns, keeps)
        if not keeps.all():
            rows = np.flatnonzero(keeps)
            columns = {
                name: column.take(rows) if isinstance(column, Ragged) else column[rows]
                for name, column in columns.items()
            }
        for name, column in columns.items():
            self._columns[name].append(column, share)

    def _copies(self, columns: dict[str, Any], keeps: np.ndarray) -> np.ndarray:
        """Returns which tuples were read before, from another directory."""
        copies = np.zeros(len(keeps), bool)
        keys = zip(columns["spool_writer"], columns["position"], columns["decision_id"])
        for row, key in enumerate(keys):
            # Tuples without a place, of imports, are no copies of each other.
            if keeps[row] and key[1]:
                copies[row] = key in self._seen
                self._seen.add(key)
        self._leave_out("copy", copies)
        return copies

    def _leave_out(self, reason: str, rows: np.ndarray) -> None:
        if rows.any():
            self.left_out[reason] = self.left_out.get(reason, 0) + int(rows.sum())

    def columns(self) -> dict[str, Column]:
        return {name: column.finish() for name, column in self._columns.items()}
