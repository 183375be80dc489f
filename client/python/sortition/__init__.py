"""Client of Sortition: decisions with exact propensities, their logs, reports about them.

Ranker and AsyncRanker ask servers. `sortition.logs` reads and writes tuples, `sortition.ope` reads
the reports of the trainer.
"""

from sortition.aio import AsyncRanker
from sortition.answers import Aggregation, Decision, Ranking, Selection, Subset
from sortition.client import Ranker
from sortition.errors import CallError
from sortition.ids import make_id
from sortition.requests import Baseline, Feedback
from sortition.retries import RetryPolicy
from sortition.security import Security

__all__ = [
    "Aggregation",
    "AsyncRanker",
    "Baseline",
    "CallError",
    "Decision",
    "Feedback",
    "Ranker",
    "Ranking",
    "RetryPolicy",
    "Security",
    "Selection",
    "Subset",
    "make_id",
]
