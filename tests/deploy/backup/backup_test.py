"""Copies a deployment under load, destroys it, and restores it into empty folders.

usage: backup_test.py DEPLOY PROGRAMS [unittest options]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable

DEPLOY, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
PATIENCE = 120  # Seconds for what takes a moment.
WINDOW = 2  # Seconds in which feedback counts.

if not shutil.which("rsync"):
    print("skipped: no rsync; ./dev setup test")
    sys.exit(77)


def wait_until(
    condition: Callable[[], object], what: str, why: Callable[[], str] = lambda: ""
) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s {why()}")
        time.sleep(0.02)  # Between two looks.


class Deployment:
    """A server and a sidecar on the folders spool, tuples and models below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, "subprocess.Popen[bytes]"] = {}

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def start(self, program: str, *flags: str) -> None:
        ports = self.folder / f"{program}.ports"
        ports.unlink(missing_ok=True)
        with open(self.path(f"{program}.log"), "ab") as log:
            self.processes[program] = subprocess.Popen(
                [
                    str(PROGRAMS / f"sortition-{program}"),
                    *flags,
                    "--metrics_listen=127.0.0.1:0",
                    f"--port_file={ports}",
                ],
                stdout=log,
                stderr=log,
            )
        wait_until(ports.exists, f"the ports of {program}, see {self.path(program)}.log")

    def start_both(self) -> None:
        self.start(
            "server",
            f"--model_store={self.path('models')}",
            f"--spool.dir={self.path('spool')}",
            "--listen=127.0.0.1:0",
            "--http.listen=127.0.0.1:0",
            # Small and short segments, so that the sidecar removes some during the copy.
            "--spool.segment_bytes=65536",
            "--spool.segment_seconds=0.5",
        )
        self.start(
            "sidecar",
            f"--spool={self.path('spool')}",
            f"--tuples={self.path('tuples')}",
            "--http_listen=127.0.0.1:0",
            "--segment_bytes=65536",
            "--segment_seconds=0.5",
            "--sync_interval_seconds=0.1",
            f"--join.reward_wait_time_seconds={WINDOW}",
        )

    def port(self, program: str, name: str) -> int:
        lines = (self.folder / f"{program}.ports").read_text().splitlines()
        return int(dict(line.split() for line in lines)[name])

    def post(self, path: str, body: dict[str, Any]) -> bool:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port('server', 'http')}{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "X-Timeout-Ms": "10000"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def metric(self, program: str, name: str) -> float:
        url = f"http://127.0.0.1:{self.port(program, 'metrics')}/metrics"
        with urllib.request.urlopen(url, timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name + " "))

    def logs(self) -> str:
        paths = [self.folder / f"{program}.log" for program in ("server", "sidecar")]
        return "\n".join(path.read_text()[-4000:] for path in paths)

    def end(self, number: int) -> None:
        for process in self.processes.values():
            process.send_signal(number)
        for process in self.processes.values():
            process.wait(PATIENCE)
        self.processes.clear()


class Load(threading.Thread):
    """Asks for decisions and reports a click on every second one, until it is stopped."""

    def __init__(self, deployment: Deployment, prefix: str) -> None:
        super().__init__()
        self.deployment, self.prefix = deployment, prefix
        self.is_wanted = True
        self.answered: list[str] = []
        self.clicked: list[str] = []  # Those whose feedback was acknowledged.

    def run(self) -> None:
        number = 0
        while self.is_wanted:
            decision, number = f"{self.prefix}-{number}", number + 1
            context = {
                "decision_id": decision,
                "candidates": {"num_features": 2, "dense": {"values": [1, 0, 0, 1, number % 7, 1]}},
            }
            if not self.deployment.post("/v1/select", {"context": context}):
                continue
            self.answered.append(decision)
            click = {"feedback_id": f"of-{decision}", "decision_id": decision, "reward": 1}
            if number % 2 == 0 and self.deployment.post("/v1/feedback", {"feedback": [click]}):
                self.clicked.append(decision)

    def stop(self) -> None:
        self.is_wanted = False
        self.join()


def sortition(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(PROGRAMS / "sortition"), *words], capture_output=True, text=True)


def tuples_in(folder: str) -> list[tuple[str, float, bool]]:
    """Returns id, reward and whether it is censored of each tuple."""
    found = []
    for line in sortition("log", "cat", folder).stdout.splitlines():
        record = json.loads(line)["record"].get("tuple")
        if record is not None:
            decision = record["decision"]["decision_id"]
            found.append((decision, float(record.get("reward", 0)), bool(record.get("censored"))))
    return found


