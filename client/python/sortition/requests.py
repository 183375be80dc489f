"""Requests from arguments of Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Iterable, Mapping, Optional, TypedDict, Union

from sortition.arguments import check_names, listed, mapping, needed_text, refuse, set_field, text
from sortition.features import fill_candidates, is_frame
from sortition.ids import make_id
from sortition.v1 import ranking_pb2


class ContextOptions(TypedDict, total=False):
    """What every decision can say; proto/sortition/v1/ranking.proto explains each.

    The classes of options are the one list of names: errors print it.
    """

    ids: Iterable[Any]  # Of the candidates.
    decision_id: str  # At most 128 bytes; made here if it is not given.
    model: str
    version: int
    label: str
    eligible: Iterable[bool]  # One for each candidate.
    seed: int  # In place of the id as source of the draw: for tests.
    unit_id: str  # Whose decision it is, such as a user.
    attributes: Mapping[str, str]
    # What the caller would do: the action, certain. A dictionary has the fields of Baseline.
    baseline: Union["Baseline", Iterable[int], Mapping[str, Any]]
    scores: bool
    probabilities: bool
    game: bool
    deadline: float  # Seconds for all attempts.


class DecisionOptions(ContextOptions, total=False):
    query: Mapping[str, Any]  # Named columns of the query; a row of a DataFrame, too.
    types: Mapping[str, str]  # Of named columns, where they cannot be seen.


class RankOptions(DecisionOptions, total=False):
    top_k: Optional[int]  # Ranks to fill, at least 1; None: all.


class LabelOptions(DecisionOptions, total=False):
    k: Optional[int]  # Size of the subset; None: as many as the policy decides.


class AggregateOptions(ContextOptions, total=False):
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

    action: Iterable[int] = ()  # document_index, by rank; the one; the subset.
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
    index: Optional[int] = None  # document_index, in place of rank: the join finds its rank.


@dataclass(frozen=True)
class Defaults:
    """What a client says of every decision unless a call says otherwise."""

    model: str = ""
    types: Optional[Mapping[str, str]] = None


_OPTIONS = {
    "rank": RankOptions,
    "select": DecisionOptions,
    "label": LabelOptions,
    "aggregate": AggregateOptions,
}
# Options that are fields of DecisionContext, by their names there.
_FIELDS = {
    "model": "model",
    "version": "version",
    "label": "label",
    "eligible": "eligible",
    "seed": "seed",
    "unit_id": "unit_id",
    "scores": "return_scores",
    "probabilities": "return_probabilities",
    "game": "return_game",
}


def check_options(call: str, options: Mapping[str, Any]) -> None:
    """TypeError if `options` has a name that the call does not know."""
    check_names(call, options, _OPTIONS[call].__annotations__)


def fill_context(
    context: ranking_pb2.DecisionContext,
    features: Any,
    options: Mapping[str, Any],
    defaults: Defaults,
    name: str = "features",
) -> Optional[list[Any]]:
    """Fills all but the decision id. Returns the ids of the candidates, as they were given.

    `name`: what the caller calls `features`.
    """
    types = dict(defaults.types or {})
    if options.get("types") is not None:
        types.update(mapping("types", options["types"]))
    ids = fill_candidates(
        context.candidates, features, options.get("ids"), options.get("query"), types, name
    )
    context.model = defaults.model
    for option, field in _FIELDS.items():
        set_field(context, field, options.get(option), option)
    if options.get("attributes") is not None:
        for key, value in mapping("attributes", options["attributes"]).items():
            context.attributes[key] = text(f'attributes["{key}"]', value)
    if options.get("baseline") is not None:
        _fill_baseline(context.baseline, options["baseline"])
    return ids


def rerank_arguments(
    query: str, documents: Iterable[Any], options: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """Returns the candidates and options of the call of rank that a rerank is.

    As POST /v1/rerank: texts are the column `text`, the query is the query column `query`, and the
    given order is the baseline.
    """
    if isinstance(documents, (str, bytes, Mapping)) or not isinstance(documents, Iterable):
        refuse("documents", documents, "a list of texts or of dictionaries")
    rows = [{"text": each} if isinstance(each, str) else each for each in documents]
    for place, row in enumerate(rows):
        if isinstance(row, Mapping) and "query" in row:
            refuse(
                f'documents[{place}]["query"]',
                row["query"],
                "absent: the query is the column of this name",
            )
    given = dict(options)
    given["query"] = {"query": text("query", query)}
    if given.get("baseline") is None:
        given["baseline"] = _eligible_places(len(rows), given)
    if isinstance(given.get("top_k"), int):
        given["top_k"] = min(given["top_k"], len(rows)) or given["top_k"]
    return rows, given


def _eligible_places(count: int, options: dict[str, Any]) -> list[int]:
    if options.get("eligible") is None:
        return list(range(count))
    options["eligible"] = listed("eligible", options["eligible"], "True and False")
    return [place for place, eligible in enumerate(options["eligible"]) if eligible]


def _fill_baseline(message: ranking_pb2.Baseline, baseline: Any) -> None:
    message.SetInParent()  # Also where all is as it is by default.
    if isinstance(baseline, Mapping):
        baseline = _from_mapping("baseline", Baseline, baseline)
    if isinstance(baseline, Baseline):
        set_field(message, "action", baseline.action, "baseline.action")
        set_field(message, "abstain", baseline.abstain, "baseline.abstain")
        set_field(message, "log_propensity", baseline.log_propensity, "baseline.log_propensity")
    else:
        set_field(message, "action", baseline, "baseline")


def _from_mapping(name: str, kind: Any, value: Any) -> Any:
    given = mapping(name, value)
    check_names(name, given, kind.__annotations__)
    return kind(**given)


def shown_request(
    decision_id: str,
    shown: Iterable[int] = (),
    first_rank: int = 0,
    seen_ranks: Optional[int] = None,
    not_shown: bool = False,
) -> ranking_pb2.ReportShownRequest:
    request = ranking_pb2.ReportShownRequest(decision_id=needed_text("decision_id", decision_id))
    set_field(request, "shown", shown)
    set_field(request, "first_rank", first_rank)
    set_field(request, "seen_ranks", seen_ranks)
    set_field(request, "not_shown", not_shown)
    return request


def feedback_message(feedback: Feedback) -> ranking_pb2.Feedback:
    if (feedback.reward is None) == (feedback.loss is None):
        raise ValueError(
            f"reward is {feedback.reward}, loss is {feedback.loss}, must be one of the two"
        )
    message = ranking_pb2.Feedback()
    for name in Feedback.__annotations__:
        set_field(message, name, getattr(feedback, name))
    return message


def feedback_list(
    feedback: Union[str, Feedback, Mapping[str, Any], Iterable[Union[Feedback, Mapping[str, Any]]]],
    reward: Optional[float],
    loss: Optional[float],
    rank: Optional[int],
    feedback_id: Optional[str],
    index: Optional[int] = None,
) -> list[Feedback]:
    """Returns the list that the arguments of `feedback` mean, each with an id."""
    if isinstance(feedback, str):
        items = [Feedback(feedback, reward, loss, rank, feedback_id or "", index)]
    else:
        items = _several(feedback)
        if any(given is not None for given in (reward, loss, rank, feedback_id or None, index)):
            raise TypeError(
                "reward, loss, rank, index and feedback_id are for one decision id; a Feedback has"
                " its own"
            )
    for item in items:
        needed_text("decision_id", item.decision_id)
    return [item if item.feedback_id else replace(item, feedback_id=make_id()) for item in items]


def _several(feedback: Any) -> list[Feedback]:
    expected = "a decision id, a Feedback, or a list of Feedback"
    if isinstance(feedback, (Feedback, Mapping)):
        feedback = [feedback]
    if not isinstance(feedback, Iterable) or isinstance(feedback, bytes):
        refuse("feedback", feedback, expected)
    if is_frame(feedback):
        refuse("feedback", feedback, expected + ': feedback.to_dict("records")')
    items = list(feedback)
    for place, item in enumerate(items):
        name = f"feedback[{place}]"
        if isinstance(item, Mapping):
            if "decision_id" not in item:
                raise ValueError(f"{name} has no decision_id, must have one")
            items[place] = _from_mapping(name, Feedback, item)
        elif not isinstance(item, Feedback):
            refuse(name, item, "a Feedback, or a dictionary with the fields of one")
    return items


def aggregate_request(
    options: Mapping[str, Any],
) -> tuple[ranking_pb2.AggregateRequest, dict[str, Any]]:
    """Returns the request without its context, and the options of that."""
    request = ranking_pb2.AggregateRequest()
    context = {}
    for name, value in options.items():
        if name in ContextOptions.__annotations__:
            context[name] = value
        elif name in request.aggregation.DESCRIPTOR.fields_by_name:
            set_field(request.aggregation, name, value)
        else:
            set_field(request, name, value)
    return request, context
