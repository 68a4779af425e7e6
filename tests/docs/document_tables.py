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
    model_schema = json_schema()["$defs"][model]
    rows = [
        (
            f"`{key}`",
            with_default(describe_schema(value), _default(key, model_schema)),
            _flat(value["description"]),
        )
        for key, value in model_schema["properties"].items()
        if key not in without.split(",")
    ]
    return table(("key", "type", "meaning"), rows)


def with_default(values: str, default: str) -> str:
    """Return the values that are accepted, with the default or `required` if there is one."""
    if default in ("", "required"):
        return ", ".join(part for part in (values, default) if part)
    return f"{values}; default {default}"


def faults_table() -> str:
    """Return the table of fault keys, with the kinds that have the same keys in one row."""
    kinds: dict[str, list[str]] = {}
    for kind in FAULT_KINDS.values():
        keys = ", ".join(f"`{key}`" for key in _in_order(kind.keys))
        kinds.setdefault(keys, []).append(f"`{kind.name}`")
    return table(("kinds", "keys"), [(", ".join(names), keys) for keys, names in kinds.items()])


def recording_rules_table() -> str:
    """Return the table of rules that ignore differences between a request and its recording."""
    return table(
        ("rule", "what may differ"), [(f"`{name}`", meaning) for name, meaning in RULES.items()]
    )


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines
    )


def describe_schema(schema: Mapping[str, Any]) -> str:
    """Return the values that a schema accepts, in words, or a link to the table of its model."""
    match schema:
        case {"$ref": ref} if ref == ANY_JSON:
            return "any JSON"
        case {"$ref": ref}:
            heading = HEADINGS[ref.removeprefix(_REF)]
            anchor = heading.replace(" ", "-").replace("'", "")
            return f"[{re.sub('^an? ', '', heading)}](#{anchor})"
        case {"anyOf": [*forms]}:
            return _alternatives(forms)
        case {"enum": [*values]}:
            return _either([f"`{value}`" for value in values])
        case {"const": value}:
            return f"`{value}`"
        case {"type": "array", "items": items}:
            return f"list of {pluralize(describe_schema(items))}"
        case {"type": "object", "additionalProperties": {"$ref": ref}} if ref == ANY_JSON:
            return "object"
        case {"type": "object", "additionalProperties": values}:
            return f"object of {pluralize(describe_schema(values))}"
        case {"type": "integer", "minimum": least}:
            return "whole number" if least < 0 else f"whole number from {least}"
        case {"type": "number", "maximum": most}:
            return f"number from 0 to {most:g}"
        case _:
            return PLAIN[schema["type"]]


def pluralize(word: str) -> str:
    """Return the plural of a description."""
    if word in ("object", "text", "whole number"):
        return f"{word}s"
    plural = re.sub(r"\[(.+?)( (?:of|on) .+)?\]", r"[\1s\2]", word)
    return plural.replace("chs]", "ches]")


def _alternatives(forms: list[Mapping[str, Any]]) -> str:
    # The heading of an object says if it can be shortened to a text.
    values = [value for form in forms for value in form.get("enum", (None,))]
    if None not in values:
        return describe_schema({"enum": values})
    descriptions = list(
        dict.fromkeys(describe_schema(form) for form in forms if form.get("type") != "null")
    )
    objects = [text for text in descriptions if text.startswith("[")]
    if objects:
        descriptions = [text for text in descriptions if text != "text"]
    if descriptions == [*objects, *(f"list of {pluralize(text)}" for text in objects)]:
        return f"{_either(objects)} or a list"
    return _either(descriptions)


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