class BackupTest(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.deployments: list[Deployment] = []
        self.addCleanup(lambda: [each.end(signal.SIGKILL) for each in self.deployments])

    def deploy(self, name: str) -> Deployment:
        (self.root / name).mkdir(exist_ok=True)
        for part in ("spool", "tuples", "models"):
            (self.root / name / part).mkdir(exist_ok=True)
        self.deployments.append(Deployment(self.root / name))
        return self.deployments[-1]

    def run_script(
        self, deployment: Deployment, path: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        parts = [deployment.path(part) for part in ("spool", "tuples", "models")]
        return subprocess.run(
            [str(DEPLOY / "backup/sortition-backup"), *parts, str(self.root / "backups")],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path + os.environ["PATH"]},
        )

    def back_up(self, deployment: Deployment) -> Path:
        wait_until(lambda: self.has_another_name(), "the next second")
        done = self.run_script(deployment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.root / "backups/latest").resolve()

    def fit(self, deployment: Deployment) -> None:
        data = self.root / "labelled.letor"
        data.write_text("".join(f"{i % 2} qid:{i // 4} 1:{i % 4} 2:{i % 3}\n" for i in range(40)))
        store = f"--model_store={deployment.path('models')}"
        command = [str(PROGRAMS / "sortition-trainer"), "fit", f"--data={data}", store]
        subprocess.run([*command, "--action=select"], capture_output=True, check=True)

    def test_what_was_answered_before_the_copy_is_there_once(self) -> None:
        first = self.deploy("first")
        self.fit(first)
        first.start_both()
        load = Load(first, "first")
        load.start()
        # Decisions with tuples, decisions in the spool alone, and segments that come and go.
        wait_until(
            lambda: first.metric("sidecar", "sortition_sidecar_removed_segments_total") >= 3,
            "segments are removed",
        )
        self.back_up(first)  # The next one is incremental.
        more = len(load.answered) + 50
        wait_until(lambda: len(load.answered) > more, "more decisions")
        answered, clicked = list(load.answered), set(load.clicked)
        backup = self.back_up(first)
        load.stop()
        first.end(signal.SIGKILL)

        # The restore of docs/backup.md: copy, never run on the backup itself.
        second = self.deploy("second")
        for part in ("spool", "tuples", "models"):
            subprocess.run(
                ["rsync", "--archive", f"{backup}/{part}/", f"{second.path(part)}/"], check=True
            )
        shutil.rmtree(self.root / "first")
        second.start_both()
        load = Load(second, "second")
        load.start()
        wait_until(lambda: len(load.answered) > 50, "decisions after the restore")
        load.stop()
        expected = set(answered) | set(load.answered)

        def without_tuple() -> set[str]:
            return expected - {decision for decision, _, _ in tuples_in(second.path("tuples"))}

        wait_until(
            lambda: not without_tuple(),
            "a tuple of each decision",
            lambda: f"{sorted(without_tuple())[:20]} of {len(expected)}\n{second.logs()}",
        )
        second.end(signal.SIGTERM)

        tuples = tuples_in(second.path("tuples"))
        ids = [decision for decision, _, _ in tuples]
        self.assertEqual(len(ids), len(set(ids)), "a decision has two tuples")
        self.assertLessEqual(set(answered), set(ids))
        rewards = {decision: reward for decision, reward, is_censored in tuples if not is_censored}
        for decision in set(answered) & set(rewards):
            if decision in clicked:
                self.assertEqual(rewards[decision], 1, decision)
        self.assertGreater(len(clicked & set(rewards)), 0)
        store = f"--model_store={second.path('models')}"
        for words in (("validate",), ("verify", store), ("stats",)):
            done = sortition("log", words[0], second.path("tuples"), *words[1:])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_backup_sees_what_changes_neither_size_nor_seconds(self) -> None:
        deployment = self.deploy("first")
        segment = Path(deployment.path("spool")) / "a.seg"
        segment.write_bytes(b"\0" * 4096)
        second = 1_700_000_000 * 10**9
        os.utime(segment, ns=(second, second))
        self.assertEqual((self.back_up(deployment) / "spool/a.seg").read_bytes()[:1], b"\0")
        with segment.open("r+b") as file:
            file.write(b"record")
        os.utime(segment, ns=(second, second + 1))
        self.assertEqual((self.back_up(deployment) / "spool/a.seg").read_bytes()[:6], b"record")

    def test_two_backups_of_one_second_are_not_mixed_up(self) -> None:
        deployment = self.deploy("first")
        programs = self.root / "programs"
        programs.mkdir()
        (programs / "date").write_text("#!/bin/sh\necho 20261130T090000Z\n")
        (programs / "date").chmod(0o755)
        self.assertEqual(self.run_script(deployment, f"{programs}:").returncode, 0)
        (Path(deployment.path("spool")) / "new").write_text("")
        again = self.run_script(deployment, f"{programs}:")
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("20261130T090000Z is there", again.stderr)
        backup = self.root / "backups/20261130T090000Z"
        self.assertEqual({"spool", "tuples", "models"}, {path.name for path in backup.iterdir()})
        self.assertEqual(self.run_script(deployment).returncode, 0)
        self.assertTrue((self.root / "backups/latest/spool/new").exists())

    def has_another_name(self) -> bool:
        return not (self.root / "backups" / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())).exists()

    def test_what_cannot_be_copied_is_an_error(self) -> None:
        deployment = self.deploy("first")
        shutil.rmtree(deployment.path("tuples"))
        with self.assertRaises(AssertionError):
            self.back_up(deployment)
        self.assertFalse((self.root / "backups/latest").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
