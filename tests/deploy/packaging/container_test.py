"""The scripts of the image: what is healthy, and when the trainer learns.

usage: container_test.py FOLDER [unittest options]
  FOLDER  deploy/container
"""

import http.server
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Callable

FOLDER = Path(sys.argv[1])
PATIENCE = 60  # Seconds for what takes a moment.
TRAIN = "train --rollout --config=train"
STEP = "rollout --config=rollout"


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether the condition holds within PATIENCE."""
    event = threading.Event()
    for _ in range(PATIENCE * 100):
        if condition():
            return True
        event.wait(0.01)
    return False


class Scripts(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "TMPDIR": str(self.folder)}
        self.status = self.folder / "sortition-learn.status"

    def start(self, *command: object, **environment: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [str(word) for word in command],
            env={**self.environment, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process


class LearnTest(Scripts):
    def setUp(self) -> None:
        super().setUp()
        self.calls = self.folder / "calls"
        # Says whether a rollout is under way; notes what else it is asked for, and ends with the
        # status that the test wants.
        (self.folder / "bin/sortition-trainer").write_text(
            f"""#!/bin/sh
case "$*" in
  *--status*) cat {self.folder}/rollout 2>/dev/null; exit 0 ;;
esac
echo "$*" >>{self.calls}
. {self.folder}/behave
"""
        )
        (self.folder / "bin/sortition-trainer").chmod(0o755)
        (self.folder / "behave").write_text("exit 3\n")

    def behave(self, status: int) -> None:
        (self.folder / "behave").write_text(f"exit {status}\n")

    def learn(self, *once: str, **environment: str) -> "subprocess.Popen[str]":
        return self.start(FOLDER / "sortition-learn", "train", "rollout", *once, **environment)

    def wait_for_status(self, status: str) -> None:
        self.assertTrue(wait_for(self.status.exists))
        self.assertTrue(wait_for(lambda: self.status.read_text() == status))

    def asked(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def end(self, process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_learns_at_once(self) -> None:
        process = self.learn()
        self.wait_for_status("0\n")
        self.assertEqual(self.asked(), [TRAIN])
        self.end(process)

    def test_waits_for_tuples(self) -> None:
        self.behave(4)
        process = self.learn(SORTITION_STEP_SECONDS="0.05")
        self.assertTrue(wait_for(lambda: self.asked() >= [TRAIN, TRAIN]))
        self.wait_for_status("0\n")
        self.end(process)

    def test_a_rollout_takes_its_steps_and_nothing_is_learned(self) -> None:
        (self.folder / "rollout").write_text('{"outcome": "RUNNING"}')
        process = self.learn(SORTITION_STEP_SECONDS="0.05", SORTITION_LEARN_SECONDS="0")
        self.assertTrue(wait_for(lambda: len(self.asked()) >= 3))
        self.assertEqual(set(self.asked()), {STEP})
        (self.folder / "rollout").write_text('{"outcome": "COMPLETED"}')
        self.assertTrue(wait_for(lambda: TRAIN in self.asked()))
        self.end(process)
        # What is over takes no more steps.
        self.assertNotIn(STEP, self.asked()[self.asked().index(TRAIN) :])

    def test_learns_again_after_its_time(self) -> None:
        process = self.learn(SORTITION_STEP_SECONDS="0.05", SORTITION_LEARN_SECONDS="0")
        self.assertTrue(wait_for(lambda: len(self.asked()) >= 2))
        self.end(process)

    def test_notes_a_failure_until_a_training_works(self) -> None:
        self.behave(1)
        process = self.learn(SORTITION_STEP_SECONDS="0.05", SORTITION_LEARN_SECONDS="0")
        self.wait_for_status("1\n")
        self.behave(3)
        self.wait_for_status("0\n")
        self.end(process)

    def test_steps_do_not_hide_that_a_training_failed(self) -> None:
        self.behave(1)
        process = self.learn(SORTITION_STEP_SECONDS="0.05")
        self.wait_for_status("1\n")
        self.behave(0)
        (self.folder / "rollout").write_text('{"outcome": "RUNNING"}')
        self.assertTrue(wait_for(lambda: len(self.asked()) >= 4))
        self.assertEqual(self.status.read_text(), "1\n")
        self.end(process)

    def test_does_one_thing_and_ends(self) -> None:
        for status, expected in ((0, 0), (3, 0), (4, 0), (1, 1)):
            self.behave(status)
            self.assertEqual(self.learn("train").wait(PATIENCE), expected)
        self.assertEqual(self.asked(), 4 * [TRAIN])
        self.assertEqual(self.learn("rollout").wait(PATIENCE), 0)
        (self.folder / "rollout").write_text('{"outcome": "RUNNING"}')
        self.assertEqual(self.learn("train").wait(PATIENCE), 0)
        self.assertEqual(self.asked(), 4 * [TRAIN])
        self.assertEqual(self.learn("rollout").wait(PATIENCE), 1)
        self.assertEqual(self.asked(), [*4 * [TRAIN], STEP])
        self.assertFalse(self.status.exists())

    def test_sigterm_ends_what_it_runs(self) -> None:
        # Says that it has begun, and that it was told to end.
        (self.folder / "behave").write_text(
            f"trap 'kill $!; echo ended >>{self.calls}; exit 0' TERM\n"
            f"echo begun >>{self.calls}\nsleep 3600 & wait\n"
        )
        process = self.learn()
        self.assertTrue(wait_for(lambda: "begun" in self.asked()))
        self.end(process)
        self.assertEqual(self.asked()[-1], "ended")

    def test_asks_again_where_a_signal_was_lost(self) -> None:
        # Hears the second signal only, as a child does that the first one met before its exec.
        (self.folder / "behave").write_text(
            f"trap 'lost=$(( ${{lost:-0}} + 1 )); [ $lost -lt 2 ] || {{ kill $!; exit 0; }}' TERM\n"
            f"echo begun >>{self.calls}\nsleep 3600 & while true; do wait; done\n"
        )
        process = self.learn()
        self.assertTrue(wait_for(lambda: "begun" in self.asked()))
        self.end(process)


class HealthTest(Scripts):
    """The script looks at all processes, and at fixed ports. Here it sees those of the test."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "proc").mkdir()
        self.ports = {port: 1 for port in (8502, 8503, 8504)}  # Nothing listens on port 1.
        self.paths = {"/healthz": 200, "/livez": 503, "/readyz": 503, "/metrics": 404}
        self.bodies: dict[str, str] = {}
        paths, bodies = self.paths, self.bodies

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(paths.get(self.path, 404))
                self.end_headers()
                self.wfile.write(bodies.get(self.path, "").encode())

            def log_message(self, *_: object) -> None:
                pass

        self.handler = Handler

    def serve(self, port: int) -> None:
        """Serves a free port, which the script takes for `port`."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        self.ports[port] = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def runs(self, name: str) -> None:
        """Starts a process of that name that does nothing."""
        program = self.folder / "bin" / name
        shutil.copy("/bin/sleep", program)
        process = self.start(program, "3600")
        comm = Path(f"/proc/{process.pid}/comm")
        self.assertTrue(wait_for(lambda: comm.read_text().strip() == name[:15]))
        (self.folder / "proc" / str(process.pid)).symlink_to(comm.parent)

    def health(self, *arguments: str, **environment: str) -> int:
        text = (FOLDER / "sortition-health").read_text().replace("/proc/", f"{self.folder}/proc/")
        for port, here in self.ports.items():
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{here}")
        environment = {**self.environment, **environment}
        command = ["/bin/sh", "-c", text, "sortition-health", *arguments]
        return subprocess.run(command, env=environment, capture_output=True).returncode

    def test_nothing_runs(self) -> None:
        self.assertEqual(self.health(), 1)

    def test_a_server_is_asked_whether_it_should_be_asked(self) -> None:
        self.runs("sortition-server")
        self.assertNotEqual(self.health(), 0)
        self.serve(8503)
        self.assertNotEqual(self.health(), 0)
        # /healthz answers also while the threads that answer calls hang.
        self.assertNotEqual(self.health("alive"), 0)
        self.paths["/livez"] = 200
        self.assertEqual(self.health("alive"), 0)
        self.assertNotEqual(self.health(), 0)
        self.paths["/readyz"] = 200
        self.assertEqual(self.health(), 0)

    def test_a_sidecar_is_judged_by_its_loop(self) -> None:
        self.serve(8503)
        self.paths["/readyz"] = 200
        self.runs("sortition-sidecar")
        self.assertNotEqual(self.health(), 0)
        self.serve(8502)
        self.assertNotEqual(self.health(), 0)
        self.paths["/metrics"] = 200
        for seconds, is_healthy in (("0.013", True), ("59.9", True), ("60.5", False), ("1e+03", False)):
            self.bodies["/metrics"] = f"# TYPE a gauge\nsortition_sidecar_stalled_seconds {seconds}\nb 1\n"
            for arguments in ((), ("alive",)):
                self.assertEqual(self.health(*arguments) == 0, is_healthy, seconds)
        # Not a sidecar, or one that cannot be judged.
        self.bodies["/metrics"] = "b 1\n"
        self.assertNotEqual(self.health(), 0)

    def test_a_trainer_is_judged_by_its_last_run(self) -> None:
        self.runs("sortition-learn")
        self.assertEqual(self.health(), 0)
        self.status.write_text("1\n")
        self.assertEqual(self.health(), 1)
        self.status.write_text("0\n")
        self.assertEqual(self.health(), 0)

    def test_asks_the_address_that_it_is_told(self) -> None:
        self.runs("sortition-server")
        self.serve(9000)
        url = f"http://127.0.0.1:{self.ports[9000]}"
        self.assertEqual(self.health(SORTITION_HEALTH_URL=f"{url}/healthz"), 0)
        self.assertNotEqual(self.health(SORTITION_HEALTH_URL=f"{url}/readyz"), 0)


if __name__ == "__main__":
    if not shutil.which("wget"):
        print("skipped: no wget; ./dev setup test")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
