"""Runs the containers of rendered pods here: their commands, with their files, in one folder."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from typing import Callable

import rendered

PATIENCE_SECONDS = 120
PORTS = (4222, 6222, 8222, 8500, 8501, 8502, 8503, 8504, 8505)
BROKER = "/usr/sbin/nats-server"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def poll_until(what: str, condition: Callable[[], bool]) -> None:
    """Waits until `condition` holds; AssertionError naming `what` after two minutes."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE_SECONDS} s: {what}")
        time.sleep(0.05)


class DeployedPod:
    """A pod in a folder of its own. `shared` are folders that it shares, by volume; `addresses`
    stand for names of the cluster. Its ports are free ones, but for those in `ports`."""

    def __init__(
        self,
        pod: rendered.Pod,
        name: str,
        folder: pathlib.Path,
        binaries: pathlib.Path,
        shared: dict[str, pathlib.Path],
        addresses: dict[str, str],
        ports: dict[int, int],
    ) -> None:
        self.pod, self.name, self.folder, self.binaries = pod, name, folder, binaries
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        # What Secrets have, by the names of variables that the pod takes from them.
        self.secrets: dict[str, str] = {}
        self.ports = {port: free_port() for port in PORTS} | ports
        self.replacements = dict(addresses)
        for port, here in self.ports.items():
            for host in ("0.0.0.0", "127.0.0.1"):
                self.replacements[f"{host}:{port}"] = f"127.0.0.1:{here}"
        for container in pod.containers:
            for mount in container["volumeMounts"]:
                here = shared.get(mount["name"], folder / mount["name"])
                here.mkdir(parents=True, exist_ok=True)
                self.replacements[mount["mountPath"]] = str(here)
        for path, text in rendered.config_files(pod).items():
            pathlib.Path(self.here(path)).write_text(self.here(text))

    def here(self, text: str) -> str:
        """Returns `text` with the paths and addresses that are used here."""
        text = text.replace("$(POD_NAME)", self.name)
        # The longest first: a path may begin like another one.
        for there in sorted(self.replacements, key=len, reverse=True):
            text = text.replace(there, self.replacements[there])
        return text

    def command(self, container: str) -> list[str]:
        found = self.pod.container(container)
        words = found.get("command", [BROKER]) + found.get("args", [])
        return [self.here(word) for word in words]

    def environment(self) -> dict[str, str]:
        return os.environ | self.secrets | {
            "POD_NAME": self.name,
            "PATH": f"{self.binaries}:{rendered.ROOT / 'deploy/container'}:{os.environ['PATH']}",
        }

    def start(self, container: str, *more: str) -> None:
        with self.log_file(container).open("wb") as log:
            self.processes[container] = subprocess.Popen(
                [*self.command(container), *more],
                env=self.environment(),
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def log_file(self, container: str) -> pathlib.Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{container}.err"

    def log(self, container: str) -> str:
        return self.log_file(container).read_text()

    def run(self, container: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Runs a container to its end."""
        return subprocess.run(
            [*self.command(container), *more],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def terminate(self, container: str) -> int:
        """Sends SIGTERM; returns the exit status."""
        process = self.processes.pop(container)
        process.send_signal(signal.SIGTERM)
        return process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.processes.clear()


def binaries_of(arguments: list[str]) -> pathlib.Path:
    """Takes the folder of the programs from a command line."""
    folder = pathlib.Path(arguments.pop(1)).resolve()
    if not (folder / "sortition-server").exists():
        print(f"binaries = '{folder}', must be a folder with sortition-server", file=sys.stderr)
        sys.exit(2)
    return folder
