"""Which of several servers a decision belongs to, and which of them serve."""

from __future__ import annotations

import ipaddress
import math
import re
from typing import Optional, Sequence, Union

import grpc

from sortition import native
from sortition.arguments import listed, refuse
from sortition.ids import make_id

_TRIES = 16
# A health watch is begun anew after so many seconds: one that then says nothing shows that the
# server hangs.
WATCH_SECONDS = 5.0
WATCH_PAUSE = 0.2  # Seconds before the next one.

# What gRPC says of a call that a server had, and of one that none had.
_PEER = re.compile(r"\w+:Error received from peer ((?:ipv4|ipv6|unix):\S+)")
_REACHED_NONE = ("failed to connect to all addresses", "DNS resolution failed")


class Servers:
    """Addresses, and whether each serves.

    All calls about a decision go to the one server that its id chooses: retries and feedback must
    meet the spool of the decision. It is the address whose hash with the id is the largest, as in
    the client library of C++, so both can report for each other. Load is balanced by the hash; ids
    that are made here are made for a server that serves.
    """

    def __init__(self, addresses: Union[str, Sequence[str]]) -> None:
        if isinstance(addresses, str):
            one = addresses.startswith(("ipv4:", "ipv6:"))
            addresses = [addresses] if one else addresses.split(",")
        addresses = listed("servers", addresses, "host:port")
        for place, address in enumerate(addresses):
            if not isinstance(address, str):
                refuse(f"servers[{place}]", address, 'a string, such as "127.0.0.1:8500"')
        self.addresses = [address.strip() for address in addresses]
        if not self.addresses or not all(self.addresses):
            raise ValueError(
                f'servers is "{",".join(self.addresses)}", must be host:port, or several, '
                "separated by commas"
            )
        if len(self.addresses) > 1 and native.xxh3_low is None:
            raise ValueError(
                f"servers has {len(self.addresses)} addresses, must be 1: neither libxxhash "
                "(package libxxhash0) nor the module xxhash is here"
            )
        self._prefixes = [f"{address} ".encode() for address in self.addresses]
        self._serving = [True] * len(self.addresses)

    def again_at(self, server: int, error: grpc.RpcError) -> Optional[str]:
        """Returns the address at which a call that failed can be repeated.

        Where the address of `server` may stand for several, that is the one that had the call; None
        if it is unknown.
        """
        address = self.addresses[server]
        refused = error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED  # Nothing was decided.
        if refused or is_one(address) or (error.details() or "").startswith(_REACHED_NONE):
            return address
        peer = _PEER.match(error.debug_error_string() or "")
        return peer.group(1) if peer else None

    def __len__(self) -> int:
        return len(self.addresses)

    def of(self, decision_id: str) -> int:
        """Returns the place of the decision's server among the addresses."""
        if len(self.addresses) == 1:
            return 0
        hash_of = native.xxh3_low
        assert hash_of is not None
        key = decision_id.encode()
        weights = [hash_of(prefix + key) for prefix in self._prefixes]
        return weights.index(max(weights))

    def new_decision(self) -> tuple[str, int]:
        """Returns a new id and its server, one that serves if it can be found in a few tries."""
        decision_id = make_id()
        server = self.of(decision_id)
        if all(self._serving) or not any(self._serving):
            return decision_id, server
        tries = _TRIES * math.ceil(len(self._serving) / sum(self._serving))
        while not self._serving[server] and tries > 0:
            decision_id = make_id()
            server = self.of(decision_id)
            tries -= 1
        return decision_id, server

    def set_serving(self, server: int, serving: bool) -> None:
        self._serving[server] = serving

    def watch_ended(self, server: int, code: grpc.StatusCode, has_spoken: bool) -> bool:
        """Notes that a health watch ended with `code`; returns whether to begin the next."""
        if code == grpc.StatusCode.UNIMPLEMENTED:  # What has no health service may well serve.
            self.set_serving(server, True)
            return False
        # At the deadline the server may be the first to say so, by CANCELLED.
        ended = (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
        if not (has_spoken and code in ended):
            self.set_serving(server, False)
        return True

    def serving(self) -> dict[str, bool]:
        """Returns what the health watches last said of each address; at first: True."""
        return dict(zip(self.addresses, self._serving))


def _hosts(address: str) -> list[str]:
    """Returns the hosts of an address of gRPC; none: it is a socket of this machine."""
    if address.startswith(("unix:", "unix-abstract:")):
        return []
    bare = re.sub(r"^(ipv4:|ipv6:|dns:(//[^/]*/)?)", "", address)
    return [re.sub(r":\d+$", "", part).strip("[]") for part in bare.split(",")]


def _ip(host: str) -> Optional[Union[ipaddress.IPv4Address, ipaddress.IPv6Address]]:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_one(address: str) -> bool:
    """Whether it is the address of one server: no name, and no list, which may stand for several."""
    hosts = _hosts(address)
    return not hosts or (len(hosts) == 1 and _ip(hosts[0]) is not None)


def is_local(address: str) -> bool:
    """Whether what is sent there stays on this machine."""
    return all(
        host == "localhost" or getattr(_ip(host), "is_loopback", False) for host in _hosts(address)
    )


def authority_of(address: str) -> str:
    """Returns what a server at `address` is told as its name; empty: `address` has no name."""
    is_list = address.startswith(("ipv4:", "ipv6:", "unix"))
    return "" if is_list else re.sub(r"^dns:(//[^/]*/)?", "", address)
