"""Prints estimates from exports as CSV with a line for each candidate.

usage: read_csv.py FILE...
"""
import csv
import itertools

from estimates import Decision, main


def feature(row):
    """Returns the first feature of a candidate, or its named column x."""
    if "features" in row:
        entries = dict(entry.split(":") for entry in row["features"].split())
        return float(entries.get("0", 0))
    return float(row["f0" if "f0" in row else "candidate.x"])


def read_rows(rows):
    first = rows[0]
    rows = [row for row in rows if row["eligible"] == "1"]
    chosen = [(int(row["chosen"]), place) for place, row in enumerate(rows) if row["chosen"] != "0"]
    return Decision(
        kind=first["action_kind"],
        action=[place for _, place in sorted(chosen)],
        propensity=float(first["propensity"]),
        reward=float(first["reward"]),
        features=[feature(row) for row in rows],
        can_abstain=first["can_abstain"] == "1",
        keep_probability=float(first["keep_probability"]),
        is_action_shown=first["action_shown"] == "1",
    )


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        groups = itertools.groupby(csv.DictReader(file), key=lambda row: row["decision_id"])
        return [read_rows(list(rows)) for _, rows in groups]


main(read)
