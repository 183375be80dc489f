"""The example runs on a log that servers and users of the demo's world made."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

from processes import BIN, ProcessTest, run, wait_until
from sortition import logs

EXAMPLES = pathlib.Path(os.environ["SORTITION_SOURCES"]) / "client/python/examples"


class ExamplesTest(ProcessTest):
    def test_scikit_learn_and_the_trainer_judge_a_policy_alike(self) -> None:
        server = self.server()
        run(
            "sortition",
            "simulate",
            f"--server=127.0.0.1:{server.port()}",
            "--decisions=3000",
        )
        options = ("--join.reward_wait_time_seconds=0.5", "--join.slack_seconds=0.5")
        self.sidecar("*", "tuples", options)
        folder = self.folder / "tuples"

        def is_joined() -> bool:
            return any(folder.glob("*.seg")) and len(logs.read_tuples(folder)) == 3000

        wait_until(is_joined, "3000 tuples")
        done = subprocess.run(
            [sys.executable, EXAMPLES / "judge_policy.py", folder, self.folder / "judged"],
            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        line = r"^(ips|snips) +here (\S+) +sortition-trainer (\S+)$"
        values = re.findall(line, done.stdout, re.MULTILINE)
        self.assertEqual([name for name, _, _ in values], ["ips", "snips"])
        for _, here, theirs in values:
            self.assertEqual(here, theirs)
        # It learned something: the log is of a uniform policy.
        logged = float(re.search(r"mean reward (\S+)", done.stdout)[1])
        self.assertGreater(float(values[1][1]), logged)
