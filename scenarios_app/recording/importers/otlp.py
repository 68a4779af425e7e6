"""Reads conversations, without bytes, from OTLP traces in JSON with OpenTelemetry's attributes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from scenarios_app.engine.canonical import Json, text_or_json
from scenarios_app.recording.document import Conversion, expected_tools, make_conversion
from scenarios_app.recording.importers.reader import FileValue
from scenarios_app.wire.decoded import DecodedChoice, DecodedResponse, dict_items, parse_json
from scenarios_app.wire.registry import providers, wires

_OPERATIONS: Final = ("chat", "generate_content", "text_completion")
_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
# The digits of a 64-bit number.
_MAX_DIGITS: Final = 19
_FINISHES: Final = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_calls",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
}
_NO_CONTENT: Final = "left out: span {}: it does not say what the model answered"
_MAX_NUMBERED_MESSAGES: Final = 64


def recognizes(value: Any) -> bool:
    """True if a decoded file is an OTLP trace or a list of them."""
    if isinstance(value, list):
        return bool(value) and all(map(recognizes, value))
    return isinstance(value, dict) and isinstance(value.get("resourceSpans"), list)


def read_document(name: str, file: FileValue) -> Conversion:
    """Return the document of the model spans, ordered by their start; raises DocumentError."""
    traces = file.value if isinstance(file.value, list) else [file.value]
    spans = [span for trace in traces for span in _spans(FileValue(trace, file.source))]
    spans.sort(key=lambda span: _nanoseconds(span, "start"))
    results = _tool_results(spans)
    provider_names = _provider_names()
    steps: list[dict[str, Any]] = []
    notes: list[str] = []
    for span in spans:
        attributes = _attributes(span)
        if attributes.get("gen_ai.operation.name", "chat") not in _OPERATIONS:
            continue
        if not any(key.startswith("gen_ai.") for key in attributes):
            continue
        decoded = _decode_response(attributes, results)
        if decoded is None:
            notes.append(_NO_CONTENT.format(span.maybe("name").value or len(steps) + 1))
            continue
        turns = list(_turns(attributes))
        system = attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system") or ""
        match: dict[str, Json] = {
            "provider": provider_names.get(str(system), ""),
            "model": str(attributes.get("gen_ai.request.model") or ""),
            "messages": _conditions(turns),
        }
        match = {key: value for key, value in match.items() if value}
        step: dict[str, Any] = {"match": match, "produce": decoded.to_produce()}
        if offered := _offered_tools(attributes):
            step["expect"] = expected_tools(offered)
        if turns:
            step["turn"] = 1 + sum(role == "assistant" for role, _ in turns)
        steps.append(step)
    return make_conversion(name, steps, notes)


def _provider_names() -> dict[str, str]:
    """Return the providers by their names here and by those of OpenTelemetry's conventions."""
    names = {name: name for name in providers()}
    for wire in wires():
        if wire.upstream is not None:
            names |= dict.fromkeys(wire.upstream.telemetry_names, wire.provider)
    return names


def _spans(trace: FileValue) -> Iterator[FileValue]:
    """Yield all spans of a trace; raises DocumentError."""
    for resource in trace.at("resourceSpans").items():
        for scope in resource.at("scopeSpans").items():
            yield from scope.at("spans").items()


def _nanoseconds(span: FileValue, edge: str) -> int:
    """Return the time of a span's `start` or `end`, 0 if it is missing or no number."""
    number = _whole_number(span.maybe(f"{edge}TimeUnixNano").value)
    return max(number, 0) if number is not None else 0


def _tool_results(spans: Iterable[FileValue]) -> dict[str, Json]:
    """Return tool results by call id. Those of spans of tool calls, which have a duration, are
    preferred to those that later requests repeat."""
    repeated: dict[str, Json] = {}
    results: dict[str, Json] = {}
    for span in spans:
        attributes = _attributes(span)
        for message in _messages(attributes, _INPUT):
            for part in dict_items(message.get("parts")):
                result = _tool_result(part)
                if result is not None and isinstance(part.get("id"), str):
                    repeated.setdefault(part["id"], text_or_json(result))
        id, result = (attributes.get(f"gen_ai.tool.call.{key}") for key in ("id", "result"))
        if isinstance(id, str) and result is not None:
            duration = _nanoseconds(span, "end") - _nanoseconds(span, "start")
            failed = {"is_error": True} if attributes.get("error.type") else {}
            ms = max(0, round(duration / 1_000_000))
            results[id] = {"text": text_or_json(result), **failed, "ms": ms}
    return repeated | results


def _tool_result(part: Mapping[str, Any]) -> Any:
    """Return the tool result in a part of a message, or None."""
    is_result = part.get("type") == "tool_call_response"
    return part.get("response", part.get("result")) if is_result else None


