"""Candidates of a request from matrices, dictionaries and data frames."""

from __future__ import annotations

import math
import numbers
import reprlib
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy as np

from sortition.v1 import columns_pb2, ranking_pb2

# What the values of a column are: names of ColumnSchema.Type, in lower case.
TYPES = ("number", "category", "category_set", "text", "vector")

_NUMERIC = ("int", "uint", "float", "double", "bool")  # Names of dtypes begin so.


def fill_candidates(
    candidates: ranking_pb2.Candidates,
    features: Any,
    ids: Optional[Iterable[Any]] = None,
    query: Optional[Mapping[str, Any]] = None,
    types: Optional[Mapping[str, str]] = None,
) -> Optional[list[Any]]:
    """Fills `candidates` from one of

    - an array of shape (n, d), or nested lists of numbers: features, sent as 32-bit floats;
    - a sparse matrix of SciPy of that shape;
    - a list of n dictionaries, or a DataFrame of n rows: named columns.

    `query` has the named columns of the query, one value each. `types` says what the values of
    columns are where that cannot be seen: strings are texts, and of a DataFrame's categorical
    columns categories. None, NaN and keys that a dictionary lacks are missing values.

    Returns the ids as they are given, if they are: by `ids`, or by the index of a DataFrame, unless
    that counts 0, 1, 2...
    """
    frame = is_frame(features)
    if frame or _is_rows(features):
        columns = candidates.columns
        columns.num_candidates = len(features)
        named = _frame_columns(features) if frame else _row_columns(features)
        for name, values, kind in named:
            _fill_column(columns.candidate.add(), name, values, (types or {}).get(name, kind))
        for name, value in (query or {}).items():
            _fill_column(columns.query.add(), name, [value], (types or {}).get(name))
        if ids is None and frame:
            ids = index_ids(features)
    elif query:
        raise ValueError("query is for named columns; features are an array, which has none")
    elif hasattr(features, "tocsr"):
        _fill_sparse(candidates, features.tocsr())
    else:
        _fill_dense(candidates, features)
    if ids is None:
        return None
    if isinstance(ids, str):
        raise ValueError(f'ids is "{ids}", must be a list: an id for each candidate')
    ids = list(ids)
    candidates.ids.extend(i if isinstance(i, str) else str(i) for i in ids)
    return ids


def is_frame(features: Any) -> bool:
    return hasattr(features, "iloc") and hasattr(features, "columns")


def index_ids(frame: Any) -> Optional[list[Any]]:
    """Returns the labels of the rows; None if they are no more than the places."""
    labels = list(frame.index)
    return None if labels == list(range(len(labels))) else labels


def _is_rows(features: Any) -> bool:
    return isinstance(features, Sequence) and bool(features) and isinstance(features[0], Mapping)


def _fill_dense(candidates: ranking_pb2.Candidates, features: Any) -> None:
    matrix = _floats("features", features)
    if matrix.ndim != 2:
        raise ValueError(
            f"features have shape {matrix.shape}, must have two dimensions: candidates, "
            "features of each"
        )
    candidates.num_features = matrix.shape[1]
    candidates.dense.packed = matrix.tobytes()


