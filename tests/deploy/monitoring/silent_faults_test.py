"""Faults in which every process works, made with real programs: a real Prometheus with the rules of
deploy/prometheus/alerts.yml, with short times, reports each, and that it is over.

usage: silent_faults_test.py DEPLOY PROGRAMS HUNG_DISK [unittest options]
  HUNG_DISK  library of tests/testing/preloaded/hung_disk.cc
"""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Callable

DEPLOY, PROGRAMS, HUNG_DISK = (Path(word).resolve() for word in sys.argv[1:4])
PROMETHEUS = "/usr/bin/prometheus"
PATIENCE = 120  # Seconds for what takes a moment.

if not os.access(PROMETHEUS, os.X_OK):
    print(f"skipped: no {PROMETHEUS}; ./dev setup test")
    sys.exit(77)


def wait_until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.05)  # Between two looks.


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def short_alerts() -> str:
    """Returns the rules with what takes minutes in seconds, and a week in an hour. Fewer decisions
    are enough to be missed."""
    text = (DEPLOY / "prometheus/alerts.yml").read_text()
    text = re.sub(r"for: \d+[smhd]", "for: 400ms", text)
    text = re.sub(r"(process_start_time_seconds < )\d+", r"\g<1>15", text)
    text = re.sub(r"(\[|offset )(?:1[hd]|15m|6h|[1235]m|10m)", r"\g<1>6s", text)
    text = re.sub(r"(\[|offset )30m", r"\g<1>8s", text)
    text = re.sub(r"(\[|offset )1w", r"\g<1>1h", text)
    for there, here in (
        ("offset 6s)) > 200", "offset 6s)) > 10"),
        (" > 100\n        for: 400ms", " > 3\n        for: 400ms"),
        ("sortition_sidecar_stalled_seconds > 60", "sortition_sidecar_stalled_seconds > 3"),
    ):
        assert there in text, there
        text = text.replace(there, here)
    return text


class SilentFaultsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.ports = {"server": free_port(), "sidecar": free_port(), "prometheus": free_port()}
        self.token, self.has_feedback, self.is_loaded = "decider", True, True
        digest = hashlib.sha256(b"decider").hexdigest()
        (self.folder / "tokens").write_text(f"decide,feedback web {digest}\n")
        (self.folder / "models").mkdir()
        data = self.folder / "labelled.letor"
        data.write_text("".join(f"{i % 2} qid:{i // 4} 1:{i % 4} 2:{i % 3}\n" for i in range(40)))
        self.run_to_end("sortition-trainer", "fit", f"--data={data}", self.store(), "--action=select")

    def store(self) -> str:
        return f"--model_store={self.folder}/models"

    def run_to_end(self, program: str, *words: str) -> None:
        done = subprocess.run([str(PROGRAMS / program), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start(self, name: str, *words: object) -> "subprocess.Popen[bytes]":
        environment = dict(os.environ)
        if name == "sidecar":
            # Its disk answers while there is no file `hung`. A library before its own is no error
            # to the sanitizer.
            environment |= {
                "LD_PRELOAD": str(HUNG_DISK),
                "SORTITION_HUNG_DISK": str(self.folder / "hung"),
                "ASAN_OPTIONS": "verify_asan_link_order=0",
            }
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [str(w) for w in words], stdout=log, stderr=log, env=environment
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_all(self, *of_sidecar: str) -> None:
        ports = self.folder / "ports"
        self.start(
            "server",
            PROGRAMS / "sortition-server",
            self.store(),
            f"--spool.dir={self.folder}/spool",
            f"--token_file={self.folder}/tokens",
            "--spool.segment_seconds=0.3",
            "--poll_seconds=0.1",
            "--listen=127.0.0.1:0",
            "--http.listen=127.0.0.1:0",
            f"--metrics_listen=127.0.0.1:{self.ports['server']}",
            f"--port_file={ports}",
        )
        wait_until(ports.exists, "the server's ports")
        self.http = dict(line.split() for line in ports.read_text().splitlines())["http"]
        self.start(
            "sidecar",
            PROGRAMS / "sortition-sidecar",
            f"--spool={self.folder}/spool",
            f"--tuples={self.folder}/tuples",
            "--http_listen=127.0.0.1:0",
            f"--metrics_listen=127.0.0.1:{self.ports['sidecar']}",
            "--join.reward_wait_time_seconds=2",
            "--segment_seconds=0.3",
            "--sync_interval_seconds=0.2",
            *of_sidecar,
        )
        self.scrape("server", "sidecar")
        (self.folder / "alerts.yml").write_text(short_alerts())
        self.prometheus = self.start(
            "prometheus",
            PROMETHEUS,
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/data",
            f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}",
        )
        self.load = threading.Thread(target=self.ask)
        self.is_wanted = True
        self.load.start()
        self.addCleanup(self.stop)
        self.wait_for_data("sum(sortition_feedback_total) > 20 and on () sortition_join_decisions_total")

    def stop(self) -> None:
        self.is_wanted = False
        self.load.join()

    def scrape(self, *programs: str) -> None:
        """Writes the configuration; Prometheus reads it at its start and at SIGHUP. A job without
        targets is what service discovery leaves: its series end at once."""
        jobs = "".join(
            f"  - job_name: sortition-{name}\n    static_configs:\n"
            f"      - targets: {[f'127.0.0.1:{self.ports[name]}'] if name in programs else []}\n"
            for name in ("server", "sidecar")
        )
        (self.folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 400ms}\n"
            f"rule_files: [alerts.yml]\nscrape_configs:\n{jobs}"
        )

    def post(self, path: str, body: dict[str, Any]) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"},
        )
        try:
            urllib.request.urlopen(request, timeout=20).close()
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:  # A machine that is too busy; the next call counts as well.
            pass

    def report(self, decision: str) -> None:
        feedback = {"feedback_id": f"of-{decision}", "decision_id": decision, "reward": 1}
        self.post("/v1/feedback", {"feedback": [feedback]})

    def ask(self) -> None:
        number = 0
        while self.is_wanted:
            time.sleep(0.02)  # At most 50 decisions a second.
            if not self.is_loaded:
                continue
            number += 1
            candidates = {"num_features": 2, "dense": {"values": [1, 0, 0, 1, number % 7, 1]}}
            context = {"decision_id": f"d-{number}", "candidates": candidates}
            self.post("/v1/select", {"context": context})
            if self.has_feedback:
                self.report(f"d-{number}")

    def get(self, path: str, **query: str) -> Any:
        words = urllib.parse.urlencode(query)
        url = f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/{path}?{words}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def wait_for_data(self, query: str) -> None:
        wait_until(lambda: (self.get("query", query=query) or {}).get("result"), query)

    def firing(self) -> set[str]:
        alerts = (self.get("alerts") or {"alerts": []})["alerts"]
        return {a["labels"]["alertname"] for a in alerts if a["state"] == "firing"}

    def expect(self, name: str) -> None:
        wait_until(lambda: name in self.firing(), f"{name} fires")

    def expect_end(self, name: str) -> None:
        wait_until(lambda: name not in self.firing(), f"{name} ends")

    def test_callers_traffic_and_feedback(self) -> None:
        self.start_all()
        for name in ("CallersRefused", "NoTraffic", "FeedbackStopped", "TargetGone", "ModelRefused"):
            self.expect_end(f"Sortition{name}")
        self.token = "a token that has ended"
        self.expect("SortitionCallersRefused")
        self.token = "decider"
        self.expect_end("SortitionCallersRefused")

        self.has_feedback = False
        self.expect("SortitionFeedbackStopped")
        self.assertNotIn("SortitionNoTraffic", self.firing())
        self.has_feedback = True
        self.expect_end("SortitionFeedbackStopped")

        self.is_loaded = False
        self.expect("SortitionNoTraffic")
        # Longer than it looks back at the traffic that there was.
        since = self.get("query", query="time()")["result"][1]
        self.wait_for_data(f"vector(time()) > {float(since) + 20}")
        self.assertIn("SortitionNoTraffic", self.firing())
        self.is_loaded = True
        self.expect_end("SortitionNoTraffic")

    def test_targets_and_refused_versions(self) -> None:
        self.start_all()
        self.expect_end("SortitionTargetGone")
        self.scrape("server")
        self.prometheus.send_signal(signal.SIGHUP)
        self.expect("SortitionTargetGone")
        self.assertNotIn("SortitionDown", self.firing())
        self.scrape("server", "sidecar")
        self.prometheus.send_signal(signal.SIGHUP)
        self.expect_end("SortitionTargetGone")

        bad = self.folder / "models/default/99"
        bad.mkdir()
        (bad / "model.pb").write_bytes(b"none")
        self.expect("SortitionModelRefused")
        since = self.get("query", query="time()")["result"][1]
        self.wait_for_data(f"vector(time()) > {float(since) + 10}")
        self.assertIn("SortitionModelRefused", self.firing())
        shutil.rmtree(bad)
        self.expect_end("SortitionModelRefused")

    def test_feedback_with_wrong_ids_is_not_that_of_other_servers(self) -> None:
        self.start_all()
        self.has_feedback = False
        for i in range(100):
            self.report(f"wrong-{i}")
        self.expect("SortitionUnknownDecisions")
        self.assertNotIn("SortitionIncompleteLog", self.firing())

    def test_a_sidecar_whose_disk_hangs(self) -> None:
        self.start_all()
        self.expect_end("SortitionSidecarStalled")
        (self.folder / "hung").touch()
        self.expect("SortitionSidecarStalled")
        self.assertNotIn("SortitionDown", self.firing())
        (self.folder / "hung").unlink()
        self.expect_end("SortitionSidecarStalled")

    def test_tokens_and_tuples(self) -> None:
        end = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 3 * 86400))
        tokens = self.folder / "tokens"
        forever = tokens.read_text()
        tokens.write_text(forever.rstrip("\n") + f" {end}\n")
        # Keeps only the newest segment.
        self.start_all("--keep_tuples_bytes=1")
        self.expect("SortitionTokenEnds")
        self.expect("SortitionTuplesRemovedUnread")
        tokens.write_text(forever)
        self.expect_end("SortitionTokenEnds")

    def test_damaged_tuples(self) -> None:
        self.start_all()
        tuples = self.folder / "tuples"
        wait_until(lambda: len(list(tuples.glob("*.seg"))) >= 4, "segments")
        segment = sorted(tuples.glob("*.seg"))[0]
        data = bytearray(segment.read_bytes())
        data[len(data) // 2] ^= 0x55
        segment.write_bytes(data)
        self.run_to_end("sortition-trainer", "prune", f"--log={self.folder}/spool,{tuples}", self.store())
        self.expect("SortitionDamagedTuples")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
