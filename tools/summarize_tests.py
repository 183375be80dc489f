#!/usr/bin/env python3
"""Prints the end of a test run: the slowest and the failed tests, what was skipped and how to run it.

usage: summarize_tests.py FOLDER [--left-out='GROUP ...'] [--forbid-skips]
       summarize_tests.py FOLDER --list-failed

FOLDER has one JUnit file of ctest for each run. Exits with 1 if a test was skipped and
--forbid-skips is given. Tests that are skipped, and single cases of GoogleTest, print
"skipped: REASON; COMMAND". --list-failed prints the names of failed tests only.
"""
import argparse
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree


def skip_reasons(output):
    """Returns the reasons that the output of a test states, each once."""
    reasons = dict.fromkeys(reason.strip() for reason in re.findall(r"skipped: (.*)", output))
    return list(reasons) or ["no reason given"]


class Run:
    """The results of one run."""

    def __init__(self, path):
        self.number = int(path.stem)
        self.num_tests = 0
        self.seconds = []  # (seconds, name)
        self.failed = []
        self.skipped = []  # (name, reasons)
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            self._add(case)

    def _add(self, case):
        name, output = case.get("name"), case.findtext("system-out") or ""
        self.num_tests += 1
        self.seconds.append((float(case.get("time") or 0), name))
        # ctest calls a program that it cannot start "notrun", too.
        skip = case.find("skipped")
        if skip is not None and (skip.get("message") or "").startswith("SKIP_"):
            self.skipped.append((name, skip_reasons(output)))
        elif case.get("status") not in ("run", "disabled"):
            self.failed.append(name)
        else:
            cases = re.findall(r"^\[  SKIPPED \] (\S+) \(", output, re.MULTILINE)
            if cases:
                self.skipped.append((", ".join(cases), skip_reasons(output)))


def print_summary(runs, left_out):
    last = runs[-1]
    slowest = sorted(last.seconds, reverse=True)[:5]
    print("slowest: " + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in slowest))
    failed = collections.defaultdict(list)
    for run in runs:
        for name in run.failed:
            failed[name].append(run.number)
    for name, numbers in sorted(failed.items()):
        print(f"FAILED   {name}" + (f" in runs {numbers} of {len(runs)}" if len(runs) > 1 else ""))
    for name, reasons in last.skipped:
        for reason in reasons:
            print(f"skipped  {name}: {reason}")
    for group in left_out:
        option = "--long" if group == "long" else f"--with {group}"
        print(f"left out the group {group}; to run it: ./dev test {option}")
    num_passed = last.num_tests - len(last.failed) - len(last.skipped)
    print(f"{num_passed} passed, {len(last.failed)} failed, {len(last.skipped)} skipped")
    if failed:
        print("to run the failed tests again: ./dev test --failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--left-out", default="", help="groups of tests that did not run")
    parser.add_argument("--forbid-skips", action="store_true")
    parser.add_argument("--list-failed", action="store_true")
    options = parser.parse_args()
    runs = [Run(path) for path in sorted(options.folder.glob("*.xml"))]
    if options.list_failed:
        for name in sorted({name for run in runs for name in run.failed}):
            print(name)
        return 0
    if not runs:
        print("ctest left no results")
        return 1
    print_summary(runs, options.left_out.split())
    if runs[-1].skipped and options.forbid_skips:
        print("a skipped test of the default set is a failure in CI")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
