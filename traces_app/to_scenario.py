"""Turns recorded runs into a scenario document that plays them again.

When it is replayed, the same messages in a new conversation give the same text, thinking, tool
calls with their ids, and failures; only the borders of chunks may differ. Results of tools are
written beside their calls, for `mockllm mcp` to return again.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from traces_app.models import ModelCall, Status, Trace

# The purpose of the model calls that answer a message; others make summaries.
ANSWER = "answer"

Json: TypeAlias = Mapping[str, Any]

# Scripted texts are templates: this variable stands for literal braces.
_TEMPLATE = re.compile(r"\{\{(?=\s*[^\W\d]\w*(?:\.[^\W\d]\w*)?\s*\}\})")
_BRACES = "{{ braces }}"
_VARIABLES = {"braces": "{{"}
_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")


class CannotReplay(Exception):
    """A run that no scenario can replay; the message says why."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recorded run and the model calls that answered its message, in order. `results` are the
    tools' results by call id: `{"text", "is_error", "code", "status", "ms"}`."""

    trace: Trace
    calls: Sequence[ModelCall]
    results: Mapping[str, Json] = field(default_factory=dict)


def scenario_document(kind: str, recorded_id: UUID, runs: Sequence[RecordedRun]) -> dict[str, Any]:
    """Return the scenario document of a `kind`, trace or conversation; raises CannotReplay. Steps
    match by turn and last user message. If two steps would be alike (a failed answer is no turn of
    the next prompt), all steps are consumable, so that they are served in order."""
    if not runs:
        raise CannotReplay("There is nothing to replay.")
    steps = list(_script_steps(runs))
    keys = [(step["turn"], step["match"]["messages"][0]["equals"]) for step in steps]
    in_order = len(set(keys)) < len(keys)
    for step in steps:
        step["consume"] = in_order
    document: dict[str, Any] = {
        "name": f"{kind}-{str(recorded_id)[:8]}",
        "description": f"Recorded from the {kind} {recorded_id}.",
        "tags": ["trace"],
        "steps": steps,
    }
    if _BRACES in json.dumps(steps, ensure_ascii=False):
        document["variables"] = dict(_VARIABLES)
    return document


def _script_steps(runs: Sequence[RecordedRun]) -> Iterator[dict[str, Any]]:
    """Yield a step for each model call of the runs; raises CannotReplay."""
    turn = 1
    for number, run in enumerate(runs, start=1):
        text = _check_replayable(run, f"Run {number}" if len(runs) > 1 else "The run")
        for call in run.calls:
            step: dict[str, Any] = {
                "turn": turn,
                "match": {"messages": [{"role": "user", "which": "last", "equals": text}]},
                "produce": _script_produce(call, run),
            }
            if call.tools and run.results:
                # For the server of the tools; clients may offer other ones.
                step["expect"] = {"tools": list(call.tools), "allow_missing_tools": True}
            yield step
            turn += 1
        if run.trace.status == Status.FAILED:
            # Later prompts do not contain its answer.
            turn -= len(run.calls)


def _check_replayable(run: RecordedRun, label: str) -> str:
    """Return the user's message; raises CannotReplay, whose message names the run by `label`."""
    trace = run.trace
    if trace.user_message is None:
        raise CannotReplay("The message that the run answered is gone.")
    if trace.status == Status.RUNNING:
        raise CannotReplay(f"{label} is still going on.")
    if trace.status == Status.CANCELLED:
        raise CannotReplay(f"{label} was cancelled, which no scenario can do by itself.")
    if not run.calls:
        raise CannotReplay(f"{label} ended before its first model call.")
    if trace.status == Status.FAILED and run.calls[-1].code != trace.code:
        raise CannotReplay(f"{label} failed for a reason that is not the model's: {trace.error}")
    return trace.user_message.content


def _script_produce(call: ModelCall, run: RecordedRun) -> dict[str, Any]:
    """Return the `produce` that gives a call's response or failure; raises CannotReplay."""
    if call.code:
        return _failed_produce(call, run.trace.error)
    parts = [_script_part(part, run.results) for part in call.parts]
    produce: dict[str, Any] = {"parts": parts or [{"text": ""}]}
    if call.finish_reason in _FINISH_REASONS:
        produce["finish_reason"] = call.finish_reason
    if call.input_tokens or call.output_tokens:
        produce["usage"] = {"input_tokens": call.input_tokens, "output_tokens": call.output_tokens}
    return produce


def _failed_produce(call: ModelCall, error: str) -> dict[str, Any]:
    """Return the `produce` of a failed call: the chunks before the failure, then the fault. Raises
    CannotReplay."""
    if any("tool_call" in part for part in call.parts):
        raise CannotReplay("A call that failed in the middle of a tool call cannot be replayed.")
    parts = [_script_part(part, {}) for part in call.parts]
    fault = _fault_for_error(call.code, error, in_stream=bool(parts))
    if not parts:
        return {"fault": fault}
    return {"chunks": parts, "fault": {**fault, "after_chunks": len(parts)}}


def _fault_for_error(code: str, error: str, *, in_stream: bool) -> dict[str, Any]:
    """Return the scripted fault that leads to an error; raises CannotReplay if none does."""
    match code:
        case "NETWORK_ERROR":
            return {"kind": "disconnect" if in_stream else "network_error"}
        case "SERVICE_UNAVAILABLE" if error == "Failed to parse response":
            return {"kind": "truncate" if in_stream else "invalid_response"}
        case "SERVICE_UNAVAILABLE" if in_stream:
            return {"kind": "error_event", "message": error}
        case "SERVICE_UNAVAILABLE":
            return {"kind": "http", "status": 500, "message": error}
        case "UNAUTHORIZED" if not in_stream:
            return {"kind": "http", "status": 401, "message": error}
        case "RATE_LIMITED" if not in_stream:
            return {"kind": "rate_limit"}
    failed = "A stream that broke" if in_stream else "A call that failed"
    raise CannotReplay(f"{failed} with {code} cannot be replayed.")


def _script_part(part: Json, results: Mapping[str, Json]) -> dict[str, Any]:
    """Return a stored part as a scripted one; a tool call gets its result, if there is one."""
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
    """Return a JSON value with all its strings and keys as templates that render to them."""
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


def scenario_of_trace(trace: Trace) -> dict[str, Any]:
    """Return the document that replays this run; raises CannotReplay."""
    return scenario_document("trace", trace.id, [_recorded_run(trace)])


def scenario_of_conversation(conversation_id: UUID) -> dict[str, Any]:
    """Return the document that replays a conversation's runs in order; raises CannotReplay."""
    rows = Trace.objects.filter(conversation=conversation_id).select_related("user_message")
    traces = list(rows.order_by("started_at"))
    if any(trace.branch for trace in traces):
        raise CannotReplay("A conversation with comparisons cannot be replayed: take one trace.")
    if ModelCall.objects.filter(trace__in=traces).exclude(purpose=ANSWER).exists():
        raise CannotReplay("A conversation that was summarised cannot be replayed: take one trace.")
    return scenario_document("conversation", conversation_id, list(map(_recorded_run, traces)))


def _recorded_run(trace: Trace) -> RecordedRun:
    """Return a run with its calls for the answer, not those for summaries, and its results."""
    calls = trace.calls.filter(purpose=ANSWER).order_by("number")
    return RecordedRun(trace, list(calls), _tool_results(trace))


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
