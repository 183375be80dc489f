"""Two servers, restarted one after the other, and clients that repeat their calls."""

from __future__ import annotations

import asyncio
import gc
import shutil
import signal
import threading
import unittest
from collections import Counter
from concurrent import futures
from typing import Callable, Iterable
from unittest import mock

import grpc
import numpy as np

import sortition
from fake_servers import unused_port
from processes import ProcessTest, run, wait_until
from sortition import logs, servers
from sortition.v1 import ranking_pb2

MATRIX = np.random.default_rng(1).random((4, 3))


class FakeServer:
    """Counts feedback; one that `dies` has it and ends without an answer."""

    def __init__(self, dies: bool = False) -> None:
        self.ids: list[str] = []
        self._dies = dies
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        request = ranking_pb2.ReportFeedbackRequest.FromString
        answer = ranking_pb2.ReportFeedbackResponse.SerializeToString
        handler = grpc.unary_unary_rpc_method_handler(self._feedback, request, answer)
        handlers = {"ReportFeedback": handler}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("sortition.v1.Ranking", handlers),)
        )
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def _feedback(
        self, request: ranking_pb2.ReportFeedbackRequest, context: grpc.ServicerContext
    ) -> ranking_pb2.ReportFeedbackResponse:
        self.ids.extend(item.feedback_id for item in request.feedback)
        if self._dies:
            self.stop()
        return ranking_pb2.ReportFeedbackResponse(accepted=len(request.feedback))

    def stop(self) -> None:
        self._server.stop(None)


class OneAddressTest(unittest.TestCase):
    """One address that stands for two servers."""

    def setUp(self) -> None:
        self.first, self.second = FakeServer(dies=True), FakeServer()
        self.addCleanup(self.first.stop)
        self.addCleanup(self.second.stop)
        self.address = f"ipv4:127.0.0.1:{self.first.port},127.0.0.1:{self.second.port}"

    def check(self, error: sortition.CallError) -> None:
        self.assertEqual(error.code, grpc.StatusCode.UNAVAILABLE)
        self.assertGreater(error.attempts, 1)
        self.assertEqual(self.first.ids, [error.feedback[0].feedback_id])
        self.assertEqual(self.second.ids, [])

    def test_a_repetition_stays_with_the_server_that_had_the_call(self) -> None:
        with sortition.Ranker(self.address, deadline=2) as ranker:
            with self.assertRaises(sortition.CallError) as failure:
                ranker.feedback("d", reward=1)
            self.check(failure.exception)
            # A call that no server had goes to the one that is there.
            self.assertEqual(ranker.feedback(failure.exception.feedback), 1)
        self.assertEqual(self.second.ids, self.first.ids)

    def test_so_does_one_of_asyncio(self) -> None:
        async def report() -> None:
            async with sortition.AsyncRanker(self.address, deadline=2) as ranker:
                await ranker.feedback("d", reward=1)

        with self.assertRaises(sortition.CallError) as failure:
            asyncio.run(report())
        self.check(failure.exception)


class ServerThatIsAwayTest(unittest.TestCase):
    def setUp(self) -> None:
        self.here = FakeServer()
        self.addCleanup(self.here.stop)
        self.addresses = [f"127.0.0.1:{port}" for port in (unused_port(), self.here.port)]

    def ids_of_each(self, ranker: sortition.Ranker) -> list[str]:
        ids: dict[int, str] = {}
        while len(ids) < 2:
            made = sortition.make_id()
            ids[ranker.servers.of(made)] = made
        return [ids[0], ids[1]]

    def test_one_that_never_was_there_does_not_serve(self) -> None:
        with sortition.Ranker(self.addresses) as ranker:
            wait_until(lambda: not ranker.serving()[self.addresses[0]], "health of what is away")
            # It has no health service, and may serve.
            self.assertTrue(ranker.serving()[self.addresses[1]])

    def test_its_feedback_is_returned_with_ids_and_that_of_others_sent_at_once(self) -> None:
        with sortition.Ranker(self.addresses, deadline=1) as ranker:
            ids = self.ids_of_each(ranker)
            run_one, waits = ranker._run, threading.Event()

            def run_in_turn(call: object) -> int:
                # That of the server that is away ends after the other is done.
                if call.attempts.server == 0:
                    self.assertTrue(waits.wait(30))
                try:
                    return run_one(call)
                finally:
                    waits.set()

            with mock.patch.object(ranker, "_run", run_in_turn):
                with self.assertRaises(sortition.CallError) as failure:
                    ranker.feedback([sortition.Feedback(one, reward=1) for one in ids])
        (again,) = failure.exception.feedback
        self.assertEqual(again.decision_id, ids[0])
        self.assertEqual(len(again.feedback_id), 36)
        self.assertEqual(len(self.here.ids), 1)

    def test_a_client_that_is_dropped_ends_its_threads(self) -> None:
        before = set(threading.enumerate())
        ranker = sortition.Ranker(self.addresses)
        with self.assertRaises(sortition.CallError):
            ranker.feedback(self.ids_of_each(ranker)[0], reward=1, deadline=0.1)
        self.assertGreater(len(set(threading.enumerate()) - before), 0)
        del ranker
        gc.collect()
        wait_until(lambda: set(threading.enumerate()) <= before, "threads end")


