"""Clients with several addresses, of which one fails in every way that a server can."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, Union

import grpc
import numpy as np

import sortition
from fake_servers import FakeServer, RawServer, unused_port
from sortition import servers

MATRIX = np.zeros((1, 1))
DRAINING = (grpc.StatusCode.UNAVAILABLE, "server is draining before it shuts down")
# Attempts that get no answer take half of it.
DEADLINE = 4.0


def id_of(addresses: list[str], place: int) -> str:
    """Returns the id of a decision that belongs to the server at `place`."""
    known = servers.Servers(addresses)
    return next(name for name in map(str, range(1000)) if known.of(name) == place)


LOOP = asyncio.new_event_loop()


def tearDownModule() -> None:
    LOOP.close()


class AsyncInTurn:
    """AsyncRanker with the calls of Ranker."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        async def open_in_loop() -> sortition.AsyncRanker:
            return sortition.AsyncRanker(*arguments, **options)

        self._ranker = LOOP.run_until_complete(open_in_loop())

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._ranker, name)
        return lambda *arguments, **options: LOOP.run_until_complete(call(*arguments, **options))

    def __enter__(self) -> AsyncInTurn:
        return self

    def __exit__(self, *unused: object) -> None:
        LOOP.run_until_complete(self._ranker.close())


RANKERS = (sortition.Ranker, AsyncInTurn)


class FailoverTest(unittest.TestCase):
    def start(self, server: Union[FakeServer, RawServer]) -> Any:
        self.addCleanup(server.stop)
        return server

    def test_a_decision_goes_to_the_next_server_with_its_id(self) -> None:
        for kind in ("refused", "reset", "goaway", "silence", "deaf", "UNAVAILABLE", "overloaded"):
            for ranker_class in RANKERS:
                with self.subTest(kind, client=ranker_class.__name__):
                    self.check_kind(kind, ranker_class)

    def check_kind(self, kind: str, ranker_class: Any) -> None:
        good = self.start(FakeServer())
        if kind == "refused":
            bad = f"127.0.0.1:{unused_port()}"
        elif kind == "UNAVAILABLE":
            draining = self.start(FakeServer(DRAINING))
            bad = draining.address
        elif kind == "overloaded":
            refusal = (grpc.StatusCode.RESOURCE_EXHAUSTED, "overloaded")
            bad = self.start(FakeServer(refusal, pushback_ms=60_000)).address
        else:
            bad = self.start(RawServer(kind)).address
        addresses = [bad, good.address]
        decision_id = id_of(addresses, 0)
        with ranker_class(addresses, deadline=DEADLINE) as ranker:
            answer = ranker.rank(MATRIX, decision_id=decision_id)
            self.assertEqual(answer.decision_id, decision_id)
            self.assertEqual(good.calls, [decision_id])
            if kind == "UNAVAILABLE":
                self.assertEqual(draining.calls, [decision_id])
            # Reports go to the server that decided.
            ranker.shown(decision_id, [0])
            self.assertEqual(ranker.feedback(decision_id, reward=1), 1)
        self.assertEqual(good.calls, [decision_id] * 3)

    def test_an_id_that_is_made_here_is_kept(self) -> None:
        draining = [self.start(FakeServer(DRAINING)) for _ in range(2)]
        good = self.start(FakeServer())
        addresses = [server.address for server in (*draining, good)]
        for ranker_class in RANKERS:
            with ranker_class(addresses) as ranker:
                for _ in range(20):
                    decision_id = ranker.rank(MATRIX).decision_id
                    self.assertEqual(good.calls[-1], decision_id)
        self.assertEqual(len(good.calls), 40)
        for server in draining:
            self.assertLessEqual(set(server.calls), set(good.calls))
            self.assertEqual(len(set(server.calls)), len(server.calls))  # Once for each decision.

    def test_an_error_names_every_address_and_why(self) -> None:
        refused, deaf = f"127.0.0.1:{unused_port()}", self.start(RawServer("deaf")).address
        draining = self.start(FakeServer(DRAINING)).address
        addresses = [deaf, draining, refused]
        for ranker_class in RANKERS:
            once = sortition.RetryPolicy(max_attempts=1)
            with ranker_class(addresses, deadline=2 * DEADLINE, retries=once) as ranker:
                with self.assertRaises(sortition.CallError) as failure:
                    ranker.rank(MATRIX, decision_id=id_of(addresses, 0))
            error = failure.exception
            self.assertEqual(error.code, grpc.StatusCode.UNAVAILABLE)
            self.assertEqual({one.server for one in error.tried}, set(addresses))
            self.assertIn(f"server {deaf}: DEADLINE_EXCEEDED: no answer within ", str(error))
            self.assertIn(f"server {draining}: UNAVAILABLE: {DRAINING[1]}", str(error))
            self.assertIn(f"server {refused}: UNAVAILABLE: ", str(error))

    def test_what_a_server_answers_is_not_asked_elsewhere(self) -> None:
        refusal = (grpc.StatusCode.INVALID_ARGUMENT, "top_k is 0")
        servers_ = [self.start(FakeServer(refusal)) for _ in range(2)]
        addresses = [server.address for server in servers_]
        for ranker_class in RANKERS:
            with ranker_class(addresses) as ranker:
                with self.assertRaises(sortition.CallError) as failure:
                    ranker.rank(MATRIX, decision_id=id_of(addresses, 0))
                self.assertEqual(
                    str(failure.exception),
                    f"server {addresses[0]}: INVALID_ARGUMENT: top_k is 0",
                )
        self.assertEqual(servers_[1].calls, [])

    def test_reports_wait_for_the_server_of_the_decision_unless_all_logs_are_joined(self) -> None:
        draining, good = self.start(FakeServer(DRAINING)), self.start(FakeServer())
        addresses = [draining.address, good.address]
        decision_id = id_of(addresses, 0)
        retries = sortition.RetryPolicy(max_attempts=3, first_backoff=0)
        for ranker_class in RANKERS:
            draining.calls.clear()
            good.calls.clear()
            with ranker_class(addresses, retries=retries) as ranker:
                with self.assertRaises(sortition.CallError) as failure:
                    ranker.feedback(decision_id, reward=1)
                with self.assertRaises(sortition.CallError):
                    ranker.shown(decision_id, [0])
            self.assertEqual(failure.exception.attempts, 3)
            self.assertEqual((len(draining.calls), good.calls), (6, []))
            with ranker_class(addresses, any_server=True) as ranker:
                self.assertEqual(ranker.feedback(decision_id, reward=1), 1)
                ranker.shown(decision_id, [0])
            self.assertEqual(good.calls, [decision_id] * 2)

    def test_further_rounds_are_bounded_by_attempts_and_by_the_budget(self) -> None:
        both = [self.start(FakeServer(DRAINING)) for _ in range(2)]
        addresses = [server.address for server in both]

        def attempts(ranker: Any) -> int:
            with self.assertRaises(sortition.CallError) as failure:
                ranker.rank(MATRIX)
            return failure.exception.attempts

        for ranker_class in RANKERS:
            for server in both:
                server.refusal = DRAINING
            policy = sortition.RetryPolicy(max_attempts=2, first_backoff=0, max_backoff=0)
            with ranker_class(addresses, retries=policy) as ranker:
                # Two servers, twice each.
                self.assertEqual([attempts(ranker) for _ in range(3)], [4, 4, 4])
            policy = sortition.RetryPolicy(first_backoff=0, max_backoff=0, budget=3)
            with ranker_class(addresses, retries=policy) as ranker:
                # One for each server, and the budget.
                self.assertEqual([attempts(ranker) for _ in range(3)], [5, 2, 2])
                for server in both:
                    server.refusal = None
                for _ in range(10):
                    ranker.rank(MATRIX)
                for server in both:
                    server.refusal = DRAINING
                self.assertEqual([attempts(ranker) for _ in range(2)], [3, 2])


