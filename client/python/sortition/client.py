"""Ranker: a client whose calls wait for their answers."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterable, Mapping, Optional, Union, Unpack

import grpc

from sortition import methods, servers
from sortition.answers import Aggregation, Ranking, Selection, Subset
from sortition.calls import Call, Calls, sum_of_parts
from sortition.errors import CallError
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Feedback,
    LabelOptions,
    RankOptions,
    feedback_list,
    shown_request,
)
from sortition.servers import Servers


class Ranker(Calls):
    """Asks servers for decisions and reports back. Thread-safe; a context manager.

    Errors: CallError of the server or the connection; ValueError and TypeError of arguments. Make
    it after a fork, not before: connections do not survive one.

        with sortition.Ranker("127.0.0.1:8500") as ranker:
            answer = ranker.rank(matrix, top_k=10, ids=names)
            ranker.feedback(answer.decision_id, reward=1, rank=0)
    """

    def _open(self) -> None:
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
                arguments = (self._channels[server], self.servers, server, self._closed)
                threading.Thread(target=_watch, args=arguments, daemon=True).start()
        # Also where a client is dropped. The threads do not hold it.
        self._end = weakref.finalize(self, _close, self._closed, self._channels)
        self._end.atexit = False

    def __enter__(self) -> Ranker:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections; calls of other threads that wait are cancelled."""
        self._end()

    def rank(self, features: Any, **options: Unpack[RankOptions]) -> Ranking:
        """Returns an order of the candidates, or its first `top_k` ranks.

        `features`: an array of shape (n, d), a list of n dictionaries, or a DataFrame of n rows
        (features.fill_candidates says what they become). Options, top_k among them, are those of
        requests.RankOptions.
        """
        return self._run(self._rank(features, options))

    def rerank(
        self,
        query: str,
        documents: Iterable[Union[str, Mapping[str, Any]]],
        **options: Unpack[RankOptions],
    ) -> Ranking:
        """Returns an order of texts for a query.

        `documents`: texts, or dictionaries with `text` and other named columns. What is decided and
        logged is what POST /v1/rerank decides: the baseline is the given order. Options are those
        of rank.
        """
        return self._run(self._rerank(query, documents, options))

    def select(self, features: Any, **options: Unpack[DecisionOptions]) -> Selection:
        """Returns one candidate, or none if the policy abstains. `features` as in rank."""
        return self._run(self._select(features, options))

    def label(self, features: Any, **options: Unpack[LabelOptions]) -> Subset:
        """Returns a subset: `k` candidates, or as many as the policy decides."""
        return self._run(self._label(features, options))

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
        feedback: Union[
            str, Feedback, Mapping[str, Any], Iterable[Union[Feedback, Mapping[str, Any]]]
        ],
        *,
        reward: Optional[float] = None,
        loss: Optional[float] = None,
        rank: Optional[int] = None,
        index: Optional[int] = None,
        feedback_id: str = "",
        deadline: Optional[float] = None,
    ) -> int:
        """Reports what came of a decision, by its id, or of several at once: a list of Feedback, or
        of dictionaries with its fields. Values are numbers: True and False are refused. `rank` or
        `index` (document_index) says which candidate it is about.

        Returns how many were accepted. With several servers one can fail: those of the others are
        accepted, and the first error is raised. Its `feedback` is what is to be sent again.
        """
        items = feedback_list(feedback, reward, loss, rank, feedback_id, index)
        calls = self._feedback(items, deadline)
        if len(calls) < 2:
            return sum(self._run(call) for call in calls)

        def result(call: Call) -> Union[int, Exception]:
            try:
                return self._run(call)
            except Exception as error:
                return error

        # At once: that of one server must not wait for another that is away.
        with ThreadPoolExecutor(len(calls)) as threads:
            return sum_of_parts(list(threads.map(result, calls)))

    def column_types(self, model: str = "", *, deadline: Optional[float] = None) -> dict[str, str]:
        """Returns the types of the model's named columns, for `types`; empty: it has no schema.

        With tokens, this needs the role admin.
        """
        return self._run(self._column_types(model, deadline))

    def _connect(self, address: str, instead_of: str = "") -> grpc.Channel:
        options = self._security.channel_options(instead_of)
        if self._credentials is None:
            return grpc.insecure_channel(address, options)
        return grpc.secure_channel(address, self._credentials, options)

    def _run(self, call: Call) -> Any:
        method = methods.METHODS[call.method]
        headers = self._headers(call)
        attempts = call.attempts
        pinned: Optional[grpc.Channel] = None  # To the one server of several that had the call.
        try:
            while not self._closed.is_set():
                attempts.begin()
                stub = self._stubs[attempts.server][call.method]
                if pinned:
                    stub = pinned.unary_unary(method.path, method.serialize, method.parse)
                try:
                    response = stub(
                        call.request,
                        timeout=attempts.timeout,
                        metadata=headers,
                        wait_for_ready=attempts.waits_for_connection,
                    )
                    return self._answer(call, response)
                except ValueError:
                    if not self._closed.is_set():
                        raise
                except grpc.RpcError as error:
                    pause = attempts.pause_after(error)
                    if pause is None or self._closed.is_set():
                        raise self._failure(call, error) from None
                    if attempts.pinned and not pinned:
                        address = self.servers.addresses[attempts.server]
                        pinned = self._connect(attempts.pinned, instead_of=address)
                        self._channels.append(pinned)
                    self._closed.wait(pause)
        finally:
            if pinned:
                self._channels.remove(pinned)
                pinned.close()
        raise self._closed_error(call)


def _close(closed: threading.Event, channels: list[grpc.Channel]) -> None:
    closed.set()
    for channel in list(channels):
        channel.close()


def _watch(channel: grpc.Channel, known: Servers, server: int, closed: threading.Event) -> None:
    """Notes what a server says of its health, until the client is closed."""
    while not closed.is_set():
        code, has_spoken = grpc.StatusCode.OK, False
        try:
            watch = channel.unary_stream(methods.HEALTH_WATCH)
            for status in watch(methods.HEALTH_REQUEST, timeout=servers.WATCH_SECONDS):
                known.set_serving(server, status == methods.HEALTH_SERVING)
                has_spoken = True
        except grpc.RpcError as error:
            code = error.code()
        except ValueError:  # The channel is closed.
            return
        if not known.watch_ended(server, code, has_spoken):
            return
        closed.wait(servers.WATCH_PAUSE)
