"""Prints estimates from exports as CSV with a line for each decision.

Such lines have no features: the policies are the uniform one, and the one that takes the
first candidates. usage: read_csv_decisions.py FILE...
"""
import csv

from estimates import Decision, main


def read_row(row):
    count = int(row["num_candidates"])
    assert int(row["num_eligible"]) == count
    return Decision(
        kind=row["action_kind"],
        action=[int(i) for i in row["action"].split() if i != "-1"],
        propensity=float(row["propensity"]),
        reward=float(row["reward"]),
        features=[-i for i in range(count)],
        can_abstain=row["can_abstain"] == "1",
        keep_probability=float(row["keep_probability"]),
        is_action_shown=row["action_shown"] == "1",
    )


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [read_row(row) for row in csv.DictReader(file)]


main(read)
