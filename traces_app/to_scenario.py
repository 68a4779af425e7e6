"""Turns recorded runs into a scenario document that plays them again.

When it is replayed, the same messages in a new conversation give the same text, thinking, tool
calls with their ids, and failures; only the borders of chunks may differ. Results of tools are
written beside their calls, for `mockllm mcp` to return again.
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

# Scripted texts are templates: this variable stands for literal braces.
_TEMPLATE = re.compile(r"\{\{(?=\s*[^\W\d]\w*(?:\.[^\W\d]\w*)?\s*\}\})")
_BRACES = "{{ braces }}"
_VARIABLES = {"braces": "{{"}
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")


class CannotReplay(Exception):
    """A run that no scenario can replay; the message says why."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One recorded model call: `parts` as in a message's rounds, `tools` the offered names.

    `code` is empty if it succeeded; else `error` is the provider's message.
    """

    parts: Sequence[Json]
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    code: str = ""
    error: str = ""
    tools: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One recorded run: the user's message and the model calls that answered it.

    `results` are the tools' results by call id: `{"text", "is_error", "code", "status", "ms"}`.
    """

    text: str
    status: str
    calls: Sequence[CallRecord]
    code: str = ""
    error: str = ""
    results: Mapping[str, Json] = field(default_factory=dict)


def scenario_document(name: str, runs: Sequence[RunRecord], *, description: str) -> dict[str, Any]:
    """Return the scenario document; raises CannotReplay.

    Steps match by turn and last user message. If two steps would be alike (a failed answer is no
    turn of the next prompt), all steps are consumable, so that they are served in order.
    """
    if not runs:
        raise CannotReplay("There is nothing to replay.")
    steps = list(_script_steps(runs))
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


def _script_steps(runs: Sequence[RunRecord]) -> Iterator[dict[str, Any]]:
    turn = 1
    for number, run in enumerate(runs, start=1):
        _check_replayable(run, number if len(runs) > 1 else 0)
        for call in run.calls:
            step: dict[str, Any] = {
                "turn": turn,
                "match": {"messages": [{"role": "user", "which": "last", "equals": run.text}]},
                "produce": _script_produce(call, run),
            }
            if call.tools and run.results:
                # For the server of the tools; clients may offer other ones.
                step["expect"] = {"tools": list(call.tools), "allow_missing_tools": True}
            yield step
            turn += 1
        if run.status == "failed":
            # Later prompts do not contain its answer.
            turn -= len(run.calls)


def _check_replayable(run: RunRecord, number: int) -> None:
    which = f"Run {number}" if number else "The run"
    if run.status == "running":
        raise CannotReplay(f"{which} is still going on.")
    if run.status == "cancelled":
        raise CannotReplay(f"{which} was cancelled, which no scenario can do by itself.")
    if not run.calls:
        raise CannotReplay(f"{which} ended before it asked a model.")
    if run.status == "failed" and run.calls[-1].code != run.code:
        raise CannotReplay(f"{which} failed for a reason that is not the model's: {run.error}")


def _script_produce(call: CallRecord, run: RunRecord) -> dict[str, Any]:
    if call.code:
        return _failed_produce(call)
    parts = [_script_part(part, run.results) for part in call.parts]
    produce: dict[str, Any] = {"parts": parts or [{"text": ""}]}
    if call.finish_reason in _FINISH_REASONS:
        produce["finish_reason"] = call.finish_reason
    if call.input_tokens or call.output_tokens:
        produce["usage"] = {
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
        }
    return produce


def _failed_produce(call: CallRecord) -> dict[str, Any]:
    """Return the `produce` of a failed call: the chunks before the failure, then the fault."""
    if any("tool_call" in part for part in call.parts):
        raise CannotReplay("A call that failed in the middle of a tool call cannot be replayed.")
    parts = [_script_part(part) for part in call.parts]
    if parts:
        fault = {**_stream_fault(call), "after_chunks": len(parts)}
        return {"chunks": parts, "fault": fault}
    return {"fault": _request_fault(call)}


