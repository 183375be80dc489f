"""Writes one add_test() for each suite of a test program; ctest includes the result.

A process for each case would take longer to start than to run. Labels of a suite are its
room and the folders of its cases below tests/. A line of the file of needs, "ROOM.SUITE
PROPERTY VALUE ...", adds properties of ctest; "ROOM.SUITE LABELS LABEL ..." adds labels.
"""
import argparse
import json
import os
import subprocess
import tempfile

# Seconds after which a suite counts as hanging; the slowest suite takes 60 s with sanitizers. Far
# below the time limit of CI, so that CI reports the name of a hanging test.
TIMEOUT = 600


def list_cases(program):
    """Returns the suites of the program with their cases, as GoogleTest reports them."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "cases.json")
        subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{output}"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(output, encoding="utf-8") as file:
            return json.load(file)["testsuites"]


def read_needs(path):
    """Returns two dictionaries: properties and further labels of "ROOM.SUITE"."""
    properties, labels = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.partition("#")[0].split()
            if words and words[1] == "LABELS":
                labels.setdefault(words[0], []).extend(words[2:])
            elif words:
                properties.setdefault(words[0], []).extend(words[1:])
    return properties, labels


def suite_labels(suite, room, sources):
    """Returns the room and the folder of the suite. Two suites of one name would be merged."""
    folders = {os.path.relpath(os.path.dirname(os.path.realpath(case["file"])),
                               os.path.join(sources, "tests")) for case in suite["testsuite"]}
    # Cases of a typed suite may be reported with the line of a GoogleTest header.
    folders = sorted(folder for folder in folders if not folder.startswith(".."))
    if len(folders) > 1:
        raise SystemExit(f"suite {suite['name']} is in several folders: {', '.join(folders)}")
    return list(dict.fromkeys([room, *folders]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "room", "sources", "needs", "binaries", "patience", "output"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    sources = os.path.realpath(options.sources)
    properties, more_labels = read_needs(options.needs)
    lines = []
    suites = list_cases(options.program)
    if not suites:
        raise SystemExit(f"{options.program} has no suites")
    names = {f"{options.room}.{suite['name']}" for suite in suites}
    for name in set(properties) | set(more_labels):
        if name.startswith(options.room + ".") and name not in names:
            raise SystemExit(f"{options.needs} names {name}, which is no suite of {options.program}")
    for suite in suites:
        name = f"{options.room}.{suite['name']}"
        labels = ";".join(suite_labels(suite, options.room, sources) + more_labels.get(name, []))
        lines.append(f'add_test("{name}" "{options.program}" "--gtest_filter={suite["name"]}.*")')
        lines.append(
            f'set_tests_properties("{name}" PROPERTIES TIMEOUT {TIMEOUT} LABELS "{labels}" '
            f'ENVIRONMENT "SORTITION_BIN={options.binaries};SORTITION_PATIENCE={options.patience}" '
            + " ".join(properties.get(name, [])) + ")")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
