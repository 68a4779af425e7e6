"""Traces of this server's own chat, as `GET /api/trace/ID` gives them."""

from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.recording.answers.content import Content, Said, objects, within
from scenarios_app.recording.document import Made
from scenarios_app.recording.importers.reader import Place
from scenarios_app.recording.importers.scripted import made

_NO_TEXT: Final = "a trace does not hold what the user said: the steps answer in their order"
_FAILED: Final = "left out: call {}: it failed with {}"


def fits(value: Any) -> bool:
    """Whether a decoded file is such a trace."""
    return isinstance(value, dict) and {"trace_id", "model_calls", "events"} <= value.keys()


def read(name: str, value: Any, *, source: str = "") -> Made:
    """The document of the calls that answered; raises DocumentError."""
    trace = Place(value, source)
    outputs = [
        event["output"]
        for event in objects(trace.at("events").value)
        if event.get("type") == "tool_output" and isinstance(event.get("output"), str)
        if not event.get("truncated")
    ]
    steps: list[dict[str, Any]] = []
    notes = [_NO_TEXT]
    results: list[str] = []
    for call in trace.at("model_calls").items():
        if call.at("purpose").value != "answer":
            continue
        if call.at("code").given:
            notes.append(_FAILED.format(call.at("number").value, call.at("code").value))
            continue
        match: dict[str, Json] = {}
        if results:
            match["messages"] = [
                {"role": "tool", "which": "any", "equals": text} for text in results
            ]
        said = _said(call)
        steps.append({"match": match, "produce": said.document()})
        asked = sum("tool_call" in part for part in said.choices[0].parts)
        results, outputs = outputs[:asked], outputs[asked:]
    return made(name, steps, notes)


def _said(call: Place) -> Said:
    content = Content(finish=str(call.at("finish_reason").value or ""))
    for part in objects(call.at("parts").value):
        if isinstance(part.get("tool_call"), dict):
            made_call = part["tool_call"]
            content.call(made_call.get("name"), made_call.get("arguments"), id=made_call.get("id"))
        elif "text" in part:
            content.text(part["text"])
        else:
            content.reasoning(part.get("thinking"), signature=part.get("signature"))
    usage = {key: within(call.value, key) for key in ("input_tokens", "output_tokens")}
    return Said((content,), usage)