def _stream_fault(call: CallRecord) -> dict[str, Any]:
    match call.code:
        case "NETWORK_ERROR":
            return {"kind": "disconnect"}
        case "SERVICE_UNAVAILABLE" if call.error == "Failed to parse response":
            return {"kind": "truncate"}
        case "SERVICE_UNAVAILABLE":
            return {"kind": "error_event", "message": call.error}
    raise CannotReplay(f"A stream that broke with {call.code} cannot be replayed.")


def _request_fault(call: CallRecord) -> dict[str, Any]:
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


def _script_part(part: Json, results: Mapping[str, Json] = MappingProxyType({})) -> dict[str, Any]:
    if "tool_call" in part:
        call = part["tool_call"]
        scripted_call = {
            "id": call["id"],
            "name": _escape_braces(call["name"]),
            "arguments": _script_arguments(call["arguments"]),
        }
        if call["id"] in results:
            scripted_call |= _script_result(results[call["id"]])
        return {"tool_call": scripted_call}
    if "text" in part:
        return {"text": _escape_braces(part["text"])}
    scripted: dict[str, Any] = {"reasoning": _escape_braces(part.get("thinking", ""))}
    if part.get("redacted"):
        scripted = {"reasoning": part["redacted"], "redacted": True}
    if part.get("signature"):
        scripted["signature"] = part["signature"]
    return scripted


def _script_result(result: Json) -> dict[str, Any]:
    """Return a tool's result as keys of its scripted call; {} if the chat answered the call."""
    ms = {"ms": result["ms"]} if result["ms"] else {}
    match result["status"], result["code"]:
        case "timeout", _:
            return {"result": {"fault": "timeout", **ms}}
        case _, "SERVICE_UNAVAILABLE":
            return {"result": {"fault": "disconnect", **ms}}
        case _, str():
            return {}
    failed = {"is_error": True} if result["is_error"] else {}
    return {"result": {"text": _escape_braces(result["text"]), **failed, **ms}}


def _script_arguments(text: str) -> Any:
    """Return arguments as an object if they serialize to the same text, else as that text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _escape_braces(text)
    same = json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text
    return _escape_strings(value) if same and isinstance(value, dict) else _escape_braces(text)


def _escape_strings(value: Any) -> Any:
    match value:
        case str():
            return _escape_braces(value)
        case dict():
            return {_escape_braces(key): _escape_strings(inner) for key, inner in value.items()}
        case list():
            return [_escape_strings(inner) for inner in value]
    return value


def _escape_braces(text: str) -> str:
    """Return the text as a template that renders to it."""
    return _TEMPLATE.sub(_BRACES, text)


ANSWER = "answer"


def scenario_of_trace(trace: Trace) -> dict[str, Any]:
    """Return the document that replays this run; raises CannotReplay."""
    name = f"trace-{str(trace.id)[:8]}"
    description = f"Recorded from the trace {trace.id}."
    return scenario_document(name, [_run_record(trace)], description=description)


def scenario_of_conversation(conversation_id: UUID) -> dict[str, Any]:
    """Return the document that replays a conversation's runs in order; raises CannotReplay."""
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
    return scenario_document(
        name, [_run_record(trace) for trace in traces], description=description
    )


def _run_record(trace: Trace) -> RunRecord:
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
        results=_tool_results(trace),
    )


def _tool_results(trace: Trace) -> dict[str, Json]:
    """Return results by call id; those that the log cut are read from the answer's message."""
    rows = trace.message.tool_calls if trace.message else ()
    whole = {row["id"]: row["result"] for row in rows}
    results: dict[str, dict[str, Any]] = {}
    for event in trace.events.filter(type__in=("tool_output", "tool_end")).order_by("seq"):
        payload = event.payload
        id = payload["tool_call_id"]
        if event.type == "tool_output":
            text = whole.get(id) if payload["truncated"] else payload["output"]
            if text is not None:
                results[id] = {
                    "text": text,
                    "is_error": payload["is_error"],
                    "code": payload["code"],
                }
        elif id in results:
            results[id] |= {"status": payload["status"], "ms": payload["duration_ms"]}
    return {id: result for id, result in results.items() if "status" in result}
