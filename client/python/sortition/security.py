"""How a client shows who it is, and makes sure of the server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence, Union

import grpc

from sortition.arguments import refuse
from sortition.servers import authority_of, is_local

_OPTIONS = [
    # Clients of one address do not share connections.
    ("grpc.use_local_subchannel_pool", 1),
    # Short, so that a retry finds a server that came back.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
]


@dataclass(frozen=True)
class Security:
    """TLS and tokens, as the options of `sortition`. Files are PEM, and read once.

    Without `ca_file`, `certificate_file` and `server_name` the connection is plain text.
    """

    ca_file: Union[str, Path] = ""  # Who may sign the server's certificate.
    certificate_file: Union[str, Path] = ""  # Shown to the server.
    key_file: Union[str, Path] = ""  # Its key.
    server_name: str = ""  # In the server's certificate; empty: the host of the address.
    token_file: Union[str, Path] = ""  # Holds the bearer token alone.
    # Sends the token to other machines over plain text: something in between encrypts it.
    plaintext_tokens: bool = False

    def check(self, addresses: Sequence[str]) -> None:
        """Raises a ValueError if a token would go to another machine over plain text."""
        if not self.token_file or self.plaintext_tokens or self._uses_tls():
            return
        for address in addresses:
            if not is_local(address):
                raise ValueError(
                    f'token_file is "{self.token_file}" and a server "{address}": it must be on '
                    "this machine, or have ca_file or server_name (TLS), or plaintext_tokens"
                )

    def channel_credentials(self) -> Optional[grpc.ChannelCredentials]:
        """Returns credentials, or None for plain text. ValueError names the file that is wrong."""
        if bool(self.certificate_file) != bool(self.key_file):
            raise ValueError(
                f'certificate_file is "{self.certificate_file}", key_file is "{self.key_file}", '
                "must be given together"
            )
        if not self._uses_tls():
            return None
        return grpc.ssl_channel_credentials(
            root_certificates=_read("ca_file", self.ca_file),
            private_key=_read("key_file", self.key_file),
            certificate_chain=_read("certificate_file", self.certificate_file),
        )

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Returns what every call carries."""
        text = _read("token_file", self.token_file)
        if text is None:
            return ()
        token = text.strip().decode("latin-1")
        if not token or any(not "!" <= c <= "~" for c in token):
            raise ValueError(
                f'token_file is "{self.token_file}", must hold one token: visible ASCII '
                "characters without spaces"
            )
        return (("authorization", f"Bearer {token}"),)

    def channel_options(self, instead_of: str = "") -> list[tuple[str, object]]:
        """`instead_of`: the address whose name the server has, if it is called by another."""
        options: list[tuple[str, object]] = list(_OPTIONS)
        authority = authority_of(instead_of)
        name = self.server_name or re.sub(r":\d+$", "", authority)
        if name:
            options.append(("grpc.ssl_target_name_override", name))
        if authority and not self.server_name:
            options.append(("grpc.default_authority", authority))
        return options

    def _uses_tls(self) -> bool:
        return bool(self.ca_file or self.certificate_file or self.server_name)


def _read(option: str, path: Union[str, Path]) -> Optional[bytes]:
    if not path:
        return None
    if not isinstance(path, (str, Path)):
        refuse(option, path, "a path")
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = b""
    if not content:
        raise ValueError(f'{option} is "{path}", must be a file that can be read, not empty')
    return content
