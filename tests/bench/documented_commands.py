#!/usr/bin/env python3
"""Checks that the commands of benchmarks in the documents can be typed.

usage: documented_commands.py SOURCES

Every `./dev bench NAME --flag` in the documents must name a benchmark and flags that the
sources of its folder, or those that all benchmarks share, define. `./dev bench` must list
each with a line that says what it shows.
"""
import pathlib
import re
import subprocess
import sys

DOCUMENTS = ("README.md", "bench/README.md", "docs/*.md")
COMMAND = re.compile(r"\./dev bench ([a-z][a-z_0-9]*)([^\n`]*)")
FLAG = re.compile(r"--([a-z][a-z_0-9]*)")
DEFINITION = re.compile(r"ABSL_FLAG\((?:[^,<]|<[^>]*>)+,\s*([a-z_0-9]+),")


def flags_of(folder: pathlib.Path) -> set[str]:
    """Returns the flags that the sources directly in this folder define."""
    found: set[str] = set()
    for source in folder.glob("*.cc"):
        for match in DEFINITION.finditer(source.read_text(encoding="utf-8")):
            found.add(match.group(1))
    return found


def main() -> int:
    sources = pathlib.Path(sys.argv[1]).resolve()
    folders = {
        path.stem.removeprefix("bench_"): path.parent
        for path in sources.glob("bench/**/bench_*.cc")
    }
    # Google Benchmark's own, in its programs.
    shared = flags_of(sources / "bench/support") | {"help", "benchmark_filter"}
    errors = []
    count = 0
    for pattern in DOCUMENTS:
        for document in sources.glob(pattern):
            text = document.read_text(encoding="utf-8").replace("\\\n", " ")
            for name, rest in COMMAND.findall(text):
                count += 1
                where = f"{document.relative_to(sources)}: ./dev bench {name}"
                if name not in folders:
                    errors.append(f"{where}: there is no such benchmark")
                    continue
                known = flags_of(folders[name]) | shared
                unknown = sorted(set(FLAG.findall(rest)) - known)
                errors += [f"{where}: there is no --{flag}" for flag in unknown]
    listing = subprocess.run([sources / "dev", "bench"], capture_output=True, text=True, check=True)
    for name in folders:
        if not re.search(rf"^  {name} +\S", listing.stdout, re.MULTILINE):
            errors.append(f"./dev bench lists {name} without what it shows: {listing.stderr}")
    print("\n".join(errors) or f"{count} commands of {len(folders)} benchmarks")
    return 1 if errors or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
