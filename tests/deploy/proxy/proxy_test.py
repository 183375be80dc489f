"""nginx with deploy/examples/nginx/sortition.conf in front of a real server, on loopback.

usage: proxy_test.py DEPLOY PROGRAMS [unittest options]
"""

import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable

DEPLOY, PROGRAMS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
PATIENCE = 60  # Seconds for what takes a moment.
TOKENS = {"decider": "decide,feedback", "operator": "admin"}
CANDIDATES = "0 1:0.9 2:0.1\n0 1:0.2 2:0.7\n"
SELECT = {"context": {"candidates": {"num_features": 1, "dense": {"values": [1, 0]}}}}

if not os.access(NGINX, os.X_OK):
    print("skipped: no nginx; ./dev setup test")
    sys.exit(77)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)  # Between two looks.


class ProxyTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run(
            [str(DEPLOY / "examples/identity/make_certificates.sh")],
            cwd=self.folder,
            capture_output=True,
            check=True,
        )
        for token in TOKENS:
            (self.folder / token).write_text(token)
        lines = [
            f"{roles} {name} {hashlib.sha256(name.encode()).hexdigest()}\n"
            for name, roles in TOKENS.items()
        ]
        (self.folder / "tokens").write_text("".join(lines))
        self.port = free_port()
        self.replacements: dict[str, str] = {}

    def run_process(self, name: str, *words: object) -> "subprocess.Popen[bytes]":
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen([str(w) for w in words], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_server(self) -> None:
        ports = self.folder / "ports"
        self.server = self.run_process(
            "server",
            PROGRAMS / "sortition-server",
            f"--model_store={self.folder}/models",
            f"--spool.dir={self.folder}/spool",
            f"--token_file={self.folder}/tokens",
            "--listen=127.0.0.1:0",
            "--http.listen=127.0.0.1:0",
            "--metrics_listen=",
            f"--port_file={ports}",
        )
        wait_until(ports.exists, "the server's ports")
        self.ports = dict(line.split() for line in ports.read_text().splitlines())

    def start_proxy(self) -> None:
        """Runs the recipe; only addresses, files and what the test names are others."""
        text = (DEPLOY / "examples/nginx/sortition.conf").read_text()
        for there, here in {
            "0.0.0.0:443": f"127.0.0.1:{self.port}",
            "127.0.0.1:8500": f"127.0.0.1:{self.ports['rpc']}",
            "127.0.0.1:8503": f"127.0.0.1:{self.ports['http']}",
            "/etc/nginx/sortition.pem": f"{self.folder}/server.pem",
            "/etc/nginx/sortition.key": f"{self.folder}/server.key",
            **self.replacements,
        }.items():
            self.assertIn(there, text)
            text = text.replace(there, here)
        (self.folder / "sortition.conf").write_text(text)
        temporary = "".join(
            f"  {name}_temp_path {self.folder}/{name}_temp;\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(
            f"{user}daemon off;\nworker_processes 1;\npid {self.folder}/nginx.pid;\n"
            f"events {{}}\nhttp {{\n  access_log off;\n{temporary}"
            f"  include {self.folder}/sortition.conf;\n}}\n"
        )
        self.proxy = self.run_process(
            "nginx", NGINX, "-p", self.folder, "-e", "stderr", "-c", self.folder / "nginx.conf"
        )
        # A master that is killed would leave its workers.
        self.addCleanup(self.proxy.wait, PATIENCE)
        self.addCleanup(self.proxy.send_signal, signal.SIGTERM)

        def is_open() -> bool:
            self.assertIsNone(self.proxy.poll(), (self.folder / "nginx.log").read_text())
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(is_open, "nginx")

    def cli(self, token: str, *words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        security = [f"--ca_file={self.folder}/authority.pem", f"--token_file={self.folder}/{token}"]
        return subprocess.run(
            [str(PROGRAMS / "sortition"), *words, f"--server=localhost:{self.port}", *security],
            input=text,
            capture_output=True,
            text=True,
        )

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "authority.pem"))

    def ask(self, method: str, path: str, body: Any = None, token: str = "decider") -> int:
        """Returns the status of an answer over HTTPS."""
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.tls(), timeout=30)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        connection.request(method, path, data, headers)
        status = connection.getresponse().status
        connection.close()
        return status

    def test_passes_decisions_and_keeps_the_rest_inside(self) -> None:
        self.start_server()
        self.start_proxy()
        ranked = self.cli("decider", "rank", "--decision_id=first", text=CANDIDATES)
        self.assertEqual(ranked.returncode, 0, ranked.stderr)
        reported = self.cli("decider", "feedback", "--decision_id=first", "--reward=1")
        self.assertEqual(reported.returncode, 0, reported.stderr)
        # The token is checked by the server.
        refused = self.cli("operator", "rank", text=CANDIDATES)
        self.assertIn("PERMISSION_DENIED", refused.stderr)
        # Even an administrator changes nothing from outside.
        models = self.cli("operator", "models", "list")
        self.assertNotEqual(models.returncode, 0)
        self.assertEqual(self.ask("POST", "/v1/select", SELECT), 200)
        self.assertEqual(self.ask("POST", "/v1/select", SELECT, token="nobody"), 401)
        inside = ("/", "/metrics", "/status.json", "/healthz", "/readyz", "/openapi.json", "/v1/models/list")
        for path in inside:
            self.assertEqual(self.ask("POST" if "models" in path else "GET", path, token="operator"), 404, path)
        # Without TLS there is no answer but an error.
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(b"POST /v1/select HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b" 400 ", client.recv(100))

    def test_tells_grpc_clients_that_the_server_is_away(self) -> None:
        self.start_server()
        self.start_proxy()
        self.server.kill()
        self.server.wait()
        ranked = self.cli("decider", "rank", "--max_attempts=1", text=CANDIDATES)
        self.assertIn("UNAVAILABLE", ranked.stderr)
        self.assertIn("the proxy does not reach the server", ranked.stderr)

    def test_bounds_what_a_connection_may_ask_at_once(self) -> None:
        self.start_server()
        self.start_proxy()
        context = self.tls()
        context.set_alpn_protocols(["h2"])
        with socket.create_connection(("127.0.0.1", self.port)) as raw:
            with context.wrap_socket(raw, server_hostname="localhost") as client:
                # The preface of HTTP/2 and empty SETTINGS; the answer begins with SETTINGS.
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                data = b""
                while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                    data += client.recv(4096)
        self.assertEqual(data[3], 4)
        size = int.from_bytes(data[:3], "big")
        settings = dict(struct.iter_unpack(">HI", data[9 : 9 + size]))
        max_concurrent_streams = 3
        self.assertEqual(settings[max_concurrent_streams], 128)

    def test_refuses_what_is_too_large(self) -> None:
        self.start_server()
        self.replacements = {"client_max_body_size 4m": "client_max_body_size 4k"}
        self.start_proxy()
        self.assertEqual(self.ask("POST", "/v1/select", b"x" * 5000), 413)
        many = "".join(f"0 1:0.{i:04} 2:0.5\n" for i in range(1000))
        ranked = self.cli("decider", "rank", "--max_attempts=1", text=many)
        self.assertIn("RESOURCE_EXHAUSTED", ranked.stderr)

    def test_refuses_what_comes_too_fast(self) -> None:
        self.start_server()
        self.replacements = {"rate=1000r/s": "rate=1r/m", "burst=2000": "burst=3"}
        self.start_proxy()
        # One call and the burst; other callers have a rate of their own.
        statuses = [self.ask("POST", "/v1/select", SELECT) for _ in range(6)]
        self.assertEqual(statuses, [200, 200, 200, 200, 429, 429])
        self.assertEqual(self.ask("POST", "/v1/select", SELECT, token="nobody"), 401)
        ranked = self.cli("decider", "rank", "--max_attempts=1", text=CANDIDATES)
        self.assertIn("RESOURCE_EXHAUSTED", ranked.stderr)

    def test_ends_connections_that_say_nothing(self) -> None:
        self.start_server()
        self.replacements = {"client_header_timeout 10s": "client_header_timeout 1s"}
        self.start_proxy()
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
            with self.tls().wrap_socket(raw, server_hostname="localhost") as client:
                client.sendall(b"POST /v1/select HTTP/1.1\r\nHost: lo")
                self.assertEqual(client.recv(100), b"")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
