"""What `score` and `evaluate` print, beside NumPy, scikit-learn and TREC's rules."""

from __future__ import annotations

import csv
import json
import math
import pathlib
import random
from typing import Any

import numpy
from processes import ProcessTest, run
from sklearn import datasets, metrics
from sortition.model.v1 import model_pb2

FEATURES = 5


def letor(queries: int, levels: int, seed: int) -> str:
    """Queries whose features have few values (levels > 0), so that scores tie, or many."""
    source = random.Random(seed)
    lines = []
    for query in range(queries):
        for _ in range(source.randint(2, 9)):
            label = source.choice([0, 0, 0, 1, 2])
            values = [
                source.randrange(levels) if levels else source.gauss(0.3 * label, 1)
                for _ in range(FEATURES)
            ]
            features = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, 1) if value)
            lines.append(f"{label} qid:{query} {features}\n")
    return "".join(lines)


class ScoreTest(ProcessTest):
    def setUp(self) -> None:
        super().setUp()
        self.data = self.folder / "data.letor"
        self.store = f"--model_store={self.folder / 'models'}"

    def fit(self, text: str) -> None:
        self.data.write_text(text)
        run("sortition-trainer", "fit", f"--data={self.data}", "--action=rank", self.store)

    def score(self, *options: str) -> str:
        return run("sortition-trainer", "score", f"--data={self.data}", self.store, *options)

    def evaluate(self, *options: str) -> dict[str, float]:
        text = run("sortition-trainer", "evaluate", "--output=json", *options)
        return {row["name"]: row.get("value") for row in json.loads(text)["metrics"]}

    def model(self) -> Any:
        model = model_pb2.Model()
        path = pathlib.Path(self.folder, "models", "default", "1", "model.pb")
        model.ParseFromString(path.read_bytes())
        return model

    def by_query(self) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
        """Labels and scores of each query, from the table that `score` prints."""
        queries: dict[str, list[tuple[int, float]]] = {}
        for row in csv.DictReader(self.score().splitlines(), delimiter="\t"):
            queries.setdefault(row["qid"], []).append((int(row["label"]), float(row["score"])))
        return [tuple(map(numpy.array, zip(*rows))) for rows in queries.values()]

    def test_numpy_computes_the_same_scores_and_probabilities(self) -> None:
        self.fit(letor(20, 0, 1))
        model = self.model()
        matrix, labels, queries = datasets.load_svmlight_file(
            str(self.data), n_features=FEATURES, query_id=True
        )
        scores = matrix.astype(numpy.float32) @ numpy.array(model.weights)
        rows = list(csv.DictReader(self.score().splitlines(), delimiter="\t"))
        self.assertEqual(len(rows), len(scores))
        numpy.testing.assert_allclose([float(r["score"]) for r in rows], scores, rtol=1e-6)
        self.assertEqual([int(r["qid"]) for r in rows], list(queries))
        self.assertEqual([int(r["label"]) for r in rows], list(labels))
        epsilon = model.policy.uniform_mixture
        for query in set(queries):
            mine = numpy.array([float(r["score"]) for r in rows if int(r["qid"]) == query])
            odds = numpy.exp(model.policy.inverse_temperature * (mine - mine.max()))
            expected = (1 - epsilon) * odds / odds.sum() + epsilon / len(odds)
            printed = [float(r["probability"]) for r in rows if int(r["qid"]) == query]
            numpy.testing.assert_allclose(printed, expected, rtol=1e-12)

    def test_json_lines_have_the_numbers_of_the_table(self) -> None:
        self.fit(letor(10, 0, 2))
        table = list(csv.DictReader(self.score().splitlines(), delimiter="\t"))
        lines = [json.loads(line) for line in self.score("--output=json").splitlines()]
        candidates = [
            (line["qid"], candidate) for line in lines for candidate in line["candidates"]
        ]
        self.assertEqual(len(candidates), len(table))
        for (query, candidate), row in zip(candidates, table):
            self.assertEqual(query, row["qid"])
            for name in ("document_index", "label"):
                self.assertEqual(candidate[name], int(row[name]))
            for name in ("score", "probability"):
                self.assertEqual(candidate[name], float(row[name]))

    def test_scikit_learn_averages_ties_alike(self) -> None:
        self.fit(letor(60, 2, 3))
        queries = self.by_query()
        tied = sum(len(set(scores)) < len(scores) for _, scores in queries)
        self.assertGreater(tied, 10)
        names = ("ndcg_linear", "ndcg_linear@3")
        measured = self.evaluate(
            f"--data={self.data}",
            self.store,
            "--skip_irrelevant_queries",
            f"--metrics={','.join(names)}",
        )
        for name, k in zip(names, (None, 3)):
            expected = numpy.mean(
                [
                    metrics.ndcg_score([labels], [scores], k=k)
                    for labels, scores in queries
                    if labels.max() > 0
                ]
            )
            self.assertAlmostEqual(measured[name], expected, delta=1e-12)

    def test_trec_files_are_judged_by_trecs_rules(self) -> None:
        self.fit(letor(40, 0, 4))
        qrels = self.folder / "qrels"
        lines = self.score("--output=trec", f"--qrels={qrels}").splitlines()
        self.assertTrue(all(len(scores) == len(set(scores)) for _, scores in self.by_query()))
        # A system that retrieved the first three documents, and nothing for query 7.
        kept = [line.split() for line in lines if int(line.split()[3]) <= 3]
        kept = [fields for fields in kept if fields[0] != "7"]
        path = self.folder / "run"
        path.write_text("".join(" ".join(fields) + "\n" for fields in kept))
        judged: dict[str, dict[str, int]] = {}
        for query, _, document, relevance in map(str.split, qrels.read_text().splitlines()):
            judged.setdefault(query, {})[document] = int(relevance)
        measured = self.evaluate(
            "--format=trec", f"--run={path}", f"--qrels={qrels}", "--skip_irrelevant_queries"
        )
        names = ("average_precision", "mrr", "success@1", "ndcg_linear", "recall@10")
        sums = dict.fromkeys(names, 0.0)
        count = 0
        for query, relevances in judged.items():
            relevant = sum(r > 0 for r in relevances.values())
            if relevant == 0:
                continue
            count += 1
            order = sorted((f for f in kept if f[0] == query), key=lambda f: -float(f[4]))
            gains = [relevances[fields[2]] for fields in order]
            hits = [i for i, gain in enumerate(gains) if gain > 0]
            precisions = [(n + 1) / (i + 1) for n, i in enumerate(hits)]
            sums["average_precision"] += sum(precisions) / relevant
            sums["mrr"] += 1 / (hits[0] + 1) if hits else 0
            sums["success@1"] += 0 in hits
            sums["recall@10"] += len(hits) / relevant
            best = sorted(relevances.values(), reverse=True)
            sums["ndcg_linear"] += sum(g / math.log2(i + 2) for i, g in enumerate(gains)) / sum(
                g / math.log2(i + 2) for i, g in enumerate(best)
            )
        self.assertGreater(count, 20)
        for name, total in sums.items():
            self.assertAlmostEqual(measured[name], total / count, delta=1e-12, msg=name)

    def test_scikit_learn_judges_label_models_alike(self) -> None:
        source = random.Random(5)
        lines = []
        for _ in range(300):
            values = [source.gauss(0, 1) for _ in range(FEATURES)]
            labels = [str(l) for l in range(4) if values[l] + source.gauss(0, 0.7) > 0.3]
            features = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, 1))
            lines.append(f"{','.join(labels)} {features}\n")
        data = self.folder / "data.svm"
        data.write_text("".join(lines))
        tuples = self.folder / "tuples"
        run("sortition-trainer", "convert", f"--data={data}", f"--output={tuples}", self.store)
        model = self.model()
        matrix, rows = datasets.load_svmlight_file(
            str(data), n_features=FEATURES, multilabel=True, dtype=numpy.float32
        )
        right = numpy.array([[l in row for l in range(4)] for row in rows])
        weights = numpy.array(model.weights).reshape(FEATURES + 1, 4)
        scores = matrix @ weights[:-1] + weights[-1]
        predicted = scores > 0
        measured = self.evaluate(f"--data={data}", self.store)
        draws = 1 / (1 + numpy.exp(-model.policy.inverse_temperature * scores))
        expected = {
            "hamming_loss": metrics.hamming_loss(right, predicted),
            "expected_hamming_loss": numpy.abs(right - draws).mean(),
            "subset_accuracy": metrics.accuracy_score(right, predicted),
            "jaccard": metrics.jaccard_score(right, predicted, average="samples", zero_division=1),
            "f1_micro": metrics.f1_score(right, predicted, average="micro"),
            "f1_macro": metrics.f1_score(right, predicted, average="macro"),
            "f1_samples": metrics.f1_score(right, predicted, average="samples", zero_division=1),
        }
        self.assertEqual(measured.keys(), expected.keys())
        for name, value in expected.items():
            self.assertAlmostEqual(measured[name], value, delta=1e-6, msg=name)
