"""Makes the stubs of the protos when the package is built."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
# Of a source distribution, or of the repository.
PROTOS = HERE / "proto" if (HERE / "proto").is_dir() else HERE.parent.parent / "proto"


def stub_sources() -> list[str]:
    return (HERE / "stubs.txt").read_text().split()


class BuildWithStubs(build_py):
    def run(self) -> None:
        super().run()
        protoc = shutil.which("protoc")
        if protoc is None:
            raise SystemExit("protoc is not here, must be (package protobuf-compiler)")
        out = pathlib.Path(self.build_lib).resolve()
        out.mkdir(parents=True, exist_ok=True)
        options = [f"-I{PROTOS}", f"--python_out={out}", f"--pyi_out={out}"]
        subprocess.run([protoc, *options, *stub_sources()], check=True, cwd=PROTOS)


class SdistWithProtos(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        for source in stub_sources():
            target = pathlib.Path(base_dir) / "proto" / source
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PROTOS / source, target)


setup(cmdclass={"build_py": BuildWithStubs, "sdist": SdistWithProtos})
