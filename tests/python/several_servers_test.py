"""Two servers, restarted one after the other, and clients that repeat their calls."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np

import sortition
from processes import ProcessTest, run, wait_until
from sortition import logs

MATRIX = np.random.default_rng(1).random((4, 3))


class SeveralServersTest(ProcessTest):
    def setUp(self) -> None:
        super().setUp()
        self.processes = [self.server("a"), self.server("b")]
        # Restarted on the same ports.
        ports = [process.port() for process in self.processes]
        self.addresses = [f"127.0.0.1:{port}" for port in ports]

    def restart(self, number: int) -> None:
        self.processes[number].stop()
        port = int(self.addresses[number].split(":")[1])
        self.processes[number] = self.server("ab"[number], port)

    def decisions(self, name: str) -> list[str]:
        spool = self.folder / "spools" / name
        return [
            record.decision.decision_id
            for record in logs.read_messages(spool)
            if record.HasField("decision")
        ]

    def test_ids_choose_the_same_server_as_in_the_client_library_of_cxx(self) -> None:
        several = sortition.Ranker(self.addresses)
        self.addCleanup(several.close)
        for number in range(8):
            run(
                "sortition",
                "rank",
                f"--server={','.join(self.addresses)}",
                f"--decision_id=by-hand-{number}",
                text="0 1:0.5\n0 1:0.25\n",
            )
        for process in self.processes:
            process.stop()
        for place, name in enumerate("ab"):
            for decision_id in self.decisions(name):
                self.assertEqual(several.servers.of(decision_id), place, decision_id)
        self.assertEqual(len(self.decisions("a")) + len(self.decisions("b")), 8)

    def test_new_decisions_avoid_a_server_that_says_it_does_not_serve(self) -> None:
        with sortition.Ranker(self.addresses, deadline=30) as ranker:
            ranker.rank(MATRIX)
            self.processes[0].stop()
            wait_until(lambda: not ranker.serving()[self.addresses[0]], "health of a")
            for _ in range(50):
                # A call of the other server would wait for it until the deadline.
                answer = ranker.rank(MATRIX, deadline=5)
                self.assertEqual(ranker.servers.of(answer.decision_id), 1)
            self.restart(0)
            wait_until(lambda: ranker.serving()[self.addresses[0]], "health of a")

    def test_a_rolling_restart_loses_nothing_and_doubles_nothing(self) -> None:
        answered: list[str] = []
        rewarded: list[str] = []
        errors: list[Exception] = []
        stop = threading.Event()

        def front_end(ranker: sortition.Ranker) -> None:
            while not stop.is_set():
                try:
                    decision_id = ranker.rank(MATRIX).decision_id
                    answered.append(decision_id)
                    if ranker.feedback(decision_id, reward=1) == 1:
                        rewarded.append(decision_id)
                except Exception as error:
                    errors.append(error)

        with sortition.Ranker(self.addresses, deadline=60) as ranker:
            threads = [threading.Thread(target=front_end, args=(ranker,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for number in (0, 1, 0):
                before = len(rewarded)
                wait_until(lambda: len(rewarded) > before + 50, "answers before a restart")
                self.restart(number)
            before = len(rewarded)
            wait_until(lambda: len(rewarded) > before + 50, "answers after the restarts")
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual([str(error) for error in errors], [])
        # Every decision is in the spool of its server, and in no other.
        ledger = set(answered)
        logged = [set(self.decisions(name)) for name in "ab"]
        self.assertEqual(logged[0] | logged[1], ledger)
        self.assertEqual(logged[0] & logged[1], set())
        self.check_tuples(ledger, set(rewarded))

    def check_tuples(self, ledger: set[str], rewarded: set[str]) -> None:
        """Joins both spools: a tuple for each decision, and one reward in each."""
        options = ("--join.reward_wait_time_seconds=0.2", "--join.slack_seconds=0.2")
        self.sidecar("*", "tuples", (*options, "--join.aggregation=SUM", "--segment_seconds=0.2"))

        def tuples() -> logs.Tuples:
            return logs.read_tuples(self.folder / "tuples", with_censored=True)

        def is_joined() -> bool:
            return any((self.folder / "tuples").glob("*.seg")) and len(tuples()) >= len(ledger)

        wait_until(is_joined, "a tuple for each decision")
        joined = tuples()
        self.assertEqual(Counter(joined["decision_id"].tolist()), Counter(ledger))
        # Both calls follow each other within the window, but for those of a restart.
        for decision_id, reward in zip(joined["decision_id"], joined["reward"]):
            self.assertIn(reward, (0.0, 1.0))
            self.assertIn(decision_id, rewarded)
        feedback: Counter[str] = Counter()
        for record in self.messages():
            late = [record.late.feedback] if record.HasField("late") else []
            feedback.update(one.decision_id for one in [*late, *record.tuple.feedback])
        self.assertEqual(feedback, Counter(rewarded))

    def messages(self) -> list:
        folders = [self.folder / "tuples"]
        late = self.folder / "tuples" / "late"
        if late.is_dir() and any(late.glob("*.seg")):
            folders.append(late)
        return [record for folder in folders for record in logs.read_messages(folder)]
