#!/usr/bin/env python3
"""Runs the commands of a document's section as they are printed.

usage: readme_commands.py SOURCES BINARIES DOCUMENT SECTION

Only the paths of the store are changed. The ports are those of the document: a network
namespace of its own keeps them apart from everybody else's. `train` is left out: it
needs a log that only comes with time. Blocks that are not commands name none of the
programs.
"""
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
# What the output must have.
WANTED = {
    # The answer over HTTP, the record of the decision, and the fitted version.
    "README.md": ('"order"', '"decision_id":"first"', "version 1: logistic regression"),
    # The counts of words, and the decision again, from its log and the model.
    "docs/features.md": (
        "version 1: logistic regression",
        "words of document: 37 in 36 texts",
        "1 decisions verified bit for bit, 0 different, 0 corrupt",
    ),
}


def commands(document: str, title: str) -> str:
    """Returns the blocks of commands of the section, one after the other."""
    section = document.split(f"\n## {title}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    blocks = [block for block in blocks if "sortition" in block or "curl" in block]
    lines = [line for line in "".join(blocks).splitlines() if "sortition-trainer train" not in line]
    return "\n".join(lines)


def raise_loopback() -> None:
    """Makes 127.0.0.1 of a new network namespace reachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def script(binaries: pathlib.Path, folder: str, document: pathlib.Path, title: str) -> str:
    """Returns a script that ends with the first command that fails, and ends the servers."""
    text = commands(document.read_text(encoding="utf-8"), title)
    text = text.replace("$PWD/build/dev/bin", str(binaries))
    text = text.replace("/tmp/sortition", folder + "/sortition")
    return "set -eux\ntrap 'kill $(jobs -p); wait' EXIT\n" + text + "\n"


def main() -> int:
    if shutil.which("curl") is None:
        print("skipped: no curl; ./dev setup test")
        return 77
    if "--inside" not in sys.argv:
        # Root needs no namespace of users, and may make none in a chroot.
        unshare = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        probe = subprocess.run([*unshare, "true"], capture_output=True, check=False, text=True)
        if probe.returncode != 0:
            print(f"skipped: no network namespace here ({probe.stderr.strip()}); ./dev test deploy as root")
            return 77
        command = [*unshare, sys.executable, "-B", *sys.argv, "--inside"]
        return subprocess.run(command, check=False).returncode
    raise_loopback()
    sources, binaries = (pathlib.Path(argument) for argument in sys.argv[1:3])
    document, title = sources / sys.argv[3], sys.argv[4]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["bash", "-c", script(binaries, folder, document, title)],
            cwd=sources,
            env={**os.environ, "PATH": f"{binaries}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=240,
            check=False,
        )
    output = run.stdout.decode()
    print(output)
    if run.returncode != 0:
        print(f"a command ended with status {run.returncode}")
        return 1
    for wanted in WANTED[sys.argv[3]]:
        if wanted not in output.replace('": "', '":"'):
            print(f"'{wanted}' is missing from the output")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
