"""Requests from arguments of Python."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Iterable, Mapping, Optional, Sequence, TypedDict, Union, cast

from sortition.features import fill_candidates
from sortition.ids import make_id
from sortition.v1 import ranking_pb2


class DecisionOptions(TypedDict, total=False):
    """What every decision can say; proto/sortition/v1/ranking.proto explains each."""

    ids: Iterable[Any]  # Of the candidates.
    query: Mapping[str, Any]  # Named columns of the query.
    types: Mapping[str, str]  # Of named columns, where they cannot be seen.
    decision_id: str  # At most 128 bytes; made here if it is not given.
    model: str
    version: int
    label: str
    eligible: Sequence[bool]  # One for each candidate.
    seed: int  # In place of the id as source of the draw: for tests.
    unit_id: str  # Whose decision it is, such as a user.
    attributes: Mapping[str, str]
    baseline: Union["Baseline", Sequence[int]]  # What the caller would do: the action, certain.
    scores: bool
    probabilities: bool
    game: bool
    deadline: float  # Seconds for all attempts.


class AggregateOptions(DecisionOptions, total=False):
    """What an aggregation can say beside; AggregateRequest explains each."""

    scale: str  # MIN_MAX, RANK or NONE.
    weights: Iterable[float]  # One for each source.
    top_k: int
    divergence: str  # DCG, ALL_PAIRS or TOP.
    cutoff: int
    concentration: float
    head: int
    uniform_mixture: float
    bootstrap_samples: int
    confidence: float


@dataclass(frozen=True)
class Baseline:
    """What the caller would do by itself, and how probably."""

    action: Sequence[int] = ()  # document_index, by rank; the one; the subset.
    abstain: bool = False
    log_propensity: Optional[float] = None  # None: it always would.


@dataclass(frozen=True)
class Feedback:
    """What came of a decision: either `reward` (higher is better) or `loss`."""

    decision_id: str
    reward: Optional[float] = None
    loss: Optional[float] = None
    rank: Optional[int] = None  # From 0; None: it is about the whole action.
    feedback_id: str = ""  # Counts once; made here if it is empty.


@dataclass(frozen=True)
class Defaults:
    """What a client says of every decision unless a call says otherwise."""

    model: str = ""
    types: Optional[Mapping[str, str]] = None


_DIRECT = ("model", "label", "unit_id", "version", "seed")
_RETURNED = {
    "scores": "return_scores",
    "probabilities": "return_probabilities",
    "game": "return_game",
}
_KNOWN = set(DecisionOptions.__annotations__)
_AGGREGATE = set(AggregateOptions.__annotations__) - _KNOWN


def fill_context(
    context: ranking_pb2.DecisionContext,
    features: Any,
    options: DecisionOptions,
    defaults: Defaults,
) -> Optional[list[Any]]:
    """Fills all but the decision id. Returns the ids of the candidates, as they were given."""
    unknown = options.keys() - _KNOWN
    if unknown:
        raise TypeError(f"{min(unknown)} is no option of a decision; one of {sorted(_KNOWN)}")
    types = options.get("types")
    if defaults.types:
        types = {**defaults.types, **(types or {})}
    ids = fill_candidates(
        context.candidates, features, options.get("ids"), options.get("query"), types
    )
    context.model = defaults.model
    for name in _DIRECT:
        value = options.get(name)
        if value is not None:
            setattr(context, name, value)
    for name, field in _RETURNED.items():
        if options.get(name):
            setattr(context, field, True)
    eligible = options.get("eligible")
    if eligible is not None:
        context.eligible.extend(bool(value) for value in eligible)
    attributes = options.get("attributes")
    if attributes:
        context.attributes.update(attributes)
    baseline = options.get("baseline")
    if baseline is not None:
        if not isinstance(baseline, Baseline):
            baseline = Baseline(baseline)
        context.baseline.action.extend(baseline.action)
        context.baseline.abstain = baseline.abstain
        if baseline.log_propensity is not None:
            context.baseline.log_propensity = baseline.log_propensity
    return ids


def shown_request(
    decision_id: str,
    shown: Iterable[int] = (),
    first_rank: int = 0,
    seen_ranks: Optional[int] = None,
    not_shown: bool = False,
) -> ranking_pb2.ReportShownRequest:
    return ranking_pb2.ReportShownRequest(
        decision_id=decision_id,
        shown=[int(index) for index in shown],
        first_rank=first_rank,
        seen_ranks=seen_ranks,
        not_shown=not_shown,
    )


def feedback_message(feedback: Feedback) -> ranking_pb2.Feedback:
    if (feedback.reward is None) == (feedback.loss is None):
        raise ValueError(
            f"reward is {feedback.reward}, loss is {feedback.loss}, must be one of the two"
        )
    name = "reward" if feedback.loss is None else "loss"
    value = float(getattr(feedback, name))
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}, must be finite")
    message = ranking_pb2.Feedback(
        feedback_id=feedback.feedback_id,
        decision_id=feedback.decision_id,
        rank=feedback.rank,
    )
    setattr(message, name, value)
    return message


def feedback_list(
    feedback: Union[str, Feedback, Iterable[Feedback]],
    reward: Optional[float],
    loss: Optional[float],
    rank: Optional[int],
    feedback_id: str,
) -> list[Feedback]:
    """Returns the list that the arguments of `feedback` mean, each with an id."""
    if isinstance(feedback, str):
        items = [Feedback(feedback, reward, loss, rank, feedback_id)]
    else:
        items = [feedback] if isinstance(feedback, Feedback) else list(feedback)
        if (reward, loss, rank, feedback_id) != (None, None, None, ""):
            raise TypeError(
                "reward, loss, rank and feedback_id are for one decision id; a Feedback has its own"
            )
    for item in items:
        if not isinstance(item, Feedback):
            raise TypeError(f"feedback has {item!r}, must be a decision id, or a list of Feedback")
    return [item if item.feedback_id else replace(item, feedback_id=make_id()) for item in items]


def aggregate_request(
    options: AggregateOptions,
) -> tuple[ranking_pb2.AggregateRequest, DecisionOptions]:
    """Returns the request without its context, and the options of that."""
    own = {name: value for name, value in options.items() if name in _AGGREGATE}
    aggregation = {name: own.pop(name) for name in ("scale", "weights") if name in own}
    context = {name: value for name, value in options.items() if name not in _AGGREGATE}
    request = ranking_pb2.AggregateRequest(
        aggregation=ranking_pb2.Aggregation(**aggregation), **own
    )
    return request, cast(DecisionOptions, context)
