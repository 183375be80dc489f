"""What may be written."""

from __future__ import annotations

import unittest

import numpy as np

from sortition import logs
from tuple_logs import LogsTest, tuples


class WritingTest(LogsTest):
    def test_wrong_tuples_leave_nothing(self) -> None:
        for name, value, said in (
            ("reward", [float("inf")], "tuple 0: reward is inf, must be finite"),
            ("log_propensity", [0.5], "log_propensity is 0.5, must be finite and at most 0"),
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

    def test_tuples_that_no_reader_takes_are_refused(self) -> None:
        rank, subset = (logs.ACTION_KINDS[name] for name in ("RANK", "SUBSET"))
        one = {name: column[:1] for name, column in tuples(1).items()}
        one.update(num_candidates=[2], num_features=[1], action=[[0]], eligible=[[]])
        one.update(candidate_ids=[[]], features=[np.ones((2, 1))])
        for change, said in (
            ({"log_propensity": [-np.inf]}, "log_propensity is -inf, must be finite"),
            ({"features": [[[1e39], [1]]]}, "features has a value that is not finite"),
            ({"features": [[]], "num_features": [0]}, "features has 0 values, must have"),
            ({"num_candidates": [0], "features": [[]]}, "num_candidates is 0, must be at least 1"),
            ({"action": [[0, 1]]}, "action has 2 entries, must have 1"),
            ({"action": [[]]}, "action has 0 entries, must have 1"),
            ({"action": [[-1]], "can_abstain": [False]}, r"action has -1, must be in \[0, 2\)"),
            ({"action": [[0, 0]], "action_kind": [rank]}, r"action is \[0, 0\], must have each"),
            ({"action": [[1, 0]], "action_kind": [subset]}, "must be ascending"),
            ({"action_kind": [99]}, "action_kind is 99, must be one of SELECT .1., RANK"),
            ({"eligible": [[False, True]]}, "action has 0, must be eligible"),
            ({"eligible": [[True]]}, "eligible has 1 entries, must have 0 or 2"),
            ({"candidate_ids": [["a"]]}, "candidate_ids has 1 entries, must have 0 or 2"),
            ({"model": ["../../x"]}, "model is '../../x', must have printable"),
            ({"model": ["x\x1b[31m"]}, "must have printable characters"),
            ({"has_feedback": [np.nan]}, "has_feedback: is nan, must be true or false"),
            ({"version": [1.5]}, "version: is 1.5, must be a whole number"),
            ({"version": [np.nan]}, "version: is nan, must be a whole number"),
            ({"reward": [True]}, "reward: is True, must be a number"),
            ({"log_propensity": ["-1"]}, "log_propensity: is '-1', must be a number"),
            ({"seen_ranks": np.array([True])}, "seen_ranks: is True, must be a whole number"),
            ({"action": [[False]]}, r"action: is \[False\], must have numbers"),
            ({"seed": [1]}, r"columns \['has_seed'\] are missing"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                logs.write_tuples(self.log, {**one, **change})
            self.assertEqual(list(self.folder.iterdir()), [])
        logs.write_tuples(self.log, one)

    def test_arguments_of_another_type_are_refused(self) -> None:
        for call, said in (
            (lambda: logs.write_tuples(self.log, [{"reward": 1}]), "tuples is .*list.*a DataFrame"),
            (lambda: logs.read_tuples(self.log, "reward"), r"columns is 'reward' .*\[\"reward\"\]"),
            (lambda: logs.read_tuples(self.log, model=5), "model is 5"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                call()

    def test_missing_texts_are_unset(self) -> None:
        logs.write_tuples(self.log, {**tuples(3), "unit_id": [None, np.nan, "nan"]})
        self.assertEqual(list(self.read()[0]["unit_id"]), ["", "", "nan"])


if __name__ == "__main__":
    unittest.main()
