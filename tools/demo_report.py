#!/usr/bin/env python3
"""Reads the reports of a demo run.

usage: demo_report.py answered REPORT ...     prints the number of answered decisions
       demo_report.py logged --port-file FILE --at-least N
                                              succeeds if the server has logged N records
       demo_report.py table --dir DIR --seconds S [--max-seconds M] [--chaos]
                                              prints the result, exit status 1 on a MISS
       demo_report.py step REPORT             prints what a step of a rollout found
       demo_report.py outcome REPORT          prints what has become of a rollout
       demo_report.py rollout --dir DIR --seconds S REPORT ...
                                              prints the result of a demo of rollouts
       demo_report.py worth --url URL --save FILE --version V
                                              saves the status of a server; succeeds if it
                                              knows what version V is worth
       demo_report.py page FILE               prints what versions 0 and 1 were worth, exit
                                              status 1 if the reward did not rise
"""
import argparse
import json
import pathlib
import re
import sys
import urllib.request

MIN_IMPROVEMENT = 0.15
MAX_ROLLOUT_SECONDS = 120


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def answered(reports):
    return sum(report["decisions"] for report in reports)


def version_mean(report, version):
    for model in report["models"]:
        if model["version"] == version:
            return model["mean_reward"]
    sys.exit(f"demo: version {version} answered nothing")


def interval(estimate):
    return float(estimate["lower"]), float(estimate["upper"])


def interval_text(estimate):
    return "[{:.4f}, {:.4f}]".format(*interval(estimate))


def logged(port_file):
    ports = dict(line.split() for line in port_file.read_text().splitlines())
    url = f"http://127.0.0.1:{ports['metrics']}/metrics"
    with urllib.request.urlopen(url, timeout=5) as reply:
        found = re.findall(r"^sortition_spool_records_total\S* (\S+)$",
                           reply.read().decode(), re.MULTILINE)
    return sum(map(float, found))


def recoveries(directory):
    """Number of segments whose writer had died, and of the bytes cut from them."""
    log = (directory / "logs" / "sidecar.log").read_text()
    found = re.findall(r"recovered spool segment.*\"torn_bytes\":\"(\d+)\"", log)
    return len(found), sum(map(int, found))


def table(directory, seconds, max_seconds, chaos):
    before, during, after, log, train, verify = (
        read(directory / "reports" / f"{name}.json")
        for name in ("before", "during", "after", "log", "train", "verify"))
    phases = [before, during, after]
    evaluation = train["evaluation"]
    old, new = version_mean(before, 1), version_mean(after, 2)
    low, high = interval(evaluation["ips_reward"])
    # In the chaos run requests may fail while the server is down; an unanswered
    # one may have been logged before the answer was lost.
    failed_while_down = before["failed"] if chaos else 0
    failed = sum(report["failed"] for report in phases) - failed_while_down
    missing = max(0, answered(phases) - log["distinct_decision_ids"])
    improvement = new / old - 1 if old > 0 else 0
    rows = [
        ("logging policy, measured reward", f"{old:.4f}", True),
        ("new policy, off-policy estimate",
         f"{float(evaluation['ips_reward']['value']):.4f}", True),
        ("  95 % interval", f"[{low:.4f}, {high:.4f}]", True),
        ("new policy, measured reward after the swap", f"{new:.4f}", True),
        ("  inside the interval", str(low <= new <= high), low <= new <= high),
        ("  improvement", f"{improvement:+.1%}", improvement >= MIN_IMPROVEMENT),
        ("improvement per decision, the gate's interval",
         interval_text(evaluation["improvement"]), True),
        ("  as the gate was: clipped, by decision",
         interval_text(evaluation["clipped_improvement"]), True),
        ("decisions answered", str(answered(phases)), True),
        ("requests failed", str(failed), failed == 0),
        ("decisions missing from the log", str(missing), missing == 0),
        ("decisions twice in the log", str(log["duplicate_decision_ids"]),
         log["duplicate_decision_ids"] == 0),
        ("corrupt records", str(log["corrupt_records"]), log["corrupt_records"] == 0),
        ("decisions verified bit for bit", str(verify["verified"]),
         verify["verified"] == log["tuples"] and verify["different"] == 0),
        ("seconds", str(seconds), chaos or seconds < max_seconds),
    ]
    if chaos:
        count, torn_bytes = recoveries(directory)
        rows += [
            ("requests failed while the server was down", str(failed_while_down), True),
            ("segments recovered after kill -9", str(count), count > 0),
            ("  torn bytes cut from them", str(torn_bytes), torn_bytes > 0),
        ]
    return print_rows(rows)


