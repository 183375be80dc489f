"""Checks of arguments. Messages name the argument, what came, and what is permitted."""

from __future__ import annotations

import decimal
import difflib
import math
import numbers
import reprlib
import uuid
from typing import Any, Iterable, Mapping, NoReturn, Optional, Sequence

import numpy as np
from google.protobuf.descriptor import FieldDescriptor

_Field = FieldDescriptor
_BITS = {_Field.TYPE_UINT32: 32, _Field.TYPE_UINT64: 64}


def refuse(name: str, value: Any, expected: str) -> NoReturn:
    """Raises a TypeError that says what `value` is and must be."""
    raise TypeError(f"{name} is {described(value)}, must be {expected}")


def described(value: Any) -> str:
    if value is None:
        return "None"
    text_of_value = " ".join(reprlib.repr(value).split())  # That of a DataFrame has lines.
    return f"{text_of_value} ({type(value).__name__})"


def is_missing(value: Any) -> bool:
    """Returns whether it is what Python, NumPy and pandas put where there is no value."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def is_labelled_row(value: Any) -> bool:
    """Returns whether it is a row of a DataFrame: a Series whose labels are strings."""
    if not (hasattr(value, "iloc") and hasattr(value, "to_dict") and not hasattr(value, "columns")):
        return False
    return len(value) > 0 and all(isinstance(label, str) for label in value.index)


def mapping(name: str, value: Any) -> dict[str, Any]:
    """Returns a mapping from strings, or a row of a DataFrame, as a dictionary."""
    if type(value) is dict and set(map(type, value)) <= {str}:
        return value
    if is_labelled_row(value):
        return value.to_dict()
    if not isinstance(value, Mapping):
        refuse(name, value, "a dictionary")
    for key in value:
        if not isinstance(key, str):
            refuse(f"a key of {name}", key, "a string")
    return dict(value)


def listed(name: str, value: Any, what: str) -> list[Any]:
    """Returns the values of an iterable. TypeError for texts, mappings and sets.

    `what`: what the list has, for the error.
    """
    is_iterable = isinstance(value, Iterable) and getattr(value, "ndim", 1) == 1
    if not is_iterable or isinstance(value, (str, bytes, bytearray, Mapping, set, frozenset)):
        refuse(name, value, f"a list of {what}")
    # Dates of NumPy would become integers.
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return value.tolist() if is_numeric else list(value)


def check_names(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """TypeError if one of `names` is not known: a misspelt option must not be passed over."""
    known = list(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise TypeError(f"{name} is not an option of {what}{hint} Options: {', '.join(known)}")


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        hint = ""
        if isinstance(value, (int, np.integer, uuid.UUID)) and not isinstance(value, bool):
            hint = f', such as "{value}"'
        elif isinstance(getattr(value, name, None), str):
            hint = f": its attribute {name}"
        refuse(name, value, f"a string{hint}")
    return value


def needed_text(name: str, value: Any) -> str:
    if text(name, value) == "":
        raise ValueError(f'{name} is "", must have 1 to 128 bytes')
    return value


def flag(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    refuse(name, value, "True or False")


def whole(name: str, value: Any, bits: int, meaning: str = "") -> int:
    """Returns a whole number in [0, 2^bits); also of a float, which pandas makes of integers."""
    top = (1 << bits) - 1
    expected = f"a whole number in [0, {top}]{meaning}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (numbers.Integral, np.integer, float, np.floating)
    ):
        refuse(name, value, expected)
    if isinstance(value, (float, np.floating)) and not (
        abs(value) < 1 << 53 and float(value).is_integer()
    ):
        raise ValueError(f"{name} is {value}, must be {expected}")
    if not 0 <= int(value) <= top:
        raise ValueError(f"{name} is {value}, must be {expected}")
    return int(value)


def real(name: str, value: Any) -> float:
    """Returns a finite number. TypeError for True and False, which are rarely meant as 1 and 0."""
    if isinstance(value, (bool, np.bool_)) or not is_number(value):
        hint = f", such as {float(value)}" if isinstance(value, (bool, np.bool_)) else ""
        refuse(name, value, f"a number{hint}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is {reprlib.repr(value)}, must be finite")
    return number


def is_number(value: Any) -> bool:
    return type(value) in (float, int) or isinstance(value, (numbers.Real, decimal.Decimal, np.bool_, np.integer, np.floating))


def set_field(message: Any, field: str, value: Any, name: Optional[str] = None) -> None:
    """Sets a field of a message to an argument called `name`, by the field's type.

    None leaves it unset.
    """
    if value is None:
        return
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    name = name or field
    if descriptor.label == _Field.LABEL_REPEATED:
        getattr(message, field).extend(_values(descriptor, name, value))
    else:
        setattr(message, field, _value(descriptor, name, value))


def _values(descriptor: FieldDescriptor, name: str, value: Any) -> Sequence[Any]:
    what = {_Field.TYPE_BOOL: "True and False", _Field.TYPE_DOUBLE: "numbers"}
    values = listed(name, value, what.get(descriptor.type, "whole numbers"))
    # Most lists have values of the field's own type.
    types = set(map(type, values))
    if descriptor.type == _Field.TYPE_BOOL and types <= {bool}:
        return values
    return [_value(descriptor, f"{name}[{place}]", one) for place, one in enumerate(values)]


def _value(descriptor: FieldDescriptor, name: str, value: Any) -> Any:
    kind = descriptor.type
    if kind in _BITS:
        is_index = descriptor.name in ("shown", "action")
        meaning = ", the document_index of a candidate" if is_index else ""
        return whole(name, value, _BITS[kind], meaning)
    if kind == _Field.TYPE_DOUBLE:
        return real(name, value)
    if kind == _Field.TYPE_BOOL:
        return flag(name, value)
    if kind == _Field.TYPE_ENUM:
        names = descriptor.enum_type.values_by_name
        if text(name, value) not in names:
            raise ValueError(f'{name} is "{value}", must be one of {", ".join(names)}')
        return names[value].number
    assert kind == _Field.TYPE_STRING
    return text(name, value)
