"""AsyncRanker: the client for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, Iterable, Mapping, Optional, Union, Unpack

import grpc
import grpc.aio

from sortition import methods, servers
from sortition.answers import Aggregation, Ranking, Selection, Subset
from sortition.calls import Call, Calls, sum_of_parts
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Feedback,
    LabelOptions,
    RankOptions,
    feedback_list,
    shown_request,
)


class AsyncRanker(Calls):
    """Ranker with coroutines. Belongs to the event loop in which it was made.

    A call whose task is cancelled is cancelled at the server, too; its decision may be logged.

        async with sortition.AsyncRanker("127.0.0.1:8500") as ranker:
            answer = await ranker.rank(matrix, top_k=10)
    """

    def _open(self) -> None:
        self._closed = asyncio.Event()
        self._channels = [self._connect(address) for address in self.servers.addresses]
        self._stubs = [
            {
                name: channel.unary_unary(method.path, method.serialize, method.parse)
                for name, method in methods.METHODS.items()
            }
            for channel in self._channels
        ]
        self._watches: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> AsyncRanker:
        self._begin_watches()
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections; calls that wait are cancelled."""
        self._closed.set()
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for channel in list(self._channels):
            await channel.close()

    async def rank(self, features: Any, **options: Unpack[RankOptions]) -> Ranking:
        """As Ranker.rank."""
        return await self._run(self._rank(features, options))

    async def rerank(
        self,
        query: str,
        documents: Iterable[Union[str, Mapping[str, Any]]],
        **options: Unpack[RankOptions],
    ) -> Ranking:
        """As Ranker.rerank."""
        return await self._run(self._rerank(query, documents, options))

    async def select(self, features: Any, **options: Unpack[DecisionOptions]) -> Selection:
        """As Ranker.select."""
        return await self._run(self._select(features, options))

    async def label(self, features: Any, **options: Unpack[LabelOptions]) -> Subset:
        """As Ranker.label."""
        return await self._run(self._label(features, options))

    async def aggregate(self, lists: Any, **options: Unpack[AggregateOptions]) -> Aggregation:
        """As Ranker.aggregate."""
        return await self._run(self._aggregate(lists, options))

    async def shown(
        self,
        decision_id: str,
        shown: Iterable[int] = (),
        *,
        first_rank: int = 0,
        seen_ranks: Optional[int] = None,
        not_shown: bool = False,
        deadline: Optional[float] = None,
    ) -> None:
        """As Ranker.shown."""
        request = shown_request(decision_id, shown, first_rank, seen_ranks, not_shown)
        await self._run(self._shown(request, deadline))

    async def feedback(
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
        """As Ranker.feedback."""
        items = feedback_list(feedback, reward, loss, rank, feedback_id, index)
        calls = [self._run(call) for call in self._feedback(items, deadline)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return sum_of_parts(results)

    async def column_types(
        self, model: str = "", *, deadline: Optional[float] = None
    ) -> dict[str, str]:
        """As Ranker.column_types."""
        return await self._run(self._column_types(model, deadline))

    def _connect(self, address: str, instead_of: str = "") -> grpc.aio.Channel:
        options = self._security.channel_options(instead_of)
        if self._credentials is None:
            return grpc.aio.insecure_channel(address, options)
        return grpc.aio.secure_channel(address, self._credentials, options)

    def _begin_watches(self) -> None:
        if len(self._channels) > 1 and not self._watches:
            self._watches = [
                asyncio.create_task(self._watch(server)) for server in range(len(self._channels))
            ]

    async def _run(self, call: Call) -> Any:
        if not self._closed.is_set():
            self._begin_watches()
        method = methods.METHODS[call.method]
        headers = self._headers(call)
        attempts = call.attempts
        pinned: Optional[grpc.aio.Channel] = None  # To the one server of several that had the call.
        try:
            while not self._closed.is_set():
                attempts.begin()
                stub = self._stubs[attempts.server][call.method]
                if pinned:
                    stub = pinned.unary_unary(method.path, method.serialize, method.parse)
                try:
                    response = await stub(
                        call.request,
                        timeout=attempts.timeout,
                        metadata=headers,
                        wait_for_ready=attempts.waits_for_connection,
                    )
                    return self._answer(call, response)
                except (grpc.aio.UsageError, asyncio.CancelledError):
                    task = asyncio.current_task()
                    # The call is cancelled by close(), or by its caller.
                    if not self._closed.is_set() or (task and task.cancelling()):
                        raise
                except grpc.RpcError as error:
                    pause = attempts.pause_after(error)
                    if pause is None or self._closed.is_set():
                        raise self._failure(call, error) from None
                    if attempts.pinned and not pinned:
                        address = self.servers.addresses[attempts.server]
                        pinned = self._connect(attempts.pinned, instead_of=address)
                        self._channels.append(pinned)
                    await self._sleep(pause)
        finally:
            if pinned:
                self._channels.remove(pinned)
                await pinned.close()
        raise self._closed_error(call)

    async def _sleep(self, seconds: float) -> None:
        """Ends early if the client is closed."""
        try:
            await asyncio.wait_for(self._closed.wait(), seconds)
        except asyncio.TimeoutError:
            pass

    async def _watch(self, server: int) -> None:
        """Notes what the server says of its health, until the client is closed."""
        watch = self._channels[server].unary_stream(methods.HEALTH_WATCH)
        while True:
            code, has_spoken = grpc.StatusCode.OK, False
            try:
                call = watch(methods.HEALTH_REQUEST, timeout=servers.WATCH_SECONDS)
                async for status in call:
                    self.servers.set_serving(server, status == methods.HEALTH_SERVING)
                    has_spoken = True
            except grpc.RpcError as error:
                code = error.code()
            if not self.servers.watch_ended(server, code, has_spoken):
                return
            await asyncio.sleep(servers.WATCH_PAUSE)
