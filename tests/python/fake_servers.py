"""Servers in this process that answer, refuse, end, or say nothing."""

from __future__ import annotations

import socket
import struct
import threading
from concurrent import futures
from typing import Callable, Optional

import grpc

from sortition.v1 import ranking_pb2

Refusal = tuple[grpc.StatusCode, str]


def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class FakeServer:
    """Answers Rank, Select, ReportShown and ReportFeedback, or refuses all of them."""

    def __init__(self, refusal: Optional[Refusal] = None, pushback_ms: Optional[int] = None) -> None:
        self.refusal = refusal  # Of the next calls.
        self.calls: list[str] = []  # The decision id of each.
        self._pushback_ms = pushback_ms
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        handlers = {
            "Rank": self._handler(
                lambda request: request.context.decision_id,
                lambda request, decision_id: ranking_pb2.RankResponse(
                    result={"decision_id": decision_id}, order=[0]
                ),
                ranking_pb2.RankRequest,
            ),
            "ReportShown": self._handler(
                lambda request: request.decision_id,
                lambda request, decision_id: ranking_pb2.ReportShownResponse(),
                ranking_pb2.ReportShownRequest,
            ),
            "ReportFeedback": self._handler(
                lambda request: request.feedback[0].decision_id,
                lambda request, decision_id: ranking_pb2.ReportFeedbackResponse(
                    accepted=len(request.feedback)
                ),
                ranking_pb2.ReportFeedbackRequest,
            ),
        }
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("sortition.v1.Ranking", handlers),)
        )
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None)

    def _handler(self, id_of: Callable, answer: Callable, request: type) -> grpc.RpcMethodHandler:
        def call(message: object, context: grpc.ServicerContext) -> object:
            decision_id = id_of(message)
            self.calls.append(decision_id)
            if self.refusal:
                if self._pushback_ms is not None:
                    hint = ("grpc-retry-pushback-ms", str(self._pushback_ms))
                    context.set_trailing_metadata((hint,))
                context.abort(*self.refusal)
            return answer(message, decision_id)

        return grpc.unary_unary_rpc_method_handler(
            call, request.FromString, lambda response: response.SerializeToString()
        )


# Frames of HTTP/2 (RFC 9113, section 6).
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
# The highest stream that was processed is 0, so none was; NO_ERROR.
GOAWAY = bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]) + bytes(8)
PREFACE_BYTES = 24
HEADERS_TYPE = 1


class RawServer:
    """Speaks just enough HTTP/2 to receive a call, and then ends the connection by `ending`.

    "reset": by a TCP reset. "goaway": by a frame GOAWAY. "silence": not at all. "deaf": it does
    not accept connections, which the kernel completes nevertheless.
    """

    def __init__(self, ending: str) -> None:
        self._ending = ending
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        self.num_calls = 0
        if ending != "deaf":
            threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        # Wakes the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.sendall(SETTINGS)
            read(connection, PREFACE_BYTES)
            while header := read(connection, 9):
                read(connection, int.from_bytes(header[:3], "big"))
                if header[3] == HEADERS_TYPE:
                    self.num_calls += 1
                    self._end(connection)
        except OSError:
            pass  # The client or the test ended the connection.

    def _end(self, connection: socket.socket) -> None:
        if self._ending == "silence":
            return
        if self._ending == "goaway":
            connection.sendall(GOAWAY)
        else:
            # Without lingering, close() resets the connection.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def read(connection: socket.socket, size: int) -> bytes:
    """Returns `size` bytes, or none at the end of the connection."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data
