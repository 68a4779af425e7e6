"""The HTTP API of traces, and the schemas of traces and of a run's events."""

from collections.abc import Mapping, Sequence
from functools import partial

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api import openapi as described
from mockllm_site.kit.api.access import ClientView
from mockllm_site.kit.api.errors import ApiError
from mockllm_site.kit.api.shapes import EditedField, Flag, Shape, Text, Whole
from traces_app.models import Status, Trace
from traces_app.selectors import trace_of, trace_of_message, trace_record
from traces_app.to_scenario import CannotReplay, scenario_of_trace

CODES = (
    "VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "CONFLICT", "RATE_LIMITED",
    "NETWORK_ERROR", "SERVICE_UNAVAILABLE", "INTERNAL_ERROR",
)  # fmt: skip
# The control API publishes the schema of scenarios.
SCENARIO = {"type": "object", "additionalProperties": True}

STATUS_MEANINGS: Mapping[int, str] = {
    400: "The request is invalid; `field` says where.",
    401: "The request has no login and no chat token.",
    403: "The CSRF token of a login is missing or wrong.",
    404: "The client has no such trace.",
    409: "The run cannot be replayed; the message says why.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer.",
}

documented = partial(described.documented, meanings=STATUS_MEANINGS, tag="traces")


class _EventSerializer(Shape):
    """Base of the events' schemas, for the OpenAPI document only: fields of events of any type."""

    branch = serializers.ChoiceField(
        ("a", "b"), required=False, help_text="In a comparison: the branch of the answer."
    )
    seq = Whole(required=False, help_text="In a trace: its number; a stream sends it as the id.")
    at = serializers.DateTimeField(required=False, help_text="In a trace: the time of the event.")


def _type_field(name: str) -> serializers.ChoiceField:
    """Return a field that holds this type alone."""
    return serializers.ChoiceField((name,))


class StartedEventSerializer(_EventSerializer):
    """Schema of the first event: the user's message is stored, no model was called yet."""

    type = _type_field("started")
    conversation_id = serializers.UUIDField()
    trace_id = serializers.UUIDField()
    message_id = serializers.UUIDField(help_text="The user's message.")


class ChunkEventSerializer(_EventSerializer):
    """Schema of the event of a piece of the answer, to be appended as it is."""

    type = _type_field("chunk")
    content = Text()
    conversation_id = serializers.UUIDField()


class ThinkingEventSerializer(_EventSerializer):
    """Schema of the event of a piece of the model's thinking."""

    type = _type_field("thinking")
    content = Text()
    conversation_id = serializers.UUIDField()


class ToolStartEventSerializer(_EventSerializer):
    """Schema of the event that a tool is being called; its arguments are complete."""

    type = _type_field("tool_start")
    tool_call_id = Text()
    tool_name = Text(allow_blank=True)
    tool_args = serializers.JSONField(help_text="An object, or the text if it is no object.")
    timestamp = serializers.DateTimeField()


class ToolOutputEventSerializer(_EventSerializer):
    """Schema of the event of a tool's result, cut at 16,384 characters; errors begin `Error: `."""

    type = _type_field("tool_output")
    tool_call_id = Text()
    output = Text(allow_blank=True)
    truncated = Flag()
    full_length = Whole(help_text="Characters before the cut.")
    is_error = Flag()
    code = Text(allow_null=True)


class ToolEndEventSerializer(_EventSerializer):
    """Schema of the event that a tool call has ended."""

    type = _type_field("tool_end")
    tool_call_id = Text()
    status = serializers.ChoiceField(("success", "error", "timeout", "cancelled"))
    duration_ms = serializers.FloatField()


class ErrorEventSerializer(_EventSerializer):
    """Schema of the last event of a run that failed."""

    type = _type_field("error")
    status = Whole(help_text="The HTTP status of `code`.")
    message = Text()
    code = serializers.ChoiceField(CODES)


class DoneEventSerializer(_EventSerializer):
    """Schema of the last event of a run that succeeded or was cancelled: everything is stored. A
    comparison ends with one more, without a branch."""

    type = _type_field("done")
    conversation_id = serializers.UUIDField()
    message_id = serializers.UUIDField(required=False, help_text="The answer; present for a run.")
    trace_id = serializers.UUIDField(required=False, help_text="Present for a run.")
    cancelled = Flag(required=False)
    comparison_id = serializers.UUIDField(required=False, help_text="At the end of a comparison.")
    message_id_a = serializers.UUIDField(
        required=False, allow_null=True, help_text="Null if there is no answer."
    )
    message_id_b = serializers.UUIDField(required=False, allow_null=True)


EVENTS: Mapping[str, type[Shape]] = {
    "started": StartedEventSerializer,
    "chunk": ChunkEventSerializer,
    "thinking": ThinkingEventSerializer,
    "tool_start": ToolStartEventSerializer,
    "tool_output": ToolOutputEventSerializer,
    "tool_end": ToolEndEventSerializer,
    "error": ErrorEventSerializer,
    "done": DoneEventSerializer,
}


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="Event", serializers=dict(EVENTS), resource_type_field_name="type"
    )
)
class EventField(serializers.JSONField):
    """One event as JSON; in the OpenAPI document, one of the schemas in EVENTS by its type."""


