"""What arguments become in requests, without a server."""

from __future__ import annotations

import decimal
import inspect
import unittest
import uuid

import numpy as np
import pandas
from scipy import sparse

from sortition import (
    AsyncRanker,
    Baseline,
    Feedback,
    Ranker,
    RetryPolicy,
    Security,
    make_id,
    servers,
)
from sortition.features import TYPES, _kind_of_dtype, fill_candidates
from sortition.model.v1 import features_pb2
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Defaults,
    LabelOptions,
    RankOptions,
    aggregate_request,
    feedback_list,
    feedback_message,
    fill_context,
)
from sortition.v1 import ranking_pb2


def candidates(features: object, **options: object) -> ranking_pb2.Candidates:
    message = ranking_pb2.Candidates()
    fill_candidates(message, features, **options)
    return message


class FeaturesTest(unittest.TestCase):
    def test_matrices_are_sent_as_little_endian_floats_row_by_row(self) -> None:
        matrix = np.asfortranarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        sent = candidates(matrix)
        self.assertEqual(sent.num_features, 3)
        self.assertEqual(
            np.frombuffer(sent.dense.packed, "<f4").tolist(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        )

    def test_sparse_matrices_are_sent_as_rows(self) -> None:
        sent = candidates(sparse.csr_matrix([[0, 2.0, 0], [0, 0, 0], [1.0, 0, 3.0]])).sparse
        self.assertEqual(list(sent.row_offsets), [0, 1, 1, 3])
        self.assertEqual(list(sent.columns), [1, 0, 2])
        self.assertEqual(list(sent.values), [2.0, 1.0, 3.0])

    def test_shapes_other_than_two_dimensions_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, r"shape \(3,\), must have two dimensions"):
            candidates(np.zeros(3))

    def test_dictionaries_become_columns_and_lacking_keys_are_missing(self) -> None:
        sent = candidates(
            [
                {"price": 3, "title": "Ann", "tags": {"new", "hot"}, "place": [1.0, 2.0]},
                {"price": float("nan"), "title": None, "color": "red"},
            ],
            query={"question": "who?"},
            types={"color": "category"},
        ).columns
        self.assertEqual(sent.num_candidates, 2)
        columns = {column.name: column for column in sent.candidate}
        self.assertEqual(columns["price"].numbers.values[0], 3)
        self.assertTrue(np.isnan(columns["price"].numbers.values[1]))
        self.assertEqual(list(columns["title"].texts.values), ["Ann", ""])
        self.assertEqual(list(columns["title"].missing), [1])
        self.assertEqual(list(columns["tags"].category_sets.offsets), [0, 2, 2])
        self.assertEqual(list(columns["tags"].category_sets.values), ["hot", "new"])
        self.assertEqual(list(columns["place"].vectors.values), [1, 2, 0, 0])
        self.assertEqual(columns["place"].vectors.size, 2)
        self.assertEqual(list(columns["color"].categories.values), ["", "red"])
        self.assertEqual(list(columns["color"].missing), [0])
        self.assertEqual(list(sent.query[0].texts.values), ["who?"])

    def test_data_frames_become_columns_by_their_types(self) -> None:
        frame = pandas.DataFrame(
            {
                "stars": pandas.array([4, None], dtype="Int64"),
                "price": np.array([1.5, np.nan], np.float32),
                "sold": [True, False],
                "color": pandas.Categorical(["red", None]),
                "title": ["Ann", None],
            },
            index=["a", "b"],
        )
        sent = candidates(frame)
        columns = {column.name: column for column in sent.columns.candidate}
        self.assertEqual(columns["stars"].numbers.values[0], 4)
        self.assertTrue(np.isnan(columns["stars"].numbers.values[1]))
        self.assertEqual(columns["price"].numbers.values[0], 1.5)
        self.assertEqual(list(columns["sold"].numbers.values), [1, 0])
        self.assertEqual(list(columns["color"].categories.values), ["red", ""])
        self.assertEqual(list(columns["color"].missing), [1])
        self.assertEqual(list(columns["title"].missing), [1])
        self.assertEqual(list(sent.ids), ["a", "b"])
        with self.assertRaisesRegex(ValueError, "column day is datetime64"):
            candidates(pandas.DataFrame({"day": pandas.to_datetime(["2026-01-01"])}))

    def test_wrong_types_name_column_value_and_range(self) -> None:
        with self.assertRaisesRegex(ValueError, 'types.*"a".* is "colour", must be one of number'):
            candidates([{"a": "x"}], types={"a": "colour"})
        with self.assertRaisesRegex(ValueError, "column a has 1 and '2', must be of one type"):
            candidates([{"a": 1}, {"a": "2"}])
        for wrong in ("2", 10**400, 1j):
            with self.assertRaisesRegex(ValueError, "column a has .*, must be a number of 64 bits"):
                candidates([{"a": 1}, {"a": wrong}], types={"a": "number"})
        for wrong in ("shoes", {1, 2}, 5):
            with self.assertRaisesRegex(ValueError, "column a has .*, must be a set or list of s"):
                candidates([{"a": wrong}], types={"a": "category_set"})
        with self.assertRaisesRegex(ValueError, r"columns \['a'\] are there twice"):
            candidates(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
        with self.assertRaisesRegex(ValueError, r"column v has vectors of \[1, 2\] numbers"):
            candidates([{"v": [1.0]}, {"v": [1.0, 2.0]}])

    def test_rows_are_the_same_from_every_container(self) -> None:
        rows = [{"price": 1.5, "title": "Ann"}, {"price": 2.0, "title": "Bob"}]
        expected = candidates(rows)
        frame = pandas.DataFrame(rows)
        for features in (
            tuple(rows),
            (row for row in rows),
            dict(enumerate(rows)).values(),
            np.array(rows),
            [row for _, row in frame.iterrows()],
            [row._asdict() for row in frame.itertuples(index=False)],
            frame,
        ):
            self.assertEqual(candidates(features), expected)

    def test_cells_have_the_type_that_can_be_seen(self) -> None:
        cells = {
            "decimal": (decimal.Decimal("1.5"), "numbers"),
            "scalar": (np.float32(1), "numbers"),
            "flag": (np.bool_(True), "numbers"),
            "place": (np.array(3), "numbers"),
            "text": (np.str_("x"), "texts"),
            "tags": (np.array(["x", "y"], object), "category_sets"),
            "vector": (np.array([1.0]), "vectors"),
            "absent": (np.ma.masked, "numbers"),
        }
        sent = candidates([{name: value for name, (value, _) in cells.items()}]).columns.candidate
        for column, (_, kind) in zip(sent, cells.values()):
            self.assertEqual(column.WhichOneof("values"), kind, column.name)
        self.assertTrue(np.isnan(sent[-1].numbers.values[0]))

    def test_types_of_columns_are_those_of_the_schema(self) -> None:
        names = features_pb2.ColumnSchema.Type.keys()
        self.assertEqual(list(TYPES), [n.lower() for n in names[1:]])

    def test_ids_are_the_same_text_from_every_container(self) -> None:
        dates = np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]")
        for ids, sent in (
            ([7.0, 2.5], ["7", "2.5"]),
            (np.array([7, 9]), ["7", "9"]),
            (np.array(["a", "b"]), ["a", "b"]),
            ({"a": 1, "b": 2}.keys(), ["a", "b"]),
            (dates, [str(date) for date in dates]),
        ):
            self.assertEqual(list(candidates(np.zeros((2, 1)), ids=ids).ids), sent)

    def test_categories_are_the_same_text_from_every_container(self) -> None:
        rows = [{"brand": 3, "new": True}, {"brand": 2**53 + 1, "new": False}]
        missing = pandas.DataFrame({"brand": [3, None], "new": [np.float32("nan"), 0.5]})
        types = {"brand": "category", "new": "text"}
        for features, brands, news in (
            (rows, ["3", "9007199254740993"], ["true", "false"]),
            (pandas.DataFrame(rows), ["3", "9007199254740993"], ["true", "false"]),
            (missing, ["3", ""], ["", "0.5"]),
        ):
            brand, new = candidates(features, types=types).columns.candidate
            self.assertEqual(list(brand.categories.values), brands)
            self.assertEqual(list(new.texts.values), news)
        self.assertEqual(list(new.missing), [0])

    def test_strings_of_other_versions_of_pandas_are_known(self) -> None:
        for dtype in ("object", "string", "str", "string[pyarrow]"):
            self.assertIsNone(_kind_of_dtype("a", dtype))
        for dtype in ("Int64", "uint8", "double[pyarrow]", "boolean"):
            self.assertEqual(_kind_of_dtype("a", dtype), "number")

    def test_an_index_gives_the_ids_unless_it_counts_the_places(self) -> None:
        frame = pandas.DataFrame({"price": [1.0, 2.0, 3.0]})
        self.assertEqual(list(candidates(frame).ids), [])
        frame.index = [2, 0, 1]
        self.assertEqual(list(candidates(frame).ids), ["2", "0", "1"])
        self.assertEqual(list(candidates(frame, ids=[7, 8, 9]).ids), ["7", "8", "9"])

    def test_what_is_no_plain_number_is_not_sent_as_one(self) -> None:
        masked = np.ma.masked_array([[1.0, 999.0]], mask=[[False, True]])
        with self.assertRaisesRegex(ValueError, "features have masked values"):
            candidates(masked)
        for wrong in (np.array([[1j]]), [["1"]], [[None, 1.0]], sparse.csr_matrix([[1j]])):
            with self.assertRaisesRegex(ValueError, "features have dtype .*, must be bool, int or"):
                candidates(wrong)
        with self.assertRaisesRegex(ValueError, "vectors of column v have dtype"):
            candidates([{"v": [1, "2"]}])
        self.assertEqual(candidates(np.ma.masked_array([[1.0]])).num_features, 1)


class ContextTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ranker = Ranker("127.0.0.1:1")  # Where no server is: requests are not sent.
        self.addCleanup(self.ranker.close)

    def test_options_become_fields(self) -> None:
        context = ranking_pb2.DecisionContext()
        fill_context(
            context,
            np.zeros((2, 1)),
            {
                "version": 0,
                "eligible": np.array([True, False]),
                "seed": np.int64(3),
                "attributes": {"device": "phone"},
                "baseline": Baseline([1], log_propensity=-0.5),
                "scores": True,
                "unit_id": "u",
            },
            Defaults(model="m"),
        )
        self.assertEqual(context.model, "m")
        self.assertTrue(context.HasField("version"))
        self.assertEqual(list(context.eligible), [True, False])
        self.assertEqual(context.seed, 3)
        self.assertEqual(dict(context.attributes), {"device": "phone"})
        self.assertEqual(list(context.baseline.action), [1])
        self.assertEqual(context.baseline.log_propensity, -0.5)
        self.assertTrue(context.return_scores)
        self.assertFalse(context.return_probabilities)

    def test_options_that_do_not_exist_are_refused(self) -> None:
        decision = set(DecisionOptions.__annotations__)
        for call, wrong, own, hint in (
            ("rank", "topk", {"top_k"}, "; did you mean top_k?"),
            ("select", "top_k", set(), ""),
            ("label", "top_k", {"k"}, ""),
            ("aggregate", "weigths", None, "; did you mean weights?"),
            ("aggregate", "query", None, ""),
        ):
            with self.assertRaises(TypeError) as refusal:
                getattr(self.ranker, call)([[1.0]], **{wrong: 1})
            said = str(refusal.exception)
            self.assertTrue(said.startswith(f"{wrong} is not an option of {call}{hint}"), said)
            listed = set(said.partition("Options: ")[2].split(", "))
            self.assertNotIn(wrong, listed)
            known = set(AggregateOptions.__annotations__) if own is None else decision | own
            self.assertEqual(listed, known)

    def test_every_option_of_a_call_is_taken(self) -> None:
        values = {
            "top_k": np.int64(1),
            "k": 1.0,
            "ids": pandas.Index([7, 9]),
            "query": pandas.DataFrame([{"search": "shoes"}]).iloc[0],
            "types": {"search": "text"},
            "version": 0,
            "eligible": np.array([True, False]),
            "seed": np.uint64(3),
            "attributes": {"device": "phone"},
            "baseline": {"action": [1], "log_propensity": np.float32(-0.5)},
            "deadline": np.float64(2),
            "scale": "RANK",
            "divergence": "TOP",
            "weights": np.array([1, 2]),
            **{name: "x" for name in ("decision_id", "model", "label", "unit_id")},
            **{name: True for name in ("scores", "probabilities", "game")},
            **{name: 1 for name in ("cutoff", "head", "bootstrap_samples")},
            **{name: 0.5 for name in ("concentration", "uniform_mixture", "confidence")},
        }
        for call, kind in (
            ("_rank", RankOptions),
            ("_select", DecisionOptions),
            ("_label", LabelOptions),
            ("_aggregate", AggregateOptions),
        ):
            features = [[1.0, 2.0], [2.0, 1.0]] if call == "_aggregate" else [{"a": 1}, {"a": 2}]
            options = {name: values[name] for name in kind.__annotations__}
            request = getattr(self.ranker, call)(features, options).request
            context = request.context
            self.assertEqual(list(context.candidates.ids), ["7", "9"])
            self.assertEqual(context.seed, 3)
            self.assertTrue(context.HasField("version") and context.return_game)
            baseline = ranking_pb2.Baseline(action=[1], log_propensity=-0.5)
            self.assertEqual(context.baseline, baseline)
            if "query" in options:
                self.assertEqual(context.candidates.columns.query[0].texts.values, ["shoes"])
        self.assertEqual(request.aggregation.scale, ranking_pb2.Aggregation.RANK)
        self.assertEqual(list(request.aggregation.weights), [1, 2])
        self.assertEqual((request.cutoff, request.confidence), (1, 0.5))

    def test_options_of_aggregations_are_apart_from_those_of_decisions(self) -> None:
        request, context = aggregate_request({"scale": "RANK", "top_k": 2, "unit_id": "u"})
        self.assertEqual(request.aggregation.scale, ranking_pb2.Aggregation.RANK)
        self.assertEqual(request.top_k, 2)
        self.assertEqual(context, {"unit_id": "u"})

    def test_feedback_has_one_finite_value_and_an_id(self) -> None:
        message = feedback_message(*feedback_list("d", None, 2, None, ""))
        self.assertEqual(message.WhichOneof("value"), "loss")
        self.assertEqual(len(message.feedback_id), 36)
        kept = feedback_list([Feedback("d", loss=2, feedback_id="f")], None, None, None, "")
        self.assertEqual(kept[0].feedback_id, "f")
        with self.assertRaisesRegex(ValueError, "must be one of the two"):
            feedback_message(Feedback("d"))
        with self.assertRaisesRegex(ValueError, "reward is nan, must be finite"):
            feedback_message(Feedback("d", reward=float("nan")))

    def test_arguments_of_feedback_that_would_be_ignored_are_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "are for one decision id"):
            feedback_list([Feedback("d", reward=1)], 1, None, 3, "")
        for wrong, said in (
            (["d"], "feedback\\[0\\] is 'd' .str., must be a Feedback"),
            (None, "feedback is None, must be a decision id, a Feedback, or"),
            (pandas.DataFrame([{"decision_id": "d"}]), 'feedback.to_dict."records".'),
            ([{"decision_id": "d", "rewrad": 1}], "rewrad is not an option of .*mean reward"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                feedback_list(wrong, None, None, None, "")
        with self.assertRaisesRegex(ValueError, "feedback\\[1\\] has no decision_id"):
            feedback_list([Feedback("d"), {"reward": 1}], None, None, None, "")

    def test_dictionaries_of_feedback_are_feedback(self) -> None:
        one = {"decision_id": "d", "reward": 1, "feedback_id": "f"}
        expected = [Feedback("d", reward=1, feedback_id="f")]
        for given in (one, [one], pandas.DataFrame([one]).to_dict("records")):
            self.assertEqual(feedback_list(given, None, None, None, ""), expected)

    def test_types_that_are_wrong_are_refused_by_name(self) -> None:
        array = np.zeros((2, 1))
        rows = [{"a": 1}, {"a": 2}]
        rank, report = self.ranker.rank, self.ranker.feedback
        for call, said in (
            (lambda: rank(rows, query="hi"), r"query is 'hi' \(str\), must be a dictionary"),
            (lambda: rank(rows, query=[{"a": 1}]), r"query is \[.*\] \(list\), must be a dict"),
            (lambda: rank(rows, query={1: 1}), r"a key of query is 1 \(int\), must be a string"),
            (lambda: rank([{1: 1}]), r"a key of features\[0\] is 1"),
            (lambda: rank(rows, types="text"), "types is 'text'"),
            (lambda: rank({"a": [1, 2]}), r"features is .*one dictionary; .*DataFrame\(features"),
            (lambda: rank("abc"), "features is 'abc'"),
            (lambda: rank(["abc"]), r"features\[0\] is 'abc' .* dictionary of named columns"),
            (lambda: rank(None), "features is None, must be an array"),
            (lambda: rank([*rows, 5]), r"features\[2\] is 5 .* as features\[0\] is"),
            (lambda: rank([[1.0], {"a": 1}]), r"features\[1\] is .*a list of numbers"),
            (lambda: rank(list(pandas.DataFrame(rows).itertuples())), r"features\[0\].*_asdict"),
            (lambda: rank(array, ids="ab"), "ids is 'ab'"),
            (lambda: rank(array, ids={"a", "b"}), "ids is .*set"),
            (lambda: rank(array, ids=[True, "b"]), r"ids\[0\] is True"),
            (lambda: rank(array, ids=["a", None]), r"ids\[1\] is None"),
            (lambda: rank(array, attributes="x"), "attributes is 'x'"),
            (lambda: rank(array, attributes={"x": 1}), r'attributes\["x"\] is 1 .*such as "1"'),
            (lambda: rank(array, eligible="ab"), "eligible is 'ab'"),
            (lambda: rank(array, eligible=["false", "true"]), r"eligible\[0\] is 'false'"),
            (lambda: rank(array, eligible=[1, 2]), r"eligible\[1\] is 2 .* True or False"),
            (lambda: rank(array, seed=True), "seed is True"),
            (lambda: rank(array, version=np.bool_(True)), "version is True"),
            (lambda: rank(array, top_k="3"), "top_k is '3' .* whole number"),
            (lambda: rank(array, unit_id=17), 'unit_id is 17 .* string, such as "17"'),
            (lambda: rank(array, unit_id=True), r"unit_id is True \(bool\), must be a string$"),
            (lambda: rank(array, decision_id=uuid.UUID(int=1)), 'decision_id .* "00000000-0'),
            (lambda: rank(array, scores="no"), "scores is 'no'"),
            (lambda: rank(array, baseline="01"), "baseline is '01'"),
            (lambda: rank(array, baseline=[True]), r"baseline\[0\] is True"),
            (lambda: rank(array, baseline={"log_propensity": True}), "propensity is True"),
            (lambda: rank(array, deadline=True), "deadline is True"),
            (lambda: self.ranker.aggregate(rows), r"lists\[0\] is .* a list of numbers"),
            (lambda: self.ranker.aggregate(array, weights="12"), "weights is '12'"),
            (lambda: self.ranker.aggregate(array, concentration=True), "concentration is True"),
            (lambda: self.ranker.shown("d", "01"), "shown is '01'"),
            (lambda: self.ranker.shown("d", [True]), r"shown\[0\] is True .* document_index"),
            (lambda: self.ranker.shown("d", ["a"]), r"shown\[0\] is 'a' .* document_index"),
            (lambda: self.ranker.shown("d", [0], seen_ranks=True), "seen_ranks is True"),
            (lambda: self.ranker.shown("d", [0], first_rank=False), "first_rank is False"),
            (lambda: self.ranker.shown("d", not_shown="no"), "not_shown is 'no'"),
            (lambda: self.ranker.shown(None, [0]), "decision_id is None"),
            (lambda: report("d", reward=True), r"reward is True \(bool\), .* such as 1.0"),
            (lambda: report("d", loss=np.bool_(False)), "loss is False .* such as 0.0"),
            (lambda: report("d", reward="1"), "reward is '1'"),
            (lambda: report("d", reward=1, rank=True), "rank is True"),
            (lambda: report("d", reward=1, feedback_id=3), "feedback_id is 3"),
            (lambda: report([Feedback(5, reward=1)]), "decision_id is 5"),
            (lambda: self.ranker.column_types(5), "model is 5"),
            (lambda: Ranker(8500), "servers is 8500"),
            (lambda: Ranker([8500]), r"servers\[0\] is 8500"),
            (lambda: Ranker("a:1", types="text"), "types is 'text'"),
            (lambda: Ranker("a:1", model=5), "model is 5"),
            (lambda: Ranker("a:1", deadline=True), "deadline is True"),
            (lambda: Ranker("a:1", retries=3), "retries is 3 .* a RetryPolicy"),
            (lambda: Ranker("a:1", security="x"), "security is 'x' .* a Security"),
            (lambda: Ranker("a:1", routing_header="x"), "routing_header is 'x'"),
            (lambda: Ranker("a:1", any_server="x"), "any_server is .x."),
            (lambda: RetryPolicy(max_attempts=True), "max_attempts is True"),
            (lambda: RetryPolicy(first_backoff="1"), "first_backoff is '1'"),
            (lambda: RetryPolicy(budget="1"), "budget is '1'"),
            (lambda: Security(token_file=5).metadata(), "token_file is 5"),
        ):
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                call()

    def test_numbers_that_are_out_of_range_are_refused_by_name(self) -> None:
        array, rank = np.zeros((2, 1)), self.ranker.rank
        for call, said in (
            (lambda: rank(array, seed=-1), r"seed is -1, .* in \[0, 18446744073709551615\]"),
            (lambda: rank(array, top_k=1 << 32), r"top_k is 4294967296, .*4294967295\]"),
            (lambda: rank(array, top_k=1.5), "top_k is 1.5, must be a whole number"),
            (lambda: rank([]), "features is empty, must have at least one candidate"),
            (lambda: rank([[1], [2, 3]]), r"features have rows of \[1, 2\] numbers"),
            (lambda: rank(array, query={"a": 1}), "query is for named columns"),
            (lambda: self.ranker.shown("d", [1.5]), r"shown\[0\] is 1.5, must be a whole number"),
            (lambda: self.ranker.shown("", [0]), 'decision_id is "", must have 1 to 128 bytes'),
            (lambda: self.ranker.feedback("", reward=1), 'decision_id is ""'),
            (lambda: self.ranker.feedback("d", reward=10**400), "reward is 1000.*must be finite"),
            (lambda: self.ranker.aggregate(array, scale="max"), "scale is .max., must be one of"),
        ):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                call()

    def test_options_of_clients_have_names(self) -> None:
        for client in (Ranker, AsyncRanker):
            self.assertIn("deadline", inspect.signature(client).parameters)
            with self.assertRaisesRegex(TypeError, "dedline"):
                client(dedline=1)


class IdsTest(unittest.TestCase):
    def test_ids_are_uuids_of_version_7_in_order_of_time(self) -> None:
        ids = [make_id() for _ in range(1000)]
        self.assertEqual(len(set(ids)), 1000)
        for text in ids:
            self.assertEqual(uuid.UUID(text).version, 7)
            self.assertEqual(uuid.UUID(text).variant, uuid.RFC_4122)
        times = [text[:13] for text in ids]
        self.assertEqual(times, sorted(times))

    def test_ids_made_here_choose_a_server_that_serves(self) -> None:
        several = servers.Servers("a:1,b:1,c:1,d:1")
        for away in (0, 2, 3):
            several.set_serving(away, False)
        for _ in range(20):
            decision_id, route = several.new_decision()
            self.assertEqual(several.of(decision_id), route[0])
            self.assertEqual(route[0], 1)

    def test_addresses_that_are_empty_are_refused(self) -> None:
        for addresses in ("", "a:1,", []):
            with self.assertRaisesRegex(ValueError, "must be host:port"):
                servers.Servers(addresses)

    def test_addresses_of_one_server_and_of_this_machine_are_known(self) -> None:
        for address, is_one, is_local in (
            ("127.0.0.1:1", True, True),
            ("[::1]:1", True, True),
            ("ipv4:10.0.0.1:1", True, False),
            ("unix:/run/s", True, True),
            ("localhost:1", False, True),
            ("dns:///a.example:1", False, False),
            ("ipv4:127.0.0.1:1,10.0.0.1:1", False, False),
        ):
            self.assertEqual(servers.is_one(address), is_one, address)
            self.assertEqual(servers.is_local(address), is_local, address)


if __name__ == "__main__":
    unittest.main()
