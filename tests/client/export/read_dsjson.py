"""Prints the IPS estimate of the uniform policy from a dsjson file.

usage: read_dsjson.py FILE
"""
import json
import math
import sys

rewards = []
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        event = json.loads(line)
        left = len(event["c"]["_multi"])
        if "_outcomes" not in event:
            assert event["_label_Action"] == event["_labelIndex"] + 1 == event["a"][0]
            assert event["p"][0] == event["_label_probability"]
            weight = 1 / left / event["_label_probability"]
            rewards.append(-event["_label_cost"] * weight)
            continue
        weight = 1
        chosen = [slot["_a"][0] for slot in event["_outcomes"]]
        assert len(set(chosen)) == len(chosen) == len(event["c"]["_slots"])
        for rank, slot in enumerate(event["_outcomes"]):
            weight *= 1 / (left - rank) / slot["_p"][0]
        rewards.append(event["_reward"] * weight)
print(repr(math.fsum(rewards) / len(rewards)))
