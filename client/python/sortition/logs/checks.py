"""What every reader of tuples asks of one; as `sortition log import` and `log validate` do."""

from __future__ import annotations

import numpy as np

from sortition.log.v1 import log_pb2

_ROUNDING = 1e-9  # That of a certain action may be so much above 0.
_KINDS = (log_pb2.SELECT, log_pb2.RANK, log_pb2.LABELS, log_pb2.SUBSET)


def check_tuple(message: log_pb2.BanditTuple, num_values: int) -> None:
    """ValueError for what no reader would take. `num_values`: how many dense features it has."""
    decision = message.decision
    if not decision.decision_id or len(decision.decision_id.encode()) > 128:
        raise ValueError(f'decision_id is "{decision.decision_id}", must have 1 to 128 bytes')
    # Imported logs may have names that no model store takes.
    if not decision.model.isprintable() or "/" in decision.model:
        raise ValueError(f"model is {decision.model!r}, must have printable characters, no /")
    if not -np.inf < decision.log_propensity <= _ROUNDING:
        raise ValueError(
            f"log_propensity is {decision.log_propensity}, must be finite and at most 0"
        )
    if not np.isfinite(message.reward):
        raise ValueError(f"reward is {message.reward}, must be finite")
    if not 0 <= message.keep_probability <= 1:
        raise ValueError(f"keep_probability is {message.keep_probability}, must be in [0, 1]")
    _check_candidates(decision, num_values)
    _check_action(decision)


def _check_candidates(decision: log_pb2.Decision, num_values: int) -> None:
    n = decision.num_candidates
    if n < 1:
        raise ValueError(f"num_candidates is {n}, must be at least 1")
    for name in ("eligible", "candidate_ids"):
        count = len(getattr(decision, name))
        if count not in (0, n):
            raise ValueError(f"{name} has {count} entries, must have 0 or {n}")
    if decision.HasField("columns"):
        if decision.columns.num_candidates != n:
            rows = decision.columns.num_candidates
            raise ValueError(f"columns.num_candidates is {rows}, must be {n}")
    elif decision.HasField("sparse"):
        if len(decision.sparse.row_offsets) != n + 1:
            count = len(decision.sparse.row_offsets)
            raise ValueError(f"sparse.row_offsets has {count} entries, must have {n + 1}")
    elif num_values != n * decision.num_features or num_values == 0:
        raise ValueError(
            f"features has {num_values} values, must have num_candidates * num_features = "
            f"{n} * {decision.num_features}, at least 1, where neither columns nor sparse is set"
        )


def _check_action(decision: log_pb2.Decision) -> None:
    kind, action = decision.action_kind, list(decision.action)
    if kind not in _KINDS:
        known = ", ".join(f"{log_pb2.ActionKind.Name(known)} ({known})" for known in _KINDS)
        raise ValueError(f"action_kind is {kind}, must be one of {known}")
    if kind == log_pb2.SELECT and len(action) != 1:
        raise ValueError(f"action has {len(action)} entries, must have 1")
    if kind == log_pb2.RANK and not action:
        raise ValueError("action has 0 entries, must have at least 1")
    conditionals = len(decision.conditional_log_propensities)
    if conditionals not in (0, len(action)):
        raise ValueError(
            f"conditional_log_propensities has {conditionals} entries, must have 0 or {len(action)}"
        )
    least = -1 if kind == log_pb2.SELECT and decision.can_abstain else 0
    limit = decision.num_labels if kind == log_pb2.LABELS else decision.num_candidates
    for index in action:
        if not least <= index < limit:
            raise ValueError(f"action has {index}, must be in [{least}, {limit})")
        if kind != log_pb2.LABELS and index >= 0 and decision.eligible:
            if not decision.eligible[index]:
                raise ValueError(f"action has {index}, must be eligible")
    if len(set(action)) != len(action):
        raise ValueError(f"action is {action}, must have each index once")
    if kind in (log_pb2.SUBSET, log_pb2.LABELS) and action != sorted(action):
        raise ValueError(f"action is {action}, must be ascending")
