"""From requirement 003's turns to a scenario document: what each of their keys means here."""

from collections.abc import Iterator, Mapping
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document.compile import encode
from scenarios_app.engine.document.json_text import DEEPEST, plain
from scenarios_app.engine.document.scenario import ScenarioDocument
from scenarios_app.engine.document.turns import (
    CallDocument,
    ResponseDocument,
    SegmentDocument,
    ThrownDocument,
    TokenUsageDocument,
    TurnDocument,
    TurnsDocument,
)
from scenarios_app.engine.producing.produce import INPUT_TOKENS, OUTPUT_TOKENS
from scenarios_app.engine.producing.templates import BRACES, OPENING, as_written
from scenarios_app.engine.scenario import ANY_PROVIDER
from scenarios_app.engine.shapes import DocumentError, Loc, refuse

SELECT = "first_user_message"
FAILED = "Simulated failure"

_FINISH_REASONS: Mapping[str, str] = {
    "stop": "stop",
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
    "length": "length",
    "max_tokens": "length",
}
_SILENT = ("timeout", "network_error", "invalid_response")
_GATEWAY_TIMEOUT, _SERVER_ERROR = 504, 500


def read_turns(data: object) -> ScenarioDocument:
    """The scenario of a document in turns; raises ValidationError with places in that document."""
    script = TurnsDocument.model_validate(data)
    steps: list[Json] = [_step(turn) for turn in script.turns]
    for number, step in enumerate(steps):
        try:
            plain(step, loc=("steps", number))
        except DocumentError:
            # A step says some things one level deeper than a turn.
            text = f"nested too deeply: a step is deeper than {DEEPEST} levels then"
            refuse([(("turns", number), text)])
    return ScenarioDocument.model_validate(
        _given(
            name=script.id,
            description=script.description or None,
            select=SELECT,
            variables={BRACES: OPENING} if f"{{{{ {BRACES} }}}}" in encode(steps) else None,
            system_prompt_must_include=[t for t in script.system_prompt_must_include or () if t],
            steps=steps,
        )
    )


def place_in_turns(loc: Loc) -> Loc:
    """Where in a document in turns that stands which its scenario has at a place."""
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


def _step(turn: TurnDocument) -> dict[str, Json]:
    response = turn.response
    expect = _given(
        tools=turn.expected_tools,
        allow_missing_tools=turn.allow_missing_tools,
        temperature=turn.expected_temperature,
        top_p=turn.expected_top_p,
        reasoning=turn.expected_reasoning,
    )
    produce = _given(
        **_answer(response),
        finish_reason=_FINISH_REASONS.get(response.finish_reason or ""),
        usage=_usage(response.token_usage or TokenUsageDocument()),
        provider_metadata=_metadata(response.provider_metadata or {}),
    )
    return _given(turn=turn.turn, expect=expect, failures=_failures(turn), produce=produce)


def _answer(response: ResponseDocument) -> dict[str, Any]:
    """Thinking first, then the text, then the calls, each after what is said before it."""
    segments = (*(response.reasoning or ()), *(response.reasoning_content or ()))
    reasoning = [block for segment in segments if (block := _block(segment))]
    text = as_written(response.assistant_text or "")
    calls = response.tool_calls or []
    if any(call.assistant_text for call in calls):
        blocks = ({"reasoning": block.pop("text"), **block} for block in reasoning)
        said = [{"text": text}] if text else []
        return {"parts": [*blocks, *said, *_parts(calls)]}
    answer = {
        "reasoning": reasoning,
        "text": text,
        "tool_calls": [_call(call, number) for number, call in enumerate(calls, 1)],
        "final_report": _report(response),
    }
    kept = {key: value for key, value in answer.items() if value}
    return kept or {"text": ""}


def _parts(calls: list[CallDocument]) -> Iterator[dict[str, Json]]:
    for number, call in enumerate(calls, 1):
        if call.assistant_text:
            yield {"text": as_written(call.assistant_text)}
        yield {"tool_call": _call(call, number)}


def _call(call: CallDocument, number: int) -> dict[str, Json]:
    given = call.arguments
    return {
        "id": call.call_id or f"call-{number}",
        "name": as_written(call.tool_name),
        # A string would be sent as it stands.
        "arguments": as_written(_quoted(given)) if isinstance(given, str) else _verbatim(given),
    }


