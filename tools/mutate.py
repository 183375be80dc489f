#!/usr/bin/env python3
"""Measures the power of the tests: breaks single lines of the product and counts how many are caught.

COPY is a clone of the project in which this script may change files, for example
  git clone . ../mutants && tools/mutate.py ../mutants --results=../before.jsonl
The mutants are compiled into the copy once, each behind a switch that the environment variable
SORTITION_MUTANT turns on. Every suite first runs without a mutant, which records its running time
and the mutants that it reaches. Then each mutant runs the suites that reach it, nearest folder
first, until one fails. A crash or a run of over 4 times the usual time + 10 s also counts as
caught. Suites that fail without a mutant are left out.

The results file has a JSON object per line for each mutant; a second call continues an interrupted
one. To measure again after tests were changed, with the same mutants:
  tools/mutate.py ../mutants --only-tests-changed=. --results=../after.jsonl \\
      --compare=../before.jsonl
Only C++ tests run, not those of Python, Node and the shell. Test programs run with a read-only
file system and in a process namespace of their own, because a mutant may remove or kill anything.
"""
import argparse
import collections
import concurrent.futures
import filecmp
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

from mutations import breakable_lines

ROOMS = ("core", "io", "process", "server", "sidecar", "trainer", "client")
SURPLUS = 1.3  # Mutants made for each mutant wanted: some do not compile.
MAX_MUTANTS = 4096
HEADER = "sortition_mutants.h"
HEADER_TEXT = """#pragma once
// Written by tools/mutate.py: the switch of the mutants of this copy.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
struct SortitionMutants {
  SortitionMutants() {
    if (const char* number = getenv("SORTITION_MUTANT")) active = atoi(number);
    const char* path = getenv("SORTITION_REACHED");
    const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void* bytes = mmap(nullptr, MAX_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes != MAP_FAILED) reached = static_cast<unsigned char*>(bytes);
    close(fd);
  }
  int active = -1;
  unsigned char* reached = nullptr;  // One byte for each mutant.
};
inline SortitionMutants sortition_mutants;
inline bool SortitionMutant(int number) {
  if (sortition_mutants.reached != nullptr && sortition_mutants.reached[number] == 0) {
    sortition_mutants.reached[number] = 1;
  }
  return number == sortition_mutants.active;
}
""".replace("MAX_MUTANTS", str(MAX_MUTANTS))
ISOLATED = """mount --bind "$SCRATCH" "$SCRATCH" && mount -o remount,bind,ro / &&
mount --bind "$SCRATCH/tmp" /tmp && mount -t tmpfs -o size=6g tmpfs /dev/shm || exit 99
ulimit -c 0; ulimit -d 6291456; cd /tmp; "$@" """


def git(copy, *arguments):
    return subprocess.run(["git", "-C", copy, *arguments], check=True, capture_output=True,
                          text=True).stdout


def choose(copy, folder, number, seed):
    """Returns mutants of random lines, with a surplus; rooms have a share by their lines."""
    generator = random.Random(seed)
    lines, found = collections.Counter(), collections.defaultdict(list)
    for path in git(copy, "ls-files", *(f"{room}/*.cc" for room in ROOMS)).split():
        if os.path.basename(path) == "main.cc" or not path.startswith(folder):
            continue
        text, room = git(copy, "show", f"HEAD:{path}"), path.split("/")[0]
        lines[room] += text.count("\n")
        for line, indentation, mutations in breakable_lines(text):
            kind, broken, switched = generator.choice(mutations)
            found[room].append({
                "file": path, "line": line, "room": room, "kind": kind, "before":
                text.split("\n")[line - 1].strip(), "after": broken, "text": indentation + switched,
                "dropped": False})
    mutants = []
    for room in ROOMS:
        quota = round(number * lines[room] / sum(lines.values()))
        picked = generator.sample(found[room], min(len(found[room]), int(quota * SURPLUS) + 2))
        for rank, mutant in enumerate(picked):
            mutants.append(mutant | {"number": len(mutants), "rank": rank, "quota": quota})
        if quota > 0:
            print(f"{room}: {len(found[room])} lines can be broken, {quota} wanted", flush=True)
    return mutants


