"""Logs as arrays: reads and writes tuple segments by their format, without a server.

    tuples = sortition.logs.read_tuples("tuples")
    weights = new_probability / np.exp(tuples["log_propensity"])
"""

from sortition.logs.damage import Damage
from sortition.logs.ragged import Ragged
from sortition.logs.segments import list_segments
from sortition.logs.tuples import ACTION_KINDS, DEFAULT_COLUMNS, Tuples, read_messages, read_tuples
from sortition.logs.writing import write_tuples

__all__ = [
    "ACTION_KINDS",
    "DEFAULT_COLUMNS",
    "Damage",
    "Ragged",
    "Tuples",
    "list_segments",
    "read_messages",
    "read_tuples",
    "write_tuples",
]
