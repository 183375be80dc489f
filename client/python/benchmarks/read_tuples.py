#!/usr/bin/env python3
"""Reads a log of tuples into NumPy and says how fast.

Writes the log to a temporary folder first, by repeating one block of records, and removes it
afterwards. The files are in the page cache when they are read: the figure is that of the reader.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np

from sortition import logs

LIMIT = 200.0  # MB/s.
BLOCK = 10_000  # Different tuples.


def write_log(folder: pathlib.Path, tuples: int, n: int, d: int) -> None:
    generator = np.random.default_rng(7)
    count = min(tuples, BLOCK)
    block = {
        "decision_id": [f"01a217aa-cb5b-76d5-8d49-{row:012x}" for row in range(count)],
        "time_us": np.arange(count) + 1_700_000_000_000_000,
        "model": ["default"] * count,
        "version": generator.integers(1, 9, count),
        "action_kind": [logs.ACTION_KINDS["SELECT"]] * count,
        "action": generator.integers(0, n, (count, 1)),
        "log_propensity": np.log(generator.uniform(0.01, 1, count)),
        "reward": generator.integers(0, 2, count).astype(float),
        "has_feedback": generator.integers(0, 2, count).astype(bool),
        "unit_id": [f"user {row % 1000}" for row in range(count)],
        "spool_writer": ["server"] * count,
        "num_candidates": [n] * count,
        "num_features": [d] * count,
        "features": list(generator.random((count, n * d), np.float32)),
    }
    logs.write_tuples(folder / "block", block)
    [segment] = logs.list_segments(folder / "block")
    whole = segment.read_bytes()
    from sortition.logs.segments import Segment

    frames = Segment(segment).frames
    first = int(frames.starts[0] + frames.lengths[0]) + 4
    last = int(frames.starts[-2] + frames.lengths[-2]) + 4
    (folder / "log").mkdir()
    for number in range(0, tuples // count, 10):
        with (folder / "log" / f"{number:016x}-python-{number:06d}.seg").open("wb") as file:
            file.write(whole[:first])
            for _ in range(min(10, tuples // count - number)):
                file.write(whole[first:last])
            file.write(whole[last:])


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}", must be a whole number of at least 1')
    return int(text)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default, what in (
        ("tuples", 1_000_000, "selections in the log"),
        ("candidates", 10, "candidates of a selection"),
        ("features", 20, "features of a candidate"),
    ):
        told = f"{what} (default: %(default)s)"
        parser.add_argument(name, nargs="?", type=positive, default=default, help=told)
    options = parser.parse_args(arguments)
    if options.tuples > BLOCK and options.tuples % BLOCK:
        parser.error(
            f"tuples is {options.tuples}, must be at most {BLOCK} or a multiple of {BLOCK}"
        )
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    tuples, n, d = options.tuples, options.candidates, options.features
    with tempfile.TemporaryDirectory(prefix="sortition-bench-") as name:
        folder = pathlib.Path(name)
        write_log(folder, tuples, n, d)
        size = sum(file.stat().st_size for file in logs.list_segments(folder / "log")) / 1e6
        wall, cpu = [], []
        for _ in range(3):
            begin, used = time.perf_counter(), time.process_time()
            read = logs.read_tuples(folder / "log")
            wall.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - used)
            assert len(read) == tuples and len(read["features"].values) == tuples * n * d
            del read
        narrow = time.process_time()
        logs.read_tuples(folder / "log", ["reward", "log_propensity", "action"])
        narrow = time.process_time() - narrow
    print(f"{tuples} tuples of {n} x {d} features, {size:.0f} MB")
    print(f"without features: {size / narrow:.0f} MB per second of one core")
    print(f"all columns: {size / min(cpu):.0f} MB per second of one core, {min(cpu):.2f} s")
    rate = size / min(wall)
    print(f"{'PASS' if rate >= LIMIT else 'MISS'} reading {rate:.0f} MB/s, at least {LIMIT:.0f}")
    return 0 if rate >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
