#!/usr/bin/env python3
"""What Ranker adds to a bare call. usage: client_overhead.py SERVER_BINARY [CALLS]

Asks a server with the uniform policy for orders of 100 candidates with 46 features: by
Ranker.rank(matrix), and by a call on a channel of its own whose request was serialised before and
whose answer stays bytes. One call of each in turn; the figure is the median of the differences.
Beside it, the processor time of what Ranker does without the call: building, serialising, parsing.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import time

import grpc
import numpy as np

import sortition
from sortition import methods
from sortition.v1 import ranking_pb2

LIMIT = 0.15  # Milliseconds.


def start(binary: str, folder: pathlib.Path) -> tuple[subprocess.Popen[bytes], str]:
    (folder / "models").mkdir()
    ports = folder / "ports"
    server = subprocess.Popen(
        [
            binary,
            f"--model_store={folder / 'models'}",
            "--listen=127.0.0.1:0",
            "--metrics_listen=",
            "--http.listen=",
            f"--port_file={ports}",
        ],
        stderr=subprocess.DEVNULL,
    )
    while not ports.exists() and server.poll() is None:
        time.sleep(0.01)
    lines = dict(line.split() for line in ports.read_text().splitlines())
    return server, f"127.0.0.1:{lines['rpc']}"


def measure(address: str, calls: int) -> tuple[np.ndarray, float]:
    """Returns milliseconds: of bare calls and those by Ranker; of work without a call."""
    matrix = np.random.default_rng(1).random((100, 46), np.float32)
    request = ranking_pb2.RankRequest()
    request.context.decision_id = sortition.make_id()
    request.context.candidates.num_features = 46
    request.context.candidates.dense.packed = matrix.tobytes()
    payload = request.SerializeToString()
    method = methods.METHODS["Rank"]
    wall, work = np.empty((calls, 2)), np.empty(calls)
    with sortition.Ranker(address) as ranker, grpc.insecure_channel(address) as channel:
        bare = channel.unary_unary(method.path)
        both = (lambda: bare(payload, timeout=5), lambda: ranker.rank(matrix))
        for ask in both * 50:
            ask()
        answer = bare(payload, timeout=5)
        for number in range(calls):
            for which in (0, 1) if number % 2 else (1, 0):
                begin = time.perf_counter()
                both[which]()
                wall[number, which] = time.perf_counter() - begin
            begin = time.thread_time()
            call = ranker._rank(matrix, {})
            method.serialize(call.request)
            call.answer(method.parse(answer))
            work[number] = time.thread_time() - begin
    return wall * 1e3, float(np.median(work)) * 1e3


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="sortition-bench-") as name:
        server, address = start(arguments[0], pathlib.Path(name))
        try:
            wall, work = measure(address, int(arguments[1]) if len(arguments) > 1 else 3000)
        finally:
            server.terminate()
            server.wait()
    bare, mine = np.median(wall, axis=0)
    beyond = np.median(wall[:, 1] - wall[:, 0])
    print(f"median of a bare call {bare:.3f} ms, of Ranker.rank {mine:.3f} ms")
    print(f"processor time of building, serialising and parsing alone {work:.3f} ms")
    print(
        f"{'PASS' if beyond <= LIMIT else 'MISS'} beyond the bare call {beyond:.3f} ms, "
        f"at most {LIMIT} ms"
    )
    return 0 if beyond <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
