"""The shapes of a trace over HTTP."""

from rest_framework import serializers

from mockllm_site.kit.api.shapes import Shape, Text, Whole
from traces_app.api.events import CODES, EventField
from traces_app.models import Status


class TraceQuery(Shape):
    client_id = Text(
        required=False,
        max_length=200,
        help_text="Where it is given, it has to be the owner's.",
    )


class TraceErrorBody(Shape):
    code = serializers.ChoiceField(CODES)
    message = Text()


class TotalsBody(Shape):
    events = Whole()
    model_calls = Whole()
    tool_calls = Whole()
    input_tokens = Whole()
    output_tokens = Whole()
    duration_ms = Whole(allow_null=True, help_text="null while it runs")
    first_token_ms = Whole(
        allow_null=True, help_text="from the start to the first token, of text or anything else"
    )


class ModelCallBody(Shape):
    """One request to a model; `parts` is what came back."""

    number = Whole()
    purpose = Text(help_text="answer or summary")
    provider = Text(allow_null=True)
    model = Text(allow_null=True)
    request = serializers.DictField(help_text="what was sent, counted")
    tools = serializers.ListField(child=Text(), help_text="the names that were offered")
    parts = serializers.ListField(child=serializers.DictField())
    finish_reason = Text(allow_null=True)
    input_tokens = Whole()
    output_tokens = Whole()
    code = Text(allow_null=True, help_text="why it failed, where it did")
    started_at = serializers.DateTimeField()
    first_token_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ReportBody(Shape):
    """What an agent's final report says, by the names of its arguments."""

    status = Text(help_text="success, failure, or what else the agent says")
    report_format = Text(allow_null=True)
    report_content = Text(allow_blank=True, help_text="as it was handed in")
    content_json = serializers.JSONField(help_text="any JSON; null where there is none")
    messages = serializers.JSONField(help_text="any JSON; null where there is none")


class TraceBody(Shape):
    """A run. Answers of a comparison tell `profile`, `provider` and `model` after the vote."""

    trace_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    message_id = serializers.UUIDField(allow_null=True, help_text="the answer, once there is one")
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
    totals = TotalsBody()
    events = serializers.ListField(child=EventField())
    model_calls = ModelCallBody(many=True)
    report = ReportBody(allow_null=True, help_text="of a run that ended with one")
