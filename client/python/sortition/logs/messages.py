"""A table of candidates, with features or named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sortition.log.v1 import log_pb2
from sortition.v1 import columns_pb2

if TYPE_CHECKING:
    from sortition.logs.tuples import Tuples


def candidate_frame(tuples: Tuples) -> Any:
    """Returns Tuples.candidates_to_frame()."""
    import pandas

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
    if "columns" in tuples:
        frame.update(_named_columns(tuples["columns"], counts, offsets))
    elif "features" in tuples:
        frame.update(_feature_columns(tuples))
    return pandas.DataFrame(frame)


def _where_complete(ids: Any, counts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    result = np.full(offsets[-1], None, object)
    for row in np.flatnonzero((ids.lengths == counts) & (counts > 0)).tolist():
        result[offsets[row] : offsets[row + 1]] = ids[row]
    return result


def _feature_columns(tuples: Tuples) -> dict[str, np.ndarray]:
    widths = np.unique(tuples["num_features"])
    lengths = tuples["features"].lengths
    if len(widths) != 1 or (lengths != tuples["num_candidates"] * tuples["num_features"]).any():
        raise ValueError(
            f"decisions have {widths.tolist()} dense features, must have one number of them; read "
            "columns (named ones) or sparse, or take decisions of one kind"
        )
    rows = tuples["features"].values.reshape(-1, int(widths[0]))
    return {f"f{column}": rows[:, column] for column in range(rows.shape[1])}


def _named_columns(blobs: np.ndarray, counts: np.ndarray, offsets: np.ndarray) -> dict[str, Any]:
    result: dict[str, np.ndarray] = {}
    for row, blob in enumerate(blobs):
        message = columns_pb2.Columns.FromString(blob)
        for prefix, columns in (("candidate", message.candidate), ("query", message.query)):
            for column in columns:
                name = f"{prefix}.{column.name}"
                if name not in result:
                    result[name] = np.full(offsets[-1], None, object)
                values = column_values(column)
                if prefix == "query":
                    values = values * int(counts[row])
                target = result[name][offsets[row] : offsets[row + 1]]
                for index, value in enumerate(values):
                    target[index] = value
    return {name: _numbers_or_objects(values) for name, values in result.items()}


def _numbers_or_objects(values: np.ndarray) -> np.ndarray:
    """Returns floats if there are numbers alone; missing ones are NaN."""
    if all(value is None or isinstance(value, float) for value in values):
        return values.astype(float)
    return values


def column_values(column: columns_pb2.Column) -> list[Any]:
    """Returns floats, strings, frozensets or arrays; None where the value is missing."""
    kind = column.WhichOneof("values")
    values: list[Any]
    if kind == "category_sets":
        sets = column.category_sets
        bounds = zip(sets.offsets, sets.offsets[1:])
        values = [frozenset(sets.values[begin:end]) for begin, end in bounds]
    elif kind == "vectors":
        size = column.vectors.size
        values = list(np.array(column.vectors.values, np.float32).reshape(-1, max(size, 1)))
    else:
        values = list(getattr(column, kind).values) if kind else []
    for row in column.missing:
        values[row] = None
    return values
