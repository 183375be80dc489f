"""Ranker: a client whose calls wait for their answers."""

from __future__ import annotations

import threading
from typing import Any, Iterable, Optional, Union, Unpack

import grpc

from sortition import methods
from sortition.answers import Aggregation, Ranking, Selection, Subset
from sortition.calls import Call, Calls
from sortition.errors import CallError
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Feedback,
    feedback_list,
    shown_request,
)

_WATCH_PAUSE = 0.2  # Seconds before a health watch that ended is begun again.


class Ranker(Calls):
    """Asks servers for decisions and reports back. Thread-safe; a context manager.

    Errors: CallError of the server or the connection; ValueError and TypeError of arguments. Make
    it after a fork, not before: connections do not survive one.

        with sortition.Ranker("127.0.0.1:8500") as ranker:
            answer = ranker.rank(matrix, top_k=10, ids=names)
            ranker.feedback(answer.decision_id, reward=1, rank=0)
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._closed = threading.Event()
        self._channels = [self._connect(address) for address in self.servers.addresses]
        self._stubs = [
            {
                name: channel.unary_unary(method.path, method.serialize, method.parse)
                for name, method in methods.METHODS.items()
            }
            for channel in self._channels
        ]
        if len(self._channels) > 1:
            for server in range(len(self._channels)):
                threading.Thread(target=self._watch, args=(server,), daemon=True).start()

    __init__.__doc__ = Calls.__init__.__doc__

    def __enter__(self) -> Ranker:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections; calls of other threads that wait are cancelled."""
        self._closed.set()
        for channel in self._channels:
            channel.close()

    def rank(
        self, features: Any, *, top_k: Optional[int] = None, **options: Unpack[DecisionOptions]
    ) -> Ranking:
        """Returns an order of the candidates, or its first `top_k` ranks.

        `features`: an array of shape (n, d), a list of n dictionaries, or a DataFrame of n rows
        (features.fill_candidates says what they become).
        """
        return self._run(self._rank(features, top_k, options))

    def select(self, features: Any, **options: Unpack[DecisionOptions]) -> Selection:
        """Returns one candidate, or none if the policy abstains. `features` as in rank."""
        return self._run(self._select(features, options))

    def label(
        self, features: Any, *, k: Optional[int] = None, **options: Unpack[DecisionOptions]
    ) -> Subset:
        """Returns a subset: `k` candidates, or as many as the policy decides."""
        return self._run(self._label(features, k, options))

    def aggregate(self, lists: Any, **options: Unpack[AggregateOptions]) -> Aggregation:
        """Combines score lists, the columns of `lists` (n, sources), into one order.

        Options of its own are those of AggregateRequest, such as concentration=5, top_k=10.
        """
        return self._run(self._aggregate(lists, options))

    def shown(
        self,
        decision_id: str,
        shown: Iterable[int] = (),
        *,
        first_rank: int = 0,
        seen_ranks: Optional[int] = None,
        not_shown: bool = False,
        deadline: Optional[float] = None,
    ) -> None:
        """Reports what the user saw: document indexes by rank, as in ReportShownRequest."""
        request = shown_request(decision_id, shown, first_rank, seen_ranks, not_shown)
        self._run(self._shown(request, deadline))

    def feedback(
        self,
        feedback: Union[str, Feedback, Iterable[Feedback]],
        *,
        reward: Optional[float] = None,
        loss: Optional[float] = None,
        rank: Optional[int] = None,
        feedback_id: str = "",
        deadline: Optional[float] = None,
    ) -> int:
        """Reports what came of a decision, by its id, or of several at once, as Feedback.

        Returns how many were accepted. With several servers one can fail: those of the others are
        accepted, and the first error is raised.
        """
        items = feedback_list(feedback, reward, loss, rank, feedback_id)
        accepted, errors = 0, []
        for call in self._feedback(items, deadline):
            try:
                accepted += self._run(call)
            except Exception as error:  # Feedback of others does not depend on it.
                errors.append(error)
        if errors:
            raise errors[0]
        return accepted

    def column_types(self, model: str = "") -> dict[str, str]:
        """Returns the types of the model's named columns, for `types`; empty: it has no schema.

        With tokens, this needs the role admin.
        """
        return self._run(self._column_types(model))

    def _connect(self, address: str) -> grpc.Channel:
        options = self._security.channel_options()
        if self._credentials is None:
            return grpc.insecure_channel(address, options)
        return grpc.secure_channel(address, self._credentials, options)

    def _run(self, call: Call) -> Any:
        stub = self._stubs[call.server][call.method]
        headers = self._headers(call)
        attempts = call.attempts
        while True:
            try:
                response = stub(
                    call.request,
                    timeout=attempts.left(),
                    metadata=headers,
                    wait_for_ready=attempts.waits_for_connection,
                )
                return call.answer(response)
            except ValueError:
                if not self._closed.is_set():
                    raise
                address = self.servers.addresses[call.server]
                code = grpc.StatusCode.CANCELLED
                raise CallError(code, "client is closed", address, call.decision_id) from None
            except grpc.RpcError as error:
                pause = attempts.pause_after(error)
                if pause is None or self._closed.is_set():
                    address = self.servers.addresses[call.server]
                    raise attempts.failure(error, address, call.decision_id) from None
                self._closed.wait(pause)

    def _watch(self, server: int) -> None:
        """Notes what the server says of its health, until the client is closed."""
        while not self._closed.is_set():
            try:
                watch = self._channels[server].unary_stream(methods.HEALTH_WATCH)
                for status in watch(methods.HEALTH_REQUEST, wait_for_ready=True):
                    self.servers.set_serving(server, status == methods.HEALTH_SERVING)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                    return
            except ValueError:  # The channel is closed.
                return
            self.servers.set_serving(server, False)
            self._closed.wait(_WATCH_PAUSE)
