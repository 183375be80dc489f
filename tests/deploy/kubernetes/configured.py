"""Reads the options of programs as the programs do: text protos, defaults included."""

import functools
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import rendered

# Name of the file that has a program's options -> (module, message).
OPTIONS = {
    "server.textproto": ("server", "ServerOptions"),
    "sidecar.textproto": ("sidecar", "SidecarOptions"),
    "publish.textproto": ("sidecar", "SidecarOptions"),
    "consume.textproto": ("sidecar", "SidecarOptions"),
    "trainer.textproto": ("train", "TrainOptions"),
    "rollout.textproto": ("rollout", "RolloutOptions"),
}
_folder: list[tempfile.TemporaryDirectory[str]] = []


def require_tools() -> None:
    """Compiles the protos of options, or skips the test."""
    try:
        import google.protobuf  # noqa: F401
    except ImportError:
        rendered.skip("no python3-protobuf")
    _folder.append(tempfile.TemporaryDirectory())
    protos = rendered.ROOT / "proto"
    sources = sorted(str(p) for p in (protos / "sortition" / "config" / "v1").glob("*.proto"))
    subprocess.run(
        ["protoc", f"--proto_path={protos}", f"--python_out={_folder[0].name}", *sources],
        check=True,
    )
    sys.path.insert(0, _folder[0].name)


def parse(path: str, text: str) -> Any:
    """Returns the message in the file at `path`, whose name says of which program it is."""
    import importlib

    from google.protobuf import text_format

    module, message = OPTIONS[pathlib.PurePath(path).name]
    module = importlib.import_module(f"sortition.config.v1.{module}_pb2")
    return text_format.Parse(text, getattr(module, message)())


@functools.cache
def options(overlay: str, pod: str, file: str) -> Any:
    """Returns the options in /etc/sortition/`file` of a pod."""
    path = f"/etc/sortition/{file}"
    return parse(path, rendered.config_files(rendered.pods(overlay)[pod])[path])


def server(overlay: str) -> Any:
    return options(overlay, "sortition", "server.textproto")


def joiner(overlay: str) -> Any:
    """Returns the options of the sidecar that joins."""
    if overlay == "single":
        return options(overlay, "sortition", "sidecar.textproto")
    return options(overlay, "sortition-consumer", "consume.textproto")


def publisher(overlay: str) -> Any:
    return options(overlay, "sortition", "publish.textproto")
