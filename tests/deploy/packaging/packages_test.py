"""The packages of a build: the same bytes twice, what is in them, what lintian and systemd say.
Takes minutes.

usage: packages_test.py SOURCES PROGRAMS [unittest options]
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
NAMES = ("sortition", "sortition-server", "sortition-sidecar", "sortition-trainer")

if os.environ.get("SORTITION_LONG") != "1":
    print("skipped: takes minutes; ./dev test --long")
    sys.exit(77)
for tool, package in (("dpkg-shlibdeps", "dpkg-dev"), ("lintian", "lintian"), ("systemd-analyze", "systemd")):
    if not shutil.which(tool):
        print(f"skipped: no {tool} (package {package}); ./dev test --long")
        sys.exit(77)


def run(*command: object, **environment: str) -> str:
    words = [str(word) for word in command]
    shown = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if shown.returncode != 0:
        raise AssertionError(f"{words} ends with {shown.returncode}: {shown.stdout}{shown.stderr}")
    return shown.stdout


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("first", "second"):
            cls.release(cls.folder / name)

    @staticmethod
    def release(output: Path) -> None:
        script = SOURCES / "tools/release.sh"
        # As the sources are: what is committed is not the question here.
        options = (f"--programs={PROGRAMS}", "--no-image", "--dirty")
        run(script, *options, output, SOURCE_DATE_EPOCH="1000000000")

    def package(self, name: str) -> Path:
        (path,) = (self.folder / "first").glob(f"{name}_*.deb")
        return path

    def field(self, name: str, field: str) -> str:
        return run("dpkg-deb", "--field", self.package(name), field).strip()

    def test_the_same_programs_give_the_same_bytes(self) -> None:
        sums = [(self.folder / name / "SHA256SUMS").read_text() for name in ("first", "second")]
        self.assertEqual(sums[0], sums[1])
        self.assertGreaterEqual(sums[0].count(".deb\n"), len(NAMES) + 1)
        run("sh", "-c", f"cd {self.folder}/first && sha256sum --check SHA256SUMS")

    def test_each_depends_on_what_its_program_is_linked_with(self) -> None:
        for name in NAMES:
            depends = self.field(name, "Depends")
            has_rpc = name in ("sortition", "sortition-server")
            self.assertIn("libgrpc++1.51" if has_rpc else "libprotobuf32", depends)
            self.assertEqual("libxgboost" in depends, name == "sortition-trainer", name)
            self.assertEqual("systemd-sysusers" in depends, name != "sortition", name)
            self.assertEqual(self.field(name, "Architecture"), run("dpkg", "--print-architecture").strip())
        self.assertEqual(self.field("sortition-dev", "Architecture"), "all")

    def test_files_of_operators_are_conffiles(self) -> None:
        for name, files in (
            ("sortition-server", ["server"]),
            ("sortition-sidecar", ["sidecar"]),
            ("sortition-trainer", ["trainer", "rollout"]),
        ):
            listed = run("dpkg-deb", "--info", self.package(name), "conffiles").split()
            self.assertEqual(listed, [f"/etc/sortition/{file}.textproto" for file in files])

    def test_everything_belongs_to_root_and_is_of_the_time_of_the_sources(self) -> None:
        for name in NAMES:
            for line in run("dpkg-deb", "--contents", self.package(name), TZ="UTC").splitlines():
                mode, owner, _, date, time, *_ = line.split()
                self.assertEqual((owner, date, time), ("root/root", "2001-09-09", "01:46"), line)
                self.assertNotIn("w", mode[4:], line)

    def test_lintian_finds_nothing(self) -> None:
        packages = sorted((self.folder / "first").glob("*.deb"))
        run("lintian", "--allow-root", "--fail-on", "error,warning", *packages)

    def test_systemd_finds_nothing(self) -> None:
        root = self.folder / "root"
        for name in NAMES:
            run("dpkg-deb", "--extract", self.package(name), root)
        units = sorted(path for path in (root / "lib/systemd/system").iterdir() if path.is_file())
        self.assertEqual(len(units), 6)
        # What the units call besides our programs, and what they name.
        (root / "bin").mkdir()
        shutil.copy("/bin/sh", root / "bin/sh")
        for kind in ("target", "slice"):
            for path in Path("/lib/systemd/system").glob(f"*.{kind}"):
                shutil.copy(path, root / "lib/systemd/system")
        for unit in units:
            run("systemd-analyze", "verify", f"--root={root}", "--man=no", unit)
        for unit in (unit.name for unit in units if unit.suffix == ".service"):
            # Exposure from 0 to 100.
            run(
                *("systemd-analyze", "security", "--offline=true", "--threshold=20"),
                *(f"--root={root}", unit),
            )

    def test_the_list_of_ingredients_names_every_linked_package(self) -> None:
        (path,) = (self.folder / "first").glob("*.spdx.json")
        listed = json.loads(path.read_text())
        names = {package["name"] for package in listed["packages"]}
        for name in NAMES:
            self.assertIn(name, names)
            for depends in self.field(name, "Depends").split(", "):
                library = depends.split()[0]
                if library.startswith("lib"):
                    self.assertIn(library, names)
        # What is compiled in, the package in Python, and what that needs.
        for name in ("libeigen3-dev", "rapidjson-dev", "python3-sortition", "python3-grpcio"):
            self.assertIn(name, names)
        ids = [package["SPDXID"] for package in listed["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        for relation in listed["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], ids)

    def test_the_list_has_the_checksums_of_what_is_released(self) -> None:
        (path,) = (self.folder / "first").glob("*.spdx.json")
        listed = {p["name"]: p for p in json.loads(path.read_text())["packages"]}
        for name in NAMES:
            root = self.folder / f"root-of-{name}"
            run("dpkg-deb", "--extract", self.package(name), root)
            (checksum,) = listed[name]["checksums"]
            program = (root / "usr/bin" / name).read_bytes()
            self.assertEqual(checksum["checksumValue"], hashlib.sha256(program).hexdigest(), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