def rollout_table(directory, seconds, batches):
    promotion, regression, log, verify = (
        read(directory / "reports" / f"{name}.json")
        for name in ("promotion", "regression", "log", "verify"))
    batches = [read(path) for path in batches]
    failed = sum(batch["failed"] for batch in batches)
    missing = max(0, answered(batches) - log["distinct_decision_ids"])
    rows = [
        (f"version {promotion['canary_version']}, better", promotion["outcome"],
         promotion["outcome"] == "DONE"),
        (f"version {regression['canary_version']}, worse", regression["outcome"],
         regression["outcome"] == "BACK"),
        ("decisions answered", str(answered(batches)), True),
        ("requests failed", str(failed), failed == 0),
        ("decisions missing from the log", str(missing), missing == 0),
        ("decisions verified bit for bit", str(verify["verified"]),
         verify["verified"] == log["tuples"] and verify["different"] == 0),
        ("seconds", str(seconds), seconds < MAX_ROLLOUT_SECONDS),
    ]
    return print_rows(rows)


def worths(status):
    """What each version was worth, where there is an interval."""
    return {worth["version"]: worth for worth in status.get("sidecar", {}).get("worths", [])
            if worth.get("reward", {}).get("confidence", 0) > 0}


def save_status(url, path):
    with urllib.request.urlopen(f"{url}/status.json?history=0", timeout=5) as reply:
        status = reply.read()
    # Whole or not at all: Ctrl-C may come at any time.
    draft = path.with_suffix(".draft")
    draft.write_bytes(status)
    draft.replace(path)
    return json.loads(status)


def page_table(status):
    known = worths(status)
    if not {"0", "1"} <= known.keys():
        print("the new version has no rewards yet")
        return 1
    before, after = (known[version]["reward"] for version in "01")
    rows = [row for name, version, estimate in (("at random", "0", before), ("learned", "1", after))
            for row in ((f"version {version}, {name}: reward", f"{estimate['value']:.4f}", True),
                        ("  95 % interval", interval_text(estimate), True),
                        ("  decisions", known[version]["tuples"], True))]
    # Neither interval holds a value of the other.
    rose = after["lower"] > before["upper"]
    return print_rows(rows + [("the reward rose", str(rose), rose)])


def print_rows(rows):
    for name, value, good in rows:
        print(f"{name:<46}{value:>20}  {'' if good else 'MISS'}")
    return 0 if all(good for _, _, good in rows) else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("answered").add_argument("report", nargs="+")
    logged_parser = commands.add_parser("logged")
    logged_parser.add_argument("--port-file", type=pathlib.Path, required=True)
    logged_parser.add_argument("--at-least", type=int, required=True)
    table_parser = commands.add_parser("table")
    table_parser.add_argument("--dir", type=pathlib.Path, required=True)
    table_parser.add_argument("--seconds", type=int, required=True)
    table_parser.add_argument("--max-seconds", type=int, default=90)
    table_parser.add_argument("--chaos", action=argparse.BooleanOptionalAction,
                              default=False)
    commands.add_parser("step").add_argument("report")
    commands.add_parser("outcome").add_argument("report")
    rollout_parser = commands.add_parser("rollout")
    rollout_parser.add_argument("--dir", type=pathlib.Path, required=True)
    rollout_parser.add_argument("--seconds", type=int, required=True)
    rollout_parser.add_argument("report", nargs="+")
    worth_parser = commands.add_parser("worth")
    worth_parser.add_argument("--url", required=True)
    worth_parser.add_argument("--save", type=pathlib.Path, required=True)
    worth_parser.add_argument("--version", required=True)
    commands.add_parser("page").add_argument("status", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "answered":
        print(answered([read(path) for path in arguments.report]))
        return 0
    if arguments.command == "logged":
        return 0 if logged(arguments.port_file) >= arguments.at_least else 1
    if arguments.command == "step":
        print(read(arguments.report)["step"]["sentence"])
        return 0
    if arguments.command == "outcome":
        print(read(arguments.report)["outcome"])
        return 0
    if arguments.command == "rollout":
        return rollout_table(arguments.dir, arguments.seconds, arguments.report)
    if arguments.command == "worth":
        status = save_status(arguments.url, arguments.save)
        return 0 if arguments.version in worths(status) else 1
    if arguments.command == "page":
        return page_table(read(arguments.status))
    return table(arguments.dir, arguments.seconds, arguments.max_seconds,
                 arguments.chaos)


if __name__ == "__main__":
    sys.exit(main())
