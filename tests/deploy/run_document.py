#!/usr/bin/env python3
"""Runs the commands of a document as they are printed.

usage: run_document.py SOURCES BINARIES DOCUMENT [--section TITLE] [--language TITLE]
       [--packages FOLDER]

Blocks are taken in their order, and run in one shell. A block after the words "Save this as
`FILE`:" becomes that file. Of the sections named after a language only the given one counts. The
ports are those of the document: a network namespace of its own keeps them apart from everybody
else's. /tmp becomes a folder that is removed afterwards. For Node it is in FOLDER, where the
packages of the client are installed.
"""
import argparse
import fcntl
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
LANGUAGES = ("Python", "Node", "curl")
# What the output must have.
WANTED = {
    # The order, and the record of the decision.
    "README.md": ('"results":[{"index":', '"decision_id":"first"'),
    # The counts of words, and the decision again, from its log and the model.
    "docs/features.md": (
        "version 1: logistic regression",
        "words of document: 37 in 36 texts",
        "1 decisions verified bit for bit, 0 different, 0 corrupt",
    ),
    "docs/tutorials/search.md": ("plackett_luce", " verified bit for bit, 0 different"),
}


def blocks(document: str, section: str | None, language: str | None):
    """Yields pairs of a file's name, or None for commands, and the text of a block."""
    if section is not None:
        document = document.split(f"\n## {section}\n")[1].split("\n## ")[0]
    pattern = r"^#+ (?P<heading>[^\n]*)$|^Save this as `(?P<file>[^`]+)`:$|^```\w*\n(?P<text>.*?)^```$"
    heading, file = "", None
    for match in re.finditer(pattern, document, re.MULTILINE | re.DOTALL):
        if match["heading"] is not None:
            heading = match["heading"]
        elif match["file"] is not None:
            file = match["file"]
        else:
            if heading not in LANGUAGES or heading == language:
                yield file, match["text"]
            file = None


def raise_loopback() -> None:
    """Makes 127.0.0.1 of a new network namespace reachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def install_client(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """Installs what npm packs of the Node client."""
    archive = folder / "sortition.tgz"
    sources = arguments.sources
    subprocess.run(
        [sys.executable, sources / "tools/packaging/node_archive.py", "--sources", sources, "--output", archive],
        env={**os.environ, "SOURCE_DATE_EPOCH": "0"},
        check=True,
    )
    modules = folder / "node_modules"
    modules.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", modules], check=True)
    (modules / "package").rename(modules / "sortition")
    # The package above this folder has the client's name, which would mean itself.
    (folder / "package.json").write_text("{}", encoding="utf-8")


def script(arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    """Writes the files; returns a script that ends with the first command that fails, and ends the
    programs in its background."""
    document = (arguments.sources / arguments.document).read_text(encoding="utf-8")
    commands = []
    for file, text in blocks(document, arguments.section, arguments.language):
        if file is not None:
            (folder / file).write_text(text, encoding="utf-8")
        elif "sortition" in text or "curl" in text or "centre" in text:
            commands.append(text)
    text = "".join(commands)
    text = text.replace("$PWD/build/dev/bin", str(arguments.binaries)).replace("/tmp/", f"{folder}/")
    return "set -eux\ntrap 'kill $(jobs -p); wait' EXIT\n" + text + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("document")
    parser.add_argument("--section")
    parser.add_argument("--language", choices=LANGUAGES)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--inside", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("curl") is None:
        print("skipped: no curl; ./dev setup test")
        return 77
    if not arguments.inside:
        # Root needs no namespace of users, and may make none in a chroot.
        unshare = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        probe = subprocess.run([*unshare, "true"], capture_output=True, check=False, text=True)
        if probe.returncode != 0:
            print(f"skipped: no network namespace here ({probe.stderr.strip()}); ./dev test deploy as root")
            return 77
        if arguments.language == "Node":
            install = [arguments.sources / "tests/node/install_packages.sh", arguments.sources / "client/node"]
            status = subprocess.run([*install, arguments.packages], check=False).returncode
            if status != 0:
                return status
        command = [*unshare, sys.executable, "-B", *sys.argv, "--inside"]
        return subprocess.run(command, check=False).returncode
    raise_loopback()
    with tempfile.TemporaryDirectory(dir=arguments.packages) as folder:
        if arguments.language == "Node":
            install_client(arguments, pathlib.Path(folder))
        # Sections with relative paths are about the source tree, tutorials about a folder.
        is_tutorial = arguments.document.startswith("docs/tutorials/")
        run = subprocess.run(
            ["bash", "-c", script(arguments, pathlib.Path(folder))],
            cwd=folder if is_tutorial else arguments.sources,
            env={**os.environ, "PATH": f"{arguments.binaries}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=900,
            check=False,
        )
    output = run.stdout.decode()
    print(output)
    if run.returncode != 0:
        print(f"a command ended with status {run.returncode}")
        return 1
    for wanted in WANTED[arguments.document]:
        if wanted not in output.replace('": ', '":'):
            print(f"'{wanted}' is missing from the output")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
