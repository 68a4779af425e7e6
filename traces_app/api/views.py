"""Traces to read: by their id, or by that of a message."""

from collections.abc import Mapping, Sequence
from functools import partial

from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api import openapi as described
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.api.views import ClientView
from traces_app.api.shapes import TraceBody, TraceQuery
from traces_app.models import Trace
from traces_app.selectors import record_of, trace_of, trace_of_message
from traces_app.to_scenario import CannotReplay, scenario_of_trace

# Its own schema is the control API's matter.
SCENARIO = {"type": "object", "additionalProperties": True}

MEANINGS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "Neither a login nor the chat token.",
    403: "The CSRF token of a login is missing or wrong.",
    404: "There is no such trace, or not for this client.",
    409: "What was recorded cannot be played again; the message says why.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer.",
}

documented = partial(described.documented, meanings=MEANINGS, tag="traces")


class TraceView(ClientView):
    """What the views of traces have in common."""

    reads = True
    http_method_names: Sequence[str] = ("get", "head")

    def found(self, trace_id: str, client_id: str | None) -> Trace:
        """The trace with this id, where it is for this client."""
        try:
            return trace_of(trace_id, client_id)
        except Trace.DoesNotExist:
            raise ApiError(404, "Trace not found", field="trace_id") from None


class OneTrace(TraceView):
    @documented(
        "read_trace",
        query=TraceQuery,
        answers={200: (TraceBody, "As it is now; a run that goes on has no terminal event yet.")},
        errors=(404,),
    )
    def get(self, request: Request, trace_id: str) -> Response:
        """A run with all its events and model calls."""
        client_id = self.query(TraceQuery).get("client_id")
        return Response(record_of(self.found(trace_id, client_id)))


class TraceOfMessage(TraceView):
    @documented(
        "read_trace_of_message",
        query=TraceQuery,
        answers={200: (TraceBody, "Of an answer its own; of a user's message the latest.")},
        errors=(404,),
    )
    def get(self, request: Request, message_id: str) -> Response:
        """The run behind a message."""
        client_id = self.query(TraceQuery).get("client_id")
        try:
            return Response(record_of(trace_of_message(message_id, client_id)))
        except Trace.DoesNotExist:
            raise ApiError(404, "Trace not found", field="message_id") from None


class ScenarioOfTrace(TraceView):
    http_method_names = ("post",)

    @documented(
        "make_scenario_of_trace",
        body=TraceQuery,
        answers={200: (SCENARIO, "A scenario document; nothing is stored.")},
        errors=(404, 409),
    )
    def post(self, request: Request, trace_id: str) -> Response:
        """The scenario that makes the mock answer as the models of this run did."""
        # Nothing has to be said, so a request without a body will do.
        asked = self.given_as(TraceQuery) if self.has_body() else self.query(TraceQuery)
        trace = self.found(trace_id, asked.get("client_id"))
        try:
            return Response(scenario_of_trace(trace))
        except CannotReplay as error:
            raise ApiError(409, str(error), field="trace_id") from None
