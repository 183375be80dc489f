"""Candidates of a request from matrices, dictionaries and data frames."""

from __future__ import annotations

import numbers
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy as np

from sortition.v1 import columns_pb2, ranking_pb2

# What the values of a column are: names of ColumnSchema.Type, in lower case.
TYPES = ("number", "category", "category_set", "text", "vector")


def fill_candidates(
    candidates: ranking_pb2.Candidates,
    features: Any,
    ids: Optional[Iterable[Any]] = None,
    query: Optional[Mapping[str, Any]] = None,
    types: Optional[Mapping[str, str]] = None,
) -> None:
    """Fills `candidates` from one of

    - an array of shape (n, d), or nested lists of numbers: features, sent as 32-bit floats;
    - a sparse matrix of SciPy of that shape;
    - a list of n dictionaries, or a DataFrame of n rows: named columns.

    `query` has the named columns of the query, one value each. `types` says what the values of
    columns are where that cannot be seen: strings are texts, and of a DataFrame's categorical
    columns categories. None, NaN and keys that a dictionary lacks are missing values.
    """
    frame = hasattr(features, "iloc") and hasattr(features, "columns")
    if frame or _is_rows(features):
        columns = candidates.columns
        columns.num_candidates = len(features)
        named = _frame_columns(features) if frame else _row_columns(features)
        for name, values, kind in named:
            _fill_column(columns.candidate.add(), name, values, (types or {}).get(name, kind))
        for name, value in (query or {}).items():
            _fill_column(columns.query.add(), name, [value], (types or {}).get(name))
        if ids is None and frame and features.index.dtype != np.int64:
            ids = features.index
    elif query:
        raise ValueError("query is for named columns; features are an array, which has none")
    elif hasattr(features, "tocsr"):
        _fill_sparse(candidates, features.tocsr())
    else:
        _fill_dense(candidates, features)
    if ids is not None:
        candidates.ids.extend(i if isinstance(i, str) else str(i) for i in ids)


def _is_rows(features: Any) -> bool:
    return isinstance(features, Sequence) and bool(features) and isinstance(features[0], Mapping)


def _fill_dense(candidates: ranking_pb2.Candidates, features: Any) -> None:
    matrix = np.ascontiguousarray(features, dtype="<f4")
    if np.ndim(features) != 2:
        raise ValueError(
            f"features have shape {np.shape(features)}, must have two dimensions: candidates, "
            "features of each"
        )
    candidates.num_features = matrix.shape[1]
    candidates.dense.packed = matrix.tobytes()


def _fill_sparse(candidates: ranking_pb2.Candidates, matrix: Any) -> None:
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    candidates.num_features = matrix.shape[1]
    candidates.sparse.row_offsets.extend(matrix.indptr.tolist())
    candidates.sparse.columns.extend(matrix.indices.tolist())
    candidates.sparse.values.extend(matrix.data.tolist())


def _row_columns(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any, Optional[str]]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [(name, [row.get(name) for row in rows], None) for name in names]


def _frame_columns(frame: Any) -> list[tuple[str, Any, Optional[str]]]:
    columns: list[tuple[str, Any, Optional[str]]] = []
    for name in frame.columns:
        series = frame[name]
        kind = str(series.dtype)
        if kind == "category":
            columns.append((str(name), list(series), "category"))
        elif kind in ("object", "string"):
            columns.append((str(name), list(series), None))
        elif kind.lower().startswith(("int", "uint", "float", "bool")):
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
            columns.append((str(name), values, "number"))
        else:
            raise ValueError(
                f"column {name} is {kind}, must be numbers, strings, categories, or objects that "
                "are sets or vectors"
            )
    return columns


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _guess(name: str, values: Iterable[Any]) -> str:
    """Returns the type of the values that are there."""
    for value in values:
        if _is_missing(value):
            continue
        if isinstance(value, (numbers.Real, np.bool_)):
            return "number"
        if isinstance(value, str):
            return "text"
        if isinstance(value, np.ndarray):
            return "vector"
        if isinstance(value, (set, frozenset)):
            return "category_set"
        if isinstance(value, (list, tuple)):
            if not value:
                continue
            return "category_set" if isinstance(value[0], str) else "vector"
        raise ValueError(
            f"column {name} has {value!r}, must be a number, a string, a set of strings or a vector"
        )
    return "number"


def _fill_column(column: columns_pb2.Column, name: str, values: Any, kind: Optional[str]) -> None:
    column.name = name
    if kind is None:
        kind = _guess(name, values)
    if kind == "number":
        try:
            array = np.array([np.nan if _is_missing(v) else v for v in values], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name} must be numbers: {error}") from None
        column.numbers.values.extend(array.tolist())
        return
    if kind not in TYPES:
        raise ValueError(f'types["{name}"] is "{kind}", must be one of {", ".join(TYPES)}')
    missing = [row for row, value in enumerate(values) if _is_missing(value)]
    column.missing.extend(missing)
    if kind == "category_set":
        _fill_sets(column, values)
    elif kind == "vector":
        _fill_vectors(column, name, values)
    else:
        target = column.categories if kind == "category" else column.texts
        target.values.extend("" if _is_missing(v) else str(v) for v in values)


def _fill_sets(column: columns_pb2.Column, values: Iterable[Any]) -> None:
    offsets, members = [0], []
    for value in values:
        if not _is_missing(value):
            members.extend(sorted(value) if isinstance(value, (set, frozenset)) else value)
        offsets.append(len(members))
    column.category_sets.offsets.extend(offsets)
    column.category_sets.values.extend(members)


def _fill_vectors(column: columns_pb2.Column, name: str, values: Iterable[Any]) -> None:
    rows = [None if _is_missing(v) else np.asarray(v, dtype=np.float32).ravel() for v in values]
    sizes = {len(row) for row in rows if row is not None}
    if len(sizes) > 1:
        raise ValueError(f"column {name} has vectors of {sorted(sizes)} numbers, must be one size")
    size = sizes.pop() if sizes else 0
    column.vectors.size = size
    matrix = [np.zeros(size, np.float32) if row is None else row for row in rows]
    column.vectors.values.extend(np.concatenate(matrix).tolist())
