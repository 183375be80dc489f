"""TLS, certificates of clients, tokens and their roles."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import pathlib
import subprocess

import numpy as np

import sortition
from processes import ProcessTest

MATRIX = np.zeros((2, 1))
CERTIFICATES = pathlib.Path(os.environ["SORTITION_SOURCES"]) / (
    "deploy/examples/identity/make_certificates.sh"
)


class SecurityTest(ProcessTest):
    def setUp(self) -> None:
        super().setUp()
        made = subprocess.run(["sh", str(CERTIFICATES)], cwd=self.folder, capture_output=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        lines = []
        for role in ("decide", "feedback"):
            token = f"token-of-{role}"
            (self.folder / role).write_text(token + "\n")
            lines.append(f"{role} {role}-caller {hashlib.sha256(token.encode()).hexdigest()}\n")
        (self.folder / "tokens").write_text("".join(lines))

    def start(self, *options: str) -> str:
        files = [
            f"--tls.certificate_file={self.folder / 'server.pem'}",
            f"--tls.key_file={self.folder / 'server.key'}",
            f"--token_file={self.folder / 'tokens'}",
        ]
        return f"127.0.0.1:{self.server(options=(*files, *options)).port()}"

    def security(self, **options: str) -> sortition.Security:
        files = {name: self.folder / file for name, file in options.items()}
        return sortition.Security(ca_file=self.folder / "authority.pem", **files)

    def code(self, address: str, security: sortition.Security, method: str = "rank") -> str:
        """Returns the code of a call; OK if it is answered."""
        once = sortition.RetryPolicy(max_attempts=1)
        with sortition.Ranker(address, security=security, deadline=60, retries=once) as ranker:
            try:
                if method == "rank":
                    ranker.rank(MATRIX)
                elif method == "feedback":
                    ranker.feedback("d", reward=1)
                else:
                    ranker.column_types()
            except sortition.CallError as error:
                return error.code.name
        return "OK"

    def test_tokens_open_what_their_role_may_do(self) -> None:
        address = self.start()
        decide = self.security(token_file="decide")
        self.assertEqual(self.code(address, decide), "OK")
        self.assertEqual(self.code(address, decide, "feedback"), "PERMISSION_DENIED")
        self.assertEqual(self.code(address, decide, "models"), "PERMISSION_DENIED")
        feedback = self.security(token_file="feedback")
        self.assertEqual(self.code(address, feedback, "feedback"), "OK")
        self.assertEqual(self.code(address, feedback), "PERMISSION_DENIED")
        self.assertEqual(self.code(address, self.security()), "UNAUTHENTICATED")

        lines = map(json.loads, (self.folder / "server.log").read_text().splitlines())
        (audit,) = [line for line in lines if line["message"] == "audit"]
        self.assertEqual((audit["caller"], audit["code"]), ("decide-caller", "PERMISSION_DENIED"))
        self.assertIn("has not the role admin", audit["reason"])

        async def ask() -> str:
            async with sortition.AsyncRanker(address, security=decide) as ranker:
                return (await ranker.rank(MATRIX)).degraded

        self.assertIn("uniform policy", asyncio.run(ask()))

    def test_a_server_that_nobody_vouches_for_gets_no_token(self) -> None:
        address = self.start()
        # Those whom the machine trusts have not signed it; and it has another name.
        system = sortition.Security(server_name="localhost", token_file=self.folder / "decide")
        self.assertEqual(self.code(address, system), "UNAVAILABLE")
        other = sortition.Security(
            ca_file=self.folder / "authority.pem",
            server_name="other.example",
            token_file=self.folder / "decide",
        )
        self.assertEqual(self.code(address, other), "UNAVAILABLE")
        plain = sortition.Security(token_file=self.folder / "decide")
        self.assertEqual(self.code(address, plain), "UNAVAILABLE")

    def test_clients_show_certificates_where_they_must(self) -> None:
        address = self.start(f"--tls.client_ca_file={self.folder / 'authority.pem'}")
        shown = {"certificate_file": "client.pem", "key_file": "client.key"}
        self.assertEqual(self.code(address, self.security(token_file="decide", **shown)), "OK")
        self.assertEqual(self.code(address, self.security(token_file="decide")), "UNAVAILABLE")

    def test_tokens_do_not_leave_the_machine_over_plain_text_unasked(self) -> None:
        token = self.folder / "decide"
        for servers in ("a.example:1", "127.0.0.1:1,10.0.0.1:1"):
            with self.assertRaisesRegex(ValueError, "token_file is .* must be on this machine"):
                sortition.Ranker(servers, security=sortition.Security(token_file=token))
        asked = sortition.Security(token_file=token, plaintext_tokens=True)
        sortition.Ranker("a.example:1", security=asked).close()
        sortition.Ranker("a.example:1", security=self.security(token_file="decide")).close()

    def test_wrong_files_are_named_before_anything_is_sent(self) -> None:
        with self.assertRaisesRegex(ValueError, "token_file is .*nowhere.*, must be a file"):
            sortition.Ranker(security=self.security(token_file="nowhere"))
        (self.folder / "two").write_text("one two")
        with self.assertRaisesRegex(ValueError, "must hold one token: visible ASCII"):
            sortition.Ranker(security=self.security(token_file="two"))
        with self.assertRaisesRegex(ValueError, "must be given together"):
            sortition.Ranker(security=self.security(key_file="client.key"))