class TraceQuery(Shape):
    client_id = Text(required=False, max_length=200, help_text="If given, it must be the owner's.")


class TraceErrorBody(Shape):
    code = serializers.ChoiceField(CODES)
    message = Text()


class TotalsBody(Shape):
    events = Whole()
    model_calls = Whole()
    tool_calls = Whole()
    input_tokens = Whole()
    output_tokens = Whole()
    tokens_estimated = Flag(help_text="true if a model call was cut off before its tokens came")
    duration_ms = Whole(allow_null=True, help_text="null while it runs")
    first_token_ms = Whole(
        allow_null=True, help_text="from the start to the first token, of text or anything else"
    )


class ModelCallBody(Shape):
    """One request to a model; `parts` is its response."""

    number = Whole()
    purpose = Text(help_text="answer or summary")
    provider = Text(allow_null=True)
    model = Text(allow_null=True)
    request = serializers.DictField(help_text="counts of what was sent")
    tools = serializers.ListField(child=Text(), help_text="the names that were offered")
    parts = serializers.ListField(child=serializers.DictField())
    answered_by = Text(allow_null=True, help_text="the mock's scenario and step, if it answered")
    finish_reason = Text(allow_null=True)
    input_tokens = Whole()
    output_tokens = Whole()
    tokens_estimated = Flag(help_text="true if it was cut off before its tokens came")
    code = Text(allow_null=True, help_text="why it failed, if it did")
    started_at = serializers.DateTimeField()
    first_token_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ReportBody(Shape):
    """An agent's final report, by the names of its arguments."""

    status = Text(help_text="success, failure, or another status of the agent")
    report_format = Text(allow_null=True)
    report_content = Text(allow_blank=True, help_text="unchanged")
    content_json = serializers.JSONField(help_text="any JSON; null where there is none")
    messages = serializers.JSONField(help_text="any JSON; null where there is none")


class TraceBody(Shape):
    """A run. In a comparison, `profile`, `provider` and `model` are null until the vote."""

    trace_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    message_id = serializers.UUIDField(
        allow_null=True, help_text="the answer; null until there is one"
    )
    user_message_id = serializers.UUIDField(allow_null=True)
    branch = serializers.ChoiceField(("a", "b"), allow_null=True)
    status = serializers.ChoiceField(Status.choices)
    error = TraceErrorBody(allow_null=True)
    profile = Text(allow_null=True)
    provider = Text(allow_null=True)
    model = Text(allow_null=True)
    started_at = serializers.DateTimeField()
    first_token_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    edited_at = EditedField()
    totals = TotalsBody()
    events = serializers.ListField(child=EventField())
    model_calls = ModelCallBody(many=True)
    report = ReportBody(allow_null=True, help_text="the final report, if the run ended with one")


class TraceView(ClientView):
    """Base of the views of traces, which finds the trace that is asked for."""

    reads = True
    http_method_names: Sequence[str] = ("get", "head")

    def get_trace(self, row_id: str, client_id: str | None, *, field: str = "trace_id") -> Trace:
        """Return the trace of a run, or of a message for the field `message_id`. Raise ApiError 404
        if it is unknown or another client's."""
        find = trace_of if field == "trace_id" else trace_of_message
        try:
            return find(row_id, client_id)
        except Trace.DoesNotExist:
            raise ApiError(404, "Trace not found", field=field) from None


class TraceByIdView(TraceView):
    @documented(
        "read_trace",
        query=TraceQuery,
        answers={
            200: (TraceBody, "The trace as it is now; a running one has no terminal event yet.")
        },
        errors=(404,),
    )
    def get(self, request: Request, trace_id: str) -> Response:
        """Return a run with all its events and model calls."""
        client_id = self.query(TraceQuery).get("client_id")
        return Response(trace_record(self.get_trace(trace_id, client_id)))


class TraceOfMessageView(TraceView):
    @documented(
        "read_trace_of_message",
        query=TraceQuery,
        answers={200: (TraceBody, "The run of an answer; the latest run for a user's message.")},
        errors=(404,),
    )
    def get(self, request: Request, message_id: str) -> Response:
        """Return the run of an answer, or the latest run of a user's message."""
        client_id = self.query(TraceQuery).get("client_id")
        return Response(trace_record(self.get_trace(message_id, client_id, field="message_id")))


class ScenarioOfTraceView(TraceView):
    http_method_names = ("post",)

    @documented(
        "make_scenario_of_trace",
        body=TraceQuery,
        answers={200: (SCENARIO, "A scenario document; nothing is stored.")},
        errors=(404, 409),
    )
    def post(self, request: Request, trace_id: str) -> Response:
        """Return a scenario that makes the mock answer as the models of this run did."""
        # The body is optional.
        query = self.read_body(TraceQuery) if self.has_body() else self.query(TraceQuery)
        trace = self.get_trace(trace_id, query.get("client_id"))
        try:
            return Response(scenario_of_trace(trace))
        except CannotReplay as error:
            raise ApiError(409, str(error), field="trace_id") from None
