"""Reports of the trainer, and files that are none."""

from __future__ import annotations

import json
import math
import pathlib
import tempfile
import unittest

from sortition import ope


class ReportsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "report.json"

    def test_what_a_newer_trainer_adds_is_passed_over(self) -> None:
        self.path.write_text('{"policies": [{"name": "logged"}], "newer": 1}')
        self.assertEqual(ope.read_ope(self.path).policies[0].name, "logged")
        self.path.write_text('{"model": "default", "newer": 1}')
        self.assertEqual(ope.read_train(self.path).model, "default")

    def test_the_policy_that_others_are_compared_with_has_no_gain(self) -> None:
        row = {"estimator": "dm", "value_alone": 0.5, "gain_alone": 0, "no_interval": "biased"}
        policies = [{"name": name, "estimates": [row]} for name in ("a", "b")]
        self.path.write_text(json.dumps({"against": "a", "policies": policies}))
        report = ope.read_ope(self.path)
        self.assertTrue(math.isnan(ope.gain_of(ope.estimate(report, "a", "dm"))))
        self.assertEqual(ope.gain_of(ope.estimate(report, "b", "dm")), 0)
        self.assertEqual(ope.value_of(ope.estimate(report, "a", "dm")), 0.5)

    def test_files_that_are_no_reports_are_refused(self) -> None:
        for text in ("{}", '{"error": "x"}', '"x"', "5", "null", "[1]", '{"policies": 5}', "no"):
            self.path.write_text(text)
            for read in (ope.read_ope, ope.read_train):
                with self.assertRaisesRegex(ValueError, "must be a report of", msg=text):
                    read(self.path)


if __name__ == "__main__":
    unittest.main()
