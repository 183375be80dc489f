"""Prints the IPS estimate of the uniform policy, the sum of all features, and how many
positions were shown, and seen.

Reads the arrays as NumPy's format 1.0 describes them. usage: read_npz.py FILE
"""
import ast
import math
import struct
import sys
import zipfile

FORMATS = {"<i8": "q", "<u8": "Q", "<f8": "d", "<f4": "f", "|b1": "?"}


def read_array(data):
    assert data[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack_from("<H", data, 8)[0]
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10:10 + length].decode("latin1"))
    assert header["fortran_order"] is False
    count = math.prod(header["shape"])
    return struct.unpack_from(f"<{count}{FORMATS[header['descr']]}", data, 10 + length)


with zipfile.ZipFile(sys.argv[1]) as archive:
    assert archive.testzip() is None
    log = {name[:-4]: read_array(archive.read(name)) for name in archive.namelist()}
rounds = log["n_rounds"][0]
weights = [1.0] * rounds
rewards = [0.0] * rounds
for i, slate in enumerate(log["slate_id"]):
    n = log["candidate_offsets"][slate + 1] - log["candidate_offsets"][slate]
    assert n <= log["n_actions"][0] and -1 <= log["action"][i] < n
    seen = log["seen_ranks"][i]
    assert not log["position_seen"][i] or log["position_shown"][i]
    assert not log["position_seen"][i] or seen == -1 or log["position"][i] < seen
    weights[slate] /= n - log["position"][i]
    rewards[slate] = log["reward"][i] / log["pscore"][i]
print(repr(math.fsum(w * r for w, r in zip(weights, rewards)) / rounds))
print(repr(math.fsum(log["features"])))
print(sum(log["position_shown"]), sum(log["position_seen"]))
