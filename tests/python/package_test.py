"""The wheel that pyproject.toml builds."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(os.environ["SORTITION_SOURCES"])


class PackageTest(unittest.TestCase):
    def test_the_version_is_that_of_the_project(self) -> None:
        cmake = (SOURCES / "CMakeLists.txt").read_text()
        ours = (SOURCES / "client/python/pyproject.toml").read_text()
        project = re.search(r"project\(sortition VERSION (\S+)", cmake)[1]
        self.assertIn(f'version = "{project}"', ours)

    def test_the_wheel_has_sources_and_stubs_and_can_be_imported(self) -> None:
        with tempfile.TemporaryDirectory(prefix="sortition-python-") as name:
            folder = pathlib.Path(name)
            # A copy, because setuptools writes beside the sources.
            shutil.copytree(SOURCES / "client/python", folder / "client/python")
            shutil.copytree(SOURCES / "proto", folder / "proto")
            # As pip calls it in the folder of a package.
            build = f"from setuptools import build_meta; build_meta.build_wheel({name!r})"
            done = subprocess.run(
                [sys.executable, "-c", build],
                cwd=folder / "client/python",
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            [wheel] = folder.glob("*.whl")
            shutil.unpack_archive(wheel, folder / "site", "zip")
            protos = (SOURCES / "client/python/stubs.txt").read_text().split()
            stubs = [proto.replace("/", ".").replace(".proto", "_pb2") for proto in protos]
            code = (
                f"import importlib.resources as r, sortition.ope, {', '.join(stubs)};"
                "print(sortition.__file__, (r.files('sortition') / 'py.typed').is_file(),"
                " (r.files('sortition') / 'v1' / 'ranking_pb2.pyi').is_file())"
            )
            said = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": str(folder / "site")},
                capture_output=True,
                text=True,
            )
            module = str(folder / "site/sortition/__init__.py")
            self.assertEqual(said.stdout.split(), [module, "True", "True"], said.stderr)


if __name__ == "__main__":
    unittest.main()
