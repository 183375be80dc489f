"""Prints estimates from exports as dsjson, read by the order of its keys.

Fast readers of Vowpal Wabbit's logs parse no JSON. They take what stands between one key
and the next, and rely on this order: _label_cost, _label_probability, _label_Action,
_labelIndex, then o and _skipLearn, if they are there, Timestamp, Version, EventId, a list
of all actions that begins with the chosen one, the context, the probabilities, and the
model's id. They pass over events with _skipLearn, and over all that do not begin with
_label_cost. The policies are the uniform one, and the one that takes action 1.

usage: read_dsjson_by_position.py FILE...
"""
from estimates import Decision, main

BEGIN = b'{"_label_cost":'


def cut(text, begin, end):
    """Returns what stands between the first `begin` and the next `end`, and the rest."""
    _, found, rest = text.partition(begin)
    assert found, f"no {begin} in {text[:100]}"
    value, found, rest = rest.partition(end)
    assert found, f"no {end} behind {begin}"
    return value, end + rest


def read_line(line):
    """Returns the event, or None if it is to be skipped."""
    cost, rest = cut(line, BEGIN, b",")
    probability, rest = cut(rest, b',"_label_probability":', b",")
    label, rest = cut(rest, b',"_label_Action":', b',"_labelIndex":')
    index, rest = cut(rest, b',"_labelIndex":', b",")
    head, rest = cut(rest, b",", b',"T') if not rest.startswith(b',"T') else (b"", rest)
    assert not head or head.startswith((b'"o":[{', b'"_skipLearn":true'))
    time, rest = cut(rest, b',"Timestamp":"', b'"')
    assert len(time) >= 20 and time.endswith(b"Z")
    # The id is at least 16 bytes before the list, whatever its length.
    assert rest.startswith(b'","Version":"1","EventId":"')
    before, rest = cut(rest, b'","Version":"1","EventId":"', b',"a"')
    assert len(before) >= 16
    assert rest.startswith(b',"a":[')
    actions, rest = cut(rest, b"[", b"]")
    actions = [int(action) for action in actions.split(b",")]
    assert actions[0] == int(label) == int(index) + 1
    _, rest = cut(rest, b',"c":{', b"}")
    # The first "p":[ behind the context could be a feature: the last one counts.
    tail = rest[rest.rindex(b',"p":[') :]
    probabilities, tail = cut(tail, b',"p":[', b'],"VWState":{"m":"')
    assert probabilities.split(b",")[0] == probability
    _, tail = cut(tail, b'"VWState":{"m":"', b'"}')
    assert tail == b'"}}\n' or tail.startswith(b'"},"pdrop":')
    if b'"_skipLearn":true' in head:
        return None
    return Decision(
        kind="SELECT",
        action=[actions[0] - 1],
        propensity=float(probability),
        reward=-float(cost),
        features=[-i for i in range(len(actions))],
    )


def read(path):
    with open(path, "rb") as lines:
        events = [read_line(line) for line in lines if line.startswith(BEGIN)]
    return [event for event in events if event is not None]


main(read)
