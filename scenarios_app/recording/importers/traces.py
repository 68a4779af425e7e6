"""Reads traces of this server's own chat, as `GET /api/trace/ID` returns them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.recording.document import Conversion, expected_tools, make_conversion
from scenarios_app.recording.importers.reader import FileValue
from scenarios_app.wire.decoded import DecodedChoice, DecodedResponse, dict_items, get_nested

_NO_TEXT: Final = "a trace does not contain the user's messages, so the steps answer in their order"
_FAILED: Final = "left out: call {}: it failed with {}"
_CUT: Final = "left out: the result of {}: the trace holds only its beginning"


def recognizes(value: Any) -> bool:
    """True if a decoded file is a trace of this server's chat."""
    return isinstance(value, dict) and {"trace_id", "model_calls", "events"} <= value.keys()


def read_document(name: str, trace: FileValue) -> Conversion:
    """Return the document of the successful model calls; raises DocumentError."""
    results = _tool_outcomes(dict_items(trace.at("events").value))
    steps: list[dict[str, Any]] = []
    notes = [_NO_TEXT]
    results_text: list[str] = []
    for call in trace.at("model_calls").items():
        if call.at("purpose").value != "answer":
            continue
        if call.at("code").is_present:
            notes.append(_FAILED.format(call.at("number").value, call.at("code").value))
            continue
        conditions = [{"role": "tool", "which": "any", "equals": text} for text in results_text]
        match = {"messages": conditions} if conditions else {}
        decoded = _decode_response(call, results)
        step: dict[str, Any] = {"match": match, "produce": decoded.to_produce()}
        if offered := [tool.text() for tool in call.at("tools").items()]:
            step["expect"] = expected_tools(offered)
        steps.append(step)
        parts = dict_items(call.at("parts").value)
        called = [get_nested(part, "tool_call", "id") for part in parts]
        call_results = [results[id] for id in called if isinstance(id, str) and id in results]
        results_text = [result.text for result in call_results if result.text is not None]
        notes += [_CUT.format(result.id) for result in call_results if result.text is None]
    return make_conversion(name, steps, notes)


@dataclass(slots=True)
class _ToolOutcome:
    """A tool call's outcome; `text` is None if the trace cuts it, `code` an error without a
    result."""

    id: str
    text: str | None
    is_error: bool
    code: object = None
    status: object = None
    ms: int = 0

    def scripted_result(self) -> Json:
        """Return the `result` of a scripted call: text or fault; None if neither is known."""
        ms: dict[str, Json] = {"ms": self.ms} if self.ms else {}
        if self.status == "timeout":
            return {"fault": "timeout", **ms}
        if self.code == "SERVICE_UNAVAILABLE":
            return {"fault": "disconnect", **ms}
        if self.code is not None or self.text is None:
            return None
        failed: dict[str, Json] = {"is_error": True} if self.is_error else {}
        return {"text": self.text, **failed, **ms}


def _tool_outcomes(events: Iterable[dict[str, Any]]) -> dict[str, _ToolOutcome]:
    """Return the outcome of each tool call by its id; a truncated output counts as none."""
    results: dict[str, _ToolOutcome] = {}
    for event in events:
        id, text = event.get("tool_call_id"), event.get("output")
        if not isinstance(id, str):
            continue
        if event.get("type") == "tool_output" and isinstance(text, str):
            whole = None if event.get("truncated") else text
            results[id] = _ToolOutcome(id, whole, event.get("is_error") is True, event.get("code"))
        elif event.get("type") == "tool_end" and id in results:
            results[id].status = event.get("status")
            duration = event.get("duration_ms")
            results[id].ms = max(duration, 0) if type(duration) is int else 0
    return results


def _decode_response(call: FileValue, results: Mapping[str, _ToolOutcome]) -> DecodedResponse:
    """Return the answer of a recorded model call, with the results of its hosted tools."""
    content = DecodedChoice(finish=str(call.at("finish_reason").value or ""))
    for part in dict_items(call.at("parts").value):
        if isinstance(part.get("tool_call"), dict):
            tool_call = part["tool_call"]
            id, name = tool_call.get("id"), tool_call.get("name")
            outcome = results.get(id) if isinstance(id, str) else None
            result = outcome.scripted_result() if outcome else None
            content.add_call(name, tool_call.get("arguments"), id=id, result=result)
        elif "text" in part:
            content.add_text(part["text"])
        else:
            content.add_reasoning(part.get("thinking"), signature=part.get("signature"))
    usage = {key: get_nested(call.value, key) for key in ("input_tokens", "output_tokens")}
    return DecodedResponse((content,), usage)
