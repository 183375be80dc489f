"""Which of several servers a decision belongs to, and which of them serve."""

from __future__ import annotations

import ipaddress
import math
import re
import threading
import time
from typing import Callable, Iterable, Optional, Sequence, Union

import grpc

from sortition import native
from sortition.arguments import listed, refuse
from sortition.ids import make_id

_TRIES = 16
# A health watch is begun anew after so many seconds: one that then says nothing shows that the
# server hangs.
WATCH_SECONDS = 5.0
WATCH_PAUSE = 0.2  # Seconds before the next one.
# Seconds for which a server is avoided after a call to it failed; doubled by every further failure.
FIRST_AVOIDANCE = 0.2
MAX_AVOIDANCE = 10.0
# Decisions whose server is remembered, because it is not the one that their id chooses.
MAX_MOVED = 10_000
# So many answers pay for one retry.
ANSWERS_PER_RETRY = 10

# What gRPC says of a call that a server had, and of one that none had.
_PEER = re.compile(r"\w+:Error received from peer ((?:ipv4|ipv6|unix):\S+)")
_REACHED_NONE = ("failed to connect to all addresses", "DNS resolution failed")


class Servers:
    """Addresses, which of them are away, and which one a decision belongs to. Thread-safe.

    The id of a decision puts the servers into an order: by the hash of address and id, largest
    first, as in the client libraries of C++ and Node, so that each can report for the others. A
    call goes to the first server of that order, which balances the load. Ids that are made here are
    made for a server that is not away.

    A server is away while its health watch says so, and for a while after a call to it failed. That
    while doubles as long as failures follow each other. After it, one call tries the server again.
    """

    def __init__(
        self,
        addresses: Union[str, Sequence[str]],
        retry_budget: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`retry_budget`: RetryPolicy.budget. `clock` returns seconds."""
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
        self._lock = threading.Lock()  # Guards what follows.
        self._clock = clock
        self._avoided_until = [0.0] * len(self.addresses)
        self._avoidance = [0.0] * len(self.addresses)  # Seconds; 0: the last call was answered.
        self._moved: dict[str, int] = {}
        self._max_budget = retry_budget * ANSWERS_PER_RETRY
        self._budget = self._max_budget  # In answers.

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
        """Returns the place of the decision's server among the addresses.

        It is the one that answered, if a call of this client moved the decision, else the one that
        the id chooses.
        """
        moved = self._moved.get(decision_id)
        return self._by_hash(decision_id)[0] if moved is None else moved

    def route(self, decision_id: str) -> list[int]:
        """Returns all places in the order in which a call about the decision tries them.

        Servers that are away come last.
        """
        if len(self.addresses) == 1:
            return [0]
        home = self.of(decision_id)
        others = (place for place in self._by_hash(decision_id) if place != home)
        return self.those_away_last([home, *others])

    def those_away_last(self, places: Iterable[int]) -> list[int]:
        return sorted(places, key=self._is_away)

    def new_decision(self) -> tuple[str, list[int]]:
        """Returns a new id and its route; a few tries look for an id of a server that is not away."""
        decision_id = make_id()
        num_away = sum(map(self._is_away, range(len(self.addresses))))
        if num_away in (0, len(self.addresses)):
            return decision_id, self.route(decision_id)
        tries = _TRIES * math.ceil(len(self.addresses) / (len(self.addresses) - num_away))
        while self._is_away(self.of(decision_id)) and tries > 0:
            decision_id = make_id()
            tries -= 1
        return decision_id, self.route(decision_id)

    def _by_hash(self, decision_id: str) -> list[int]:
        if len(self.addresses) == 1:
            return [0]
        hash_of = native.xxh3_low
        assert hash_of is not None
        key = decision_id.encode()
        weights = [hash_of(prefix + key) for prefix in self._prefixes]
        return sorted(range(len(weights)), key=weights.__getitem__, reverse=True)

    def _is_away(self, server: int) -> bool:
        return not self._serving[server] or self._clock() < self._avoided_until[server]

    def begin(self, server: int) -> None:
        """Notes that a call goes to the server. If the last one failed, others avoid it for now."""
        if self._avoidance[server] == 0:
            return
        with self._lock:
            now = self._clock()
            if self._avoidance[server] > 0 and now >= self._avoided_until[server]:
                self._avoidance[server] = min(2 * self._avoidance[server], MAX_AVOIDANCE)
                self._avoided_until[server] = now + self._avoidance[server]

    def failed(self, server: int) -> None:
        """Notes that a call found the server away. Calls that fail together count as one failure."""
        with self._lock:
            if self._avoidance[server] == 0:
                self._avoidance[server] = FIRST_AVOIDANCE
                self._avoided_until[server] = self._clock() + FIRST_AVOIDANCE

    def answered(self, server: int) -> None:
        """Notes that the server answered a call, be it by an error."""
        with self._lock:
            self._avoidance[server] = self._avoided_until[server] = 0.0
            self._budget = min(self._budget + 1, self._max_budget)

    def take_retry(self) -> bool:
        """Takes one retry from the budget of all calls; returns False if it is empty."""
        with self._lock:
            if self._budget < ANSWERS_PER_RETRY:
                return False
            self._budget -= ANSWERS_PER_RETRY
            return True

    def decided(self, decision_id: str, server: int) -> None:
        """Remembers the server that answered, for reports, unless the id chooses it anyway."""
        if len(self.addresses) == 1 or self.of(decision_id) == server:
            return
        with self._lock:
            self._moved[decision_id] = server
            if len(self._moved) > MAX_MOVED:
                del self._moved[next(iter(self._moved))]

    def set_serving(self, server: int, serving: bool) -> None:
        """Notes what the health watch of the server said."""
        if serving and not self._serving[server]:
            with self._lock:
                self._avoidance[server] = self._avoided_until[server] = 0.0
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