def apply(copy, mutants):
    """Writes the sources with the switches of all mutants that were not dropped."""
    by_file = collections.defaultdict(list)
    for mutant in mutants:
        by_file[mutant["file"]].append(mutant)
    contents = {HEADER: HEADER_TEXT}
    for path, of_file in by_file.items():
        lines = git(copy, "show", f"HEAD:{path}").split("\n")
        for mutant in of_file:
            if not mutant["dropped"]:
                lines[mutant["line"] - 1] = mutant["text"] % {"n": mutant["number"]}
        contents[path] = f'#include "{HEADER}"\n#line 1\n' + "\n".join(lines)
    for path, content in contents.items():
        file = pathlib.Path(copy, path)
        if not file.exists() or file.read_text() != content:
            file.write_text(content)


def test_rooms(copy):
    """Returns the names of the test programs, without those that need another build."""
    found = set()
    for path in pathlib.Path(copy, "tests").glob("*/CMakeLists.txt"):
        found |= set(re.findall(r"^\s*sortition_test_room\((\w+)", path.read_text(), re.MULTILINE))
    return sorted(found - {"integration"})


def build(copy, rooms, jobs):
    """Builds the test programs and what they run; returns the compiler's output if it fails."""
    folder = os.path.join(copy, "build/dev")
    subprocess.run(["cmake", "--preset", "dev", "-DSORTITION_WERROR=OFF"], cwd=copy, check=True,
                   stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", folder, "-k", "0", "-j", str(jobs),
                           *(f"test_{room}" for room in rooms)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def build_mutants(copy, mutants, rooms, jobs):
    """Builds the copy; drops the mutants that do not compile."""
    for _ in range(8):
        apply(copy, mutants)
        output = build(copy, rooms, jobs)
        if not output:
            return
        at = {(os.path.join(os.path.realpath(copy), m["file"]), m["line"]): m for m in mutants
              if not m["dropped"]}
        bad = []
        for pattern in (r"^([^\s:]+):(\d+):\d+: (?:fatal )?error:", r"([^\s:]+):(\d+):"):
            places = {(os.path.realpath(os.path.join(copy, "build/dev", path)), int(line))
                      for path, line in re.findall(pattern, output, re.MULTILINE)}
            bad = bad or [at[place] for place in places if place in at]
        for mutant in bad:
            mutant["dropped"] = True
            print(f"does not compile: {mutant['file']}:{mutant['line']} {mutant['before']}", flush=True)
        if not bad:
            sys.exit("the copy does not build:\n" + output[-5000:])
    sys.exit("mutants still do not compile after 8 rounds")


class Runner:
    """Runs suites in isolation, each thread in its own scratch folder."""

    def __init__(self, copy):
        self.copy = copy
        self.unshare = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
        if os.geteuid() != 0:
            self.unshare.append("--map-root-user")

    def run(self, suite, limit, mutant=None):
        """Returns (how it failed or "", seconds, numbers of the mutants reached)."""
        scratch = pathlib.Path(self.copy, "build/mutants", str(threading.get_ident()))
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "tmp").mkdir(parents=True)
        (scratch / "reached").write_bytes(bytes(MAX_MUTANTS))
        environment = os.environ | {
            "SORTITION_BIN": os.path.join(self.copy, "build/dev/bin"), "SORTITION_PATIENCE": "1",
            "SCRATCH": str(scratch), "TMPDIR": "/tmp"}
        environment |= ({"SORTITION_REACHED": str(scratch / "reached")} if mutant is None
                        else {"SORTITION_MUTANT": str(mutant)})
        command = [*self.unshare, "sh", "-c", ISOLATED, "sh",
                   os.path.join(self.copy, "build/dev/tests", suite["program"]),
                   f"--gtest_filter={suite['filter']}", "--gtest_fail_fast", "--gtest_color=no"]
        start = time.monotonic()
        with open(scratch / "output", "w", encoding="utf-8") as output:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT)
            try:
                status = process.wait(limit)
                how = {0: "", 1: "failed", 99: "cannot isolate"}.get(status, f"exit status {status}")
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                how = "timeout"
        reached = [n for n, byte in enumerate((scratch / "reached").read_bytes()) if byte]
        if how == "cannot isolate":
            sys.exit("cannot isolate the test programs: " + (scratch / "output").read_text())
        return how, round(time.monotonic() - start, 2), reached


