#!/usr/bin/env python3
"""Makes manual pages and completions for bash from what the programs print for --help, which comes
from the protos of their options.

usage: make_manual.py --programs DIR --output DIR --release VERSION

Writes OUTPUT/PROGRAM/man1/*.1.gz and OUTPUT/PROGRAM/completions/PROGRAM. The date of the
pages is SOURCE_DATE_EPOCH.
"""

import argparse
import gzip
import os
import shutil
from datetime import datetime, timezone
from pathlib import Path

import completion
import man_page
from help_text import Help, ask, commands, parse

SERVICES = {
    "sortition-server": "Decide at random and log every decision",
    "sortition-sidecar": "Join a log of decisions into bandit tuples",
}
TOOLS = {
    "sortition": "Ask a server, and work with its logs",
    "sortition-trainer": "Learn policies from logs, judge and publish them",
}


def write_page(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a name and a time in the header.
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def write_completion(folder: Path, program: str, helps: dict[str, Help]) -> None:
    path = folder / "completions" / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(completion.script(program, helps))


def make_service(program: str, binary: Path, folder: Path, release: str, date: str) -> None:
    text = parse(ask(binary))
    others = sorted({*SERVICES, *TOOLS} - {program})
    page = man_page.page(program, SERVICES[program], text, others, release, date)
    write_page(folder / "man1" / f"{program}.1.gz", page)
    write_completion(folder, program, {"-": text})


def make_tool(program: str, binary: Path, folder: Path, release: str, date: str) -> None:
    overview = ask(binary)
    listed = commands(overview)
    page = man_page.overview(program, TOOLS[program], overview, listed, release, date)
    write_page(folder / "man1" / f"{program}.1.gz", page)
    helps = {}
    for command, summary in listed.items():
        helps[command] = parse(ask(binary, *command.split()))
        name = f"{program} {command}"
        page = man_page.page(name, summary, helps[command], [program], release, date)
        write_page(folder / "man1" / f"{name.replace(' ', '-')}.1.gz", page)
    write_completion(folder, program, helps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=Path, required=True, help="folder of the programs")
    parser.add_argument("--output", type=Path, required=True, help="folder, which is replaced")
    parser.add_argument("--release", required=True, help="number of the release")
    given = parser.parse_args()
    date = f"{datetime.fromtimestamp(int(os.environ['SOURCE_DATE_EPOCH']), timezone.utc):%Y-%m-%d}"
    shutil.rmtree(given.output, ignore_errors=True)
    for makes, programs in ((make_service, SERVICES), (make_tool, TOOLS)):
        for program in programs:
            binary, folder = given.programs / program, given.output / program
            makes(program, binary, folder, given.release, date)


if __name__ == "__main__":
    main()