def _offered_tools(attributes: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools that a model was offered."""
    names = (tool.get("name") for tool in _objects(attributes.get("gen_ai.tool.definitions")))
    return [name for name in names if isinstance(name, str) and name]


def _attributes(span: FileValue) -> dict[str, Any]:
    """Return a span's attributes, with those of its events that begin with `gen_ai.`."""
    attributes = dict(_pairs(span.at("attributes")))
    for event in span.at("events").items():
        attributes |= {k: v for k, v in _pairs(event.at("attributes")) if k.startswith("gen_ai.")}
    return attributes


def _pairs(attributes: FileValue) -> Iterator[tuple[str, Any]]:
    """Yield the names and plain values of a span's attributes."""
    for attribute in attributes.items():
        yield attribute.at("key").text(), _plain_value(attribute.at("value").value)


def _plain_value(value: Any) -> Any:
    """Return an OTLP value as plain data."""
    match value:
        case {"stringValue": text}:
            return text
        case {"intValue": number}:
            whole = _whole_number(number)
            return number if whole is None else whole
        case {"boolValue": plain} | {"doubleValue": plain} | {"bytesValue": plain}:
            return plain
        case {"arrayValue": {"values": list(items)}}:
            return [_plain_value(item) for item in items]
        case {"kvlistValue": {"values": list(items)}}:
            return {str(i.get("key")): _plain_value(i.get("value")) for i in dict_items(items)}
        case _:
            return None


def _whole_number(value: Any) -> int | None:
    """Return the number in an int of at most 64 bits or a string of up to 19 digits, or None."""
    digits = value.removeprefix("-") if isinstance(value, str) else ""
    if digits.isdecimal() and len(digits) <= _MAX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and value.bit_length() <= 64 else None


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, which may be JSON text."""
    return list(dict_items(parse_json(value) if isinstance(value, str) else value))


def _messages(attributes: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the messages in an attribute, else in numbered attributes."""
    if messages := _objects(attributes.get(key)):
        return messages
    # Some instrumentations use numbered attributes: gen_ai.prompt.0.role.
    stem = "gen_ai.completion" if key == _OUTPUT else "gen_ai.prompt"
    fields = ("role", "content", "finish_reason")
    numbered = (
        {field: attributes[key] for field in fields if (key := f"{stem}.{n}.{field}") in attributes}
        for n in range(_MAX_NUMBERED_MESSAGES)
    )
    return list(filter(None, numbered))


def _conditions(turns: Sequence[tuple[str, str]]) -> list[Json]:
    """Return conditions on the last user message, and on the tool result after it, if any."""
    question = [turn for turn in turns if turn[0] == "user"][-1:]
    result = [turn for turn in turns[-1:] if turn[0] == "tool"]
    return [
        {"role": role, "which": "last", "equals": text}
        for role, text in (*question, *result)
        if text
    ]


def _turns(attributes: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the role and the text, or the tool's result, of each message of a request."""
    for message in _messages(attributes, _INPUT):
        role, texts = str(message.get("role") or "user"), [message.get("content")]
        for part in dict_items(message.get("parts")):
            if part.get("type") == "text":
                texts.append(part.get("content"))
            elif part.get("type") == "tool_call_response":
                role = "tool"
                texts.append(_tool_result(part))
        yield role, "\n".join(text for text in texts if text and isinstance(text, str))


def _decode_response(
    attributes: dict[str, Any], results: Mapping[str, Json]
) -> DecodedResponse | None:
    """Return the response in a model span's attributes, or None if they have no output messages."""
    choices = [_decode_choice(message, results) for message in _messages(attributes, _OUTPUT)]
    if not choices:
        return None
    reasons = attributes.get("gen_ai.response.finish_reasons")
    for choice, reason in zip(choices, reasons if isinstance(reasons, list) else (), strict=False):
        choice.finish = choice.finish or _FINISHES.get(str(reason), "")
    usage: dict[str, Json] = {
        "input_tokens": attributes.get("gen_ai.usage.input_tokens"),
        "output_tokens": attributes.get("gen_ai.usage.output_tokens"),
    }
    return DecodedResponse(tuple(choices), usage)


def _decode_choice(message: dict[str, Any], results: Mapping[str, Json]) -> DecodedChoice:
    """Return one output message as a choice; parts of unknown types are noted as lost."""
    content = DecodedChoice(finish=_FINISHES.get(str(message.get("finish_reason")), ""))
    content.add_text(message.get("content"))
    for part in dict_items(message.get("parts")):
        match part.get("type"):
            case "text":
                content.add_text(part.get("content"))
            case "reasoning":
                content.add_reasoning(part.get("content"))
            case "tool_call":
                id = part.get("id")
                result = results.get(id) if isinstance(id, str) else None
                content.add_call(part.get("name"), part.get("arguments"), id=id, result=result)
            case kind:
                content.lost.add(str(kind))
    return content
