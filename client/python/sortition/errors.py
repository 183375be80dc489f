"""Errors of calls. Arguments that are wrong before anything is sent are ValueError or TypeError."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import grpc

from sortition.requests import Feedback


@dataclass(frozen=True)
class Try:
    """How a server failed a call."""

    server: str  # Address.
    code: grpc.StatusCode
    message: str

    def __str__(self) -> str:
        return f"server {self.server}: {self.code.name}: {self.message}"


class CallError(Exception):
    """A call that the server refused, or that did not reach it in time.

    `code` and `message` are the server's; they name field, value and permitted range. `decision_id`
    is the one that was sent, also where it was made here: who repeats the decision sends it again.
    `feedback` is what may not have been counted, with its ids: who repeats it sends just that.
    `tried` has the last error of each server that was tried; `str` lists all of them.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        server: str = "",
        decision_id: str = "",
        attempts: int = 1,
        feedback: Sequence[Feedback] = (),
        tried: Sequence[Try] = (),
    ) -> None:
        super().__init__(code, message, server, decision_id, attempts, feedback, tried)
        self.code = code
        self.message = message
        self.server = server
        self.decision_id = decision_id
        self.attempts = attempts
        self.feedback = list(feedback)
        self.tried = list(tried)

    def __str__(self) -> str:
        times = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        tried = self.tried if len(self.tried) > 1 else [Try(self.server, self.code, self.message)]
        return "; ".join(map(str, tried)) + times
