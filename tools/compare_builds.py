#!/usr/bin/env python3
"""Shows that two builds behave the same: before and after a refactoring.

usage: compare_builds.py BEFORE_BIN AFTER_BIN WORK_DIR

Both builds train every learner and objective from the same seeds and data: the
models must be the same bit for bit. Each build serves and logs; the other one
verifies its spool and its tuples bit for bit and learns from them. Differences of
--help are written to WORK_DIR/help.diff, for people. Exits non-zero where
anything but the help differs. Needs protoc; takes some minutes.
"""
import difflib
import json
import pathlib
import re
import subprocess
import sys
import time
from random import Random

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Name, further options of `train`.
LABELLED = [
    ("mpg_dcg", "--learner=mpg --game.measure=DCG --game.k=10 --game.lambda=0.01"),
    ("mpg_graded", "--learner=mpg --game.measure=GRADED_DCG --game.max_relevance=2"
     " --game.lambda=0.01"),
    ("mpg_precision", "--learner=mpg --game.measure=PRECISION --game.k=5"
     " --game.lambda=0.01 --action=label"),
    ("mpg_f_beta", "--learner=mpg --game.measure=F_BETA --game.lambda=0.1"
     " --action=label"),
    *[(f"crf_{objective.lower()}", f"--learner=crf --crf.objective={objective}"
       " --crf.max_epochs=5") for objective in (
           "MAXIMUM_LIKELIHOOD", "LOSS_AUGMENTED", "LOSS_SCALED", "EXPECTED_LOSS",
           "KULLBACK_LEIBLER")],
    ("crf_batch", "--learner=crf --crf.optimiser=BATCH --crf.lbfgs.max_iterations=10"),
    ("mallows", "--learner=mallows --mallows.lambda=0.01"),
    ("ranksvm_pairs", "--learner=ranksvm --rank_svm.lambda=0.001"),
    ("ranksvm_queries", "--learner=ranksvm --rank_svm.weighting=QUERIES"
     " --rank_svm.lambda=0.001"),
    ("ranksvm_pulled", "--learner=ranksvm --rank_svm.lambda=0.001"
     " --trusted_order.feature=1 --trusted_order.weight=0,0.1"),
    ("listnet", "--learner=listnet --list_net.lambda=0.001"),
    ("listnet_gain", "--learner=listnet --list_net.target=GAIN"
     " --list_net.lambda=0.001"),
    ("listnet_pulled", "--learner=listnet --list_net.lambda=0.001"
     " --trusted_order.feature=1 --trusted_order.weight=0.1"),
    ("listnet_select", "--learner=listnet --list_net.lambda=0.001 --action=select"),
    ("regression", "--learner=regression --regression.l2=1,10"),
    ("regression_pulled", "--learner=regression --regression.l2=1"
     " --trusted_order.feature=1 --trusted_order.weight=0.1"),
    *[(f"hinge_{loss.lower()}", f"--learner=hinge --hinge.loss={loss}"
       " --hinge.lambda=0.01") for loss in (
           "NDCG", "KENDALL", "SELECTION", "SENSITIVITY_SPECIFICITY", "F_BETA")],
    ("hinge_precision", "--learner=hinge --hinge.loss=PRECISION --hinge.k=5"
     " --hinge.lambda=0.01"),
    *[(f"hinge_{solver.lower()}", f"--learner=hinge --hinge.loss=NDCG"
       f" --hinge.solver={solver} --hinge.lambda=0.01") for solver in (
           "ONE_SLACK", "SUBGRADIENT")],
    *[(f"multiclass_{method.lower()}", f"--learner=multiclass"
       f" --multiclass.method={method} --multiclass.lambda=0.01") for method in (
           "HINGE", "ONE_AGAINST_ALL", "ALL_PAIRS")],
    *[(f"chain_{objective.lower()}", f"--learner=chain --chain.objective={objective}"
       " --chain.lambda=0.01") for objective in ("LIKELIHOOD", "HINGE")],
]
COUNTERFACTUAL = [
    (f"{objective}_{optimiser}".lower(),
     f"--poem.objective={objective} --poem.optimiser={optimiser} --poem.l2=1e-4"
     " --poem.adagrad.max_epochs=5 --poem.lbfgs.max_iterations=20" +
     ("" if objective.endswith("IPS") else " --poem.lambda_factor=0.01,1"))
    for objective in ("CRM", "IPS", "CLIPPED_IPS", "SELF_NORMALISED",
                      "DOUBLY_ROBUST", "LOG_SMOOTHING")
    for optimiser in ("STOCHASTIC", "BATCH")
    if (objective, optimiser) != ("SELF_NORMALISED", "STOCHASTIC")]
COMMANDS = {
    "sortition": ["", "rank", "select", "label", "aggregate", "shown", "feedback",
                  "models list", "world", "simulate", "log cat", "log stats",
                  "log verify"],
    "sortition-trainer": ["", "train", "evaluate", "fit", "calibrate", "clicks", "cluster",
                          "convert"],
    "sortition-server": [""], "sortition-sidecar": [""]}


