#!/usr/bin/env python3
"""Packs the client for Node as `npm pack` does, without npm: files of package.json, and protos.

usage: node_archive.py --sources DIR --output FILE

The same sources give the same bytes; the time of all files is SOURCE_DATE_EPOCH.
"""

import argparse
import gzip
import io
import json
import os
import re
import tarfile
from pathlib import Path


def packed_files(sources: Path) -> dict[str, Path]:
    """Returns the files of the package by their names in it."""
    client = sources / "client/node"
    names = ["package.json", *json.loads((client / "package.json").read_text())["files"]]
    files: dict[str, Path] = {}
    for name in names:
        path = client / name
        if name == "proto":
            # Those that npm would copy there.
            copied = re.findall(r"'([\w/]+\.proto)'", (client / "copy_protos.mjs").read_text())
            files.update({f"proto/{proto}": sources / "proto" / proto for proto in copied})
        elif path.is_dir():
            inside = (file for file in path.rglob("*") if file.is_file())
            files.update({str(file.relative_to(client)): file for file in inside})
        else:
            files[name] = path
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, required=True, help="root of the sources")
    parser.add_argument("--output", type=Path, required=True, help="the archive, *.tgz")
    given = parser.parse_args()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in sorted(packed_files(given.sources).items()):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = path.stat().st_size
            entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
            with path.open("rb") as file:
                archive.addfile(entry, file)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_bytes(gzip.compress(packed.getvalue(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
