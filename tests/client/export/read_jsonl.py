"""Prints estimates from exports as JSON lines. usage: read_jsonl.py FILE..."""
import itertools
import json
import math

from estimates import Decision, main


def sparse_values(sparse):
    """Returns feature 0 of each candidate."""
    values = []
    for begin, end in itertools.pairwise(sparse["row_offsets"]):
        row = dict(zip(sparse["columns"][begin:end], sparse["values"][begin:end]))
        values.append(row.get(0, 0))
    return values


def features_of(decision, eligible):
    """Returns the first feature of each eligible candidate, or its named column x."""
    if "columns" in decision:
        columns = {c["name"]: c for c in decision["columns"]["candidate"]}
        values = columns["x"]["numbers"]["values"]
    elif "sparse" in decision:
        values = sparse_values(decision["sparse"])
    else:
        width = decision["num_features"]
        values = decision["dense_values"][::width]
    return [value for value, is_eligible in zip(values, eligible) if is_eligible]


def is_action_shown(tuple_, action):
    """Returns whether the ranks that were shown are those of the action."""
    shown = tuple_.get("shown", {})
    if shown.get("not_shown", False):
        return False
    first = shown.get("first_rank", 0)
    ranks = shown.get("shown", [])
    return ranks == action[first : first + len(ranks)]


def read_line(line):
    tuple_ = json.loads(line)
    decision = tuple_["decision"]
    eligible = decision.get("eligible", [True] * decision["num_candidates"])
    places = {}
    for index, is_eligible in enumerate(eligible):
        if is_eligible:
            places[index] = len(places)
    action = [i for i in decision.get("action", []) if i >= 0]
    return Decision(
        kind=decision["action_kind"],
        action=[places[i] for i in action],
        propensity=math.exp(decision["log_propensity"]),
        reward=tuple_.get("reward", 0),
        features=features_of(decision, eligible),
        can_abstain=decision.get("can_abstain", False),
        keep_probability=tuple_.get("keep_probability", 1),
        is_action_shown=is_action_shown(tuple_, action),
    )


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [read_line(line) for line in lines]


main(read)
