"""The archive of the client for Node: what npm would pack, and the same bytes twice.

usage: node_archive_test.py SOURCES [unittest options]
"""

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(sys.argv[1])


class NodeArchiveTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def pack(self, name: str) -> Path:
        packed = self.folder / name
        tool = SOURCES / "tools/packaging/node_archive.py"
        subprocess.run(
            [sys.executable, tool, "--sources", SOURCES, "--output", packed],
            env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"},
            check=True,
        )
        return packed

    def npm_pack(self, *options: str) -> dict:
        """Packs a copy of the sources, because a failure may leave files beside them."""
        tree = self.folder / "tree"
        if not tree.exists():
            ignore = shutil.ignore_patterns("node_modules", "proto", "*.tgz")
            shutil.copytree(SOURCES / "client/node", tree / "client/node", ignore=ignore)
            shutil.copytree(SOURCES / "proto", tree / "proto")
        shown = subprocess.run(
            ["npm", "pack", "--json", "--silent", *options],
            cwd=tree / "client/node",
            capture_output=True,
            check=True,
        )
        # Later versions of npm print what prepack prints first.
        (about,) = json.loads(shown.stdout[shown.stdout.index(b"[") :])
        return about

    def tree_files(self) -> dict[str, bytes]:
        tree = self.folder / "tree"
        files = (path for path in tree.rglob("*") if path.is_file())
        return {str(path.relative_to(tree)): path.read_bytes() for path in files}

    def test_packing_leaves_the_sources_as_they_were(self) -> None:
        self.npm_pack("--dry-run")
        before = self.tree_files()
        self.assertEqual([name for name in before if name.startswith("client/node/proto")], [])
        self.npm_pack(f"--pack-destination={self.folder}")
        self.assertEqual(self.tree_files(), before)
        # Where npm puts the archive by itself, Git ignores it.
        archive = f"client/node/{self.npm_pack()['filename']}"
        self.assertEqual(self.tree_files().keys() - before.keys(), {archive})
        ignored = (SOURCES / ".gitignore").read_text().split()
        self.assertTrue(any(fnmatch.fnmatch(f"/{archive}", pattern) for pattern in ignored))

    def test_it_has_what_npm_packs(self) -> None:
        about = self.npm_pack()
        expected = {f"package/{file['path']}": file["size"] for file in about["files"]}
        with tarfile.open(self.pack("sortition.tgz")) as archive:
            self.assertEqual({entry.name: entry.size for entry in archive}, expected)

    def test_the_same_sources_give_the_same_bytes(self) -> None:
        first, second = self.pack("first.tgz"), self.pack("second.tgz")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        with tarfile.open(first) as archive:
            self.assertEqual({(e.mtime, e.uid, e.mode) for e in archive}, {(1000000000, 0, 0o644)})


if __name__ == "__main__":
    if not shutil.which("node"):
        print("skipped: no node; ./dev setup test")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
