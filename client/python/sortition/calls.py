"""What a call consists of: shared by both clients, which differ in how they wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import grpc

from sortition import answers, requests
from sortition.arguments import flag, mapping, refuse, set_field, text
from sortition.errors import CallError
from sortition.features import index_ids, is_frame
from sortition.requests import (
    AggregateOptions,
    DecisionOptions,
    Defaults,
    Feedback,
    LabelOptions,
    RankOptions,
)
from sortition.retries import Attempts, RetryPolicy, check_deadline
from sortition.security import Security
from sortition.servers import Servers
from sortition.v1 import models_pb2, ranking_pb2


@dataclass(frozen=True)
class Call:
    method: str
    request: Any
    decision_id: str
    attempts: Attempts
    answer: Callable[[Any], Any]
    feedback: Sequence[Feedback] = ()  # What it reports.
    decides: bool = False


class Calls:
    """Makes the calls of a client, checks its options, and knows its servers."""

    def __init__(
        self,
        servers: Union[str, Sequence[str]] = "127.0.0.1:8500",
        *,
        model: str = "",
        types: Optional[Mapping[str, str]] = None,
        deadline: float = 5.0,
        retries: RetryPolicy = RetryPolicy(),
        security: Security = Security(),
        routing_header: bool = False,
        any_server: bool = False,
    ) -> None:
        """Connects at the first call.

        `servers`: host:port, or several of them, as a list or separated by commas. `model` and
        `types` (of named columns) are for calls that do not say otherwise. `deadline`: seconds for
        a call and its retries. `routing_header`: sends x-sortition-decision-id, by which a load
        balancer can send all calls about a decision to one server. `any_server`: the spools of all
        servers are joined together, so that reports, too, may go to another server if the one of
        their decision is away.
        """
        if not isinstance(retries, RetryPolicy):
            refuse("retries", retries, "a RetryPolicy")
        if not isinstance(security, Security):
            refuse("security", security, "a Security")
        check_deadline(deadline)
        self.servers = Servers(servers, retries.budget)
        security.check(self.servers.addresses)
        types = None if types is None else mapping("types", types)
        self._defaults = Defaults(text("model", model), types)
        self._deadline = deadline
        self._retries = retries
        self._security = security
        self._credentials = security.channel_credentials()
        self._metadata = security.metadata()
        self._routing_header = flag("routing_header", routing_header)
        self._any_server = flag("any_server", any_server)
        self._open()

    def _open(self) -> None:
        """Makes what the kind of client needs."""
        raise NotImplementedError

    def serving(self) -> dict[str, bool]:
        """Returns whether each of several servers serves, as far as its health watch has said."""
        return self.servers.serving()

    def _headers(self, call: Call) -> tuple[tuple[str, str], ...]:
        if self._routing_header and call.decision_id:
            return (*self._metadata, ("x-sortition-decision-id", call.decision_id))
        return self._metadata

    def _attempts(self, deadline: Optional[float], route: Sequence[int]) -> Attempts:
        deadline = self._deadline if deadline is None else deadline
        return Attempts(self._retries, deadline, self.servers, route, pins=not self._any_server)

    def _report_route(self, decision_id: str) -> list[int]:
        """Returns the servers that may take reports about the decision."""
        if self._any_server:
            return self.servers.route(decision_id)
        return [self.servers.of(decision_id)]

    def _answer(self, call: Call, response: Any) -> Any:
        """Returns the answer of a call that succeeded."""
        call.attempts.answered()
        if call.decides:
            self.servers.decided(call.decision_id, call.attempts.server)
        return call.answer(response)

    def _decision(
        self,
        method: str,
        request: Any,
        features: Any,
        options: Mapping[str, Any],
        answer: Callable[[Any, Optional[list[Any]]], Any],
        name: str = "features",
    ) -> Call:
        """`name`: what the caller calls `features`."""
        ids = requests.fill_context(request.context, features, options, self._defaults, name)
        decision_id = options.get("decision_id")
        if decision_id is not None and text("decision_id", decision_id):
            route = self.servers.route(decision_id)
        else:
            decision_id, route = self.servers.new_decision()
        request.context.decision_id = decision_id
        return Call(
            method,
            request,
            decision_id,
            self._attempts(options.get("deadline"), route),
            lambda response: answer(response, ids),
            decides=True,
        )

    def _rank(self, features: Any, options: RankOptions) -> Call:
        requests.check_options("rank", options)
        request = ranking_pb2.RankRequest()
        set_field(request, "top_k", options.get("top_k"))
        return self._decision("Rank", request, features, options, answers.ranking)

    def _rerank(self, query: str, documents: Any, options: RankOptions) -> Call:
        requests.check_options("rank", options)
        rows, given = requests.rerank_arguments(query, documents, options)
        request = ranking_pb2.RankRequest()
        set_field(request, "top_k", given.get("top_k"))
        return self._decision("Rank", request, rows, given, answers.ranking, "documents")

    def _select(self, features: Any, options: DecisionOptions) -> Call:
        requests.check_options("select", options)
        request = ranking_pb2.SelectRequest()
        return self._decision("Select", request, features, options, answers.selection)

    def _label(self, features: Any, options: LabelOptions) -> Call:
        requests.check_options("label", options)
        request = ranking_pb2.LabelRequest()
        set_field(request, "k", options.get("k"))
        return self._decision("Label", request, features, options, answers.subset)

    def _aggregate(self, lists: Any, options: AggregateOptions) -> Call:
        requests.check_options("aggregate", options)
        request, context = requests.aggregate_request(options)
        # The model of a client is no name for aggregations.
        context.setdefault("model", "")
        if is_frame(lists):
            ids = index_ids(lists)
            if ids is not None:
                context.setdefault("ids", ids)
            lists = lists.to_numpy()
        return self._decision("Aggregate", request, lists, context, answers.aggregation, "lists")

    def _shown(self, request: ranking_pb2.ReportShownRequest, deadline: Optional[float]) -> Call:
        return Call(
            "ReportShown",
            request,
            request.decision_id,
            self._attempts(deadline, self._report_route(request.decision_id)),
            lambda response: None,
        )

    def _feedback(self, items: Sequence[Feedback], deadline: Optional[float]) -> list[Call]:
        """Returns a call for each server that has one of the decisions."""
        by_server: dict[int, list[Feedback]] = {}
        for item in items:
            by_server.setdefault(self.servers.of(item.decision_id), []).append(item)
        return [
            Call(
                "ReportFeedback",
                ranking_pb2.ReportFeedbackRequest(
                    feedback=[requests.feedback_message(item) for item in part]
                ),
                part[0].decision_id if len(part) == 1 else "",
                self._attempts(deadline, self._report_route(part[0].decision_id)),
                lambda response: response.accepted,
                part,
            )
            for part in by_server.values()
        ]

    def _failure(self, call: Call, error: grpc.RpcError) -> CallError:
        """Returns what the caller gets where `error` was the last."""
        last, tried = call.attempts.failure(error)
        return CallError(
            last.code,
            last.message,
            last.server,
            call.decision_id,
            call.attempts.number,
            call.feedback,
            tried,
        )

    def _closed_error(self, call: Call) -> CallError:
        return CallError(
            grpc.StatusCode.CANCELLED,
            "client is closed",
            self.servers.addresses[call.attempts.server],
            call.decision_id,
            call.attempts.number,
            call.feedback,
        )

    def _column_types(self, model: str, deadline: Optional[float]) -> Call:
        name = text("model", model) or self._defaults.model
        return Call(
            "ListModels",
            models_pb2.ListModelsRequest(),
            "",
            self._attempts(deadline, self.servers.those_away_last(range(len(self.servers)))),
            lambda response: _types_of(response, name),
        )


def sum_of_parts(results: Sequence[Union[int, BaseException]]) -> int:
    """Returns how many feedback the servers accepted.

    Raises the first error, with the feedback of every call that failed.
    """
    errors = [result for result in results if isinstance(result, BaseException)]
    if not errors:
        return sum(result for result in results if isinstance(result, int))
    if isinstance(errors[0], CallError):
        failed = [error.feedback for error in errors if isinstance(error, CallError)]
        errors[0].feedback = [item for feedback in failed for item in feedback]
    raise errors[0]


def _types_of(response: models_pb2.ListModelsResponse, model: str) -> dict[str, str]:
    named = {status.name: status for status in response.models}
    if not model and len(named) == 1:
        model = next(iter(named))
    status = named.get(model or "default")
    if status is None or not status.HasField("schema"):
        return {}
    return {
        column.name: column.DESCRIPTOR.fields_by_name["type"]
        .enum_type.values_by_number[column.type]
        .name.lower()
        for column in status.schema.column
    }
