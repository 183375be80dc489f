"""When a call is tried again, at which server, and until when."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Optional, Sequence

import grpc

from sortition.arguments import real, whole
from sortition.errors import Try
from sortition.servers import Servers

# A server that shuts down cancels calls which it has not taken up.
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


@dataclass(frozen=True)
class RetryPolicy:
    """When a call is repeated within its deadline, and how soon.

    A call is repeated if the server is away (UNAVAILABLE, or CANCELLED by a server that ends), or
    if it is overloaded and returns when to try again. The repetition has the same ids.

    With one address, the pause before a repetition is a random share of a back-off that doubles, or
    follows what the server asks for.

    With several addresses, a call tries each of them once, without a pause. An attempt may take
    half of the time that is left, as long as there is another address to try. If all of them failed,
    the call pauses and tries all of them again, up to `max_attempts` times. Each of these further
    attempts takes one from the client's `budget`, and each call that is answered adds a tenth: while
    no server answers, a client does not multiply the load.
    """

    max_attempts: int = 10  # At each address; at least 1.
    first_backoff: float = 0.1  # Seconds.
    max_backoff: float = 2.0
    budget: int = 500  # At least 0.

    def __post_init__(self) -> None:
        if whole("max_attempts", self.max_attempts, 32) < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}, must be at least 1")
        max_backoff = real("max_backoff", self.max_backoff)
        if not 0 <= real("first_backoff", self.first_backoff) <= max_backoff:
            raise ValueError(
                f"first_backoff is {self.first_backoff}, must be in "
                f"[0, max_backoff = {self.max_backoff}]"
            )
        whole("budget", self.budget, 32)


def check_deadline(deadline: float) -> float:
    if real("deadline", deadline) <= 0:
        raise ValueError(f"deadline is {deadline}, must be positive and finite, in seconds")
    return deadline


class Attempts:
    """The attempts of one call, one after the other.

    A call begins an attempt, sends it to `server` with `timeout`, and reports how it ended by
    answered() or pause_after().
    """

    def __init__(
        self,
        policy: RetryPolicy,
        deadline: float,
        servers: Servers,
        route: Sequence[int],
        pins: bool = True,
    ) -> None:
        """`deadline`: seconds from now for all attempts. `route`: the places of the servers that
        the call may try, in this order. `pins`: if the only address stands for several servers, the
        call stays with the one that it reached.
        """
        self._policy = policy
        self._end = time.monotonic() + check_deadline(deadline)
        self._servers = servers
        self._route = route
        self._pins = pins and len(route) == 1
        self._backoff = policy.first_backoff
        self._round = 1
        self._untried = list(route)
        self._first: Optional[Try] = None
        self._tries: dict[str, Try] = {}
        self.server = self._untried.pop(0)  # Place among the addresses.
        self.pinned = ""  # Address of the server that the call stays with; empty: that of `server`.
        self.number = 0
        self.timeout = 0.0  # Seconds that the attempt may take.

    def begin(self) -> None:
        self.number += 1
        left = max(self._end - time.monotonic(), 0.001)
        self.timeout = left / 2 if self._untried else left
        self._servers.begin(self.server)

    @property
    def waits_for_connection(self) -> bool:
        """True if the attempt waits until the server is back, because there is no other server."""
        return self.number > 1 and len(self._route) == 1

    def answered(self) -> None:
        self._servers.answered(self.server)

    def pause_after(self, error: grpc.RpcError) -> Optional[float]:
        """Returns the seconds until the next attempt, which begins at `server`; None if there is
        none, because the error is an answer or nothing is left to try.
        """
        self._note(error)
        is_away = error.code() in _AWAY or self._gave_no_answer(error)
        hint = _pushback(error) if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED else None
        if is_away:
            self._servers.failed(self.server)
        elif hint is None:
            if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                self.answered()
            return None
        self._first = self._first or self._try(error)
        if self._untried:
            if self._round > 1 and not self._servers.take_retry():
                return None
            self.server = self._untried.pop(0)
            return 0.0
        if hint is not None:
            # Not decided. Callers that were refused together come back one after the other.
            pause = hint * (1 + random.random())
        else:
            pause = self._backoff * random.random()
        return pause if self._begins_round(error, pause) else None

    def failure(self, error: grpc.RpcError) -> tuple[Try, list[Try]]:
        """Returns what the caller gets where `error` was the last, and the last one of each server.

        The reason why a server was away is more useful than that the deadline passed while the
        client waited for it.
        """
        last = self._try(error)
        if self._first is not None and last.code == grpc.StatusCode.DEADLINE_EXCEEDED:
            last = self._first
        return last, list(self._tries.values())

    def _begins_round(self, error: grpc.RpcError, pause: float) -> bool:
        if self._round >= self._policy.max_attempts or pause >= self._end - time.monotonic():
            return False
        if self._pins and not self.pinned:
            address = self._servers.addresses[self.server]
            again = self._servers.again_at(self.server, error)
            if again is None:
                return False
            self.pinned = again if again != address else ""
        if len(self._route) > 1 and not self._servers.take_retry():
            return False
        self._round += 1
        self._backoff = min(2 * self._backoff, self._policy.max_backoff)
        self._untried = self._servers.those_away_last(self._route)
        self.server = self._untried.pop(0)
        return True

    def _gave_no_answer(self, error: grpc.RpcError) -> bool:
        """True if the attempt used up its own time, and not all of the call's."""
        is_late = error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        return is_late and time.monotonic() < self._end and len(self._route) > 1

    def _note(self, error: grpc.RpcError) -> None:
        noted = self._try(error)
        before = self._tries.pop(noted.server, None)
        if before is not None and noted.code == grpc.StatusCode.DEADLINE_EXCEEDED:
            noted = before
        self._tries[noted.server] = noted

    def _try(self, error: grpc.RpcError) -> Try:
        message = error.details() or ""
        if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and len(self._route) > 1:
            message = f"no answer within {self.timeout:.3g} s"
        return Try(self._servers.addresses[self.server], error.code(), message)


def _pushback(error: grpc.RpcError) -> Optional[float]:
    """Returns in how many seconds the server asks to try again, if it does."""
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-retry-pushback-ms" and str(value).isdigit():
            return int(value) / 1000
    return None
