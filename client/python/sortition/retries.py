"""When a call is tried again, and until when."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Optional

import grpc

from sortition.arguments import real, whole

# A server that shuts down cancels calls which it has not taken up.
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


@dataclass(frozen=True)
class RetryPolicy:
    """When a call is repeated within its deadline, and how soon.

    A call is repeated where the server is away (UNAVAILABLE, or CANCELLED by a server that ends),
    and where it is overloaded and says when to try again. Repeating is safe for every call: the
    draw is a function of the decision's id, feedback counts once for each feedback id, and a
    repetition goes to the server of the first attempt. The pause is a random share of a back-off
    that doubles, or follows what the server says.
    """

    max_attempts: int = 10  # At least 1.
    first_backoff: float = 0.1  # Seconds.
    max_backoff: float = 2.0

    def __post_init__(self) -> None:
        if whole("max_attempts", self.max_attempts, 32) < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}, must be at least 1")
        max_backoff = real("max_backoff", self.max_backoff)
        if not 0 <= real("first_backoff", self.first_backoff) <= max_backoff:
            raise ValueError(
                f"first_backoff is {self.first_backoff}, must be in "
                f"[0, max_backoff = {self.max_backoff}]"
            )


class Attempts:
    """The attempts of one call."""

    def __init__(self, policy: RetryPolicy, deadline: float) -> None:
        """`deadline`: seconds from now for all attempts."""
        if real("deadline", deadline) <= 0:
            raise ValueError(f"deadline is {deadline}, must be positive and finite, in seconds")
        self._policy = policy
        self._end = time.monotonic() + deadline
        self._backoff = policy.first_backoff
        self._first: Optional[grpc.RpcError] = None
        self.number = 1

    def left(self) -> float:
        """Returns the seconds that are left."""
        return max(self._end - time.monotonic(), 0.001)

    @property
    def waits_for_connection(self) -> bool:
        """Whether the next attempt waits until the server is back, rather than fail at once."""
        return self.number > 1

    def pause_after(self, error: grpc.RpcError) -> Optional[float]:
        """Returns the seconds until the next attempt; None if there is none."""
        hint = _pushback(error)
        if error.code() in _AWAY:
            pause = self._backoff * random.random()
        elif error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and hint is not None:
            # Not decided. Callers that were refused together come back one after the other.
            pause = hint * (1 + random.random())
        else:
            return None
        self._first = self._first or error
        if self.number >= self._policy.max_attempts or pause >= self._end - time.monotonic():
            return None
        self._backoff = min(2 * self._backoff, self._policy.max_backoff)
        self.number += 1
        return pause

    def last(self, error: grpc.RpcError) -> grpc.RpcError:
        """Returns the error that the caller gets where `error` was the last.

        Why the server was away says more than that the deadline passed while waiting for it.
        """
        if self._first is not None and error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
            return self._first
        return error


def _pushback(error: grpc.RpcError) -> Optional[float]:
    """Returns in how many seconds the server asks to try again, if it does."""
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-retry-pushback-ms" and str(value).isdigit():
            return int(value) / 1000
    return None
