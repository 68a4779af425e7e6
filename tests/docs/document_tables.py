"""Tables of a scenario document's keys, from the models that read it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.engine.recorded.rules import RULES

_REF = "#/$defs/"
ANY_JSON = f"{_REF}JsonValue"
PLAIN = {"boolean": "true or false", "number": "number", "string": "text"}
# The heading under which the reference has a model's table.
HEADINGS: Mapping[str, str] = {
    "StepDocument": "a step",
    "MatchDocument": "match",
    "TextConditionDocument": "a text condition",
    "MessageConditionDocument": "a message",
    "ToolCallConditionDocument": "an earlier call",
    "ToolResultConditionDocument": "a tool's result",
    "NamedSchemaDocument": "a named schema",
    "RangeDocument": "a range",
    "ExpectDocument": "expect",
    "FailuresDocument": "failures",
    "FaultDocument": "a fault",
    "ProduceDocument": "produce",
    "ReasoningDocument": "a reasoning block",
    "ToolCallDocument": "a tool call",
    "ToolResultDocument": "a scripted tool result",
    "FinalReportDocument": "a final report",
    "PartDocument": "a part",
    "CitationDocument": "a citation",
    "HostedToolDocument": "a hosted tool",
    "ChoiceDocument": "a choice",
    "ChunkDocument": "a chunk",
    "ToolCallPieceDocument": "a piece of a call",
    "RawDocument": "raw",
    "GenerateDocument": "generate",
    "UsageDocument": "usage",
    "PacingDocument": "pacing",
    "RecordedRequestDocument": "a recorded request",
    "RecordedAnswerDocument": "a recorded answer",
    "RecordedChunkDocument": "a recorded chunk",
    "AnswerDocument": "an answer",
    "ScenarioDocument": "a scenario",
    "SideEffectsDocument": "side effects",
    "EquivalentChangesDocument": "equivalent changes",
    "UserDocument": "a scripted user",
    "UserTurnDocument": "a turn of the user",
    "AgentDocument": "a condition on the agent",
}


def keys_table(model: str, *, without: str = "") -> str:
    """Return the table of a model's keys, except those named in `without`, separated by commas."""
    one = json_schema()["$defs"][model]
    rows = [
        (f"`{key}`", holds(value), _default(key, one), _flat(value["description"]))
        for key, value in one["properties"].items()
        if key not in without.split(",")
    ]
    return table(("key", "type", "default", "meaning"), rows)


def faults_table() -> str:
    """Which keys a fault of each kind has."""
    rows = [
        (f"`{kind.name}`", ", ".join(f"`{key}`" for key in _in_order(kind.keys)))
        for kind in FAULT_KINDS.values()
    ]
    return table(("kind", "keys"), rows)


def recording_rules_table() -> str:
    """What two requests may differ in and still be the same conversation."""
    return table(
        ("rule", "what may differ"), [(f"`{name}`", meaning) for name, meaning in RULES.items()]
    )


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def holds(schema: Mapping[str, Any]) -> str:
    """What a schema takes, in words; where a page has a table of it, a link there."""
    match schema:
        case {"$ref": ref} if ref == ANY_JSON:
            return "any JSON"
        case {"$ref": ref}:
            heading = HEADINGS[ref.removeprefix(_REF)]
            return f"[{heading}](#{heading.replace(' ', '-').replace(chr(39), '')})"
        case {"anyOf": [*forms]}:
            return _alternatives(forms)
        case {"enum": [*values]}:
            return _either([f"`{value}`" for value in values])
        case {"const": value}:
            return f"`{value}`"
        case {"type": "array", "items": items}:
            return f"list of {many(holds(items))}"
        case {"type": "object", "additionalProperties": {"$ref": ref}} if ref == ANY_JSON:
            return "object"
        case {"type": "object", "additionalProperties": values}:
            return f"object of {many(holds(values))}"
        case {"type": "integer", "minimum": least}:
            return "whole number" if least < 0 else f"whole number from {least}"
        case {"type": "number", "maximum": most}:
            return f"number from 0 to {most:g}"
        case _:
            return PLAIN[schema["type"]]


def many(word: str) -> str:
    """The plural of what one of them is called."""
    if word in ("object", "text", "whole number"):
        return f"{word}s"
    return re.sub(r"\[an? (.+)\]", r"[\1s]", word)


def _alternatives(forms: list[Mapping[str, Any]]) -> str:
    """Where an object may be shortened to a text, its own heading says so."""
    values = [value for form in forms for value in form.get("enum", (None,))]
    if None not in values:
        return holds({"enum": values})
    told = list(dict.fromkeys(holds(form) for form in forms if form.get("type") != "null"))
    objects = [text for text in told if text.startswith("[")]
    if objects:
        told = [text for text in told if text != "text"]
    if told == [*objects, *(f"list of {many(text)}" for text in objects)]:
        return f"{_either(objects)} or a list"
    return _either(told)


def _either(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _default(key: str, model: Mapping[str, Any]) -> str:
    if key in model.get("required", ()):
        return "required"
    match model["properties"][key].get("default"):
        case None | "":
            return ""
        case bool(value):
            return "true" if value else "false"
        case value:
            return f"`{value}`" if isinstance(value, str) else f"{value:g}"


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("\\n", "\\\\n").rstrip(".")


def _in_order(keys: frozenset[str]) -> Iterator[str]:
    order = json_schema()["$defs"]["FaultDocument"]["properties"]
    return (key for key in order if key in keys)
