#!/usr/bin/env python3
"""Runs the programs of examples/library, and computes what they print in another way.

usage: library_test.py EXAMPLES BINARIES
"""
import math
import pathlib
import random
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(sys.argv[1])
BINARIES = pathlib.Path(sys.argv[2])
TEMPORARY = tempfile.TemporaryDirectory()  # Gone with the program.
FOLDER = pathlib.Path(TEMPORARY.name)


def run(*words: object, status: int = 0) -> str:
    """Returns what a program prints, or its error if it is to end with another status."""
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    assert done.returncode == status, (words, done.returncode, done.stderr.decode())
    return (done.stdout if status == 0 else done.stderr).decode()


def write(name: str, text: str) -> pathlib.Path:
    path = FOLDER / name
    path.write_text(text, encoding="utf-8")
    return path


def table(lists: list[list[float]]) -> str:
    return "".join(",".join(repr(score) for score in line) + "\n" for line in lists)


def inverted(x: list[float]) -> float:
    """The divergence of all pairs from the order 0, 1, 2, ..: twice what is inverted."""
    pairs = ((x[i], x[j]) for i in range(len(x)) for j in range(i + 1, len(x)))
    return sum(2 * max(0.0, below - above) for above, below in pairs)


def chosen(output: str) -> tuple[float, float]:
    """The θ that is marked, and its held-out log-density."""
    (line,) = [line for line in output.splitlines() if line.startswith("*")]
    return float(line.split()[1]), float(line.split()[3])


def likelihood() -> None:
    program = EXAMPLES / "example_score_likelihood"
    source = random.Random(1)
    lists: list[list[float]] = []
    drawn = 0
    while len(lists) < 3000:  # From the density with θ = 4, by rejection.
        x = [source.random() for _ in range(4)]
        drawn += 1
        if source.random() < math.exp(-4 * inverted(x)):
            lists.append(x)
    output = run(program, write("agree.csv", table(lists)))
    assert output.startswith("order 0 1 2 3\n"), output
    theta, log_density = chosen(output)
    assert theta == 4, output
    # Z is the share that was accepted.
    held_out = lists[1::2]
    expected = -4 * sum(map(inverted, held_out)) / len(held_out) - math.log(len(lists) / drawn)
    assert abs(log_density - expected) < 0.1, (log_density, expected)
    # Lists without an order: no agreement is the most likely.
    uniform = [[source.random() for _ in range(4)] for _ in range(3000)]
    theta, log_density = chosen(run(program, write("uniform.csv", table(uniform))))
    assert theta <= 0.25 and abs(log_density) < 0.01, (theta, log_density)
    error = run(program, write("bad.csv", "0.5,1\n0.5,1.5\n"), status=1)
    assert "line 2: score is '1.5', must be a number within [0, 1]" in error, error
    error = run(program, write("long.csv", table([[0.5] * 8] * 2)), status=1)
    assert "lists have 8 scores, must have 2 to 7" in error, error
    run(program, status=2)


def signs() -> None:
    program = EXAMPLES / "example_signed_scores"
    # The mean is (1, -3): item 1 first, against it.
    lists = [[2.0, -4.0], [1.0, -4.0], [0.0, -1.0]]
    output = run(program, write("signed.csv", table(lists))).splitlines()
    assert output[0] == "order -1 +0", output
    assert [float(line.split()[1]) for line in output[2:]] == [0, 0, 0], output
    lists = [[-1.0, -2.0], [2.0, 1.0], [6.0, 3.0]]  # Mean (7, 2) / 3.
    output = run(program, write("signed.csv", table(lists))).splitlines()
    assert output[0] == "order +0 +1", output
    second = 1 / math.log2(3)
    # Of (-1, -2): its own order has 2 + second; the joint one -1 - 2 second.
    row = output[2].split()
    assert abs(float(row[1]) - (3 + 3 * second)) < 1e-4, row
    assert abs(float(row[2]) - 100 * (3 + 3 * second) / (4 + 2 * second)) < 0.06, row
    assert [float(line.split()[1]) for line in output[3:]] == [0, 0], output
    error = run(program, write("bad.csv", "1,x\n2,3\n"), status=1)
    assert "line 1: score is 'x', must be a number" in error, error


def parsed(output: str) -> list[tuple[int, str, dict[int, float]]]:
    rows = []
    for line in output.splitlines():
        label, query, *features = line.split()
        pairs = (feature.split(":") for feature in features)
        rows.append((int(label), query, {int(a): float(b) for a, b in pairs if float(b) != 0}))
    return rows


def joint_features() -> None:
    program = EXAMPLES / "example_item_class_features"
    source = random.Random(2)
    # Word 1 is of class 0, 2 of class 1, 3 of class 2; 4 is everywhere.
    lines = []
    for i in range(120):
        words = [f"{w}:{source.randint(1, 3)}" for w in (i % 3 + 1, 4)]
        if source.random() < 0.2:
            words[0] = f"{source.randint(1, 3)}:1"
        lines.append(f"{i % 3} qid:{i} " + " ".join(words) + "\n")
    training = write("topics.svm", "".join(lines))
    items = parsed("".join(lines))
    rows = parsed(run(program, "tf_idf", training))
    assert len(rows) == 3 * len(items)
    for place, (label, query, features) in enumerate(rows):
        own, _, counts = items[place // 3]
        assert (label, query) == (int(place % 3 == own), f"qid:{place // 3}")
        for word, count in counts.items():
            others = sum(word in c for k, _, c in items if k != place % 3)
            weight = math.log(len(items) / max(others, 0.5))
            assert abs(features.get(word, 0) - count * weight) < 1e-5 * (1 + count * weight)
    vectors = parsed(run(program, "multi_vector", training, training))
    for place, (_, _, features) in enumerate(vectors):
        counts = items[place // 3][2]
        assert features == {4 * (place % 3) + word: count for word, count in counts.items()}
    # A trainer's command learns to select classes from either.
    for name in ("tf_idf", "multi_vector"):
        queries = write(f"{name}.letor", run(program, name, training))
        store = FOLDER / f"models_{name}"
        trainer = BINARIES / "sortition-trainer"
        run(trainer, "train", "--learner=listnet", "--action=select",
            f"--data={queries}", f"--model_store={store}")
        assert (store / "default" / "1" / "model.pb").exists()
    other = write("other.svm", "7 qid:0 1:1\n")
    error = run(program, "tf_idf", training, other, status=1)
    assert "item 0: class is 7, must be in [0, 2], those of TRAINING" in error, error
    error = run(program, "bag", training, status=1)
    assert "the map is 'bag', must be tf_idf or multi_vector" in error, error


likelihood()
signs()
joint_features()
