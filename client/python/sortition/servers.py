"""Which of several servers a decision belongs to, and which of them serve."""

from __future__ import annotations

import math
from typing import Sequence, Union

from sortition import native
from sortition.ids import make_id

_TRIES = 16


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

    def serving(self) -> dict[str, bool]:
        """Returns what the health watches last said of each address; at first: True."""
        return dict(zip(self.addresses, self._serving))
