#!/usr/bin/env python3
"""A stranger's application on `sortition quickstart`, with real processes.

usage: stranger.py [--seeds N] [--first N] [--null] [--explore SHARE] [--kind rank|select]

An application sends named columns and texts in the order that it has today, and nothing else
that somebody would have to know: features are drafted from the log. Its users click twice, change
their minds, and dislike things. Requests have a new column once there is a model, the server is
restarted, and for a night the trainer runs hourly and nobody comes.

Time is simulated: a block of decisions stands for 30 s of traffic at 50 decisions/s, and the
training behind it for the one that sees it once its windows are over. So block k is trained on
at 30 (k + 1) + 30 s. What must hold:

- no program fails, and no training run;
- a first version is published within 3 minutes of traffic;
- what users truly get (the expected reward of what is served, which the simulation knows) rises;
- with --null, where nothing that the application sends matters, nothing is published.

With several seeds it prints a line each and exits with 1 if less than 95 % of them hold, or
more than one in 40 publishes in a null world.
"""
import argparse
import http.client
import json
import math
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(os.environ["SORTITION_BIN"])
PATIENCE = float(os.environ.get("SORTITION_PATIENCE", "1"))
BLOCK = 1500  # Decisions in 30 s at 50 a second.
BLOCK_SECONDS = 30
FIRST_MODEL_SECONDS = 180
NIGHT_HOURS = 8
WINDOW = 4 * PATIENCE  # Seconds in which feedback counts; real ones, for calls that are held up.

CATEGORIES = ["news", "sport", "travel", "food", "film"]
WORDS = ["new", "best", "cheap", "red", "guide", "review", "of", "the", "city", "home"]


class World:
    """What the application has, and what its users like."""

    def __init__(self, seed: int, is_null: bool, candidates: int):
        self.source = random.Random(seed)
        self.candidates = candidates
        self.taste = {kind: 0.0 for kind in CATEGORIES}
        self.price_weight = 0.0
        self.word_weight = 0.0
        if not is_null:
            kinds = list(CATEGORIES)
            self.source.shuffle(kinds)
            for rank, kind in enumerate(kinds):
                self.taste[kind] = 1.2 - 0.6 * rank
            self.price_weight = -0.8
            self.word_weight = 0.8

    def page(self) -> tuple[str, list[dict]]:
        query = self.source.choice(WORDS)
        items = []
        for _ in range(self.candidates):
            items.append({"kind": self.source.choice(CATEGORIES), "price": self.source.random(),
                          "title": " ".join(self.source.choices(WORDS, k=3))})
        return query, items

    def click_probability(self, query: str, item: dict) -> float:
        score = (self.taste[item["kind"]] + self.price_weight * (item["price"] - 0.5)
                 + self.word_weight * ((query in item["title"].split()) - 0.3) - 1.0)
        return 1 / (1 + math.exp(-score))

    def visit(self, query: str, shown: list[dict], decision: str) -> list[dict]:
        """The feedback of a user who reads from the top until something is good."""
        reports = []
        for rank, item in enumerate(shown):
            if self.source.random() >= self.click_probability(query, item):
                continue
            times = 1 + (self.source.random() < 0.3) + (self.source.random() < 0.05)
            for i in range(times):
                reports.append({"feedback_id": f"{decision}-{rank}-{i}", "decision_id": decision,
                                "reward": 1, "rank": rank})
            if self.source.random() < 0.03:  # Clicked, and was disappointed.
                reports.append({"feedback_id": f"{decision}-{rank}-down", "decision_id": decision,
                                "loss": 1, "rank": rank})
            break
        if not reports and self.source.random() < 0.02:
            reports.append({"feedback_id": f"{decision}-down", "decision_id": decision, "loss": 1})
        return reports

    def worth(self, query: str, shown: list[dict]) -> float:
        """The expected reward of a page."""
        worth, reads = 0.0, 1.0
        for item in shown:
            p = self.click_probability(query, item)
            worth += reads * p * (1 - 0.03 * 2)
            reads *= 1 - p
        return worth - 0.02 * reads


