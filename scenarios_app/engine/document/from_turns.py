"""Converts requirement 003's turns to a scenario document."""

from collections.abc import Iterator, Mapping
from typing import Any

from scenarios_app.engine.canonical import Json, compact_json
from scenarios_app.engine.document import turns
from scenarios_app.engine.document.answer import FinalReportDocument
from scenarios_app.engine.document.json_text import MAX_DEPTH, to_plain_json
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.producing.placeholders import BRACES, OPENING, escape_placeholders
from scenarios_app.engine.producing.produce import INPUT_TOKENS, OUTPUT_TOKENS
from scenarios_app.engine.scenario import ANY_PROVIDER
from scenarios_app.engine.shapes import DocumentError, Loc, refuse

SELECT = "first_user_message"
FAILURE_MESSAGE = "Simulated failure"

_FINISH_REASONS: Mapping[str, str] = {
    "stop": "stop",
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
    "length": "length",
    "max_tokens": "length",
}
_KINDS_WITHOUT_ANSWER = ("timeout", "network_error", "invalid_response")
_GATEWAY_TIMEOUT, _SERVER_ERROR = 504, 500


def read_turns(data: object) -> ScenarioDocument:
    """Return the scenario of a document in turns; raises ValidationError with locations in it."""
    script = turns.TurnsDocument.model_validate(data)
    steps: list[Json] = [_convert_turn(turn) for turn in script.turns]
    for number, step in enumerate(steps):
        try:
            to_plain_json(step, loc=("steps", number))
        except DocumentError:
            # A step nests some values one level deeper than a turn.
            text = f"nested too deeply: a step is deeper than {MAX_DEPTH} levels then"
            refuse([(("turns", number), text)])
    return ScenarioDocument.model_validate(
        _without_none(
            name=script.id,
            description=script.description or None,
            select=SELECT,
            variables={BRACES: OPENING} if f"{{{{ {BRACES} }}}}" in compact_json(steps) else None,
            system_prompt_must_include=[t for t in script.system_prompt_must_include or () if t],
            steps=steps,
        )
    )


def to_turns_location(loc: Loc) -> Loc:
    """Return the location in a document in turns for a location in its scenario; empty if none
    corresponds."""
    match loc:
        case ("steps", number, "turn", *_):
            return ("turns", number, "turn")
        case ("steps", number, "produce", *_):
            return ("turns", number, "response")
        case ("steps", number, *_):
            return ("turns", number)
        case ("description",):
            return loc
        case _:
            return ()


def _convert_turn(turn: turns.TurnDocument) -> dict[str, Json]:
    """Return the step that a turn stands for, in its usual form."""
    response = turn.response
    expect = _without_none(
        tools=turn.expected_tools,
        allow_missing_tools=turn.allow_missing_tools,
        temperature=turn.expected_temperature,
        top_p=turn.expected_top_p,
        reasoning=turn.expected_reasoning,
    )
    produce = _without_none(
        **_convert_answer(response),
        finish_reason=_FINISH_REASONS.get(response.finish_reason or ""),
        usage=_convert_usage(response.token_usage or turns.TokenUsageDocument()),
        provider_metadata=_convert_metadata(response.provider_metadata or {}),
    )
    return _without_none(
        turn=turn.turn, expect=expect, failures=_convert_failures(turn), produce=produce
    )


def _convert_answer(response: turns.ResponseDocument) -> dict[str, Any]:
    """Return the keys of an answer: reasoning, text, and calls or final report. If a call has a
    text before it, all of them become `parts`."""
    segments = (*(response.reasoning or ()), *(response.reasoning_content or ()))
    reasoning = [block for segment in segments if (block := _convert_reasoning(segment))]
    text = escape_placeholders(response.assistant_text or "")
    calls = response.tool_calls or []
    if any(call.assistant_text for call in calls):
        blocks = ({"reasoning": block.pop("text"), **block} for block in reasoning)
        text_parts = [{"text": text}] if text else []
        return {"parts": [*blocks, *text_parts, *_convert_calls(calls)]}
    answer = {
        "reasoning": reasoning,
        "text": text,
        "tool_calls": [_convert_call(call, number) for number, call in enumerate(calls, 1)],
        "final_report": _convert_final_report(response),
    }
    return {key: value for key, value in answer.items() if value} or {"text": ""}


def _convert_calls(calls: list[turns.CallDocument]) -> Iterator[dict[str, Json]]:
    """Yield the parts of tool calls, each with the text before it."""
    for number, call in enumerate(calls, 1):
        if call.assistant_text:
            yield {"text": escape_placeholders(call.assistant_text)}
        yield {"tool_call": _convert_call(call, number)}


