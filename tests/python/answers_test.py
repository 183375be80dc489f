"""Answers of a real server, beside those of the command line."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time

import grpc
import numpy as np
import pandas
from scipy import sparse

import sortition
from processes import ProcessTest, run, wait_until
from sortition import logs


def labelled(queries: int) -> str:
    """Returns LETOR lines in which the first feature says how relevant a candidate is."""
    generator = np.random.default_rng(3)
    lines = []
    for query in range(queries):
        for features in generator.random((5, 3)):
            columns = " ".join(f"{i + 1}:{value:.4f}" for i, value in enumerate(features))
            lines.append(f"{int(features[0] > 0.6)} qid:{query} {columns}\n")
    return "".join(lines)


class AnswersTest(ProcessTest):
    def setUp(self) -> None:
        super().setUp()
        data = self.folder / "labelled.letor"
        data.write_text(labelled(60))
        run(
            "sortition-trainer",
            "fit",
            f"--data={data}",
            f"--model_store={self.folder / 'models'}",
            "--action=rank",
        )
        self.process = self.server()
        self.address = f"127.0.0.1:{self.process.port()}"
        self.ranker = sortition.Ranker(self.address)
        self.addCleanup(self.ranker.close)
        self.matrix = np.random.default_rng(5).random((6, 3)).astype(np.float32)

    def ask(self, **context: object) -> dict:
        """Asks by the command line, with the features as a list of numbers."""
        candidates = {"num_features": 3, "dense": {"values": self.matrix.ravel().tolist()}}
        request = {"context": {"candidates": candidates, **context}, "top_k": 4}
        server = f"--server={self.address}"
        text = run("sortition", "rank", server, "--output=json", text=json.dumps(request))
        return json.loads(text)

    def test_answers_equal_those_of_the_command_line(self) -> None:
        for number in range(5):
            by_id = {"decision_id": f"same-{number}"}
            by_seed = {"decision_id": f"seeded-{number}", "seed": number}
            for context in (by_id, by_seed):
                mine = self.ranker.rank(self.matrix, top_k=4, **context)
                other = self.ask(**context)
                self.assertEqual(mine.version, 1)
                self.assertEqual(mine.order, other["order"])
                self.assertEqual(mine.log_propensity, other["result"]["log_propensity"])
                self.assertAlmostEqual(
                    sum(mine.conditional_log_propensities), mine.log_propensity, 12
                )

    def test_rerank_is_rank_with_the_columns_of_the_http_port(self) -> None:
        (self.folder / "models" / "texts").mkdir()
        listed = ("sortition", "models", "list", f"--server={self.address}")
        wait_until(lambda: "texts" in run(*listed), "the model of texts")
        columns = {
            "num_candidates": 3,
            "candidate": [
                {"name": "text", "texts": {"values": ["It rains.", "Jane Austen did.", "no one"]}},
                {
                    "name": "tags",
                    "missing": [0, 1],
                    "category_sets": {"offsets": [0, 0, 0, 2], "values": ["a", "b"]},
                },
            ],
            "query": [{"name": "query", "texts": {"values": ["who?"]}}],
        }
        context = {
            "decision_id": "rerank",
            "model": "texts",
            "baseline": {"action": [0, 1, 2]},
            "candidates": {"columns": columns},
        }
        server = f"--server={self.address}"
        request = json.dumps({"context": context})
        other = json.loads(run("sortition", "rank", server, "--output=json", text=request))
        documents = ["It rains.", "Jane Austen did.", {"text": "no one", "tags": ["a", "b"]}]
        mine = self.ranker.rerank("who?", documents, model="texts", decision_id="rerank", top_k=10)
        self.assertEqual(mine.order, other["order"])
        self.assertEqual(mine.log_propensity, other["result"]["log_propensity"])
        self.assertEqual(self.ranker.feedback("rerank", reward=1, index=2), 1)
        spool = self.folder / "spools" / "server"
        logged = [
            json.loads(line)["record"]
            for line in run("sortition", "log", "cat", "--output=json", str(spool)).splitlines()
        ]
        first, second = (
            {**record["decision"], "time_us": 0} for record in logged if "decision" in record
        )
        self.assertEqual(first, second)
        reports = [record["feedback"] for record in logged if "feedback" in record]
        self.assertEqual([report["index"] for report in reports], [2])

        async def ask() -> list[int]:
            async with sortition.AsyncRanker(self.address) as ranker:
                options = {"model": "texts", "decision_id": "rerank"}
                return (await ranker.rerank("who?", documents, **options)).order

        self.assertEqual(asyncio.run(ask()), mine.order)
        for wrong in ("text", {"text": "a"}, 3):
            with self.assertRaisesRegex(TypeError, "documents"):
                self.ranker.rerank("who?", wrong)
        with self.assertRaisesRegex(TypeError, r'documents\[1\]\["query"\] is .*absent'):
            self.ranker.rerank("who?", ["a", {"query": "b"}])
        with self.assertRaisesRegex(TypeError, "eligible is 1 .*list of True and False"):
            self.ranker.rerank("who?", ["a"], eligible=1)

    def test_ids_come_in_the_order_of_the_ranking(self) -> None:
        names = list("abcdef")
        answer = self.ranker.rank(self.matrix, ids=names, scores=True, probabilities=True)
        self.assertEqual(answer.ids, [names[index] for index in answer.order])
        self.assertEqual(answer.scores.shape, (6,))
        self.assertAlmostEqual(answer.probabilities.sum(), 1)
        self.assertEqual(self.ranker.rank(self.matrix, decision_id="x").ids[0].__class__, int)
        # As they were given.
        numbers = self.ranker.rank(self.matrix, ids=range(10, 16))
        self.assertEqual(numbers.ids, [10 + index for index in numbers.order])

    def test_every_call_is_answered(self) -> None:
        uniform = self.server("uniform", store="empty")
        ranker = sortition.Ranker(f"127.0.0.1:{uniform.port()}")
        self.addCleanup(ranker.close)
        chosen = ranker.select(self.matrix, eligible=[False] * 5 + [True])
        self.assertEqual((chosen.selected, chosen.id, chosen.propensity), (5, 5, 1.0))
        self.assertIn(ranker.select(self.matrix, ids=range(10, 16)).id, range(10, 16))
        subset = ranker.label(self.matrix, k=2, ids=list("abcdef"))
        self.assertEqual(len(subset.chosen), 2)
        self.assertEqual(subset.ids, ["abcdef"[index] for index in subset.chosen])
        # The second source agrees with the first: so does the order.
        joint = ranker.aggregate([[3.0, 6.0], [1.0, 2.0], [2.0, 4.0]], ids=list("abc"))
        self.assertEqual(joint.ids, ["a", "c", "b"])
        table = pandas.DataFrame({"x": [3, 1, 2], "y": [6.0, 2.0, 4.0]}, index=[7, 5, 9])
        self.assertEqual(ranker.aggregate(table).ids, [7, 9, 5])
        frame = pandas.DataFrame({"price": [1.0, None], "title": ["Ann", "Bob"]}, index=["p", "q"])
        self.assertEqual(sorted(ranker.rank(frame).ids), ["p", "q"])
        self.assertEqual(len(ranker.rank([{"a": 1}, {"a": None}]).order), 2)
        ranker.shown(chosen.decision_id, [5])
        self.assertEqual(ranker.feedback(chosen.decision_id, reward=1), 1)
        several = [sortition.Feedback(subset.decision_id, loss=0.5, rank=r) for r in range(3)]
        self.assertEqual(ranker.feedback(several), 3)
        self.assertEqual(ranker.column_types(deadline=10), {})

    def test_refusals_name_field_value_and_range(self) -> None:
        with self.assertRaises(sortition.CallError) as refusal:
            self.ranker.rank(self.matrix, top_k=0)
        error = refusal.exception
        self.assertEqual(error.code, grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(error.server, self.address)
        self.assertEqual(len(error.decision_id), 36)
        self.assertEqual(error.attempts, 1)
        self.assertRegex(error.message, "top_k = 0: must be at least 1")
        self.assertIn("INVALID_ARGUMENT: top_k = 0", str(error))
        wrong = self.matrix.copy()
        wrong[1, 2] = np.nan
        with self.assertRaisesRegex(sortition.CallError, "row 1, column 2.* is nan, must be fin"):
            self.ranker.rank(wrong)
        with self.assertRaisesRegex(sortition.CallError, "FAILED_PRECONDITION"):
            self.ranker.rank(self.matrix, version=99)
        with self.assertRaisesRegex(ValueError, "deadline is -1, must be positive"):
            self.ranker.rank(self.matrix, deadline=-1)

    def test_a_deadline_ends_a_call_that_is_not_answered(self) -> None:
        self.ranker.rank(self.matrix)
        self.process.pause()
        try:
            with self.assertRaisesRegex(sortition.CallError, "DEADLINE_EXCEEDED"):
                self.ranker.rank(self.matrix, deadline=0.2)
        finally:
            self.process.signal(signal.SIGCONT)

    def test_closing_cancels_calls_of_other_threads(self) -> None:
        self.ranker.rank(self.matrix)
        codes = []

        def call() -> None:
            try:
                self.ranker.rank(self.matrix, deadline=60)
            except sortition.CallError as error:
                codes.append(error.code)

        self.process.pause()
        thread = threading.Thread(target=call)
        thread.start()
        begin = time.monotonic()
        self.ranker.close()
        thread.join()
        self.process.signal(signal.SIGCONT)
        self.assertEqual(codes, [grpc.StatusCode.CANCELLED])
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_thousand_calls_are_in_flight_at_once(self) -> None:
        async def ask() -> list[sortition.Ranking]:
            async with sortition.AsyncRanker(self.address, deadline=60) as ranker:
                calls = [ranker.rank(self.matrix, decision_id=f"at-once-{i}") for i in range(1000)]
                return await asyncio.gather(*calls)

        answers = asyncio.run(ask())
        self.assertEqual([a.decision_id for a in answers], [f"at-once-{i}" for i in range(1000)])
        # The same decisions one at a time have the same answers.
        for answer in answers[::100]:
            again = self.ranker.rank(self.matrix, decision_id=answer.decision_id)
            self.assertEqual(again, answer)

    def test_cancelled_tasks_end_at_once_and_harm_no_others(self) -> None:
        async def ask() -> None:
            async with sortition.AsyncRanker(self.address, deadline=60) as ranker:
                await ranker.rank(self.matrix)
                self.process.pause()
                tasks = [asyncio.create_task(ranker.rank(self.matrix)) for _ in range(50)]
                stays = asyncio.create_task(ranker.rank(self.matrix, decision_id="stays"))
                done, _ = await asyncio.wait(tasks, timeout=0.1)
                self.assertFalse(done)
                for task in tasks:
                    task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
                self.assertTrue(all(isinstance(end, asyncio.CancelledError) for end in ends))
                self.process.signal(signal.SIGCONT)
                self.assertEqual((await stays).decision_id, "stays")

        begin = time.monotonic()
        try:
            asyncio.run(ask())
        finally:
            self.process.signal(signal.SIGCONT)
        self.assertLess(time.monotonic() - begin, 55)

    def test_calls_of_a_closed_client_end_as_cancelled(self) -> None:
        async def codes() -> list[str]:
            found = []

            async def call(ranker: sortition.AsyncRanker) -> None:
                with self.assertRaisesRegex(sortition.CallError, "client is closed") as error:
                    await ranker.rank(self.matrix, deadline=60)
                found.append(error.exception.code.name)

            async def close_while_waiting(address: str) -> None:
                retries = sortition.RetryPolicy(first_backoff=50, max_backoff=50)
                ranker = sortition.AsyncRanker(address, retries=retries)
                waiting = asyncio.create_task(call(ranker))
                await asyncio.wait([waiting], timeout=0.1)
                await ranker.close()
                await waiting
                await call(ranker)

            await close_while_waiting(self.address)  # A server that does not answer.
            await close_while_waiting("127.0.0.1:1")  # The pause before a retry.
            return found

        self.process.pause()
        begin = time.monotonic()
        try:
            self.assertEqual(asyncio.run(codes()), ["CANCELLED"] * 4)
        finally:
            self.process.signal(signal.SIGCONT)
        self.assertLess(time.monotonic() - begin, 30)

    def test_features_of_every_form_come_back_from_the_log(self) -> None:
        uniform = self.server("uniform", store="empty")
        ranker = sortition.Ranker(f"127.0.0.1:{uniform.port()}")
        self.addCleanup(ranker.close)
        rows = [
            {"price": 1.5, "title": "Ann", "tags": {"new", "hot"}, "place": [1.0, 2.0]},
            {"price": None, "title": None, "color": "red"},
        ]
        dense = np.array([[0.5, 2.0, 0.0], [1.0, 0.0, 0.25]], np.float32)
        asked = [
            ranker.rank(rows, query={"city": "Rome"}, types={"color": "category"}, ids=["p", "q"]),
            ranker.rank(dense),
            ranker.rank(sparse.csr_matrix(dense)),
        ]
        # The server stays: its log must cover the windows of the decisions.
        options = ("--join.reward_wait_time_seconds=0.2", "--join.slack_seconds=0.2")
        self.sidecar("uniform", "tuples", (*options, "--segment_seconds=0.2"))
        folder = self.folder / "tuples"
        wait_until(
            lambda: any(folder.glob("*.seg")) and len(logs.read_tuples(folder)) == len(asked),
            "a tuple for each decision",
        )
        tuples = logs.read_tuples(folder)
        frame = tuples.candidates_to_frame()
        places = {name: place for place, name in enumerate(tuples["decision_id"])}
        named, *others = [frame[frame.tuple == places[answer.decision_id]] for answer in asked]
        for part in others:
            np.testing.assert_array_equal(part[["f0", "f1", "f2"]], dense)
            self.assertTrue(part["candidate.price"].isna().all())
        self.assertTrue(named["f0"].isna().all())
        first, second = (named.iloc[row] for row in range(2))
        self.assertEqual((first["candidate.price"], first["candidate.title"]), (1.5, "Ann"))
        self.assertEqual(first["candidate.tags"], {"new", "hot"})
        self.assertEqual(first["candidate.place"].tolist(), [1.0, 2.0])
        self.assertTrue(np.isnan(second["candidate.price"]))
        self.assertEqual((second["candidate.title"], second["candidate.color"]), (None, "red"))
        self.assertEqual(second["candidate.tags"], None)
        self.assertEqual(named["query.city"].tolist(), ["Rome", "Rome"])
        # What it returns can be asked again.
        again = {name.partition(".")[2]: first[name] for name in frame if "candidate." in name}
        request = ranker._rank([again], {"types": {"color": "category"}}).request
        columns = {c.name: c for c in request.context.candidates.columns.candidate}
        self.assertEqual(list(columns["tags"].category_sets.values), ["hot", "new"])
        self.assertEqual(list(columns["color"].missing), [0])

    def test_what_was_answered_is_in_the_log_as_it_was_sent(self) -> None:
        answers = [
            self.ranker.rank(self.matrix, top_k=3, ids=list("abcdef"), attributes={"n": str(i)})
            for i in range(20)
        ]
        self.process.stop()
        spool = self.folder / "spools" / "server"
        logged = {
            record.decision.decision_id: record.decision
            for record in logs.read_messages(spool)
            if record.HasField("decision")
        }
        self.assertEqual(set(logged), {answer.decision_id for answer in answers})
        for number, answer in enumerate(answers):
            decision = logged[answer.decision_id]
            self.assertEqual(list(decision.action), answer.order)
            self.assertEqual(decision.log_propensity, answer.log_propensity)
            self.assertEqual(dict(decision.attributes), {"n": str(number)})
            self.assertEqual(list(decision.dense_values), self.matrix.ravel().tolist())
        store = f"--model_store={self.folder / 'models'}"
        said = run("sortition", "log", "verify", store, str(spool))
        self.assertIn("20 decisions verified bit for bit", said)
