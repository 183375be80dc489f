#!/usr/bin/env python3
"""Prints the end of a test run: its slowest and its failed tests, what was skipped and how to run it.

usage: summarize_tests.py JUNIT_FILE [--left-out=GROUP|GROUP...] [--forbid-skips]

Exits with 1 if a test was skipped and --forbid-skips is given. Tests that are skipped print
"skipped: REASON; COMMAND"; GoogleTest prints the same for single cases.
"""
import argparse
import re
import sys
import xml.etree.ElementTree


def skip_reasons(output):
    """Returns the reasons that the output of a test states, each once."""
    reasons = re.findall(r"skipped: (.*)", output)
    return list(dict.fromkeys(reason.strip() for reason in reasons))


def read_cases(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    for case in root.iter("testcase"):
        yield case.get("name"), case.get("status"), float(case.get("time") or 0), \
            case.findtext("system-out") or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--left-out", default="", help="groups of tests that did not run")
    parser.add_argument("--forbid-skips", action="store_true")
    options = parser.parse_args()

    failed, skips, times = [], [], []
    for name, status, seconds, output in read_cases(options.file):
        times.append((seconds, name))
        if status == "fail":
            failed.append(name)
        elif status != "run":
            skips.append((name, skip_reasons(output) or ["no reason given"]))
        else:
            # Single cases of a suite that ran.
            cases = re.findall(r"\[  SKIPPED \] (\S+) \(", output)
            if cases:
                skips.append((", ".join(cases), skip_reasons(output) or ["no reason given"]))

    slowest = ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(times)[:-6:-1])
    print(f"slowest: {slowest}")
    for name in failed:
        print(f"FAILED   {name}")
    for name, reasons in skips:
        for reason in reasons:
            print(f"skipped  {name}: {reason}")
    for group in filter(None, options.left_out.split("|")):
        option = "--long" if group == "long" else f"--with {group}"
        print(f"left out the group {group}; to run it: ./dev test {option}")
    print(f"{len(times) - len(failed) - len(skips)} passed, {len(failed)} failed, {len(skips)} skipped")
    if failed:
        print("to run the failed tests again: ./dev test --failed")
    if skips and options.forbid_skips:
        print("a skipped test of the default set is a failure here")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
