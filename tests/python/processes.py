"""Programs under test: started on free ports of loopback, in a folder of their own."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Callable, Optional

BIN = pathlib.Path(os.environ["SORTITION_BIN"])
PATIENCE = 60.0 * float(os.environ.get("SORTITION_PATIENCE", "1"))


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition; a test fails if it does not come."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.01)  # Between two looks.


class Process:
    """A program that writes its ports to a file."""

    def __init__(self, folder: pathlib.Path, name: str, arguments: list[str]) -> None:
        self._ports = folder / f"{name}.ports"
        self._log = folder / f"{name}.log"
        self._arguments = [str(BIN / arguments[0]), *arguments[1:], f"--port_file={self._ports}"]
        self._child: Optional[subprocess.Popen[bytes]] = None
        self.start()

    def start(self) -> None:
        self._ports.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                self._arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        wait_until(lambda: self._ports.exists() or self._child.poll() is not None, "port file")
        if self._child.poll() is not None:
            raise AssertionError(self._log.read_text())

    def port(self, name: str = "rpc") -> int:
        lines = dict(line.split() for line in self._ports.read_text().splitlines())
        return int(lines[name])

    def signal(self, number: int) -> None:
        self._child.send_signal(number)

    def pause(self) -> None:
        """Stops it where it is; returns when each of its threads has stopped."""
        self.signal(signal.SIGSTOP)
        threads = pathlib.Path(f"/proc/{self._child.pid}/task")

        def has_stopped(thread: pathlib.Path) -> bool:
            return (thread / "stat").read_text().rpartition(") ")[2].startswith("T")

        wait_until(lambda: all(map(has_stopped, threads.iterdir())), "every thread stops")

    def stop(self) -> None:
        """Drains it, and waits for its end."""
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            self._child.wait(PATIENCE)

    def kill(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait(PATIENCE)


def run(*arguments: str, text: str = "") -> str:
    """Runs a program of the project to its end and returns what it says."""
    done = subprocess.run(
        [str(BIN / arguments[0]), *arguments[1:]], input=text, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stderr}{done.stdout}")
    return done.stdout


class ProcessTest(unittest.TestCase):
    """A test with a folder for its programs, which end with it."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sortition-python-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def server(
        self,
        name: str = "server",
        port: int = 0,
        options: tuple[str, ...] = (),
        store: str = "models",
    ) -> Process:
        models = self.folder / store
        models.mkdir(exist_ok=True)
        process = Process(
            self.folder,
            name,
            [
                "sortition-server",
                f"--listen=127.0.0.1:{port}",
                "--metrics_listen=",
                "--http.listen=",
                f"--model_store={models}",
                f"--spool.dir={self.folder / 'spools' / name}",
                f"--spool.writer_id={name}",
                "--spool.segment_bytes=1MiB",
                *options,
            ],
        )
        self.addCleanup(process.kill)
        return process

    def sidecar(self, spools: str, tuples: str, options: tuple[str, ...] = ()) -> Process:
        process = Process(
            self.folder,
            "sidecar",
            [
                "sortition-sidecar",
                "--metrics_listen=127.0.0.1:0",
                "--http_listen=",
                f"--spool={self.folder / 'spools' / spools}",
                f"--tuples={self.folder / tuples}",
                *options,
            ],
        )
        self.addCleanup(process.kill)
        return process