def list_suites(copy, rooms):
    """Returns the suites of all test programs, each with the folder of its first case."""
    suites = []
    tests = os.path.realpath(os.path.join(copy, "tests"))
    for room in rooms:
        program = pathlib.Path(copy, "build/dev/tests", f"test_{room}")
        cases = pathlib.Path(copy, "build/mutants", program.name + ".json")
        cases.parent.mkdir(exist_ok=True)
        subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{cases}"], check=True,
                       stdout=subprocess.DEVNULL)
        for suite in json.loads(cases.read_text())["testsuites"]:
            folder = os.path.relpath(os.path.dirname(suite["testsuite"][0]["file"]), tests)
            suites.append({"name": f"{room}.{suite['name']}", "program": program.name,
                           "filter": suite["name"] + ".*",
                           "folder": room if folder.startswith("..") else folder})
    return suites


def read_lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")] if os.path.exists(path) else []


def write_json(path, value):
    pathlib.Path(path).write_text(json.dumps(value, indent=1) + "\n")


def append(path, lock, value):
    with lock, open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def measure_suites(runner, path, rooms, jobs):
    """Runs every suite without a mutant; returns those that pass."""
    done, lock = {suite["name"]: suite for suite in read_lines(path)}, threading.Lock()

    def measure(suite):
        how, seconds, reached = runner.run(suite, 900)
        if how:
            how, seconds, reached = runner.run(suite, 900)
            print(f"without a mutant, {suite['name']}: {how or 'flaked'}", flush=True)
            how = how or "flaked"
        suite |= {"failure": how, "seconds": seconds, "reached": reached}
        append(path, lock, suite)
        return suite

    suites = list_suites(runner.copy, rooms)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(measure, [s for s in suites if s["name"] not in done]))
    done = read_lines(path)
    print(f"{len(done)} suites, {sum(s['seconds'] for s in done):.0f} s without a mutant; left out: "
          + (", ".join(s["name"] for s in done if s["failure"]) or "none"), flush=True)
    return [suite for suite in done if not suite["failure"]]


def distance(suite, mutant):
    """Orders suites: those of the mutant's folder, those of its room, others."""
    folder = os.path.dirname(mutant["file"])
    return 0 if suite["folder"] == folder else 1 if suite["folder"].split("/")[0] == mutant["room"] else 2


def try_mutant(runner, mutant, suites, budget):
    """Runs suites that reach the mutant until one fails twice; returns the result."""
    near = sorted((s for s in suites if mutant["number"] in s["reached"]),
                  key=lambda suite: (distance(suite, mutant), suite["seconds"]))
    result = {key: mutant[key] for key in ("number", "room", "file", "line", "kind", "before", "after")}
    start, spent = time.monotonic(), 0.0
    result |= {"reaching": len(near), "run": 0, "caught": None, "how": ""}
    for suite in near:
        if result["run"] > 0 and spent + suite["seconds"] > budget:
            continue
        spent += suite["seconds"]
        result["run"] += 1
        limit = 4 * suite["seconds"] + 10
        how = runner.run(suite, limit, mutant["number"])[0]
        if how == "timeout" or how and runner.run(suite, limit, mutant["number"])[0]:
            result |= {"caught": suite["name"], "how": how}
            break
    return result | {"seconds": round(time.monotonic() - start, 1)}


def report(results, earlier):
    print(f"{'room':<10}{'mutants':>8}{'caught':>8}{'survived':>10}{'of these not reached':>22}")
    for room in (*sorted({r["room"] for r in results}, key=ROOMS.index), ""):
        of_room = [r for r in results if r["room"] == room or not room]
        survivors = [r for r in of_room if not r["caught"]]
        print(f"{room or 'all':<10}{len(of_room):>8}{len(of_room) - len(survivors):>8}{len(survivors):>10}"
              f"{sum(not r['reaching'] for r in survivors):>22}")
    before = {r["number"]: r["caught"] for r in earlier}
    for r in sorted(results, key=lambda r: (r["file"], r["line"])):
        if not r["caught"]:
            lost = f"; caught before by {before[r['number']]}" if before.get(r["number"]) else ""
            print(f"survived {r['run']} of {r['reaching']} suites{lost}: {r['file']}:{r['line']} [{r['kind']}]"
                  f" {r['before']}" + (f"  ->  {r['after']}" if r["after"] else ""))
    now = {r["number"]: r["caught"] for r in results}
    if earlier:
        print(f"caught before and now {sum(bool(now.get(n) and c) for n, c in before.items())}, only before "
              f"{sum(bool(c and n in now and not now[n]) for n, c in before.items())}, only now "
              f"{sum(bool(c and not before.get(n)) for n, c in now.items() if n in before)}")


