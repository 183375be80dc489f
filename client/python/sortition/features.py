"""Candidates of a request from matrices, dictionaries and data frames."""

from __future__ import annotations

import math
import numbers
import reprlib
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, ValuesView

import numpy as np

from sortition.arguments import (
    is_labelled_row,
    is_missing,
    is_number,
    listed,
    mapping,
    refuse,
)
from sortition.model.v1 import features_pb2
from sortition.v1 import columns_pb2, ranking_pb2

# What the values of a column are: names of ColumnSchema.Type, in lower case.
TYPES = tuple(
    value.name.lower()
    for value in features_pb2.ColumnSchema.Type.DESCRIPTOR.values
    if value.number != features_pb2.ColumnSchema.TYPE_UNSPECIFIED
)

_ROWS = "an array of shape (n, d), a list of n dictionaries, or a DataFrame of n rows"
_MATRIX = "an array of shape (n, sources), or a DataFrame of numbers"

_NUMERIC = ("int", "uint", "float", "double", "bool")  # Names of dtypes begin so.


def fill_candidates(
    candidates: ranking_pb2.Candidates,
    features: Any,
    ids: Optional[Iterable[Any]] = None,
    query: Optional[Mapping[str, Any]] = None,
    types: Optional[Mapping[str, str]] = None,
    name: str = "features",
) -> Optional[list[Any]]:
    """Fills `candidates` from one of

    - an array of shape (n, d), or nested lists of numbers: features, sent as 32-bit floats;
    - a sparse matrix of SciPy of that shape;
    - a list of n dictionaries or of n rows of a DataFrame, or a DataFrame: named columns.

    `query` has the named columns of the query, one value each. `types` says what the values of
    columns are where that cannot be seen: strings are texts, and of a DataFrame's categorical
    columns categories. None, NaN and keys that a dictionary lacks are missing values. `name` is
    what the caller calls `features`; `lists` are numbers, never named columns.

    Returns the ids as they are given, if they are: by `ids`, or by the index of a DataFrame, unless
    that counts 0, 1, 2...
    """
    frame = is_frame(features)
    if not frame:
        features = _plain(name, features)
    if frame or _is_rows(name, features):
        columns = candidates.columns
        columns.num_candidates = len(features)
        named = _frame_columns(features) if frame else _row_columns(features)
        for column, values, kind in named:
            _fill_column(columns.candidate.add(), column, values, (types or {}).get(column, kind))
        for column, value in ({} if query is None else mapping("query", query)).items():
            _fill_column(columns.query.add(), column, [value], (types or {}).get(column))
        if ids is None and frame:
            ids = index_ids(features)
    elif query is not None and len(mapping("query", query)) > 0:
        raise ValueError(
            f"query is for named columns, must be unset where {name} are numbers: an array has none"
        )
    elif hasattr(features, "tocsr"):
        _fill_sparse(candidates, features.tocsr())
    else:
        _fill_dense(candidates, name, features)
    return None if ids is None else _fill_ids(candidates, ids)


def _plain(name: str, features: Any) -> Any:
    """Returns features other than a DataFrame; iterators over rows become lists."""
    expected = _MATRIX if name == "lists" else _ROWS
    if isinstance(features, Mapping):
        hint = "" if name == "lists" else "; one of lists by column: pandas.DataFrame(features)"
        refuse(name, features, f"{expected}, not one dictionary{hint}")
    wrong = (str, bytes, set, frozenset, numbers.Number, type(None))
    if isinstance(features, wrong) or is_labelled_row(features):
        refuse(name, features, expected)
    if isinstance(features, (Iterator, ValuesView)):
        return list(features)
    if isinstance(features, np.ndarray) and features.dtype == object and features.ndim == 1:
        return features.tolist()
    return features


