"""Segments written and read: what comes back."""

from __future__ import annotations

import shutil
import struct
import subprocess
import unittest
from unittest import mock

import numpy as np

from processes import BIN, run
from sortition import logs
from sortition.log.v1 import log_pb2
from sortition.logs import frames, ragged, segments, wire
from sortition.v1 import columns_pb2, ranking_pb2
from tuple_logs import LogsTest, masked, tuples


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
        self.write_forms()
        frame = self.read()[0].candidates_to_frame()
        price = frame["candidate.price"]
        self.assertEqual(price.dtype, float)
        self.assertEqual(price.isna().tolist(), [False, True, True, False, True, True, True])
        self.assertEqual(price.tolist()[0], 1.5)
        self.assertEqual(price.tolist()[3], 2.5)
        self.assertEqual(frame["candidate.title"].tolist()[:4], ["Ann", "Bob", None, "Eve"])
        sets = frame["candidate.tags"].tolist()
        self.assertEqual(sets[:4], [{"hot", "new"}, frozenset(), None, None])
        vectors = frame["candidate.place"].tolist()
        self.assertEqual(vectors[:3], [None, None, None])
        self.assertEqual(vectors[3].tolist(), [7])
        self.assertEqual(frame["query.city"].tolist()[:4], ["Rome", "Rome", None, None])
        self.assertEqual(frame["rank"].tolist(), [-1, 0, 0, -1, -1, 0, -1])

    def test_frames_have_features_of_every_form(self) -> None:
        self.write_forms()
        read, _ = self.read()
        frame = read.candidates_to_frame()
        self.assertEqual(frame["tuple"].tolist(), [0, 0, 1, 1, 2, 3, 3])
        # Sparse features without an entry are 0. Decisions with named columns have neither.
        expected = 4 * [[np.nan, np.nan]] + [[0.5, 0.25], [0, 3], [0, 0]]
        np.testing.assert_array_equal(frame[["f0", "f1"]], expected)
        self.assertEqual(read.features_of(2).tolist(), [[0.5, 0.25]])
        for row, form in ((0, "named columns"), (3, "sparse")):
            said = rf"features of tuple {row} are {form}, .* candidates_to_frame\(\) returns"
            with self.assertRaisesRegex(ValueError, said):
                read.features_of(row)
        # The form in which they were sent is what is written again.
        self.log = self.folder / "again"
        logs.write_tuples(self.log, read)
        again, _ = self.read()
        for name in ("columns", "sparse"):
            self.assertEqual(again[name].tolist(), read[name].tolist())

    def test_frames_need_the_columns_that_have_the_features(self) -> None:
        self.write_forms()
        for columns, said in (
            (["action"], "read without num_candidates, .* read_tuples.. without the argument"),
            (["action", "num_candidates", "columns"], "tuple 2 .* read features and sparse, too"),
            (["action", "num_candidates", "num_features", "features"], "tuple 0 has nothing in fe"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                self.read(columns=columns)[0].candidates_to_frame()
        bare = self.read(columns=["action", "num_candidates"])[0].candidates_to_frame()
        self.assertEqual(list(bare), ["tuple", "document_index", "rank", "chosen"])
        with self.assertRaisesRegex(KeyError, "reward was not read; the tuples have action"):
            self.read(columns=["action"])[0]["reward"]

    def test_features_that_make_no_frame_name_what_does(self) -> None:
        wide = ranking_pb2.SparseFeatures(row_offsets=[0, 1], columns=[9999], values=[1])
        self.write(num_features=10000, num_candidates=1, sparse=wide.SerializeToString())
        with self.assertRaisesRegex(ValueError, "10000 sparse features, .* at most 4096"):
            self.read()[0].candidates_to_frame()
        self.log = self.folder / "widths"
        one = {"num_candidates": 1, "num_features": 1, "features": [1.0]}
        self.write(one, {**one, "num_features": 2, "features": [1.0, 2.0]})
        with self.assertRaisesRegex(ValueError, r"\[1, 2\] features, .*take\(tuples"):
            self.read()[0].candidates_to_frame()

    def write_forms(self) -> None:
        """Writes two decisions with named columns, one with dense features, one with sparse."""
        first = columns_pb2.Columns(num_candidates=2)
        first.candidate.add(name="price", missing=[1]).numbers.values.extend([1.5, 0])
        first.candidate.add(name="title").texts.values.extend(["Ann", "Bob"])
        sets = first.candidate.add(name="tags").category_sets
        sets.offsets.extend([0, 2, 2])
        sets.values.extend(["hot", "new"])
        # No value is there, so that the vectors have no size.
        first.candidate.add(name="place", missing=[0, 1]).vectors.size = 0
        first.query.add(name="city").categories.values.append("Rome")
        second = columns_pb2.Columns(num_candidates=2)
        second.candidate.add(name="price").numbers.values.extend([np.nan, 2.5])
        second.candidate.add(name="title", missing=[0]).texts.values.extend(["", "Eve"])
        place = second.candidate.add(name="place", missing=[0]).vectors
        place.size = 1
        place.values.extend([0, 7])
        second.query.add(name="city", missing=[0]).categories.values.append("")
        sparse = ranking_pb2.SparseFeatures(row_offsets=[0, 1, 1], columns=[1], values=[3])
        self.write(
            {"action": [1], "num_candidates": 2, "columns": first.SerializeToString()},
            {"action": [0], "num_candidates": 2, "columns": second.SerializeToString()},
            {"action": [-1], "num_candidates": 1, "num_features": 2, "features": [0.5, 0.25]},
            {"num_candidates": 2, "num_features": 2, "sparse": sparse.SerializeToString()},
        )

    def write(self, *decisions: dict, **one: object) -> None:
        """Writes selections that have what is given, each candidate of which is eligible."""
        defaults = {
            "action_kind": logs.ACTION_KINDS["SELECT"],
            "action": [0],
            "can_abstain": True,
            "log_propensity": -1.0,
            "reward": 1.0,
            "num_features": 0,
            "features": [],
            "sparse": b"",
            "columns": b"",
        }
        rows = [
            {"decision_id": f"d{row}", **defaults, **decision}
            for row, decision in enumerate(decisions or [one])
        ]
        logs.write_tuples(self.log, {name: [row[name] for row in rows] for name in rows[0]})


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

    def test_negative_rows_count_from_the_end(self) -> None:
        logs.write_tuples(self.log, tuples(3))
        read, _ = self.read()
        for rows in ([-1], [-3, 1], [], [True, False, True]):
            expected = np.arange(3)[np.array(rows, bool if len(rows) == 3 else int)]
            taken = read.take(rows)
            self.assertEqual(list(taken["decision_id"]), list(read["decision_id"][expected]))
            for row, source in enumerate(expected):
                np.testing.assert_array_equal(taken["features"][row], read["features"][source])

    def test_slices_of_ragged_columns_are_ragged(self) -> None:
        rows = [[1, 2], [], [3], [4, 5, 6]]
        column = ragged.Ragged.from_rows(rows, np.int64)
        for part in (slice(1, 3), slice(None), slice(3, 1), slice(9, 12), slice(-2, None)):
            with self.subTest(part):
                self.assertEqual([row.tolist() for row in column[part]], rows[part])
                self.assertEqual(column[part].offsets[0], 0)
        for part in (slice(None, None, -1), slice(0, 4, 2)):
            self.assertEqual([row.tolist() for row in column[part]], rows[part])
        self.assertEqual([row.tolist() for row in column[[0, -1]]], [rows[0], rows[3]])
        mask = np.array([True, False, True, False])
        self.assertEqual([row.tolist() for row in column[mask]], [rows[0], rows[2]])
        # A slice of a slice begins anew, and shares the values.
        inner = column[1:][1:]
        self.assertEqual([row.tolist() for row in inner], rows[2:])
        self.assertTrue(np.shares_memory(inner.values, column.values))
        self.assertEqual(column[np.int64(-1)].tolist(), [4, 5, 6])
        with self.assertRaisesRegex(TypeError, "row is 1.5, must be an integer, a slice"):
            column[1.5]
        with self.assertRaisesRegex(IndexError, r"row is 4, must be in \[-4, 4\)"):
            column[4]

    def test_slices_of_tuples_have_slices_of_all_columns(self) -> None:
        logs.write_tuples(self.log, tuples(5))
        read, _ = self.read()
        taken = read.take(slice(1, 4))
        self.assertEqual(list(taken["decision_id"]), list(read["decision_id"][1:4]))
        np.testing.assert_array_equal(taken["features"][2], read["features"][3])

    def test_decisions_with_a_seed_are_left_out_and_seeds_are_exact(self) -> None:
        seeds = [1 << 63, (1 << 64) - 1, 0, 0]
        written = {**tuples(4), "seed": seeds, "has_seed": [True, True, True, False]}
        written["version"] = [1, (1 << 64) - 1, 2, 3]
        logs.write_tuples(self.log, written)
        read, _ = self.read()
        self.assertEqual((len(read), read.left_out), (1, {"seeded": 3}))
        names = ["seed", "has_seed", "version", "record"]
        for _ in range(2):
            read, _ = self.read(columns=names, with_seeded=True)
            self.assert_same(read, {name: written[name] for name in names[:3]})
            self.log = self.folder / "again"
            if not self.log.exists():
                logs.write_tuples(self.log, read)

    def test_labels_are_no_candidates(self) -> None:
        labels = {**tuples(2), "action_kind": [logs.ACTION_KINDS["LABELS"]] * 2}
        labels.update(num_labels=[9, 9], action=[[0, 5], [1]], can_abstain=[False] * 2)
        logs.write_tuples(self.log, labels)
        self.assertFalse(self.read()[0].candidates_to_frame().chosen.any())

    def test_zeros_at_the_end_of_a_text_stay(self) -> None:
        ids = ["a", "a\0", "b"]
        logs.write_tuples(self.log, {**tuples(3), "decision_id": ids})
        self.assertEqual(list(self.read()[0]["decision_id"]), ids)

    def test_many_strings_of_one_message_are_read_as_few_are(self) -> None:
        counts = [2, 40, 300, 33]
        ids = [[f"{row}" + "x" * (i % 200) for i in range(n)] for row, n in enumerate(counts)]
        many = {**tuples(4), "num_candidates": counts, "num_features": [1] * 4}
        many.update(
            eligible=[[]] * 4, candidate_ids=ids, action_kind=[logs.ACTION_KINDS["RANK"]] * 4
        )
        many.update(action=[[0]] * 4, features=[np.ones((n, 1)) for n in counts])
        logs.write_tuples(self.log, many)
        self.assert_same(
            self.read(columns=["candidate_ids", "log_propensity"])[0],
            {name: many[name] for name in ("candidate_ids", "log_propensity")},
        )
        with mock.patch("sortition.logs.wire._step", wraps=wire._step) as steps:
            self.read(columns=["candidate_ids"])
        self.assertLess(steps.call_count, 100)


if __name__ == "__main__":
    unittest.main()
