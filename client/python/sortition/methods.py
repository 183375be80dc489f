"""The calls of the services, from their descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from sortition.v1 import models_pb2, ranking_pb2


@dataclass(frozen=True)
class Method:
    path: str
    serialize: Callable[[Any], bytes]
    parse: Callable[[bytes], Any]


def _methods() -> dict[str, Method]:
    methods = {}
    for module, name in ((ranking_pb2, "Ranking"), (models_pb2, "Models")):
        service = module.DESCRIPTOR.services_by_name[name]
        for method in service.methods:
            request = getattr(module, method.input_type.name)
            response = getattr(module, method.output_type.name)
            methods[method.name] = Method(
                f"/{service.full_name}/{method.name}",
                request.SerializeToString,
                response.FromString,
            )
    return methods


METHODS = _methods()

# grpc.health.v1.Health/Watch. Its two messages have one field each; a module for them would
# register a file that grpcio-health-checking registers, too.
HEALTH_WATCH = "/grpc.health.v1.Health/Watch"
HEALTH_REQUEST = b""
HEALTH_SERVING = b"\x08\x01"