class JoinTest(ProcessTest):
    def join(self, spools: str, tuples: str, num_tuples: int, window: float) -> logs.Tuples:
        """Joins spools in one sidecar; returns the tuples when there are enough."""
        self.sidecar(
            spools,
            tuples,
            (
                f"--join.reward_wait_time_seconds={window}",
                "--join.slack_seconds=0.2",
                "--join.aggregation=SUM",
                "--segment_seconds=0.2",
            ),
        )
        folder = self.folder / tuples

        def read() -> logs.Tuples:
            return logs.read_tuples(folder, with_censored=True)

        wait_until(lambda: any(folder.glob("*.seg")) and len(read()) >= num_tuples, "all tuples")
        return read()


class SeveralServersTest(JoinTest):
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
                answer = ranker.rank(MATRIX, deadline=30)
                self.assertEqual(ranker.servers.of(answer.decision_id), 1)
            self.restart(0)
            wait_until(lambda: ranker.serving()[self.addresses[0]], "health of a")

    def test_a_server_that_hangs_does_not_serve(self) -> None:
        with mock.patch.object(servers, "WATCH_SECONDS", 1.0):
            with sortition.Ranker(self.addresses) as ranker:
                ranker.rank(MATRIX)
                self.processes[0].pause()
                wait_until(lambda: not ranker.serving()[self.addresses[0]], "health of a")
                self.processes[0].signal(signal.SIGCONT)
                wait_until(lambda: ranker.serving()[self.addresses[0]], "health of a")

    def test_a_rolling_restart_loses_nothing_and_doubles_nothing(self) -> None:
        with sortition.Ranker(self.addresses, deadline=60) as ranker:
            answered, rewarded = self.under_load(ranker, [lambda: self.restart(n) for n in (0, 1)])
        # Every decision is in the spool of one server: one that drains has decided nothing.
        logged = [set(self.decisions(name)) for name in "ab"]
        self.assertEqual(logged[0] | logged[1], answered)
        self.assertEqual(logged[0] & logged[1], set())
        self.check_tuples(answered, rewarded)

    def test_with_any_server_a_kill_and_an_outage_fail_no_call_either(self) -> None:
        def kill_and_restart() -> None:
            self.processes[0].kill()
            self.restart(0)

        # No attempt waits for the server that is away, so the deadline is that of few calls.
        with sortition.Ranker(self.addresses, any_server=True) as ranker:
            disturbances = (
                kill_and_restart,
                lambda: self.restart(1),
                self.processes[0].stop,  # The rest is without it.
            )
            answered, rewarded = self.under_load(ranker, disturbances)
        # Calls whose answer was lost may be in both spools.
        self.assertEqual(set(self.decisions("a")) | set(self.decisions("b")), answered)
        self.check_tuples(answered, rewarded)

    def test_the_library_of_cxx_fails_no_call_either(self) -> None:
        stop = threading.Event()
        arguments = (
            f"--server={','.join(self.addresses)}",
            "--any_server",
            "--decisions=200",
            "--rate=400",
            "--unique_ids",
        )
        errors: list[AssertionError] = []

        def front_end() -> None:
            while not stop.is_set():
                try:
                    run("sortition", "simulate", *arguments)  # Fails if one of its calls does.
                except AssertionError as error:
                    errors.append(error)

        thread = threading.Thread(target=front_end)
        thread.start()
        self.restart(0)
        self.restart(1)
        self.processes[0].kill()
        self.restart(0)
        self.processes[1].stop()
        stop.set()
        thread.join()
        self.assertEqual([str(error) for error in errors], [])

    def under_load(
        self, ranker: sortition.Ranker, disturbances: Iterable[Callable[[], None]]
    ) -> tuple[set[str], set[str]]:
        """Decides and rewards meanwhile; returns the decisions that were answered and rewarded.

        Fails if a call fails.
        """
        answered: list[str] = []
        rewarded: list[str] = []
        errors: list[Exception] = []
        stop = threading.Event()

        def front_end() -> None:
            while not stop.is_set():
                try:
                    decision_id = ranker.rank(MATRIX).decision_id
                    answered.append(decision_id)
                    if ranker.feedback(decision_id, reward=1) == 1:
                        rewarded.append(decision_id)
                except Exception as error:
                    errors.append(error)

        def wait_for_more() -> None:
            before = len(rewarded)
            wait_until(lambda: len(rewarded) > before + 50, "more answers")

        threads = [threading.Thread(target=front_end) for _ in range(4)]
        for thread in threads:
            thread.start()
        for disturb in disturbances:
            wait_for_more()
            disturb()
        wait_for_more()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual([str(error) for error in errors], [])
        return set(answered), set(rewarded)

    def check_tuples(self, ledger: set[str], rewarded: set[str]) -> None:
        """Joins both spools: a tuple for each decision, and one reward in each."""
        joined = self.join("*", "tuples", len(ledger), window=0.2)
        self.assertEqual(Counter(joined["decision_id"].tolist()), Counter(ledger))
        # Both calls follow each other within the window, but for those of a restart.
        for decision_id, reward in zip(joined["decision_id"], joined["reward"]):
            self.assertIn(reward, (0.0, 1.0))
            self.assertIn(decision_id, rewarded)
        # Feedback that is late is written after the tuple of its decision.
        wait_until(lambda: self.feedback().total() >= len(rewarded), "all feedback")
        self.assertEqual(self.feedback(), Counter(rewarded))

    def feedback(self) -> Counter[str]:
        """Counts the feedback in tuples and late records by decision."""
        counts: Counter[str] = Counter()
        for record in self.messages():
            late = [record.late.feedback] if record.HasField("late") else []
            counts.update(one.decision_id for one in [*late, *record.tuple.feedback])
        return counts

    def messages(self) -> list:
        folders = [self.folder / "tuples"]
        late = self.folder / "tuples" / "late"
        if late.is_dir() and any(late.glob("*.seg")):
            folders.append(late)
        return [record for folder in folders for record in logs.read_messages(folder)]


class LostAnswerTest(JoinTest):
    """A server decides, its answer is lost, and another server decides the same id."""

    def test_one_join_makes_one_tuple_of_both_and_two_joins_make_two(self) -> None:
        processes = [self.server(name) for name in "ab"]
        first, second = (f"127.0.0.1:{process.port()}" for process in processes)
        with sortition.Ranker(first) as lost, sortition.Ranker(second) as client:
            order = lost.rank(MATRIX, decision_id="d").order
            # The draw is a function of the id and the version.
            self.assertEqual(client.rank(MATRIX, decision_id="d").order, order)
            client.feedback("d", reward=1)
        for process in processes:
            process.stop()
        # Long enough for the calls above. It is over once for all joins.
        window = 5.0
        for name in "ab":
            shutil.copytree(self.folder / "spools" / name, self.folder / "alone" / name)

        def rewards(spools: str, tuples: str) -> list[float]:
            return self.join(spools, tuples, 1, window)["reward"].tolist()

        self.assertEqual(rewards("*", "of-both"), [1.0])
        self.assertEqual(rewards("../alone/a", "of-a"), [0.0])
        self.assertEqual(rewards("../alone/b", "of-b"), [1.0])
