"""Tuples to write, and a place to read them from."""

from __future__ import annotations

import pathlib
import shutil
import struct
import tempfile
import unittest
import warnings

import numpy as np

from sortition import logs


def masked(data: bytes) -> bytes:
    """Returns the stored CRC, from the definition in docs/log_format.md, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    crc = register ^ 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def tuples(count: int, seed: int = 1) -> dict:
    """Returns columns of selections and orders, of 2 to 5 candidates with 3 features."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 6, count)
    kinds = [logs.ACTION_KINDS[("SELECT", "RANK")[row % 2]] for row in range(count)]
    return {
        "decision_id": [f"décision {row}" if row % 5 == 0 else f"d{row}" for row in range(count)],
        "time_us": np.arange(count) * 1000 + 1_700_000_000_000_000,
        "model": ["default"] * count,
        "version": generator.integers(0, 300, count),
        "action_kind": kinds,
        "action": [
            [int(generator.integers(-1, n))]
            if kind == logs.ACTION_KINDS["SELECT"]
            else generator.permutation(n).tolist()
            for kind, n in zip(kinds, sizes)
        ],
        "log_propensity": np.log(generator.uniform(0.01, 1, count)),
        "reward": np.where(generator.random(count) < 0.5, 0.0, generator.normal(size=count)),
        "has_feedback": generator.random(count) < 0.5,
        "unit_id": ["u" * int(n) for n in generator.integers(0, 128, count)],
        "can_abstain": [kind == logs.ACTION_KINDS["SELECT"] for kind in kinds],
        "num_candidates": sizes,
        "num_features": [3] * count,
        "candidate_ids": [[f"c{i}" for i in range(n)] if n > 2 else [] for n in sizes],
        "eligible": [[True] * int(n) if n > 3 else [] for n in sizes],
        "seen_ranks": generator.integers(-1, 3, count),
        "features": [generator.random((n, 3)).astype(np.float32) for n in sizes],
    }


class LogsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sortition-python-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = self.folder / "tuples"

    def read(self, **options: object) -> tuple[logs.Tuples, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read = logs.read_tuples(self.log, **options)
        return read, [str(warning.message) for warning in caught]

    def assert_same(self, read: logs.Tuples, written: dict) -> None:
        for name, column in written.items():
            self.assertEqual(len(read[name]), len(column), name)
            for row in range(len(column)):
                got, expected = read[name][row], column[row]
                said = f"{name} of tuple {row}"
                self.assertEqual(np.ravel(got).tolist(), np.ravel(expected).tolist(), said)
