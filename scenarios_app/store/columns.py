"""What a column can hold, by the kind of its field."""

import math
from functools import cache
from typing import Any, TypeAlias

from django.db import models

from scenarios_app.engine.canonical import Json
from scenarios_app.models.fields import JsonField, LinesField, NamesField

Place: TypeAlias = tuple[str, ...]

SCENARIO_KEYS = (
    "name",
    "description",
    "enabled",
    "priority",
    "select",
    "tags",
    "variables",
    "system_prompt_must_include",
)
# Columns that hold one value just as it stands.
VALUES: dict[str, Place] = {
    "name": ("name",),
    "turn": ("turn",),
    "consume": ("consume",),
    "match_provider": ("match", "provider"),
    "match_path": ("match", "path"),
    "match_stream": ("match", "stream"),
    "match_tools": ("match", "tools"),
    "expect_tools": ("expect", "tools"),
    "expect_allow_missing_tools": ("expect", "allow_missing_tools"),
    "expect_temperature": ("expect", "temperature"),
    "expect_top_p": ("expect", "top_p"),
    "expect_reasoning": ("expect", "reasoning"),
    "failures_times": ("failures", "times"),
    "failures_kind": ("failures", "fault", "kind"),
    "failures_status": ("failures", "fault", "status"),
    "failures_message": ("failures", "fault", "message"),
    "failures_retry_after_ms": ("failures", "fault", "retry_after_ms"),
    "answer_reasoning": ("produce", "reasoning"),
    "answer_text": ("produce", "text"),
    "answer_tool_calls": ("produce", "tool_calls"),
    "answer_refusal": ("produce", "refusal"),
    "report_status": ("produce", "final_report", "status"),
    "report_format": ("produce", "final_report", "report_format"),
    "report_content": ("produce", "final_report", "report_content"),
    "answer_finish_reason": ("produce", "finish_reason"),
    "answer_input_tokens": ("produce", "usage", "input_tokens"),
    "answer_output_tokens": ("produce", "usage", "output_tokens"),
    "latency_ms": ("produce", "latency_ms"),
    "first_ms": ("produce", "pacing", "first_ms"),
    "words_per_second": ("produce", "pacing", "words_per_second"),
    "chunk_ms": ("produce", "pacing", "chunk_ms"),
    "words_per_chunk": ("produce", "pacing", "words_per_chunk"),
    "jitter": ("produce", "pacing", "jitter"),
    "fault_kind": ("produce", "fault", "kind"),
    "fault_after_chunks": ("produce", "fault", "after_chunks"),
    "fault_hold_ms": ("produce", "fault", "hold_ms"),
    "fault_status": ("produce", "fault", "status"),
    "fault_message": ("produce", "fault", "message"),
    "fault_retry_after_ms": ("produce", "fault", "retry_after_ms"),
    "counter": ("side_effects", "counter"),
    "response_status": ("side_effects", "status"),
    "response_headers": ("side_effects", "headers"),
    "echo_headers": ("side_effects", "echo_headers"),
    "asserts": ("side_effects", "assert"),
}
# Columns that hold what is left of a section; an inner section comes before the one around it.
EXTRAS: dict[str, Place] = {
    "match_extra": ("match",),
    "failures_extra": ("failures", "fault"),
    "fault_extra": ("produce", "fault"),
    "answer_extra": ("produce",),
    "extra": (),
}
MODEL: Place = ("match", "model")
MESSAGES: Place = ("match", "messages")
TOOL_RESULTS: Place = ("match", "tool_results")
# Message conditions with columns, by role, in the order in which they open `match.messages`.
MESSAGE_COLUMNS = {"match_system": "system", "match_user": "user", "match_tool_result": "tool"}


Model: TypeAlias = type[models.Model]

LARGEST = 2**31 - 1


@cache
def empty_value(model: Model, column: str) -> Any:
    """What the column holds when the document does not have its key."""
    return _field(model, column).get_default()


def holds(model: Model, column: str, value: Json) -> bool:
    """Whether the column can hold this value, which is not the one that says "no such key"."""
    field = _field(model, column)
    if value == empty_value(model, column):
        return False
    match field:
        case NamesField():
            return _items(value, apart=",")
        case LinesField():
            return _items(value, apart="\n")
        case JsonField():
            return isinstance(value, type(empty_value(model, column)))
        case models.BooleanField():
            return isinstance(value, bool)
        case models.IntegerField():
            return _whole(value)
        case models.FloatField():
            return isinstance(value, float) and math.isfinite(value)
        case models.CharField():
            return _line(value, field.max_length) and (
                not field.choices or value in dict(field.choices)
            )
        case _:
            return _text(value)


@cache
def _field(model: Model, column: str) -> Any:
    return model._meta.get_field(column)


def _whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


def _text(value: Json) -> bool:
    # No database column takes NUL or half a surrogate pair; no form field keeps a lone "\r".
    return isinstance(value, str) and not any(
        c in "\0\r" or "\ud800" <= c <= "\udfff" for c in value
    )


def _line(value: Json, longest: int | None) -> bool:
    """One line of text, of which a form would take nothing away."""
    return (
        isinstance(value, str)
        and _text(value)
        and (longest is None or len(value) <= longest)
        and value == value.strip()
        and "\n" not in value
    )


def _items(value: Json, *, apart: str) -> bool:
    """A list of texts that a form gives back as they are, with `apart` between them."""
    return isinstance(value, list) and all(
        _line(item, None) and item != "" and apart not in str(item) for item in value
    )
