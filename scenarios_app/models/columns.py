"""The columns that published scenarios and drafts have.

An empty column (`""`, null, `[]`, `{}`) is a key that the document does not have. What a column
cannot hold stays in the `…extra` column of its section, in the document's own form.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.text import capfirst

from mockllm_site.kit.fields import JsonField, NamesField
from scenarios_app.models import fields
from scenarios_app.models.fields import LinesField, ScriptField, Select, TextMode

Place: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """Describes a database column: the `place` of its value in the document (None: converted in
    `store/`), its `label` on the page, and whether it holds the `rest` of its object."""

    place: Place | None = None
    label: str = ""
    rest: bool = False


def at(path: str | None, field: Any, label: str = "", *, rest: bool = False) -> Any:
    """Return a field with its path in the document; its label is by default the verbose name."""
    place = None if path is None else tuple(filter(None, path.split(".")))
    field.in_document = Column(place, label, rest)
    return field


@cache
def column_of(model: type[models.Model], name: str) -> Column:
    """Return the description of a column."""
    field = model._meta.get_field(name)
    column: Column = getattr(field, "in_document", Column())
    label = column.label or capfirst(str(field.verbose_name))  # type: ignore[union-attr]
    return Column(column.place, label, column.rest)


@cache
def places_of(model: type[models.Model], *, rest: bool = False) -> dict[str, Place]:
    """Return the paths in the document of a model's columns: of those with one value, or with
    `rest` of those with the other keys of a section, inner sections first."""
    columns = ((field.name, column_of(model, field.name)) for field in model._meta.local_fields)
    places = {
        name: column.place
        for name, column in columns
        if column.place is not None and column.rest == rest
    }
    return dict(sorted(places.items(), key=lambda item: -len(item[1]))) if rest else places


def _name_field(verbose: str | None = None, **options: Any) -> Any:
    return models.CharField(verbose, max_length=255, blank=True, default="", **options)


def _choice_field(verbose: str, choices: type[models.TextChoices] | None = None) -> Any:
    """Return a field with choices; without any it holds a fault kind, which the engine checks."""
    return models.CharField(verbose, max_length=32, choices=choices, blank=True, default="")


def _script_field(verbose: str) -> Any:
    return ScriptField(verbose, blank=True, default="")


def _mode_field(default: TextMode) -> Any:
    return models.CharField("how", max_length=16, choices=TextMode, default=default)


def _flag_field(verbose: str) -> Any:
    return models.BooleanField(verbose, default=False)


def _names_field(verbose: str) -> Any:
    return NamesField(verbose, blank=True, default=list)


def _json_field(verbose: str, default: type[list[Any] | dict[str, Any]] = dict) -> Any:
    return JsonField(verbose, blank=True, default=default)


def _rest_field(path: str, verbose: str, label: str) -> Any:
    """Return a column for the keys of a section that have no column of their own."""
    return at(path, _json_field(verbose), label, rest=True)


def _whole_number_field(
    verbose: str | None = None, *, minimum: int = 0, help_text: str = ""
) -> Any:
    """Return an optional column for a number from `minimum` up."""
    checks = [MinValueValidator(minimum)]
    return models.PositiveIntegerField(
        verbose, null=True, blank=True, validators=checks, help_text=help_text
    )


def _status_field(verbose: str) -> Any:
    """Return an optional column for an HTTP status from 200 to 599."""
    checks = [MinValueValidator(200), MaxValueValidator(599)]
    return models.PositiveSmallIntegerField(verbose, null=True, blank=True, validators=checks)


def _number_field(*, maximum: float | None = None) -> Any:
    """Return an optional column for a number from 0 to `maximum`."""
    checks = [MinValueValidator(0.0), *([] if maximum is None else [MaxValueValidator(maximum)])]
    return models.FloatField(null=True, blank=True, validators=checks)


class ScenarioColumns(models.Model):
    """Base of published scenarios and drafts: the columns of a document without its steps."""

    name = at("name", models.CharField(max_length=255))
    description = at("description", ScriptField(blank=True, default=""))
    enabled = at("enabled", models.BooleanField(default=True))
    priority = at(
        "priority", models.IntegerField(default=0, help_text="The highest is tried first.")
    )
    select = at(
        "select",
        models.CharField("selected by", max_length=32, choices=Select, default=Select.MATCH),
        "Selected by",
    )
    tags = at("tags", NamesField(blank=True, default=list))
    variables = at("variables", JsonField(blank=True, default=dict))
    system_prompt_must_include = at(
        "system_prompt_must_include", LinesField(blank=True, default=list)
    )
    user = at("user", _json_field("scripted user"), "Scripted user (JSON)")
    extra = _rest_field("", "rest of the document", "Other settings (JSON)")
    # Not `auto_now`, which fixtures would have to set.
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class StepColumns(models.Model):
    """Base of the steps of published scenarios and of drafts: the columns of one step."""

    order = models.PositiveIntegerField(default=0)
    name = at("name", _name_field(), "Step name")
    turn = at(
        "turn",
        _whole_number_field(
            minimum=1, help_text="Which answer of the conversation; empty for any."
        ),
    )
    consume = at(
        "consume",
        models.BooleanField(default=True, help_text="Answers once in each session."),
        "Can answer",
    )

    match_provider = at("match.provider", _name_field("provider"))
    match_path = at("match.path", _name_field("path"))
    match_model = _name_field("model")
    match_model_mode = _mode_field(TextMode.EQUALS)
    match_stream = at(
        "match.stream", models.BooleanField("stream", null=True, blank=True), "Streaming"
    )
    match_user = _script_field("last user message")
    match_user_mode = _mode_field(TextMode.CONTAINS)
    match_user_ignore_case = at(None, _flag_field("in any letter case"), "Ignore case")
    match_system = _script_field("system prompt")
    match_system_mode = _mode_field(TextMode.CONTAINS)
    match_tool_result = _script_field("last tool result")
    match_tool_result_mode = _mode_field(TextMode.CONTAINS)
    match_tool_result_name = at(None, _name_field("result of tool"), "Tool result from")
    match_tools = at("match.tools", _names_field("offered tools"), "Tools in the request")
    match_recorded = at("match.recorded", _json_field("recorded request"))
    match_extra = _rest_field("match", "other conditions", "Other conditions (JSON)")

    expect_tools = at("expect.tools", _names_field("tools"), "Expected tools")
    expect_allow_missing_tools = at(
        "expect.allow_missing_tools",
        _flag_field("tools may be missing"),
        "Expected tools may be missing",
    )
    expect_temperature = at("expect.temperature", _number_field(), "Expected temperature")
    expect_top_p = at("expect.top_p", _number_field(), "Expected top_p")
    expect_reasoning = at(
        "expect.reasoning", _choice_field("reasoning", fields.Reasoning), "Expected reasoning"
    )

    failures_times = at(
        "failures.times",
        _whole_number_field("attempts that fail", minimum=1),
        "Number of failing requests (per session)",
    )
    failures_kind = at("failures.fault.kind", _choice_field("fail with"), "Failure type")
    failures_status = at("failures.fault.status", _status_field("status"), "Failure status")
    failures_message = at("failures.fault.message", _script_field("message"), "Failure message")
    failures_retry_after_ms = at(
        "failures.fault.retry_after_ms",
        _whole_number_field("retry after (ms)"),
        "Failure: retry after (ms)",
    )
    failures_extra = _rest_field(
        "failures.fault", "rest of the failure", "More of the failure (JSON)"
    )

    answer_reasoning = at("produce.reasoning", _script_field("reasoning"))
    answer_text = at("produce.text", _script_field("text"), "Answer text")
    answer_tool_calls = at("produce.tool_calls", _json_field("tool calls", list))
    answer_refusal = at("produce.refusal", _script_field("refusal"))
    report_status = at(
        "produce.final_report.status",
        _name_field("status of the report", help_text="Empty: success."),
        "Report status",
    )
    report_format = at(
        "produce.final_report.report_format", _name_field("format of the report"), "Report format"
    )
    report_content = at("produce.final_report.report_content", _script_field("final report"))
    answer_finish_reason = at(
        "produce.finish_reason", _choice_field("finish reason", fields.FinishReason)
    )
    answer_input_tokens = at("produce.usage.input_tokens", _whole_number_field("input tokens"))
    answer_output_tokens = at("produce.usage.output_tokens", _whole_number_field("output tokens"))
    answer_recorded = at("produce.recorded", _json_field("recorded answer"))
    answer_extra = _rest_field("produce", "rest of the answer", "Other reply settings (JSON)")

    latency_ms = at(
        "produce.latency_ms",
        _whole_number_field("latency (ms)", help_text="Before anything is sent."),
    )
    first_ms = at("produce.pacing.first_ms", _whole_number_field("first chunk after (ms)"))
    words_per_second = at("produce.pacing.words_per_second", _number_field())
    chunk_ms = at("produce.pacing.chunk_ms", _whole_number_field("time between chunks (ms)"))
    words_per_chunk = at("produce.pacing.words_per_chunk", _whole_number_field(minimum=1))
    jitter = at("produce.pacing.jitter", _number_field(maximum=1.0))

    fault_kind = at("produce.fault.kind", _choice_field("fault"), "Always fail with")
    fault_after_chunks = at(
        "produce.fault.after_chunks", _whole_number_field("after chunks"), "Fail after chunks"
    )
    fault_hold_ms = at(
        "produce.fault.hold_ms", _whole_number_field("hold for (ms)"), "Hold for (ms)"
    )
    fault_status = at("produce.fault.status", _status_field("status"), "Always fail: status")
    fault_message = at("produce.fault.message", _script_field("message"), "Always fail: message")
    fault_retry_after_ms = at(
        "produce.fault.retry_after_ms",
        _whole_number_field("retry after (ms)"),
        "Always fail: retry after (ms)",
    )
    fault_extra = _rest_field("produce.fault", "rest of the fault", "Always fail: more (JSON)")

    counter = at("side_effects.counter", _name_field(help_text="Counts the answers of this step."))
    response_status = at(
        "side_effects.status", _status_field("status of the answer"), "HTTP status of the answer"
    )
    response_headers = at("side_effects.headers", _json_field("headers of the answer"))
    echo_headers = at("side_effects.echo_headers", _names_field("headers to echo"))
    asserts = at("side_effects.assert", _json_field("assertions", list))
    extra = _rest_field("", "rest of the step", "Other step settings (JSON)")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name or f"step {self.order}"
