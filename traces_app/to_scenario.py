"""Turns recorded runs into a scenario document that plays them again.

Replayed, the same messages in a new conversation give the same events: the same text, thinking,
tool calls with their ids, and failures. Where a delta ends is the one thing that may differ. What
tools gave back stands beside their calls, for `mockllm mcp` to give back again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from traces_app.models import ModelCall, Status, Trace

Json: TypeAlias = Mapping[str, Any]

# A template in a scripted text is filled; this variable lets a text say the braces themselves.
_TEMPLATE = re.compile(r"\{\{(?=\s*[^\W\d]\w*(?:\.[^\W\d]\w*)?\s*\}\})")
_BRACES = "{{ braces }}"
_VARIABLES = {"braces": "{{"}
_REASONS = ("stop", "length", "tool_calls", "content_filter")


class CannotReplay(Exception):
    """What a scenario cannot play again; the message says why."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call: `parts` as a message's rounds have them, `tools` the names that were offered.
    `code` is empty where it ended well; `error` is what the provider said where it did not."""

    parts: Sequence[Json]
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    code: str = ""
    error: str = ""
    tools: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: the user's message and the calls that answered it. `results` are what tools gave
    back, by the ids of the calls: `{"text", "is_error", "code", "status", "ms"}`."""

    text: str
    status: str
    calls: Sequence[CallRecord]
    code: str = ""
    error: str = ""
    results: Mapping[str, Json] = field(default_factory=dict)


def scenario_document(name: str, runs: Sequence[RunRecord], *, description: str) -> dict[str, Any]:
    """The document; raises CannotReplay.

    Steps are told apart by the turn and the last user message. Where that is not enough, since a
    failed answer is no turn of the next prompt, each is consumed, so that they come in order.
    """
    if not runs:
        raise CannotReplay("There is nothing to replay.")
    steps = list(_steps(runs))
    keys = [(step["turn"], step["match"]["messages"][0]["equals"]) for step in steps]
    in_order = len(set(keys)) < len(keys)
    for step in steps:
        step["consume"] = in_order
    document: dict[str, Any] = {
        "name": name,
        "description": description,
        "tags": ["trace"],
        "steps": steps,
    }
    if _BRACES in json.dumps(steps, ensure_ascii=False):
        document["variables"] = dict(_VARIABLES)
    return document


def _steps(runs: Sequence[RunRecord]) -> Iterator[dict[str, Any]]:
    turn = 1
    for number, run in enumerate(runs, start=1):
        _check(run, number if len(runs) > 1 else 0)
        for call in run.calls:
            step: dict[str, Any] = {
                "turn": turn,
                "match": {"messages": [{"role": "user", "which": "last", "equals": run.text}]},
                "produce": _produce(call, run),
            }
            if call.tools and run.results:
                # For the tools' server to offer; other clients may have others.
                step["expect"] = {"tools": list(call.tools), "allow_missing_tools": True}
            yield step
            turn += 1
        if run.status == "failed":
            # Its answer is no part of later prompts.
            turn -= len(run.calls)


def _check(run: RunRecord, number: int) -> None:
    which = f"Run {number}" if number else "The run"
    if run.status == "running":
        raise CannotReplay(f"{which} is still going on.")
    if run.status == "cancelled":
        raise CannotReplay(f"{which} was cancelled, which no scenario can do by itself.")
    if not run.calls:
        raise CannotReplay(f"{which} ended before it asked a model.")
    if run.status == "failed" and run.calls[-1].code != run.code:
        raise CannotReplay(f"{which} failed for a reason that is not the model's: {run.error}")


def _produce(call: CallRecord, run: RunRecord) -> dict[str, Any]:
    if call.code:
        return _failing(call)
    said = [_part(part, run.results) for part in call.parts]
    produce: dict[str, Any] = {"parts": said or [{"text": ""}]}
    if call.finish_reason in _REASONS:
        produce["finish_reason"] = call.finish_reason
    if call.input_tokens or call.output_tokens:
        produce["usage"] = {
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
        }
    return produce


def _failing(call: CallRecord) -> dict[str, Any]:
    """A failure, after what was said before it."""
    if any("tool_call" in part for part in call.parts):
        raise CannotReplay("A call that failed in the middle of a tool call cannot be replayed.")
    said = [_part(part) for part in call.parts]
    if said:
        fault = {**_inside(call), "after_chunks": len(said)}
        return {"chunks": said, "fault": fault}
    return {"fault": _alone(call)}


def _inside(call: CallRecord) -> dict[str, Any]:
    match call.code:
        case "NETWORK_ERROR":
            return {"kind": "disconnect"}
        case "SERVICE_UNAVAILABLE" if call.error == "Failed to parse response":
            return {"kind": "truncate"}
        case "SERVICE_UNAVAILABLE":
            return {"kind": "error_event", "message": call.error}
    raise CannotReplay(f"A stream that broke with {call.code} cannot be replayed.")