def _floats(name: str, values: Any) -> np.ndarray:
    """Returns numbers as little-endian 32-bit floats."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} have masked values, must have none: they cannot be sent")
    array = np.asarray(values)
    _check_numeric(name, array.dtype)
    return np.asarray(array, dtype="<f4")


def _check_numeric(name: str, dtype: np.dtype) -> None:
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} have dtype {dtype}, must be bool, int or float")


def _fill_sparse(candidates: ranking_pb2.Candidates, matrix: Any) -> None:
    _check_numeric("features", matrix.dtype)
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
    if not frame.columns.is_unique:
        names = list(frame.columns[frame.columns.duplicated()])
        raise ValueError(f"columns {names} are there twice, must have different names")
    return [(str(name), frame[name], _kind_of_dtype(name, frame[name].dtype)) for name in frame]


def _kind_of_dtype(name: str, dtype: Any) -> Optional[str]:
    """Returns the type of a column of a DataFrame; None: its values say it."""
    text = str(dtype).lower()
    if text == "category":
        return "category"
    if text.startswith(("object", "str")):
        return None
    if text.startswith(_NUMERIC):
        return "number"
    raise ValueError(
        f"column {name} is {dtype}, must be numbers, strings, categories, or objects that are sets "
        "or vectors"
    )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _kind_of(name: str, value: Any) -> Optional[str]:
    """Returns the type of a value; None where it may be of several."""
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
            return None
        return "category_set" if isinstance(value[0], str) else "vector"
    raise ValueError(
        f"column {name} has {reprlib.repr(value)}, must be a number, a string, a set of strings or "
        "a vector"
    )


def _guess(name: str, values: Iterable[Any]) -> str:
    """Returns the type of the values that are there."""
    kinds: dict[str, Any] = {}
    for value in values:
        kind = None if _is_missing(value) else _kind_of(name, value)
        if kind is not None:
            kinds.setdefault(kind, value)
    if len(kinds) > 1:
        several = " and ".join(reprlib.repr(value) for value in kinds.values())
        raise ValueError(f"column {name} has {several}, must be of one type, or types say which")
    return next(iter(kinds), "number")


def _fill_column(column: columns_pb2.Column, name: str, values: Any, kind: Optional[str]) -> None:
    column.name = name
    if kind is None:
        kind = _guess(name, values)
    if kind == "number":
        column.numbers.values.extend(_numbers(name, values))
        return
    if kind not in TYPES:
        raise ValueError(f'types["{name}"] is "{kind}", must be one of {", ".join(TYPES)}')
    values = list(values)
    missing = [row for row, value in enumerate(values) if _is_missing(value)]
    column.missing.extend(missing)
    if kind == "category_set":
        _fill_sets(column, name, values)
    elif kind == "vector":
        _fill_vectors(column, name, values)
    else:
        target = column.categories if kind == "category" else column.texts
        target.values.extend("" if _is_missing(v) else _text(v) for v in values)


def _numbers(name: str, values: Any) -> list[float]:
    if str(getattr(values, "dtype", "")).lower().startswith(_NUMERIC):
        return values.to_numpy(dtype=np.float64, na_value=np.nan).tolist()
    numbers_found = []
    for value in values:
        try:
            if isinstance(value, (str, bytes, np.complexfloating)):
                raise TypeError
            numbers_found.append(math.nan if _is_missing(value) else float(value))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"column {name} has {reprlib.repr(value)}, must be a number of 64 bits"
            ) from None
    return numbers_found


def _text(value: Any) -> str:
    """Returns a category or a text; what is no string, as it is in other languages.

    A whole number is the same text as float, which pandas makes of integers beside missing values.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _fill_sets(column: columns_pb2.Column, name: str, values: Iterable[Any]) -> None:
    offsets, members = [0], []
    for value in values:
        if not _is_missing(value):
            is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
            if not is_list or not all(isinstance(member, str) for member in value):
                raise ValueError(
                    f"column {name} has {reprlib.repr(value)}, must be a set or list of strings"
                )
            members.extend(sorted(value) if isinstance(value, (set, frozenset)) else value)
        offsets.append(len(members))
    column.category_sets.offsets.extend(offsets)
    column.category_sets.values.extend(members)


def _fill_vectors(column: columns_pb2.Column, name: str, values: Iterable[Any]) -> None:
    rows = [
        None if _is_missing(v) else _floats(f"vectors of column {name}", v).ravel() for v in values
    ]
    sizes = {len(row) for row in rows if row is not None}
    if len(sizes) > 1:
        raise ValueError(f"column {name} has vectors of {sorted(sizes)} numbers, must be one size")
    size = sizes.pop() if sizes else 0
    column.vectors.size = size
    matrix = [np.zeros(size, np.float32) if row is None else row for row in rows]
    column.vectors.values.extend(np.concatenate(matrix).tolist())
