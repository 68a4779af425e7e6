"""The columns that scenarios have whether they are published or drafts; what people think in is
one.

An empty column (`""`, null, `[]`, `{}`) is a key that the document does not have. What a column
cannot hold stays in the `…extra` column of its section, in the document's own form.
"""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from scenarios_app.models.choices import FaultKind, FinishReason, Reasoning, Select, TextMode
from scenarios_app.models.fields import JsonField, LinesField, NamesField, ScriptField


class ScenarioColumns(models.Model):
    name = models.CharField(max_length=255)
    description = ScriptField(blank=True, default="")
    enabled = models.BooleanField(default=True)
    priority = models.IntegerField(default=0, help_text="The highest is tried first.")
    select = models.CharField("chosen by", max_length=32, choices=Select, default=Select.MATCH)
    tags = NamesField(blank=True, default=list)
    variables = JsonField(blank=True, default=dict)
    system_prompt_must_include = LinesField(blank=True, default=list)
    extra = JsonField("rest of the document", blank=True, default=dict)
    # Not `auto_now`: a fixture is loaded raw and would have to hold both.
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


def _name(verbose: str | None = None, **options: Any) -> Any:
    return models.CharField(verbose, max_length=255, blank=True, default="", **options)


def _choice(verbose: str, choices: type[models.TextChoices]) -> Any:
    return models.CharField(verbose, max_length=32, choices=choices, blank=True, default="")


def _script(verbose: str) -> Any:
    return ScriptField(verbose, blank=True, default="")


def _mode(default: TextMode) -> Any:
    return models.CharField("how", max_length=16, choices=TextMode, default=default)


def _json(verbose: str, default: type[list[Any] | dict[str, Any]] = dict) -> Any:
    return JsonField(verbose, blank=True, default=default)


def _whole(verbose: str | None = None, *, least: int = 0, help_text: str = "") -> Any:
    checks = [MinValueValidator(least)]
    return models.PositiveIntegerField(
        verbose, null=True, blank=True, validators=checks, help_text=help_text
    )


def _status(verbose: str) -> Any:
    checks = [MinValueValidator(200), MaxValueValidator(599)]
    return models.PositiveSmallIntegerField(verbose, null=True, blank=True, validators=checks)


def _number(*, most: float | None = None) -> Any:
    checks: list[Any] = [MinValueValidator(0.0)]
    if most is not None:
        checks.append(MaxValueValidator(most))
    return models.FloatField(null=True, blank=True, validators=checks)


class StepColumns(models.Model):
    order = models.PositiveIntegerField(default=0)
    name = _name()
    turn = _whole(least=1, help_text="Which answer of the conversation; empty for any.")
    consume = models.BooleanField(default=True, help_text="Answers once in each session.")

    match_provider = _name("provider")
    match_path = _name("path")
    match_model = _name("model")
    match_model_mode = _mode(TextMode.EQUALS)
    match_stream = models.BooleanField("stream", null=True, blank=True)
    match_user = _script("last user message")
    match_user_mode = _mode(TextMode.CONTAINS)
    match_user_ignore_case = models.BooleanField("in any letter case", default=False)
    match_system = _script("system prompt")
    match_system_mode = _mode(TextMode.CONTAINS)
    match_tool_result = _script("last tool result")
    match_tool_result_mode = _mode(TextMode.CONTAINS)
    match_tool_result_name = _name("result of tool")
    match_tools = NamesField("offered tools", blank=True, default=list)
    match_extra = _json("other conditions")

    expect_tools = NamesField("tools", blank=True, default=list)
    expect_allow_missing_tools = models.BooleanField("tools may be missing", default=False)
    expect_temperature = _number()
    expect_top_p = _number()
    expect_reasoning = _choice("reasoning", Reasoning)

    failures_times = _whole("attempts that fail", least=1)
    failures_kind = _choice("fail with", FaultKind)
    failures_status = _status("status")
    failures_message = _script("message")
    failures_retry_after_ms = _whole("retry after (ms)")
    failures_extra = _json("rest of the failure")

    answer_reasoning = _script("reasoning")
    answer_text = _script("text")
    answer_tool_calls = _json("tool calls", list)
    answer_refusal = _script("refusal")
    report_status = _name("status of the report", help_text="Empty: success.")
    report_format = _name("format of the report")
    report_content = _script("final report")
    answer_finish_reason = _choice("finish reason", FinishReason)
    answer_input_tokens = _whole("input tokens")
    answer_output_tokens = _whole("output tokens")
    answer_extra = _json("rest of the answer")

    latency_ms = _whole("latency (ms)", help_text="Before anything is sent.")
    first_ms = _whole("first chunk after (ms)")
    words_per_second = _number()
    chunk_ms = _whole("time between chunks (ms)")
    words_per_chunk = _whole(least=1)
    jitter = _number(most=1.0)

    fault_kind = _choice("fault", FaultKind)
    fault_after_chunks = _whole("after chunks")
    fault_hold_ms = _whole("hold for (ms)")
    fault_status = _status("status")
    fault_message = _script("message")
    fault_retry_after_ms = _whole("retry after (ms)")
    fault_extra = _json("rest of the fault")

    counter = _name(help_text="Counts the answers of this step.")
    response_status = _status("status of the answer")
    response_headers = _json("headers of the answer")
    echo_headers = NamesField("headers to echo", blank=True, default=list)
    asserts = _json("assertions", list)
    extra = _json("rest of the step")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name or f"step {self.order}"
