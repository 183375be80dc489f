#!/usr/bin/env python3
"""Makes the changelog that each Debian package has.

usage: make_changelogs.py --output DIR --release VERSION --maintainer NAME

Writes OUTPUT/PACKAGE/changelog.gz. Their time is SOURCE_DATE_EPOCH.
"""

import argparse
import gzip
import os
from email.utils import formatdate
from pathlib import Path

PACKAGES = (
    "sortition",
    "sortition-server",
    "sortition-sidecar",
    "sortition-trainer",
    "sortition-dev",
    "python3-sortition",
)

TEXT = """sortition ({release}) unstable; urgency=medium

  * Release {release}. CHANGELOG.md of the sources says what has changed.

 -- {maintainer}  {time}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, required=True, help="folder")
    parser.add_argument("--release", required=True, help="version of the packages")
    parser.add_argument("--maintainer", required=True, help="name and address")
    given = parser.parse_args()
    time = formatdate(int(os.environ["SOURCE_DATE_EPOCH"]))
    text = TEXT.format(release=given.release, maintainer=given.maintainer, time=time)
    for package in PACKAGES:
        path = given.output / package / "changelog.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