def copy_tests(tree, copy):
    """Makes the copy equal to the working tree, except for the product's sources that the copy has."""
    def files(folder):
        listed = git(folder, "ls-files", "--cached", "--others", "--exclude-standard").split("\n")
        return {path for path in listed if os.path.isfile(os.path.join(folder, path))}

    def is_product(path):
        return path.split("/")[0] in ROOMS and path.endswith((".cc", ".h"))

    wanted, present = files(tree), files(copy)
    for path in present - wanted - {"mutants.json", HEADER}:
        if not is_product(path):
            os.remove(os.path.join(copy, path))
    for path in wanted:
        source, target = os.path.join(tree, path), os.path.join(copy, path)
        if path in present and (is_product(path) or filecmp.cmp(source, target, shallow=False)):
            continue  # An unchanged file is not compiled again.
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copy", help="clone of the project, not below /tmp; its sources are changed")
    parser.add_argument("--results", required=True, help="file of the results, continued if it exists; "
                        "the measured suites are beside it, in RESULTS.suites")
    parser.add_argument("--number", type=int, default=200, help="mutants (default 200)")
    parser.add_argument("--seed", type=int, default=40, help="seed of the random choice (default 40)")
    parser.add_argument("--jobs", type=int, default=2, help="parallel runs and compilers (default 2)")
    parser.add_argument("--budget", type=float, default=60, help="usual seconds of the suites that a mutant "
                        "runs, at most, the first suite apart (default 60)")
    parser.add_argument("--folder", default="", help="break lines of this folder only, such as core/base")
    parser.add_argument("--tests", help="rooms whose tests run, such as core,io "
                        "(default: all but integration, which is slow)")
    parser.add_argument("--only-tests-changed", metavar="TREE", help="copy all but the product's sources from "
                        "this working tree; skipped when the file of results has begun")
    parser.add_argument("--compare", metavar="RESULTS", help="earlier results to compare with")
    options = parser.parse_args()
    copy = os.path.realpath(options.copy)
    if options.number * SURPLUS > MAX_MUTANTS - 2 * len(ROOMS):
        parser.error("--number: at most 3000")
    if copy.startswith(("/tmp/", "/dev/shm/")) or pathlib.Path(__file__).resolve().is_relative_to(copy):
        parser.error(f"{copy}: must be a clone outside /tmp, and not the tree of this script")
    os.nice(10)
    rooms = options.tests.split(",") if options.tests else test_rooms(copy)
    chosen, suites_path = os.path.join(copy, "mutants.json"), options.results + ".suites"
    if not os.path.exists(chosen):
        if git(copy, "status", "--porcelain", "--untracked-files=no"):
            parser.error(f"{copy} has changes that are not committed")
        write_json(chosen, choose(copy, options.folder, options.number, options.seed))
    mutants = json.loads(pathlib.Path(chosen).read_text())
    if not os.path.exists(suites_path):
        if options.only_tests_changed:
            copy_tests(options.only_tests_changed, copy)
        build_mutants(copy, mutants, rooms, options.jobs)
        write_json(chosen, mutants)
    kept = []
    for room in ROOMS:
        valid = [m for m in mutants if m["room"] == room and not m["dropped"]]
        kept += valid[:valid[0]["quota"]] if valid else []
    print(f"{len(mutants)} lines broken in {copy}, {sum(m['dropped'] for m in mutants)} of them did not "
          f"compile; {len(kept)} mutants run", flush=True)
    runner = Runner(copy)
    suites = measure_suites(runner, suites_path, rooms, options.jobs)
    done, lock = {r["number"] for r in read_lines(options.results)}, threading.Lock()

    def attempt(mutant):
        result = try_mutant(runner, mutant, suites, options.budget)
        append(options.results, lock, result)
        sys.stdout.write(f"{result['file']}:{result['line']} [{result['kind']}] "
                         f"{result['caught'] or 'SURVIVED'} {result['how']} {result['seconds']} s\n")
        sys.stdout.flush()

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(attempt, [m for m in kept if m["number"] not in done]))
    numbers = {m["number"] for m in kept}
    report([r for r in read_lines(options.results) if r["number"] in numbers],
           read_lines(options.compare) if options.compare else [])


if __name__ == "__main__":
    main()
