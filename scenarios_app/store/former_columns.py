"""Frozen: converts the columns that scenarios and steps had before to documents.

Only the upgrade of databases and `loaddata` of fixtures with these columns use it, for one more
version, and it goes with them. A valid document has the order of keys that exports had.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from scenarios_app.engine.document import DocumentError, StepDocument, load_scenario
from scenarios_app.engine.document.load import validate

Place: TypeAlias = tuple[str, ...]

_STEP_VALUES = {
    "name": "name",
    "turn": "turn",
    "consume": "consume",
    "match_provider": "match.provider",
    "match_path": "match.path",
    "match_stream": "match.stream",
    "match_tools": "match.tools",
    "match_recorded": "match.recorded",
    "expect_tools": "expect.tools",
    "expect_allow_missing_tools": "expect.allow_missing_tools",
    "expect_temperature": "expect.temperature",
    "expect_top_p": "expect.top_p",
    "expect_reasoning": "expect.reasoning",
    "failures_times": "failures.times",
    "failures_kind": "failures.fault.kind",
    "failures_status": "failures.fault.status",
    "failures_message": "failures.fault.message",
    "failures_retry_after_ms": "failures.fault.retry_after_ms",
    "answer_reasoning": "produce.reasoning",
    "answer_text": "produce.text",
    "answer_tool_calls": "produce.tool_calls",
    "answer_refusal": "produce.refusal",
    "report_status": "produce.final_report.status",
    "report_format": "produce.final_report.report_format",
    "report_content": "produce.final_report.report_content",
    "answer_finish_reason": "produce.finish_reason",
    "answer_input_tokens": "produce.usage.input_tokens",
    "answer_output_tokens": "produce.usage.output_tokens",
    "answer_recorded": "produce.recorded",
    "latency_ms": "produce.latency_ms",
    "first_ms": "produce.pacing.first_ms",
    "words_per_second": "produce.pacing.words_per_second",
    "chunk_ms": "produce.pacing.chunk_ms",
    "words_per_chunk": "produce.pacing.words_per_chunk",
    "jitter": "produce.pacing.jitter",
    "fault_kind": "produce.fault.kind",
    "fault_after_chunks": "produce.fault.after_chunks",
    "fault_hold_ms": "produce.fault.hold_ms",
    "fault_status": "produce.fault.status",
    "fault_message": "produce.fault.message",
    "fault_retry_after_ms": "produce.fault.retry_after_ms",
    "counter": "side_effects.counter",
    "response_status": "side_effects.status",
    "response_headers": "side_effects.headers",
    "echo_headers": "side_effects.echo_headers",
    "asserts": "side_effects.assert",
}
# Columns with the other keys of a section, outer sections first.
_STEP_RESTS = {
    "extra": "",
    "match_extra": "match",
    "answer_extra": "produce",
    "failures_extra": "failures.fault",
    "fault_extra": "produce.fault",
}
# Columns of text conditions; the other half of each is the column `…_mode`.
_MESSAGES = {"match_system": "system", "match_user": "user", "match_tool_result": "tool"}
_CONDITIONS = {
    *("match_model", "match_model_mode", "match_user_ignore_case", "match_tool_result_name"),
    *(name for column in _MESSAGES for name in (column, f"{column}_mode")),
}
STEP_COLUMNS = frozenset({*_STEP_VALUES, *_STEP_RESTS, *_CONDITIONS})
SCENARIO_COLUMNS = (
    *("name", "description", "priority", "enabled", "select", "tags", "variables"),
    *("system_prompt_must_include", "user", "extra"),
)
# The values of missing keys, beside null, "", [] and {}.
_DEFAULTS = {
    "consume": True,
    "expect_allow_missing_tools": False,
    "enabled": True,
    "priority": 0,
    "select": "match",
}


def scenario_document(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario's own part of its document; columns that are missing have no value."""
    document: dict[str, Any] = {}
    for column in SCENARIO_COLUMNS[:-1]:
        if column == "name" or not _is_empty(columns, column):
            document[column] = columns.get(column, "")
    _put_rest(document, (), columns, "extra")
    try:
        document = load_scenario(document).dump_shortest()
    except DocumentError:
        return document
    # Steps preceded the user.
    user = document.pop("user", None)
    return document if user is None else {**document, "steps": [], "user": user}


def step_document(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step's document; columns that are missing have no value. What contradicted another
    column becomes a key that no document has, so that nothing is lost."""
    step: dict[str, Any] = {}
    for column, place in _STEP_RESTS.items():
        _put_rest(step, _keys(place), columns, column)
    for column, place in _STEP_VALUES.items():
        if not _is_empty(columns, column):
            _put_at(step, _keys(place), columns[column])
    if model := columns.get("match_model"):
        mode = columns.get("match_model_mode", "equals")
        _put_at(step, ("match", "model"), model if mode == "equals" else {mode: model})
    if name := columns.get("match_tool_result_name"):
        _put_first(step, ("match", "tool_results"), [{"name": name}])
    messages = []
    for column, role in _MESSAGES.items():
        if text := columns.get(column):
            condition = {"role": role, columns.get(f"{column}_mode", "contains"): text}
            if column == "match_user" and columns.get("match_user_ignore_case"):
                condition["ignore_case"] = True
            messages.append(condition)
    if messages:
        _put_first(step, ("match", "messages"), messages)
    try:
        return validate(StepDocument, step).model_dump(by_alias=True, exclude_defaults=True)
    except DocumentError:
        return step


def _is_empty(columns: Mapping[str, Any], column: str) -> bool:
    value = columns.get(column)
    if column in _DEFAULTS:
        return value is None or value == _DEFAULTS[column]
    # Not `not value`: 0 and false are values.
    return value is None or value in ("", [], {})


def _keys(place: str) -> Place:
    return tuple(filter(None, place.split(".")))


def _put_rest(
    document: dict[str, Any], place: Place, columns: Mapping[str, Any], name: str
) -> None:
    """Add the keys of a column for the rest of a section; one that is no object stays whole."""
    rest = columns.get(name) or {}
    for key, value in rest.items() if isinstance(rest, dict) else ():
        _put_at(document, (*place, key), value)
    if not isinstance(rest, dict):
        document[name] = rest


def _put_at(document: dict[str, Any], place: Place, value: Any) -> None:
    """Set a value at a path of keys; missing objects are added."""
    owner = document
    for key in place[:-1]:
        inner = owner.get(key)
        if not isinstance(inner, dict):
            inner = owner[key] = {}
        owner = inner
    owner[place[-1]] = value


def _put_first(document: dict[str, Any], place: Place, items: list[Any]) -> None:
    """Add items at the beginning of the list at a path."""
    section = document.get(place[0])
    more = section.get(place[1], []) if isinstance(section, dict) else []
    _put_at(document, place, [*items, *(more if isinstance(more, list) else [more])])
