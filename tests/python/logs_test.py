"""Segments read and written: what comes back, and what is damaged."""

from __future__ import annotations

import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

from processes import BIN, run
from sortition import logs, native
from sortition.log.v1 import log_pb2
from sortition.logs import frames, ragged, segments, wire
from sortition.v1 import ranking_pb2


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


class RoundTripTest(LogsTest):
    def test_what_is_written_is_read(self) -> None:
        written = tuples(2000)
        self.assertEqual(logs.write_tuples(self.log, written, segment_bytes=100_000), 2000)
        self.assertGreater(len(logs.list_segments(self.log)), 3)
        read, warned = self.read(columns=list(written))
        self.assertEqual(warned, [])
        self.assert_same(read, written)
        self.assertEqual(read.features_of(7).tolist(), written["features"][7].tolist())

    def test_columns_do_not_depend_on_how_they_are_cut_into_blocks(self) -> None:
        # Of three tuples some blocks have ASCII ids and texts of another width, others have not.
        logs.write_tuples(self.log, tuples(101))
        whole, _ = self.read(columns=logs.columns.KINDS)
        with mock.patch("sortition.logs.tuples._BLOCK", 3):
            cut, _ = self.read(columns=logs.columns.KINDS)
        for name, column in whole.items():
            pairs = [(column, cut[name])]
            if isinstance(column, ragged.Ragged):
                pairs = [(column.values, cut[name].values), (column.offsets, cut[name].offsets)]
            for expected, got in pairs:
                self.assertEqual(got.dtype, expected.dtype, name)
                np.testing.assert_array_equal(got, expected, name)

    def test_the_command_line_finds_what_was_written_sound(self) -> None:
        logs.write_tuples(self.log, tuples(1000), segment_bytes=50_000)
        stats = run("sortition", "log", "stats", str(self.log))
        self.assertRegex(stats, r"tuples +1000\n")
        checks = subprocess.run(
            [BIN / "sortition", "log", "validate", self.log], capture_output=True, text=True
        ).stdout
        for check in ("damage", "completeness", "clock", "decision_ids", "actions", "propensities"):
            self.assertRegex(checks, f"PASS +{check} ")

    def test_every_field_equals_what_protobuf_and_the_exporter_read(self) -> None:
        written = tuples(400)
        # The exporter leaves out orders without the propensity of each rank.
        written["conditional_log_propensities"] = [
            [float(p) / len(a)] * len(a) if kind == logs.ACTION_KINDS["RANK"] else []
            for p, a, kind in zip(
                written["log_propensity"], written["action"], written["action_kind"]
            )
        ]
        logs.write_tuples(self.log, written)
        read, _ = self.read()
        messages = [r.tuple for r in logs.read_messages(self.log) if r.HasField("tuple")]
        self.assertEqual([m.decision.decision_id for m in messages], list(read["decision_id"]))
        self.assertEqual([m.reward for m in messages], read["reward"].tolist())
        self.assertEqual(
            [v for m in messages for v in m.decision.action], read["action"].values.tolist()
        )
        self.assertEqual(
            [v for m in messages for v in m.decision.dense_values],
            read["features"].values.tolist(),
        )
        run(
            "sortition",
            "log",
            "export",
            "--format=npz",
            f"--output={self.folder / 'a.npz'}",
            str(self.log),
        )
        arrays = np.load(self.folder / "a.npz")
        first = arrays["position"] == 0
        self.assertEqual(arrays["n_rounds"], 400)
        np.testing.assert_array_equal(arrays["reward"][first], read["reward"])
        np.testing.assert_array_equal(arrays["action"], read["action"].values)
        np.testing.assert_array_equal(arrays["features"], read["features"].values.reshape(-1, 3))

    def test_records_keep_what_was_not_read(self) -> None:
        written = tuples(50)
        logs.write_tuples(self.log, written)
        read, _ = self.read(columns=["record", "reward"])
        half = read.take(np.arange(50) % 2 == 0)
        half["reward"][:] = -1.0
        self.log = self.folder / "half"
        logs.write_tuples(self.log, half)
        again, _ = self.read(columns=list(written))
        kept = {name: [column[row] for row in range(0, 50, 2)] for name, column in written.items()}
        self.assert_same(again, {**kept, "reward": [-1.0] * 25})

    def test_a_data_frame_comes_back_as_segments(self) -> None:
        logs.write_tuples(self.log, tuples(30))
        read, _ = self.read()
        frame = read.to_frame()
        self.assertEqual(len(frame), 30)
        self.log = self.folder / "filtered"
        logs.write_tuples(self.log, frame[frame.reward > 0])
        again, _ = self.read()
        np.testing.assert_array_equal(again["reward"], read["reward"][read["reward"] > 0])

    def test_candidates_have_a_row_each(self) -> None:
        written = tuples(20)
        logs.write_tuples(self.log, written)
        frame = self.read()[0].candidates_to_frame()
        self.assertEqual(len(frame), written["num_candidates"].sum())
        for row in range(20):
            part = frame[frame.tuple == row]
            order = part[part.chosen].sort_values("rank").document_index.tolist()
            self.assertEqual(order, [i for i in written["action"][row] if i >= 0])
            np.testing.assert_array_equal(part[["f0", "f1", "f2"]], written["features"][row])

    def test_named_columns_become_columns_of_a_frame(self) -> None:
        message = ranking_pb2.RankRequest().context.candidates.columns
        message.num_candidates = 2
        price = message.candidate.add(name="price", missing=[1])
        price.numbers.values.extend([1.5, 0])
        message.candidate.add(name="title").texts.values.extend(["Ann", "Bob"])
        message.query.add(name="city").categories.values.append("Rome")
        one = {name: column[:1] for name, column in tuples(1).items()}
        one.update(num_candidates=[2], num_features=[0], action=[[1]], eligible=[[]])
        one.update(candidate_ids=[["p", "q"]], features=[[]], columns=[message.SerializeToString()])
        logs.write_tuples(self.log, one)
        read, _ = self.read(columns=["action", "num_candidates", "candidate_ids", "columns"])
        frame = read.candidates_to_frame()
        self.assertEqual(frame["candidate.price"].tolist()[0], 1.5)
        self.assertTrue(np.isnan(frame["candidate.price"].tolist()[1]))
        self.assertEqual(frame["candidate.title"].tolist(), ["Ann", "Bob"])
        self.assertEqual(frame["query.city"].tolist(), ["Rome", "Rome"])
        self.assertEqual(frame["candidate_id"].tolist(), ["p", "q"])
        self.assertEqual(frame["rank"].tolist(), [-1, 0])

    def test_wrong_tuples_leave_nothing(self) -> None:
        for name, value, said in (
            ("reward", [float("inf")], "tuple 0: reward is inf, must be finite"),
            ("log_propensity", [0.5], "log_propensity is 0.5, must be at most 0"),
            ("action", [[9]], r"action has 9, must be in \[-1, "),
            ("decision_id", [""], "must have 1 to 128 bytes"),
            ("features", [[1.0]], "features has 1 values, must have num_candidates"),
            ("colour", [1], r"columns \['colour'\] are unknown"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                logs.write_tuples(self.log, {**tuples(1), name: value})
            self.assertEqual(list(self.folder.iterdir()), [])
        self.log.mkdir()
        (self.log / "mine").touch()
        with self.assertRaisesRegex(ValueError, "must be absent or an empty directory"):
            logs.write_tuples(self.log, tuples(1))


class ReadingTest(LogsTest):
    def test_censored_tuples_are_left_out_and_counted(self) -> None:
        written = {**tuples(10), "censored": [row in (2, 5) for row in range(10)]}
        logs.write_tuples(self.log, written)
        read, _ = self.read()
        self.assertEqual(len(read), 8)
        self.assertEqual(read.left_out, {"censored": 2})
        self.assertEqual(len(self.read(with_censored=True)[0]), 10)

    def test_one_model_is_read_alone(self) -> None:
        logs.write_tuples(self.log, {**tuples(4), "model": ["a", "b", "a", "ab"]})
        self.assertEqual(list(self.read(model="a")[0]["decision_id"]), ["décision 0", "d2"])
        self.assertEqual(len(self.read(model="none")[0]), 0)

    def test_copies_in_another_directory_are_taken_once(self) -> None:
        place = log_pb2.SpoolPosition(segment="s", offset=7).SerializeToString()
        written = {**tuples(3), "position": [place] * 3, "spool_writer": ["w"] * 3}
        logs.write_tuples(self.log, written)
        shutil.copytree(self.log, self.folder / "copy")
        both = logs.read_tuples([self.log, self.folder / "copy"])
        self.assertEqual(len(both), 3)
        self.assertEqual(both.left_out, {"copy": 3})

    def test_compressed_segments_are_read(self) -> None:
        if native.unzstd is None or shutil.which("zstd") is None:
            self.skipTest("no libzstd or no zstd (packages libzstd1, zstd)")
        written = tuples(500)
        logs.write_tuples(self.log, written)
        [segment] = logs.list_segments(self.log)
        whole = segment.read_bytes()
        parts = [whole[: 1 << 14], whole[1 << 14 :]]
        packed = [
            subprocess.run(["zstd", "-q"], input=part, capture_output=True, check=True).stdout
            for part in parts
        ]
        table = b"".join(struct.pack("<II", len(p), len(w)) for p, w in zip(packed, parts))
        table += struct.pack("<IBI", 2, 0, 0x8F92EAB1)
        head = struct.pack("<II", 0x184D2A5E, len(table))
        file = self.log / (segment.name + ".zst")
        file.write_bytes(b"".join(packed) + head + table)
        # Of two files of one name the plain one is read.
        self.assertEqual(logs.list_segments(self.log), [segment])
        segment.unlink()
        read, warned = self.read(columns=list(written))
        self.assertEqual(warned, [])
        self.assert_same(read, written)
        flipped = bytearray(file.read_bytes())
        flipped[len(packed[0]) // 2] ^= 1
        file.write_bytes(flipped)
        with self.assertRaisesRegex(ValueError, "has no header"):
            self.read()

    def test_other_kinds_and_incomplete_logs_are_refused(self) -> None:
        logs.write_tuples(self.log, tuples(3))
        [segment] = logs.list_segments(self.log)
        record = log_pb2.LogRecord(incomplete=log_pb2.Incomplete(reason="r")).SerializeToString()
        parts = segments.Segment(segment)
        footer = int(parts.frames.starts[-1]) - frames.HEAD
        whole = segment.read_bytes()
        size = struct.pack("<Q", len(record))
        frame = size + masked(size) + record + masked(record)
        segment.write_bytes(whole[:footer] + frame + whole[footer:])
        with self.assertRaisesRegex(ValueError, "says that the log is incomplete"):
            self.read()
        self.assertEqual(len(self.read(allow_incomplete=True)[0]), 3)
        with self.assertRaisesRegex(ValueError, 'columns has "x", must be one of decision_id'):
            self.read(columns=["x"])
        with self.assertRaisesRegex(ValueError, "absent does not exist, must be a segment or a"):
            logs.read_tuples(self.folder / "absent")
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(ValueError, "empty has no segment yet, must be a segment or a"):
            logs.read_tuples(self.folder / "empty")


def masked(data: bytes) -> bytes:
    """Returns the stored CRC, from the definition in docs/log_format.md, bit by bit."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    crc = register ^ 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


class DamageTest(LogsTest):
    def setUp(self) -> None:
        super().setUp()
        self.written = tuples(40)
        logs.write_tuples(self.log, self.written)
        [self.segment] = logs.list_segments(self.log)
        self.whole = self.segment.read_bytes()
        found = segments.Segment(self.segment).frames
        # Header, 40 tuples, footer.
        self.begin = (found.starts - frames.HEAD).tolist()
        self.end = (found.starts + found.lengths + 4).tolist()

    def ids(self, change: bytes) -> tuple[list[str], logs.Tuples, list[str]]:
        self.segment.write_bytes(change)
        read, warned = self.read()
        return list(read["decision_id"]), read, warned

    def test_a_flipped_bit_costs_one_record_wherever_it_is(self) -> None:
        expected = self.written["decision_id"][:9] + self.written["decision_id"][10:]
        place = self.begin[10]
        for offset in [0, 3, 7, 8, 11, 12, 40, self.end[10] - place - 1]:
            flipped = bytearray(self.whole)
            flipped[place + offset] ^= 4
            ids, read, warned = self.ids(bytes(flipped))
            self.assertEqual(ids, expected, offset)
            [damage] = read.damage
            self.assertEqual((damage.offset, damage.size), (place, self.end[10] - place), offset)
            self.assertTrue(damage.is_corrupt)
            self.assertRegex(warned[0], f"offset {place}: {damage.size} bytes are corrupt")

    def test_bytes_that_spell_a_frame_inside_a_payload_are_no_frame(self) -> None:
        forged = self.whole[self.begin[1] : self.end[1]]
        text = forged.decode("latin-1")
        written = {**tuples(3), "degraded": ["", text, ""]}
        self.log = self.folder / "forged"
        logs.write_tuples(self.log, written)
        [self.segment] = logs.list_segments(self.log)
        whole = bytearray(self.segment.read_bytes())
        found = segments.Segment(self.segment).frames
        whole[int(found.starts[2]) + 5] ^= 1
        ids, _, _ = self.ids(bytes(whole))
        self.assertEqual(ids, ["décision 0", "d2"])

    def test_a_segment_that_is_cut_anywhere_has_the_records_before_the_cut(self) -> None:
        for cut in range(self.end[0], len(self.whole), 101):
            ids, read, _ = self.ids(self.whole[:cut])
            whole = sum(end <= cut for end in self.end[1:41])
            self.assertEqual(ids, self.written["decision_id"][:whole])
            # It is not closed: what is missing may still be written.
            self.assertEqual(read.damage, [])

    def test_zeros_of_a_segment_that_is_being_written_are_its_end(self) -> None:
        ids, read, warned = self.ids(self.whole[: self.end[20]] + bytes(1 << 16))
        self.assertEqual(ids, self.written["decision_id"][:20])
        self.assertEqual((read.damage, warned), ([], []))

    def test_a_file_that_is_no_segment_is_refused(self) -> None:
        for content in (b"", b"no segment at all, only text", bytes(100)):
            self.segment.write_bytes(content)
            with self.assertRaisesRegex(ValueError, "has no header, must be a segment"):
                self.read()


class ChecksumTest(unittest.TestCase):
    def test_checksums_are_those_of_the_standard(self) -> None:
        # RFC 3720, section B.4.
        for data, crc in (
            (bytes(32), 0x8A9136AA),
            (b"\xff" * 32, 0x62A8AB43),
            (bytes(range(32)), 0x46DD794E),
            (b"123456789", 0xE3069283),
        ):
            array = np.frombuffer(data, np.uint8)
            place = np.array([0]), np.array([len(data)])
            self.assertEqual(int(frames.crc32c_many(array, *place)[0]), crc)
            self.assertEqual(int(frames._crc32c_by_tables(array, *place)[0]), crc)

    def test_tables_agree_with_the_library_on_records_of_any_size(self) -> None:
        generator = np.random.default_rng(2)
        data = generator.integers(0, 256, 5000).astype(np.uint8)
        lengths = generator.integers(0, 90, 300)
        starts = generator.integers(0, 4900, 300)
        by_tables = frames._crc32c_by_tables(data, starts, lengths)
        np.testing.assert_array_equal(frames.crc32c_many(data, starts, lengths), by_tables)
        one = data[starts[5] : starts[5] + lengths[5]].tobytes()
        self.assertEqual(frames.mask(by_tables)[5].tobytes(), masked(one))

    def test_large_numbers_of_the_wire_format_are_exact(self) -> None:
        values = [0, 1, 127, 128, 1 << 32, (1 << 63) - 1]
        messages = [log_pb2.Feedback(time_us=v, reward=0.5).SerializeToString() for v in values]
        messages.append(log_pb2.Feedback(time_us=-1).SerializeToString())
        data = np.frombuffer(b"".join(messages) + b"\0", np.uint8)
        ends = np.cumsum([len(message) for message in messages])
        begins = ends - [len(message) for message in messages]
        field = wire.scan(data, begins, ends, {3})[3]
        read = np.zeros(len(messages), np.int64)
        read[field.owner] = field.value.view(np.int64)
        self.assertEqual(read.tolist(), [*values, -1])


if __name__ == "__main__":
    unittest.main()
