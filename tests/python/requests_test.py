"""What arguments become in requests, without a server."""

from __future__ import annotations

import inspect
import unittest
import uuid

import numpy as np
import pandas
from scipy import sparse

from sortition import AsyncRanker, Baseline, Feedback, Ranker, make_id, servers
from sortition.features import _kind_of_dtype, fill_candidates
from sortition.requests import (
    Defaults,
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
        with self.assertRaisesRegex(ValueError, 'ids is "ab", must be a list'):
            candidates(np.zeros((2, 1)), ids="ab")
        with self.assertRaisesRegex(ValueError, r"column v has vectors of \[1, 2\] numbers"):
            candidates([{"v": [1.0]}, {"v": [1.0, 2.0]}])

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
        with self.assertRaisesRegex(TypeError, "topk is no option of a decision"):
            fill_context(ranking_pb2.DecisionContext(), np.zeros((1, 1)), {"topk": 1}, Defaults())

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
        with self.assertRaisesRegex(TypeError, "feedback has 'd', must be a decision id, or a lis"):
            feedback_list(["d"], None, None, None, "")

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
            decision_id, server = several.new_decision()
            self.assertEqual(several.of(decision_id), server)
            self.assertEqual(server, 1)

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