class AvoidanceTest(unittest.TestCase):
    """Which server is asked, by a clock of the test."""

    def setUp(self) -> None:
        self.now = 100.0
        self.servers = servers.Servers(["a:1", "b:1"], clock=lambda: self.now)
        self.decision_id = id_of(["a:1", "b:1"], 0)

    def first(self) -> int:
        return self.servers.route(self.decision_id)[0]

    def call_fails(self) -> None:
        self.servers.begin(0)
        self.servers.failed(0)

    def test_a_server_that_failed_is_avoided_and_then_tried_by_one_call(self) -> None:
        self.assertEqual(self.first(), 0)
        self.call_fails()
        self.assertEqual(self.first(), 1)
        self.now += servers.FIRST_AVOIDANCE
        self.assertEqual(self.first(), 0)
        self.servers.begin(0)
        # Others avoid it until that call has come back, or for twice as long.
        self.assertEqual(self.first(), 1)
        self.servers.answered(0)
        self.assertEqual(self.first(), 0)

    def test_the_pause_doubles_up_to_its_maximum(self) -> None:
        for pause in (0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0):
            self.call_fails()
            self.now += pause - 0.01
            self.assertEqual(self.first(), 1)
            self.now += 0.02
            self.assertEqual(self.first(), 0)

    def test_calls_that_fail_together_are_one_failure(self) -> None:
        for _ in range(50):
            self.servers.begin(0)
        for _ in range(50):
            self.servers.failed(0)
        self.now += servers.FIRST_AVOIDANCE
        self.assertEqual(self.first(), 0)

    def test_health_ends_the_avoidance(self) -> None:
        self.call_fails()
        self.servers.set_serving(0, False)
        self.servers.set_serving(0, True)
        self.assertEqual(self.first(), 0)

    def test_ids_that_are_made_here_avoid_it(self) -> None:
        self.call_fails()
        for _ in range(50):
            decision_id, route = self.servers.new_decision()
            self.assertEqual(route, [1, 0])
            self.assertEqual(self.servers.of(decision_id), 1)

    def test_where_all_are_away_the_first_is_tried_first(self) -> None:
        for server in (0, 1):
            self.servers.failed(server)
        self.assertEqual(self.servers.route(self.decision_id), [0, 1])

    def test_the_server_that_decided_is_remembered_for_the_last_decisions_that_moved(self) -> None:
        self.servers.decided(self.decision_id, 1)
        self.assertEqual(self.servers.of(self.decision_id), 1)
        self.assertEqual(self.servers.route(self.decision_id), [1, 0])
        known = servers.Servers(["a:1", "b:1"])
        others = [name for name in map(str, range(30_000)) if known.of(name) == 0]
        others.remove(self.decision_id)
        for name in others[: servers.MAX_MOVED]:
            self.servers.decided(name, 1)
        self.assertEqual(self.servers.of(self.decision_id), 0)


if __name__ == "__main__":
    unittest.main()
