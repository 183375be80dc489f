"""Answers of calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional, Sequence

import numpy as np

from sortition.v1 import ranking_pb2


@dataclass(frozen=True)
class Game:
    """The value of the game that a policy played lies in [lower, upper]."""

    lower: float
    upper: float
    rounds: int


@dataclass(frozen=True)
class Decision:
    """What every decision returns."""

    decision_id: str
    model: str
    version: int  # 0: the uniform policy.
    log_propensity: float  # Natural logarithm of the probability of the whole action.
    degraded: str  # Why the answer falls short of what was asked for; usually empty.
    scores: Optional[np.ndarray]  # On request: one for each candidate.
    probabilities: Optional[np.ndarray]
    game: Optional[Game]
    arm_probability: float  # Of coming to this version; 0: traffic is not split.
    is_baseline: bool
    interleaved_version: int  # 0: none.

    @property
    def propensity(self) -> float:
        return math.exp(self.log_propensity)


@dataclass(frozen=True)
class Ranking(Decision):
    order: list[int]  # document_index by rank.
    ids: list[Any]  # The same candidates by id, as given; their document_index without ids.
    conditional_log_propensities: list[float]  # Of each rank, given the ranks above.


@dataclass(frozen=True)
class Selection(Decision):
    selected: Optional[int]  # document_index; None: the policy abstained.
    id: Any  # The id of it; its document_index if candidates have no ids.
    abstained: bool
    abstain_probability: float  # With probabilities.


@dataclass(frozen=True)
class Subset(Decision):
    chosen: list[int]  # document_index, ascending.
    ids: list[Any]


@dataclass(frozen=True)
class Pair:
    """How certain it is that the candidate at `rank` belongs above the next one."""

    rank: int
    difference: float
    lower: float
    upper: float
    support: float


@dataclass(frozen=True)
class Aggregation(Ranking):
    divergences: list[float]  # Of each source from the order.
    total_variation: float
    pairs: list[Pair]


def _decision(result: ranking_pb2.DecisionResult) -> dict[str, Any]:
    game = None
    if result.HasField("game"):
        game = Game(result.game.lower, result.game.upper, result.game.rounds)
    return {
        "decision_id": result.decision_id,
        "model": result.model.name,
        "version": result.model.version,
        "log_propensity": result.log_propensity,
        "degraded": result.degraded,
        "scores": np.array(result.scores) if result.scores else None,
        "probabilities": np.array(result.probabilities) if result.probabilities else None,
        "game": game,
        "arm_probability": result.arm_probability,
        "is_baseline": result.is_baseline,
        "interleaved_version": result.interleaved_version,
    }


def _ids_of(indexes: Sequence[int], ids: Optional[Sequence[Any]]) -> list[Any]:
    return [ids[index] for index in indexes] if ids else list(indexes)


def ranking(response: ranking_pb2.RankResponse, ids: Optional[Sequence[Any]]) -> Ranking:
    order = list(response.order)
    return Ranking(
        **_decision(response.result),
        order=order,
        ids=_ids_of(order, ids),
        conditional_log_propensities=list(response.conditional_log_propensities),
    )


def selection(response: ranking_pb2.SelectResponse, ids: Optional[Sequence[Any]]) -> Selection:
    selected = response.selected if response.HasField("selected") else None
    return Selection(
        **_decision(response.result),
        selected=selected,
        id=selected if selected is None else _ids_of([selected], ids)[0],
        abstained=response.abstained,
        abstain_probability=response.abstain_probability,
    )


def subset(response: ranking_pb2.LabelResponse, ids: Optional[Sequence[Any]]) -> Subset:
    chosen = list(response.chosen)
    return Subset(**_decision(response.result), chosen=chosen, ids=_ids_of(chosen, ids))


def aggregation(
    response: ranking_pb2.AggregateResponse, ids: Optional[Sequence[Any]]
) -> Aggregation:
    order = list(response.order)
    return Aggregation(
        **_decision(response.result),
        order=order,
        ids=_ids_of(order, ids),
        conditional_log_propensities=list(response.conditional_log_propensities),
        divergences=list(response.divergences),
        total_variation=response.total_variation,
        pairs=[Pair(p.rank, p.difference, p.lower, p.upper, p.support) for p in response.pairs],
    )