def run(program, *arguments, allowed=(0,)):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode not in allowed:
        raise RuntimeError(f"{program.name} {' '.join(arguments)} exited "
                           f"{done.returncode}:\n{done.stderr[-2000:]}")
    return done


def write_orders(data, orders):
    """Gives every candidate of a query a relevance of its own: Mallows wants orders."""
    queries = {}
    for line in data.read_text().splitlines():
        label, query, rest = line.split(" ", 2)
        queries.setdefault(query, []).append((int(label), rest))
    with orders.open("w") as file:
        for query, candidates in queries.items():
            for relevance, (_, rest) in enumerate(sorted(candidates)):
                file.write(f"{relevance} {query} {rest}\n")


def model_text(version):
    """The model but for when, and with which options, it was trained."""
    with (version / "model.pb").open("rb") as file:
        text = subprocess.run(
            ["protoc", "--decode=sortition.model.v1.Model", f"-I{ROOT}/proto",
             "sortition/model/v1/model.proto"],
            stdin=file, capture_output=True, text=True, check=True).stdout
    skipped = ("  created_time_us:", "  options:", "  comment:")
    return "\n".join(line for line in text.splitlines() if not line.startswith(skipped))


class Comparison:
    def __init__(self, bins, work):
        self.bins = bins  # Name of the build -> folder of its programs.
        self.work = work
        self.failures = []
        self.passed = 0

    def check(self, what, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failures.append(what)
        print(f"{'same' if good else 'DIFFERENT'}: {what} {detail}", flush=True)

    def train_labelled(self, data):
        orders = self.work / "orders.letor"
        write_orders(data, orders)
        for name, options in LABELLED:
            models, statuses = [], []
            file = orders if name == "mallows" else data
            for build, folder in self.bins.items():
                store = self.work / build / "labelled" / name
                done = run(folder / "sortition-trainer", "train", f"--data={file}",
                           f"--model_store={store}", "--model=m", "--force",
                           *options.split(), allowed=(0, 1, 3))
                statuses.append((done.returncode, done.stderr.splitlines()[-1:]
                                 if done.returncode == 1 else ""))
                version = store / "m" / "1"
                models.append(model_text(version) if version.exists() else None)
            self.check(f"model of {name}", models[0] == models[1],
                       "" if models[0] else f"(none: {statuses[0]})")
            if models[0] is None:
                self.failures.append(f"{name} trained nothing")

    def serve(self, build, model_store, action, log_dir, data, seed):
        folder = self.bins[build]
        port_file = log_dir / "port"
        log_dir.mkdir(parents=True)
        with (log_dir / "server.log").open("w") as errors:
            server = subprocess.Popen(
                [folder / "sortition-server", "--listen=127.0.0.1:0",
                 "--metrics_listen=127.0.0.1:0", f"--model_store={model_store}",
                 f"--spool.dir={log_dir}/spool", f"--port_file={port_file}",
                 "--default_model=m"], stderr=errors)
        try:
            deadline = time.monotonic() + 20
            while not (port_file.exists() and "rpc" in port_file.read_text()):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the server of {build} does not serve")
                time.sleep(0.05)
            ports = dict(line.split()[:2] for line in port_file.read_text().splitlines())
            run(folder / "sortition", "simulate", f"--server=127.0.0.1:{ports['rpc']}",
                f"--data={data}", f"--action={action}", "--model=m",
                "--decisions=3000", f"--seed={seed}")
        finally:
            server.terminate()
            server.wait(timeout=30)
        with (log_dir / "sidecar.log").open("w") as errors:
            sidecar = subprocess.Popen(
                [folder / "sortition-sidecar", f"--spool={log_dir}/spool",
                 f"--tuples={log_dir}/tuples", "--reward_wait_time_seconds=1",
                 "--slack_seconds=0.1", "--metrics_listen=127.0.0.1:0",
                 "--no-delete_spool"], stderr=errors)
        try:
            deadline = time.monotonic() + 60
            while self.count(folder, log_dir / "tuples") < 3000:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the sidecar of {build} joins nothing")
                time.sleep(0.2)
        finally:
            sidecar.terminate()
            sidecar.wait(timeout=30)

    @staticmethod
    def count(folder, tuples):
        if not tuples.exists():
            return 0
        done = run(folder / "sortition", "log", "stats", str(tuples), "--output=json",
                   allowed=(0, 1))
        return json.loads(done.stdout)["tuples"] if done.returncode == 0 else 0

    def log_and_learn(self, action, policy, data):
        """Both builds serve the same model; each verifies and learns from both logs."""
        for writer in self.bins:
            store = self.work / writer / "labelled" / policy
            logs = self.work / writer / "logs" / policy
            self.serve(writer, store, action, logs, data, seed=len(policy))
            for reader, folder in self.bins.items():
                for part in ("spool", "tuples"):
                    done = run(folder / "sortition", "log", "verify",
                               str(logs / part), f"--model_store={store}",
                               "--output=json", allowed=(0, 1, 2))
                    self.check(f"{policy}: {part} of {writer} verified by {reader}",
                               done.returncode == 0, done.stdout.strip()[:150])
            objectives = COUNTERFACTUAL if action == "select" else COUNTERFACTUAL[:2]
            for name, options in objectives:
                models = []
                for reader, folder in self.bins.items():
                    target = (self.work / reader / "learned" /
                              f"{policy}_{writer}_{name}")
                    target.mkdir(parents=True)
                    subprocess.run(["cp", "-r", f"{store}/m", target], check=True)
                    done = run(folder / "sortition-trainer", "train", "--model=m",
                               f"--tuples={logs}/tuples", f"--model_store={target}",
                               "--force", *options.split(), allowed=(0, 1, 3))
                    version = target / "m" / "2"
                    models.append(model_text(version) if version.exists()
                                  else done.stderr.splitlines()[-1:])
                self.check(f"{policy}: {name} from the tuples of {writer}",
                           models[0] == models[1],
                           "" if isinstance(models[0], str) else str(models[0])[:150])

    def other_commands(self, data, policy):
        """fit, convert, calibrate and cluster."""
        for action in ("select", "rank"):
            models = []
            for build, folder in self.bins.items():
                store = self.work / build / f"fit_{action}"
                run(folder / "sortition-trainer", "fit", f"--data={data}",
                    f"--model_store={store}", "--model=m", f"--action={action}")
                models.append(model_text(store / "m" / "1"))
            self.check(f"model of fit, {action}", models[0] == models[1])
        labels = self.work / "labels.svm"
        random = Random(1)
        with labels.open("w") as file:
            for _ in range(200):
                x = [random.gauss(0, 1) for _ in range(5)]
                chosen = [str(l) for l in range(3) if x[l] + random.gauss(0, 1) > 0]
                features = " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(x))
                file.write(f"{','.join(chosen)} {features}\n")
        for name, options in COUNTERFACTUAL:
            models = []
            for build, folder in self.bins.items():
                store = self.work / build / f"labels_{name}"
                run(folder / "sortition-trainer", "convert", f"--data={labels}",
                    f"--output={store}/tuples", f"--model_store={store}", "--model=m")
                run(folder / "sortition-trainer", "train", f"--tuples={store}/tuples",
                    f"--model_store={store}", "--model=m", "--action=labels", "--force",
                    *options.split())
                models.append([model_text(store / "m" / v) for v in ("1", "2")])
            self.check(f"models of convert and train --action=labels, {name}",
                       models[0] == models[1])
        logs = self.work / "before" / "logs" / policy / "tuples"
        texts = []
        for build, folder in self.bins.items():
            done = run(folder / "sortition-trainer", "calibrate", f"--tuples={logs}",
                       f"--model_store={self.work}/before/labelled/{policy}",
                       "--model=m", allowed=(0, 1))
            picture = self.work / build / "sources.svg"
            run(folder / "sortition-trainer", "cluster", f"--tuples={logs}",
                "--model=m", "--of=sources", f"--picture={picture}")
            numbers = [float(n) for n in re.findall(r"-?\d+\.\d+", done.stdout)]
            texts.append((numbers, picture.read_bytes()))
        self.check("figures of calibrate", texts[0][0] == texts[1][0] and texts[0][0])
        self.check("picture of cluster", texts[0][1] == texts[1][1])

    def compare_help(self):
        lines = []
        for program, commands in COMMANDS.items():
            for command in commands:
                texts = [run(folder / program, *command.split(), "--help",
                             allowed=(0, 1, 2)).stdout.splitlines()
                         for folder in self.bins.values()]
                lines += difflib.unified_diff(*texts, *[
                    f"{build} {program} {command}" for build in self.bins], lineterm="")
        (self.work / "help.diff").write_text("\n".join(lines) + "\n")
        print(f"lines of help.diff: {len(lines)}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    before, after, work = (pathlib.Path(each).resolve() for each in sys.argv[1:])
    work.mkdir(parents=True)
    both = Comparison({"before": before, "after": after}, work)
    both.compare_help()
    data = work / "world.letor"
    for folder in both.bins.values():
        text = data.read_bytes() if data.exists() else None
        run(folder / "sortition", "world", f"--output={data}", "--world.queries=120",
            "--world.features=8", "--world.max_candidates=12")
        both.check("the built-in world", text is None or text == data.read_bytes())
    both.train_labelled(data)
    for action, policy in (("select", "listnet_select"), ("rank", "ranksvm_pairs"),
                           ("rank", "mpg_dcg"), ("rank", "crf_kullback_leibler"),
                           ("label", "mpg_precision"), ("label", "mpg_f_beta")):
        both.log_and_learn(action, policy, data)
    both.other_commands(data, "listnet_select")
    print(f"{both.passed} the same, {len(both.failures)} different")
    sys.exit(1 if both.failures else 0)


if __name__ == "__main__":
    main()