def _report(response: ResponseDocument) -> dict[str, Json] | None:
    if response.report_content is None:
        return None
    return {
        key: _verbatim(value)
        for key, value in _given(
            status=response.status,
            report_format=response.report_format,
            report_content=response.report_content,
            content_json=response.report_content_json,
            messages=response.report_messages,
        ).items()
    }


def _block(segment: SegmentDocument) -> dict[str, Json]:
    """A block of thinking, empty where it says nothing."""
    anthropic = (segment.provider_metadata or {}).get("anthropic")
    signed = anthropic if isinstance(anthropic, dict) else {}
    marks = {
        "signature": _text(signed.get("signature")),
        "redacted": _text(signed.get("redactedData")),
    }
    given = {key: mark for key, mark in marks.items() if mark}
    return {"text": as_written(segment.text), **given} if segment.text or given else {}


def _usage(usage: TokenUsageDocument) -> dict[str, Json]:
    """Counts that are not given are the default's; a total that is no sum is sent as it is."""
    sent = _either(usage.input_tokens, INPUT_TOKENS)
    got = _either(usage.output_tokens, OUTPUT_TOKENS)
    cached = usage.cached_tokens
    if cached is None:
        cached = usage.cached_input_tokens
    return _given(
        input_tokens=sent,
        output_tokens=got,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=cached,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_write_input_tokens,
        total_tokens=None if usage.total_tokens == sent + got else usage.total_tokens,
    )


def _metadata(given: Mapping[str, Json]) -> dict[str, Json]:
    """Objects are a provider's own, by its name; everything else is for whichever answers."""
    own: dict[str, Json] = {k: v for k, v in given.items() if isinstance(v, dict)}
    common: dict[str, Json] = {k: v for k, v in given.items() if not isinstance(v, dict)}
    return {ANY_PROVIDER: common, **own} if common else own


def _failures(turn: TurnDocument) -> dict[str, Json] | None:
    if not turn.failures_before_success:
        return None
    fault = _thrown(turn, turn.failure_error) if turn.failure_throws else _status(turn)
    return {"times": turn.failures_before_success, "fault": fault}


def _status(turn: TurnDocument) -> dict[str, Json]:
    status = turn.failure_status
    if status in _SILENT:
        return _given(kind=status, message=turn.failure_message)
    kind = "rate_limit" if status == "rate_limit" else "model_error"
    return {"kind": kind, "message": turn.failure_message or FAILED, **_retries(turn)}


def _thrown(turn: TurnDocument, error: ThrownDocument | None) -> dict[str, Json]:
    """An HTTP client's error: with a status it was an answer, else its name says what it was."""
    error = error or ThrownDocument()
    message = turn.failure_message or _text(error.message) or FAILED
    name, code = _text(error.name), _text(error.code)
    if error.status is None and any("Network" in s or "ECONN" in s for s in (name, code)):
        return {"kind": "network_error", "message": message}
    status = error.status or (_GATEWAY_TIMEOUT if "Timeout" in name else _SERVER_ERROR)
    body: dict[str, Json] = {"body": error.response_body}
    if error.response_body is None:
        body = {
            "message": message,
            "type": _text(error.type) or None,
            "code": code or None,
            "param": _text(error.param) or None,
        }
    return _given(kind="http", status=status, headers=error.headers, **body, **_retries(turn))


def _retries(turn: TurnDocument) -> dict[str, Json]:
    refused = turn.failure_retryable is False
    return _given(retry_after_ms=turn.failure_retry_after_ms, retryable=False if refused else None)


def _verbatim(value: Json) -> Json:
    """JSON that is filled to this JSON."""
    match value:
        case str():
            return as_written(value)
        case list():
            return [_verbatim(item) for item in value]
        case dict():
            return {as_written(key): _verbatim(item) for key, item in value.items()}
        case _:
            return value


def _quoted(text: str) -> str:
    return encode([text])[1:-1]


def _either(given: int | None, otherwise: int) -> int:
    return otherwise if given is None else given


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _given(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}
