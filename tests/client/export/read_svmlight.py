"""Prints estimates from exports as SVMlight text with a line for each candidate.

Where scikit-learn is installed, its reader must find the same. usage: read_svmlight.py FILE...
"""
import importlib.util
import itertools
import json

from estimates import Decision, main


def parse(line):
    """Returns label, query, features by their index from 1, and the fields of the comment."""
    values, _, comment = line.partition("#")
    label, query, *features = values.split()
    name, _, number = query.partition(":")
    assert name == "qid"
    entries = [(int(index), float(value)) for index, value in (f.split(":") for f in features)]
    assert [index for index, _ in entries] == sorted({index for index, _ in entries})
    assert all(index >= 1 and value != 0 for index, value in entries)
    fields, _, identifier = comment.partition(" id=")
    json.loads(identifier)
    return float(label), int(number), dict(entries), dict(f.split("=") for f in fields.split())


def read_lines(lines):
    """Returns the decision whose eligible candidates have these lines."""
    fields = lines[0][3]
    chosen = [(int(f["chosen"]), place) for place, (*_, f) in enumerate(lines)]
    chosen = sorted((rank, place) for rank, place in chosen if rank > 0)
    reward = float(fields["reward"])
    for label, _, _, own in lines:
        assert label == (reward if own["chosen"] != "0" else 0)
    can_abstain = fields.get("can_abstain") == "1"
    ranks = [rank for rank, _ in chosen]
    kind = "SELECT" if ranks == [1] or can_abstain else "RANK"
    if not can_abstain and ranks != list(range(1, len(ranks) + 1)):
        kind = "SUBSET"
    return Decision(
        kind=kind,
        action=[place for _, place in chosen],
        propensity=1 / float(fields["weight"]),
        reward=reward,
        features=[features.get(1, 0) for _, _, features, _ in lines],
        can_abstain=can_abstain,
        keep_probability=float(fields.get("keep_probability", 1)),
        is_action_shown=fields.get("action_shown") != "0",
    )


def compare_with_sklearn(path, rows):
    from sklearn.datasets import load_svmlight_file

    features, labels, queries = load_svmlight_file(path, query_id=True, zero_based=False)
    assert labels.tolist() == [label for label, *_ in rows]
    assert queries.tolist() == [query for _, query, *_ in rows]
    for i, (_, _, entries, _) in enumerate(rows):
        row = features.getrow(i)
        assert dict(zip((row.indices + 1).tolist(), row.data.tolist())) == entries


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = [parse(line) for line in file]
    if importlib.util.find_spec("sklearn") is not None:
        compare_with_sklearn(path, rows)
    groups = itertools.groupby(rows, key=lambda row: row[1])
    return [read_lines(list(group)) for _, group in groups]


main(read)
