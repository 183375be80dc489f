#!/usr/bin/env python3
"""Writes the dashboards of deploy/grafana from tools/dashboards.

usage: make_dashboards.py [--check]

--check writes nothing and fails where a file is not what would be written.
"""
import json
import pathlib
import sys

from dashboards import learning, log, serving

FOLDER = pathlib.Path(__file__).parent.parent / "deploy/grafana/dashboards"


def text_of(value, indent=""):
    """JSON with what is short on one line."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent + short) <= 100 or not isinstance(value, (dict, list)):
        return short
    inner = indent + " "
    if isinstance(value, list):
        items, (begin, end) = [text_of(each, inner) for each in value], "[]"
    else:
        items = [f"{json.dumps(key)}: {text_of(each, inner)}" for key, each in value.items()]
        begin, end = "{}"
    return f"{begin}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{end}"


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = []
    for module in (serving, log, learning):
        path = FOLDER / f"{module.__name__.split('.')[-1]}.json"
        text = text_of(module.DASHBOARD) + "\n"
        if not arguments:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what tools/make_dashboards.py writes; run it")


if __name__ == "__main__":
    main(sys.argv[1:])