def _alone(call: CallRecord) -> dict[str, Any]:
    match call.code:
        case "UNAUTHORIZED":
            return {"kind": "http", "status": 401, "message": call.error}
        case "RATE_LIMITED":
            return {"kind": "rate_limit"}
        case "NETWORK_ERROR":
            return {"kind": "network_error"}
        case "SERVICE_UNAVAILABLE" if call.error == "Failed to parse response":
            return {"kind": "invalid_response"}
        case "SERVICE_UNAVAILABLE":
            return {"kind": "http", "status": 500, "message": call.error}
    raise CannotReplay(f"A call that failed with {call.code} cannot be replayed.")


def _part(part: Json, results: Mapping[str, Json] = MappingProxyType({})) -> dict[str, Any]:
    if "tool_call" in part:
        call = part["tool_call"]
        scripted_call = {
            "id": call["id"],
            "name": _text(call["name"]),
            "arguments": _arguments(call["arguments"]),
        }
        if call["id"] in results:
            scripted_call |= _result(results[call["id"]])
        return {"tool_call": scripted_call}
    if "text" in part:
        return {"text": _text(part["text"])}
    scripted: dict[str, Any] = {"reasoning": _text(part.get("thinking", ""))}
    if part.get("redacted"):
        scripted = {"reasoning": part["redacted"], "redacted": True}
    if part.get("signature"):
        scripted["signature"] = part["signature"]
    return scripted


def _result(given: Json) -> dict[str, Any]:
    """What a tool's server has to do again; nothing where the chat answered in its place."""
    ms = {"ms": given["ms"]} if given["ms"] else {}
    match given["status"], given["code"]:
        case "timeout", _:
            return {"result": {"fault": "timeout", **ms}}
        case _, "SERVICE_UNAVAILABLE":
            return {"result": {"fault": "disconnect", **ms}}
        case _, str():
            return {}
    failed = {"is_error": True} if given["is_error"] else {}
    return {"result": {"text": _text(given["text"]), **failed, **ms}}


def _arguments(text: str) -> Any:
    """An object where it is written as one, else the text as it was sent."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _text(text)
    same = json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text
    return _filled(value) if same and isinstance(value, dict) else _text(text)


def _filled(value: Any) -> Any:
    match value:
        case str():
            return _text(value)
        case dict():
            return {_text(key): _filled(inner) for key, inner in value.items()}
        case list():
            return [_filled(inner) for inner in value]
    return value


def _text(text: str) -> str:
    """The text as it has to be written so that it is said as it was."""
    return _TEMPLATE.sub(_BRACES, text)


ANSWER = "answer"


def scenario_of_trace(trace: Trace) -> dict[str, Any]:
    """The document that plays this run again; raises CannotReplay."""
    name = f"trace-{str(trace.id)[:8]}"
    description = f"Recorded from the trace {trace.id}."
    return scenario_document(name, [_run(trace)], description=description)


def scenario_of_conversation(conversation_id: UUID) -> dict[str, Any]:
    """The document that plays a conversation's runs again, one after another; raises
    CannotReplay."""
    traces = list(
        Trace.objects.filter(conversation=conversation_id)
        .select_related("user_message")
        .order_by("started_at")
    )
    if any(trace.branch for trace in traces):
        raise CannotReplay("A conversation with comparisons cannot be replayed: take one trace.")
    if ModelCall.objects.filter(trace__in=traces).exclude(purpose=ANSWER).exists():
        raise CannotReplay("A conversation that was summarised cannot be replayed: take one trace.")
    name = f"conversation-{str(conversation_id)[:8]}"
    description = f"Recorded from the conversation {conversation_id}."
    return scenario_document(name, [_run(trace) for trace in traces], description=description)


def _run(trace: Trace) -> RunRecord:
    if trace.user_message is None:
        raise CannotReplay("The message that the run answered is gone.")
    return RunRecord(
        text=trace.user_message.content,
        status=trace.status,
        calls=[
            CallRecord(
                parts=call.parts,
                finish_reason=call.finish_reason,
                input_tokens=call.input_tokens,
                output_tokens=call.output_tokens,
                code=call.code,
                error=trace.error if call.code else "",
                tools=call.tools,
            )
            for call in trace.calls.filter(purpose=ANSWER).order_by("number")
        ],
        code=trace.code if trace.status == Status.FAILED else "",
        error=trace.error,
        results=_results(trace),
    )


def _results(trace: Trace) -> dict[str, Json]:
    """What tools gave back. The log cuts what is long; the answer's message has all of it."""
    rows = trace.message.tool_calls if trace.message else ()
    whole = {row["id"]: row["result"] for row in rows}
    results: dict[str, dict[str, Any]] = {}
    for event in trace.events.filter(type__in=("tool_output", "tool_end")).order_by("seq"):
        told = event.payload
        id = told["tool_call_id"]
        if event.type == "tool_output":
            text = whole.get(id) if told["truncated"] else told["output"]
            if text is not None:
                results[id] = {"text": text, "is_error": told["is_error"], "code": told["code"]}
        elif id in results:
            results[id] |= {"status": told["status"], "ms": told["duration_ms"]}
    return {id: result for id, result in results.items() if "status" in result}