class Stranger:
    def __init__(self, folder: pathlib.Path, seed: int, options: argparse.Namespace):
        self.folder = folder
        self.options = options
        self.world = World(seed, options.null, options.candidates)
        self.programs: dict[str, subprocess.Popen] = {}
        self.number = 0
        self.has_new_column = False
        self.log = open(folder.parent / "trainer.log", "w+", encoding="utf-8")
        self.failures: list[str] = []
        command = [BIN / "sortition", "quickstart", folder, "--write_only", "--free_ports",
                   f"--reward_wait_time_seconds={WINDOW}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(folder / "trainer.textproto", "a", encoding="utf-8") as file:
            file.write(options.train)
        self.start("server", *([f"--cold_start.explore={options.explore}"] if options.explore else []))
        self.start("sidecar", "--join.slack_seconds=0.1", "--poll_seconds=0.02")

    def start(self, role: str, *flags: str) -> None:
        ports = self.folder / "run" / role
        ports.unlink(missing_ok=True)
        log = open(self.folder / "logs" / f"{role}.log", "a", encoding="utf-8")
        self.programs[role] = subprocess.Popen(
            [BIN / f"sortition-{role}", f"--config={self.folder}/{role}.textproto", *flags],
            stdout=log, stderr=log)
        self.until(ports.exists, f"{role} to serve")
        if role == "server":
            lines = dict(line.split() for line in ports.read_text().splitlines())
            self.connection = http.client.HTTPConnection("127.0.0.1", int(lines["http"]), timeout=60)
            self.server_flags = flags

    def end(self, role: str) -> None:
        program = self.programs.pop(role)
        program.send_signal(signal.SIGTERM)
        if program.wait(timeout=60 * PATIENCE) != 0:
            self.failures.append(f"{role} ended with {program.returncode}")

    def until(self, is_so, what: str) -> None:
        end = time.monotonic() + 60 * PATIENCE
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError(f"waited too long for {what}")
            time.sleep(0.02)

    def call(self, path: str, body: dict) -> dict:
        """Asks, and again where that may help: the same id gets the same answer."""
        text = json.dumps(body)
        problem = "no answer"
        for attempt in range(5):
            try:
                self.connection.request("POST", path, text, {"Content-Type": "application/json"})
                answer = self.connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:  # Idle for too long, say.
                problem = str(error)
                self.connection.close()
                continue
            if answer.status == 200:
                return json.loads(content)
            problem = f"{answer.status} {content.decode()}"
            if answer.status not in (429, 503, 504):
                break
            time.sleep(0.1 * (attempt + 1))
        raise RuntimeError(f"{path}: {problem}")

    def block(self, decisions: int = BLOCK) -> float:
        """Traffic; returns the mean worth of what was served."""
        worth, reports, reported = 0.0, [], time.monotonic()
        rank = self.options.kind == "rank"
        for _ in range(decisions):
            self.number += 1
            decision = f"d-{self.number}"
            query, items = self.world.page()
            columns = [
                {"name": "kind", "categories": {"values": [item["kind"] for item in items]}},
                {"name": "price", "numbers": {"values": [item["price"] for item in items]}},
                {"name": "title", "texts": {"values": [item["title"] for item in items]}}]
            if self.has_new_column:
                columns.append({"name": "stock", "numbers": {"values": [7.0 for _ in items]}})
            body = {"context": {"decision_id": decision, "baseline": {}, "candidates": {"columns": {
                "num_candidates": len(items),
                "query": [{"name": "query", "texts": {"values": [query]}}],
                "candidate": columns}}}}
            if rank:
                body["top_k"] = self.options.top_k
                order = self.call("/v1/rank", body)["order"]
            else:
                order = [self.call("/v1/select", body).get("selected", 0)]
            shown = [items[i] for i in order]
            worth += self.world.worth(query, shown)
            reports += self.world.visit(query, shown, decision)
            if reports and (len(reports) > 20 or time.monotonic() > reported + 0.3):
                self.call("/v1/feedback", {"feedback": reports})
                reports, reported = [], time.monotonic()
        if reports:
            self.call("/v1/feedback", {"feedback": reports})
        return worth / decisions

    def joined(self) -> None:
        """Waits until every decision has its tuple."""
        def is_joined() -> bool:
            text = subprocess.run([BIN / "sortition", "log", "stats", self.folder / "tuples", "--output=json"],
                                  check=True, capture_output=True, text=True).stdout
            return int(json.loads(text).get("tuples", 0)) >= self.number
        self.until(is_joined, "tuples")

    def train(self) -> int:
        code = subprocess.run([BIN / "sortition-trainer", "train", f"--config={self.folder}/trainer.textproto"],
                              stdout=self.log, stderr=self.log, check=False).returncode
        if code not in (0, 3, 4):
            self.failures.append(f"train ended with {code}")
        return code

    def version(self) -> int:
        versions = (self.folder / "models" / "default").glob("[0-9]*")
        return max((int(each.name) for each in versions), default=0)

    def looks(self) -> int:
        ledger = self.folder / "models" / "default" / "looks.jsonl"
        return len(ledger.read_text().splitlines()) if ledger.exists() else 0

    def live(self, blocks: int) -> dict:
        first, before, after, at = None, [], [], 0
        # After the first version, two blocks measure it.
        for k in range(blocks + 2):
            if first is None and k >= blocks:
                break
            (before if first is None else after).append(self.block())
            at = BLOCK_SECONDS * (k + 2)
            self.joined()
            if self.train() == 0 and first is None:
                first = at
                version = self.version()
                self.until(lambda: self.serves() >= version, "the new version to serve")
            if k == 1:
                self.end("server")
                self.start("server", *self.server_flags)
            self.has_new_column = first is not None
            if first is not None and len(after) >= 2:
                break
        looks = self.looks()
        for _ in range(NIGHT_HOURS if self.options.night else 0):
            self.train()
        if self.looks() != looks:
            self.failures.append("a night without traffic has used looks")
        if self.options.verify:
            subprocess.run([BIN / "sortition", "log", "verify", self.folder / "tuples",
                            f"--model_store={self.folder}/models"], check=True, stdout=subprocess.DEVNULL)
        mean = lambda values: sum(values) / len(values) if values else math.nan
        return {"first": first, "before": mean(before), "after": mean(after), "looks": looks // 2,
                "versions": self.version(), "failures": self.failures}

    def serves(self) -> int:
        self.connection.close()
        self.connection.request("GET", "/status.json?history=0")
        models = json.loads(self.connection.getresponse().read())["server"]["models"]
        return max((int(model["version"]) for model in models), default=0)

    def close(self) -> None:
        for program in self.programs.values():
            program.kill()
            program.wait()
        self.log.close()


def run(seed: int, options: argparse.Namespace) -> dict:
    root = pathlib.Path(tempfile.mkdtemp(prefix="stranger-"))
    stranger = None
    try:
        stranger = Stranger(root / "quickstart", seed, options)
        result = stranger.live(options.blocks)
        if options.keep or result["failures"]:
            stranger.log.flush()
            stranger.log.seek(0)
            print(stranger.log.read()[-6000:], flush=True)
        return result
    finally:
        if stranger is not None:
            stranger.close()
        if options.keep:
            print(root)
        else:
            shutil.rmtree(root)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--null", action="store_true")
    parser.add_argument("--explore", type=float, default=0)
    parser.add_argument("--kind", choices=("rank", "select"), default="rank")
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--top_k", type=int, default=1)
    parser.add_argument("--train", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no_night", dest="night", action="store_false")
    parser.add_argument("--no_verify", dest="verify", action="store_false")
    options = parser.parse_args()
    good = published = 0
    for seed in range(options.first, options.first + options.seeds):
        result = run(seed, options)
        print(seed, json.dumps(result), flush=True)
        published += result["first"] is not None
        good += (not result["failures"] and result["first"] is not None
                 and result["first"] <= FIRST_MODEL_SECONDS and result["after"] > result["before"])
        if options.null and result["failures"]:
            return 1
    print(f"{good} of {options.seeds} good, {published} published")
    if options.null:
        return 0 if published * 40 <= max(options.seeds, 40) else 1
    return 0 if good >= math.floor(0.95 * options.seeds) and good > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
