"""Prints estimates from exports as dsjson, read by the names of its keys.

usage: read_dsjson.py FILE...
"""
import json
import math

from estimates import Decision, main


def feature(candidate):
    """Returns the first feature of a candidate, or that of its namespace x."""
    if "x" in candidate:
        return candidate["x"]["x"]
    return candidate["f"][0] if isinstance(candidate["f"], list) else candidate["f"].get("0", 0)


def check_distribution(actions, probabilities, count):
    """Checks what is known of the distribution over `count` actions."""
    assert len(set(actions)) == len(actions) <= count
    assert len(probabilities) in (1, count), "one probability, or all of them"
    assert probabilities[0] > 0
    if len(probabilities) == count:
        assert abs(math.fsum(probabilities) - 1) < 1e-12


def read_line(line):
    event = json.loads(line)
    candidates = [c for c in event["c"]["_multi"] if "abstain" not in c]
    can_abstain = len(candidates) < len(event["c"]["_multi"])
    common = {
        "features": [feature(c) for c in candidates],
        "keep_probability": 1 - event.get("pdrop", 0),
        "is_action_shown": not event.get("_skipLearn", False),
        "can_abstain": can_abstain,
    }
    if "_outcomes" not in event:
        count = len(event["c"]["_multi"])
        assert sorted(event["a"]) == list(range(1, count + 1))
        assert event["_label_Action"] == event["_labelIndex"] + 1 == event["a"][0]
        assert event["_label_probability"] == event["p"][0]
        check_distribution(event["a"], event["p"], count)
        place = event["_labelIndex"]
        return Decision(
            kind="SELECT",
            action=[place] if place < len(candidates) else [],
            propensity=event["_label_probability"],
            reward=-event["_label_cost"],
            **common,
        )
    slots = event["_outcomes"]
    assert [slot["_id"] for slot in slots] == [slot["_id"] for slot in event["c"]["_slots"]]
    for rank, slot in enumerate(slots):
        assert len(slot["_a"]) == len(slot["_p"])
        check_distribution(slot["_a"], slot["_p"], len(candidates) - rank)
        assert not {s["_a"][0] for s in slots[:rank]} & set(slot["_a"])
    return Decision(
        kind="RANK",
        action=[slot["_a"][0] for slot in slots],
        propensity=math.prod(slot["_p"][0] for slot in slots),
        reward=event["_reward"],
        **common,
    )


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [read_line(line) for line in lines]


main(read)
