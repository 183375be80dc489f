"""Prints estimates from exports as NumPy arrays, the sum of all features, and how many
positions were shown, and seen.

Reads the arrays as NumPy's format 1.0 describes them. Where NumPy is installed, it must
find the same. usage: read_npz.py FILE...
"""
import ast
import importlib.util
import itertools
import math
import struct
import zipfile

from estimates import Decision, main

FORMATS = {"<i8": "q", "<u8": "Q", "<f8": "d", "<f4": "f", "|b1": "?"}


def read_array(data):
    assert data[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack_from("<H", data, 8)[0]
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10 : 10 + length].decode("latin1"))
    assert header["fortran_order"] is False
    count = math.prod(header["shape"])
    return struct.unpack_from(f"<{count}{FORMATS[header['descr']]}", data, 10 + length)


def compare_with_numpy(path, log):
    import numpy

    arrays = numpy.load(path)
    assert sorted(arrays.files) == sorted(log)
    for name in arrays.files:
        assert numpy.array_equal(
            numpy.ravel(arrays[name]), numpy.array(log[name]), equal_nan=name != "eligible"
        ), name


def first_features(log):
    """Returns feature 0 of each candidate."""
    rows = log["candidate_offsets"][-1]
    if "features" in log:
        width = len(log["features"]) // rows
        return log["features"][::width]
    values = [0.0] * rows
    for row, (begin, end) in enumerate(itertools.pairwise(log["features_indptr"])):
        for k in range(begin, end):
            if log["features_indices"][k] == 0:
                values[row] = log["features_data"][k]
    return values


def read_slots(log, features, slots):
    """Returns the decision whose ranks are the rows `slots` of the arrays."""
    first = slots[0]
    slate = log["slate_id"][first]
    begin, end = log["candidate_offsets"][slate : slate + 2]
    assert end - begin <= log["n_actions"][0]
    places = {}
    for index in range(end - begin):
        if log["eligible"][begin + index]:
            places[index] = len(places)
    for rank, slot in enumerate(slots):
        seen = log["seen_ranks"][slot]
        assert log["position"][slot] == rank
        assert not log["position_seen"][slot] or log["position_shown"][slot]
        assert not log["position_seen"][slot] or seen == -1 or rank < seen
        # Of one rank the product so far is the whole.
        is_whole = rank + 1 == len(slots)
        assert not is_whole or math.isclose(log["pscore_cascade"][slot], log["pscore"][slot])
    action = [places[log["action"][slot]] for slot in slots if log["action"][slot] >= 0]
    return Decision(
        kind="SELECT" if len(slots) == 1 else "RANK",
        action=action,
        propensity=log["pscore"][first],
        reward=log["reward"][first],
        features=[features[begin + index] for index in places],
        can_abstain=log["can_abstain"][first],
        keep_probability=log["keep_probability"][first],
        is_action_shown=log["action_shown"][first],
    )


def read(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        log = {name[:-4]: read_array(archive.read(name)) for name in archive.namelist()}
    if importlib.util.find_spec("numpy") is not None:
        compare_with_numpy(path, log)
    features = first_features(log)
    slots_of = itertools.groupby(range(len(log["slate_id"])), key=lambda i: log["slate_id"][i])
    decisions = [read_slots(log, features, list(slots)) for _, slots in slots_of]
    assert len(decisions) == log["n_rounds"][0]
    print("features", repr(math.fsum(log["features" if "features" in log else "features_data"])))
    print("positions_shown", sum(log["position_shown"]))
    print("positions_seen", sum(log["position_seen"]))
    return decisions


main(read)
