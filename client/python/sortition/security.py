"""How a client shows who it is, and makes sure of the server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

import grpc

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

    def channel_credentials(self) -> Optional[grpc.ChannelCredentials]:
        """Returns credentials, or None for plain text. ValueError names the file that is wrong."""
        if bool(self.certificate_file) != bool(self.key_file):
            raise ValueError(
                f'certificate_file is "{self.certificate_file}", key_file is "{self.key_file}", '
                "must be given together"
            )
        if not (self.ca_file or self.certificate_file or self.server_name):
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

    def channel_options(self) -> list[tuple[str, object]]:
        options: list[tuple[str, object]] = list(_OPTIONS)
        if self.server_name:
            options.append(("grpc.ssl_target_name_override", self.server_name))
        return options


def _read(option: str, path: Union[str, Path]) -> Optional[bytes]:
    if not path:
        return None
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = b""
    if not content:
        raise ValueError(f'{option} is "{path}", must be a file that can be read, not empty')
    return content
