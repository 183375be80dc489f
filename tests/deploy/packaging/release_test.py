"""What tools/release.sh refuses before it makes anything, and the list of ingredients of an image
that is made up.

usage: release_test.py TOOLS [unittest options]
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(sys.argv[1])

for tool, package in (("git", "git"), ("dpkg-shlibdeps", "dpkg-dev")):
    if not shutil.which(tool):
        print(f"skipped: no {package}; ./dev setup test")
        sys.exit(77)


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class RefusalTest(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.sources = self.folder / "sources"
        (self.sources / "tools").mkdir(parents=True)
        shutil.copy(TOOLS / "release.sh", self.sources / "tools")
        (self.sources / "CMakeLists.txt").write_text("project(sortition VERSION 1.0)\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=All")
        (self.folder / "build/bin").mkdir(parents=True)
        for name in ("sortition", "sortition-server", "sortition-sidecar", "sortition-trainer"):
            shutil.copy("/bin/true", self.folder / "build/bin" / name)

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, "-C", self.sources, *arguments], check=True)

    def refused(self, *arguments: str) -> str:
        """What release.sh says; run from a folder beside the sources. Nothing is left."""
        before = sorted(self.folder.rglob("*"))
        run = subprocess.run(
            ["sources/tools/release.sh", "--no-image", "--programs=build/bin", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, 1, run.stderr)
        after = sorted(self.folder.rglob("*"))
        self.assertEqual(
            [p for p in after if ".git" not in p.parts],
            [p for p in before if ".git" not in p.parts],
        )
        return run.stderr

    def test_what_is_not_committed(self) -> None:
        (self.sources / "notes.md").touch()
        self.assertIn("notes.md", self.refused("out"))
        # Said to be intended, the next thing that is wrong is found.
        self.assertIn("python/sortition is missing", self.refused("--dirty", "out"))

    def test_a_folder_that_has_an_older_release(self) -> None:
        # Relative to where one stands, not to the sources.
        (self.folder / "out").mkdir()
        (self.folder / "out/old.deb").touch()
        self.assertIn(f"{self.folder}/out is not empty", self.refused("out"))

    def test_a_build_without_python(self) -> None:
        self.assertIn(f"{self.folder}/build/python/sortition is missing", self.refused("out"))

    def test_a_build_without_programs(self) -> None:
        (self.folder / "build/bin/sortition-server").unlink()
        said = self.refused("--no-python", "out")
        self.assertIn(f"{self.folder}/build/bin/sortition-server is missing", said)


class ImageTest(InFolder):
    def test_the_list_names_what_an_image_has_in_itself(self) -> None:
        layer = self.tar(
            {
                "usr/local/bin/sortition": "program",
                "usr/local/bin/sortition-health": "script",
                "var/lib/dpkg/status.d/busybox": "Package: busybox\nVersion: 1:2-3\nSource: bb (2-3)\n"
                "Architecture: amd64\nMaintainer: A\nDescription: many\n tools\n",
                "var/lib/dpkg/status.d/tini": "Package: tini\nVersion: 4\nArchitecture: amd64\n"
                "Maintainer: B\n",
                "usr/share/doc/busybox/copyright": "License: GPL-2\n",
            }
        )
        manifest = json.dumps([{"Layers": ["layer.tar"]}])
        (self.folder / "image.tar").write_bytes(
            self.tar({"layer.tar": layer, "manifest.json": manifest})
        )
        subprocess.run(
            [
                *("/usr/bin/python3", TOOLS / "packaging/sbom.py", "--release=1.0"),
                *("--image", self.folder / "image.tar", "--output", self.folder / "list"),
            ],
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "86400"},
        )
        listed = json.loads((self.folder / "list").read_text())
        found = {p["name"]: p for p in listed["packages"]}
        self.assertEqual(sorted(found), ["busybox", "sortition", "tini"])
        # sha256sum of "program".
        (checksum,) = found["sortition"]["checksums"]
        self.assertEqual(
            checksum["checksumValue"],
            "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8",
        )
        (reference,) = found["busybox"]["externalRefs"]
        self.assertEqual(
            reference["referenceLocator"],
            "pkg:deb/debian/busybox@1:2-3?arch=amd64&upstream=bb@2-3",
        )
        self.assertEqual(found["busybox"]["licenseComments"], "GPL-2")

    @staticmethod
    def tar(files: "dict[str, str | bytes]") -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            for name, contents in files.items():
                data = contents.encode() if isinstance(contents, str) else contents
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        return made.getvalue()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