def _convert_call(call: turns.CallDocument, number: int) -> dict[str, Json]:
    # A plain string would be sent without quotes.
    is_text = isinstance(call.arguments, str)
    return {
        "id": call.call_id or f"call-{number}",
        "name": escape_placeholders(call.tool_name),
        "arguments": _escape_json(compact_json(call.arguments) if is_text else call.arguments),
    }


def _convert_final_report(response: turns.ResponseDocument) -> Json:
    """Return the final report that a turn's response ends with, or None if it has no content."""
    if response.report_content is None:
        return None
    keys = set(FinalReportDocument.model_fields)
    return _escape_json(response.model_dump(include=keys, exclude_none=True))


def _convert_reasoning(segment: turns.SegmentDocument) -> dict[str, Json]:
    """Return a block of reasoning; empty if the segment has no content."""
    anthropic = (segment.provider_metadata or {}).get("anthropic")
    metadata = anthropic if isinstance(anthropic, dict) else {}
    marks: dict[str, Json] = _without_none(
        signature=_text_or_empty(metadata.get("signature")) or None,
        redacted=_text_or_empty(metadata.get("redactedData")) or None,
    )
    return {"text": escape_placeholders(segment.text), **marks} if segment.text or marks else {}


def _convert_usage(usage: turns.TokenUsageDocument) -> dict[str, Json]:
    """Return token counts with defaults; a total is kept only if it differs from the sum."""
    counts: dict[str, Any] = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    counts |= usage.model_dump(exclude_none=True)
    cached_input = counts.pop("cached_input_tokens", None)
    if cached_input is not None:
        counts.setdefault("cached_tokens", cached_input)
    if usage.total_tokens == counts["input_tokens"] + counts["output_tokens"]:
        counts.pop("total_tokens", None)
    return counts


def _convert_metadata(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return metadata by provider: objects are for the provider they name, other values for all."""
    by_provider: dict[str, Json] = {k: v for k, v in metadata.items() if isinstance(v, dict)}
    common: dict[str, Json] = {k: v for k, v in metadata.items() if not isinstance(v, dict)}
    return {ANY_PROVIDER: common, **by_provider} if common else by_provider


def _convert_failures(turn: turns.TurnDocument) -> dict[str, Json] | None:
    """Return the `failures` of a step: how often it fails before it succeeds, or None."""
    if not turn.failures_before_success:
        return None
    fault = _thrown_fault(turn, turn.failure_error) if turn.failure_throws else _status_fault(turn)
    return {"times": turn.failures_before_success, "fault": fault}


def _status_fault(turn: turns.TurnDocument) -> dict[str, Json]:
    """Return the fault that sends a turn's failure status, with its message."""
    status = turn.failure_status
    if status in _KINDS_WITHOUT_ANSWER:
        return _without_none(kind=status, message=turn.failure_message)
    kind = "rate_limit" if status == "rate_limit" else "model_error"
    return {"kind": kind, "message": turn.failure_message or FAILURE_MESSAGE, **_retry_keys(turn)}


def _thrown_fault(turn: turns.TurnDocument, error: turns.ThrownDocument | None) -> dict[str, Json]:
    """Return the fault of a thrown error: of kind `http`, or a network error by name or code."""
    error = error or turns.ThrownDocument()
    message = turn.failure_message or _text_or_empty(error.message) or FAILURE_MESSAGE
    name, code = _text_or_empty(error.name), _text_or_empty(error.code)
    if error.status is None and any("Network" in s or "ECONN" in s for s in (name, code)):
        return {"kind": "network_error", "message": message}
    status = error.status or (_GATEWAY_TIMEOUT if "Timeout" in name else _SERVER_ERROR)
    envelope = {
        "message": message,
        "type": _text_or_empty(error.type) or None,
        "code": code or None,
        "param": _text_or_empty(error.param) or None,
    }
    body = envelope if error.response_body is None else {"body": error.response_body}
    return _without_none(
        kind="http", status=status, headers=error.headers, **body, **_retry_keys(turn)
    )


def _retry_keys(turn: turns.TurnDocument) -> dict[str, Json]:
    """Return the keys of a fault that tell clients whether and when to retry."""
    refused = turn.failure_retryable is False
    return _without_none(
        retry_after_ms=turn.failure_retry_after_ms, retryable=False if refused else None
    )


def _escape_json(value: Json) -> Json:
    """Return JSON that the filling of placeholders turns into this JSON."""
    match value:
        case str():
            return escape_placeholders(value)
        case list():
            return [_escape_json(item) for item in value]
        case dict():
            return {escape_placeholders(key): _escape_json(item) for key, item in value.items()}
        case _:
            return value


def _text_or_empty(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _without_none(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}