def _is_rows(name: str, features: Any) -> bool:
    """Returns whether the rows have named columns rather than numbers. TypeError for other rows."""
    if not isinstance(features, Sequence):
        return False
    if not features:
        raise ValueError(f"{name} is empty, must have at least one candidate")
    are_named = [isinstance(row, (dict, Mapping)) or is_labelled_row(row) for row in features]
    if all(are_named) and name != "lists":
        return True
    for place, row in enumerate(features):
        if isinstance(row, (str, bytes)) or (hasattr(row, "_fields") and not are_named[place]):
            hint = "; of a named tuple: its _asdict()" if hasattr(row, "_fields") else ""
            expected = "a dictionary of named columns, or a list of numbers"
            refuse(f"{name}[{place}]", row, expected + hint)
        if are_named[place] != are_named[0]:
            expected = "a dictionary" if are_named[0] else "a list of numbers"
            refuse(f"{name}[{place}]", row, f"{expected}, as {name}[0] is")
    if are_named[0] and name == "lists":
        refuse(f"{name}[0]", features[0], "a list of numbers")
    return are_named[0]


def _fill_ids(candidates: ranking_pb2.Candidates, ids: Any) -> list[Any]:
    ids = listed("ids", ids, "strings or numbers: an id for each candidate")
    if set(map(type, ids)) != {str}:
        for place, one in enumerate(ids):
            wrong = (bool, np.bool_, bytes, Mapping, set, list, np.ndarray)
            if is_missing(one) or isinstance(one, wrong):
                refuse(f"ids[{place}]", one, "a string or a number")
        candidates.ids.extend(map(_text, ids))
    else:
        candidates.ids.extend(ids)
    return ids


def is_frame(features: Any) -> bool:
    return hasattr(features, "iloc") and hasattr(features, "columns")


def index_ids(frame: Any) -> Optional[list[Any]]:
    """Returns the labels of the rows; None if they are no more than the places."""
    labels = list(frame.index)
    return None if labels == list(range(len(labels))) else labels


def _fill_dense(candidates: ranking_pb2.Candidates, name: str, features: Any) -> None:
    if isinstance(features, Sequence):
        lengths = {len(row) if hasattr(row, "__len__") else 0 for row in features}
        if len(lengths) > 1:
            raise ValueError(
                f"{name} have rows of {sorted(lengths)} numbers, must have the same number"
            )
    matrix = _floats(name, features)
    if matrix.ndim != 2:
        columns = "scores of each source" if name == "lists" else "features of each"
        raise ValueError(
            f"{name} have shape {matrix.shape}, must have two dimensions: candidates, {columns}"
        )
    candidates.num_features = matrix.shape[1]
    candidates.dense.packed = matrix.tobytes()


def _floats(name: str, values: Any) -> np.ndarray:
    """Returns numbers as little-endian 32-bit floats."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} have masked values, must have none: they cannot be sent")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} have lists within rows, must have numbers alone") from None
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


def _row_columns(features: Sequence[Any]) -> list[tuple[str, Any, Optional[str]]]:
    rows = [mapping(f"features[{place}]", row) for place, row in enumerate(features)]
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


def _kind_of(name: str, value: Any) -> Optional[str]:
    """Returns the type of a value; None where it may be of several."""
    if is_number(value) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (set, frozenset)):
        return "category_set"
    if isinstance(value, (list, tuple, np.ndarray)):
        if len(value) == 0:
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
        kind = None if is_missing(value) else _kind_of(name, value)
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
    missing = [row for row, value in enumerate(values) if is_missing(value)]
    column.missing.extend(missing)
    if kind == "category_set":
        _fill_sets(column, name, values)
    elif kind == "vector":
        _fill_vectors(column, name, values)
    else:
        target = column.categories if kind == "category" else column.texts
        target.values.extend("" if is_missing(v) else _text(v) for v in values)


def _numbers(name: str, values: Any) -> list[float]:
    if str(getattr(values, "dtype", "")).lower().startswith(_NUMERIC):
        return values.to_numpy(dtype=np.float64, na_value=np.nan).tolist()
    numbers_found = []
    for value in values:
        try:
            if isinstance(value, (str, bytes, np.complexfloating)):
                raise TypeError
            numbers_found.append(math.nan if is_missing(value) else float(value))
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
        if not is_missing(value):
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
        None if is_missing(v) else _floats(f"vectors of column {name}", v).ravel() for v in values
    ]
    sizes = {len(row) for row in rows if row is not None}
    if len(sizes) > 1:
        raise ValueError(f"column {name} has vectors of {sorted(sizes)} numbers, must be one size")
    size = sizes.pop() if sizes else 0
    column.vectors.size = size
    matrix = [np.zeros(size, np.float32) if row is None else row for row in rows]
    column.vectors.values.extend(np.concatenate(matrix).tolist())
