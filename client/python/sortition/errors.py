"""Errors of calls. Arguments that are wrong before anything is sent are ValueError or TypeError."""

from __future__ import annotations

from typing import Sequence

import grpc

from sortition.requests import Feedback


class CallError(Exception):
    """A call that the server refused, or that did not reach it in time.

    `code` and `message` are the server's; they name field, value and permitted range. `decision_id`
    is the one that was sent, also where it was made here: who repeats the decision sends it again.
    `feedback` is what may not have been counted, with its ids: who repeats it sends just that.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        server: str = "",
        decision_id: str = "",
        attempts: int = 1,
        feedback: Sequence[Feedback] = (),
    ) -> None:
        super().__init__(code, message, server, decision_id, attempts, feedback)
        self.code = code
        self.message = message
        self.server = server
        self.decision_id = decision_id
        self.attempts = attempts
        self.feedback = list(feedback)

    def __str__(self) -> str:
        times = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"server {self.server}: {self.code.name}: {self.message}{times}"
