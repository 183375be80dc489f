"""A table of candidates, with features or named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.log.v1 import log_pb2
from sortition.v1 import columns_pb2, ranking_pb2

if TYPE_CHECKING:
    from sortition.logs.tuples import Tuples


_FORMS = ("features", "sparse", "columns")  # Columns of tuples that have the features.
_MAX_SPARSE_WIDTH = 4096  # Sparse features that become columns of a frame.


def candidate_frame(tuples: Tuples) -> Any:
    """Returns Tuples.candidates_to_frame()."""
    import pandas

    _check_read(tuples, "action", "num_candidates")
    counts = tuples["num_candidates"]
    offsets = np.concatenate(([0], np.cumsum(counts)))
    numbers = np.repeat(np.arange(len(tuples)), counts)
    frame: dict[str, Any] = {
        "tuple": numbers,
        "document_index": np.arange(offsets[-1]) - offsets[numbers],
    }
    action = tuples["action"]
    owner = np.repeat(np.arange(len(tuples)), action.lengths)
    rank = np.arange(len(action.values)) - action.offsets[owner]
    limits = counts
    if "action_kind" in tuples:
        # Labels are not candidates.
        limits = np.where(tuples["action_kind"] == log_pb2.LABELS, 0, counts)
    chosen = (action.values >= 0) & (action.values < limits[owner])
    ranks = np.full(offsets[-1], -1)
    ranks[offsets[owner[chosen]] + action.values[chosen]] = rank[chosen]
    frame["rank"] = ranks
    frame["chosen"] = ranks >= 0
    if "candidate_ids" in tuples:
        ids = tuples["candidate_ids"]
        frame["candidate_id"] = _where_complete(ids, counts, offsets)
    frame.update(_feature_columns(tuples, offsets))
    if "columns" in tuples:
        frame.update(_named_columns(tuples["columns"], counts, offsets))
    return pandas.DataFrame(frame)


def check_dense(tuples: Tuples, row: int) -> None:
    """ValueError, which names the function to call instead, unless a tuple's features are dense."""
    _check_read(tuples, "features", "num_candidates", "num_features")
    if tuples["num_candidates"][row] == 0 or len(tuples["features"][row]) > 0:
        return
    form = "sparse or named columns"
    for name, text in (("columns", "named columns"), ("sparse", "sparse")):
        if name in tuples and tuples[name][row]:
            form = text
    raise ValueError(
        f"the features of tuple {row} are {form}, must be dense for features_of(); "
        "candidates_to_frame() returns features of every form"
    )


def _check_read(tuples: Tuples, *needed: str) -> None:
    absent = [name for name in needed if name not in tuples]
    if absent:
        raise ValueError(
            f"the tuples were read without {', '.join(absent)}, must have {', '.join(needed)}; "
            "read_tuples() without the argument columns reads them"
        )


def _where_complete(ids: Any, counts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    result = np.full(offsets[-1], None, object)
    for row in np.flatnonzero((ids.lengths == counts) & (counts > 0)).tolist():
        result[offsets[row] : offsets[row + 1]] = ids[row]
    return result


def _feature_columns(tuples: Tuples, offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Returns dense and sparse features as f0, f1, …; NaN where a decision has neither."""
    dense = tuples["features"].lengths > 0 if "features" in tuples else np.zeros(len(tuples), bool)
    blobs = tuples["sparse"] if "sparse" in tuples else np.full(len(tuples), b"", object)
    sparse = np.flatnonzero(blobs != b"")
    has_features = dense.copy()
    has_features[sparse] = True
    _check_forms(tuples, has_features)
    if not has_features.any():
        return {}
    _check_read(tuples, "num_features")
    widths = np.unique(tuples["num_features"][has_features])
    if len(widths) > 1:
        raise ValueError(
            f"the decisions have {widths.tolist()} features, must have one number of them; keep "
            'one number by take(tuples["num_features"] == …)'
        )
    width = int(widths[0])
    if len(sparse) and width > _MAX_SPARSE_WIDTH:
        raise ValueError(
            f"the decisions have {width} sparse features, must have at most {_MAX_SPARSE_WIDTH} to "
            'be columns; SparseFeatures.FromString(tuples["sparse"][row]) of '
            "sortition.v1.ranking_pb2 has those of one decision"
        )
    if dense.all():
        rows = tuples["features"].values.reshape(-1, width)
    else:
        rows = np.full((offsets[-1], width), np.nan, np.float32)
        for row in np.flatnonzero(dense).tolist():
            rows[offsets[row] : offsets[row + 1]] = tuples["features"][row].reshape(-1, width)
        for row in sparse.tolist():
            _fill_sparse(rows[offsets[row] : offsets[row + 1]], blobs[row])
    return {f"f{column}": rows[:, column] for column in range(width)}


def _check_forms(tuples: Tuples, has_features: np.ndarray) -> None:
    """ValueError if features of some forms were read, and those of a decision have another form."""
    read = [name for name in _FORMS if name in tuples]
    if not read or len(read) == len(_FORMS):
        return
    if "columns" in tuples:
        has_features = has_features | (tuples["columns"] != b"")
    rows = np.flatnonzero(~has_features)
    if len(rows):
        absent = " and ".join(name for name in _FORMS if name not in tuples)
        raise ValueError(
            f"tuple {rows[0]} has nothing in {' and '.join(read)}, must have features in one of "
            f"{', '.join(_FORMS)}; read {absent}, too, as read_tuples() does without the argument "
            "columns"
        )


def _fill_sparse(rows: np.ndarray, blob: bytes) -> None:
    message = ranking_pb2.SparseFeatures.FromString(blob)
    lengths = np.diff(np.array(message.row_offsets, np.int64))
    rows[:] = 0
    rows[np.repeat(np.arange(len(rows)), lengths), list(message.columns)] = message.values


def _named_columns(blobs: np.ndarray, counts: np.ndarray, offsets: np.ndarray) -> dict[str, Any]:
    result: dict[str, np.ndarray] = {}
    for row, blob in enumerate(blobs):
        if not blob:
            continue
        message = columns_pb2.Columns.FromString(blob)
        count = int(counts[row])
        for prefix, columns in (("candidate", message.candidate), ("query", message.query)):
            for column in columns:
                name = f"{prefix}.{column.name}"
                if name not in result:
                    result[name] = np.full(offsets[-1], None, object)
                if prefix == "query":
                    values = column_values(column, 1) * count
                else:
                    values = column_values(column, count)
                target = result[name][offsets[row] : offsets[row + 1]]
                for index, value in enumerate(values):
                    target[index] = value
    return {name: _numbers_or_objects(values) for name, values in result.items()}


def _numbers_or_objects(values: np.ndarray) -> np.ndarray:
    """Returns floats if there are numbers alone; missing ones are NaN."""
    if all(value is None or isinstance(value, float) for value in values):
        return values.astype(float)
    return values


def column_values(column: columns_pb2.Column, count: int) -> list[Any]:
    """Returns `count` floats, strings, frozensets or arrays; None where the value is missing."""
    kind = column.WhichOneof("values")
    values: list[Any]
    if kind == "category_sets":
        sets = column.category_sets
        bounds = zip(sets.offsets, sets.offsets[1:])
        values = [frozenset(sets.values[begin:end]) for begin, end in bounds]
    elif kind == "vectors":
        vectors = column.vectors
        values = list(np.array(vectors.values, np.float32).reshape(count, vectors.size))
    else:
        values = list(getattr(column, kind).values) if kind else [None] * count
    for row in column.missing:
        values[row] = None
    return values
