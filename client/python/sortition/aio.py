"""AsyncRanker: the client for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any, Iterable, Optional, Union, Unpack

import grpc
import grpc.aio

from sortition import methods
from sortition.answers import Aggregation, Ranking, Selection, Subset
from sortition.calls import Call, Calls
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Feedback,
    feedback_list,
    shown_request,
)

_WATCH_PAUSE = 0.2  # Seconds before a health watch that ended is begun again.


class AsyncRanker(Calls):
    """Ranker with coroutines. Belongs to the event loop in which it was made.

    A call whose task is cancelled is cancelled at the server, too; its decision may be logged.

        async with sortition.AsyncRanker("127.0.0.1:8500") as ranker:
            answer = await ranker.rank(matrix, top_k=10)
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._channels = [self._connect(address) for address in self.servers.addresses]
        self._stubs = [
            {
                name: channel.unary_unary(method.path, method.serialize, method.parse)
                for name, method in methods.METHODS.items()
            }
            for channel in self._channels
        ]
        self._watches: list[asyncio.Task[None]] = []
        self._closed = False

    __init__.__doc__ = Calls.__init__.__doc__

    async def __aenter__(self) -> AsyncRanker:
        self._begin_watches()
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections; calls that wait are cancelled."""
        self._closed = True
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        for channel in self._channels:
            await channel.close()

    async def rank(
        self, features: Any, *, top_k: Optional[int] = None, **options: Unpack[DecisionOptions]
    ) -> Ranking:
        """As Ranker.rank."""
        return await self._run(self._rank(features, top_k, options))

    async def select(self, features: Any, **options: Unpack[DecisionOptions]) -> Selection:
        """As Ranker.select."""
        return await self._run(self._select(features, options))

    async def label(
        self, features: Any, *, k: Optional[int] = None, **options: Unpack[DecisionOptions]
    ) -> Subset:
        """As Ranker.label."""
        return await self._run(self._label(features, k, options))

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
        feedback: Union[str, Feedback, Iterable[Feedback]],
        *,
        reward: Optional[float] = None,
        loss: Optional[float] = None,
        rank: Optional[int] = None,
        feedback_id: str = "",
        deadline: Optional[float] = None,
    ) -> int:
        """As Ranker.feedback."""
        items = feedback_list(feedback, reward, loss, rank, feedback_id)
        calls = [self._run(call) for call in self._feedback(items, deadline)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return sum(results)

    async def column_types(self, model: str = "") -> dict[str, str]:
        """As Ranker.column_types."""
        return await self._run(self._column_types(model))

    def _connect(self, address: str) -> grpc.aio.Channel:
        options = self._security.channel_options()
        if self._credentials is None:
            return grpc.aio.insecure_channel(address, options)
        return grpc.aio.secure_channel(address, self._credentials, options)

    def _begin_watches(self) -> None:
        if len(self._channels) > 1 and not self._watches:
            self._watches = [
                asyncio.create_task(self._watch(server)) for server in range(len(self._channels))
            ]

    async def _run(self, call: Call) -> Any:
        self._begin_watches()
        stub = self._stubs[call.server][call.method]
        headers = self._headers(call)
        attempts = call.attempts
        while True:
            try:
                response = await stub(
                    call.request,
                    timeout=attempts.left(),
                    metadata=headers,
                    wait_for_ready=attempts.waits_for_connection,
                )
                return call.answer(response)
            except grpc.RpcError as error:
                pause = attempts.pause_after(error)
                if pause is None or self._closed:
                    address = self.servers.addresses[call.server]
                    raise attempts.failure(error, address, call.decision_id) from None
                await asyncio.sleep(pause)

    async def _watch(self, server: int) -> None:
        """Notes what the server says of its health, until the client is closed."""
        watch = self._channels[server].unary_stream(methods.HEALTH_WATCH)
        while True:
            try:
                async for status in watch(methods.HEALTH_REQUEST, wait_for_ready=True):
                    self.servers.set_serving(server, status == methods.HEALTH_SERVING)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                    return
            self.servers.set_serving(server, False)
            await asyncio.sleep(_WATCH_PAUSE)
