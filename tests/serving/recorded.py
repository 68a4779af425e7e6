"""Answers of the providers, recorded or written in their shape: what a script of them says, which
keys, types and events they have, and how ours differ.

Those in `tests/data/real_answers.json` are the project's own. Recorded ones are read besides where
they lie beside the checkout.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.support.requirement_samples import HANDED, OURS

Row: TypeAlias = dict[str, Any]
# Keys whose values have any form; paths end there.
FREE = frozenset({"args", "input", "response"})
BESIDE = frozenset({"text", "thought", "functionCall", "thoughtSignature"})
WIRES = {"anthropic": "Anthropic", "gemini": "Gemini"}
"""The wires that are held to real answers, each with its title."""


def own_rows() -> list[Row]:
    """Each with its `wire`, `what` it is, and which fields it `differs` in."""
    rows: list[Row] = json.loads((OURS / "real_answers.json").read_text())
    return rows


def recorded_rows() -> list[Row]:
    """Requests that a provider took, with its answers."""
    rows: list[Row] = []
    for wire in WIRES:
        file = HANDED / "real_traffic" / f"{wire}.jsonl"
        if file.is_file():
            read = map(json.loads, file.read_text().splitlines())
            rows += ({**row, "wire": wire} for row in read if row["status"] == 200)
    return rows


def values(answer: Any) -> list[Any]:
    """A whole answer, or the events of a stream."""
    if not isinstance(answer, str):
        return [answer]
    lines = (line for line in answer.splitlines() if line.startswith("data:"))
    return [json.loads(line.removeprefix("data:")) for line in lines]


def script_of(row: Row) -> Row | None:
    """What a step produces that says the same; None where a document has no words for it."""
    said = values(row["answer"])
    return (_anthropic if row["wire"] == "anthropic" else _gemini)(said)


def _anthropic(said: list[Any]) -> Row | None:
    blocks = _joined(said) if len(said) > 1 else said[0]["content"]
    script: Row = {"parts": []}
    for block in blocks:
        match block:
            case {"type": "text", "text": text, **more} if not more.get("citations"):
                script["parts"].append({"text": text})
            case {"type": "thinking", "thinking": text, "signature": signature} if text:
                script["parts"].append({"reasoning": text, "signature": signature})
            case {"type": "tool_use", "name": name, "input": given}:
                script["parts"].append({"tool_call": {"name": name, "arguments": given}})
            case _:
                return None
    return script


def _joined(events: list[Any]) -> list[Row]:
    """The blocks of a stream."""
    blocks: list[Row] = []
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                blocks.append({**block, "input": ""})
            case {"type": "content_block_delta", "delta": delta}:
                for key in delta.keys() - {"type"}:
                    place = {"partial_json": "input"}.get(key, key)
                    blocks[-1][place] = blocks[-1].get(place, "") + delta[key]
    return [{**block, "input": json.loads(block["input"] or "{}")} for block in blocks]


def _gemini(said: list[Any]) -> Row | None:
    script: Row = {"parts": []}
    for part in (p for one in said for c in one["candidates"] for p in c["content"]["parts"]):
        if part.keys() - BESIDE:
            return None
        if call := part.get("functionCall"):
            called = {"name": call["name"], "arguments": call.get("args", {})}
            script["parts"].append({"tool_call": called})
        elif text := part["text"]:
            script["parts"].append({"reasoning" if part.get("thought") else "text": text})
    return script


def paths(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key with its path and the type of what stands there. Members of a list are told apart
    by their `type`."""
    match value:
        case dict():
            for key, found in value.items():
                yield f"{path}.{key}", _kind(found)
                if key not in FREE:
                    yield from paths(found, f"{path}.{key}")
        case list():
            for found in value:
                kind = found.get("type", "") if isinstance(found, dict) else ""
                yield from paths(found, f"{path}[{kind}]")


def shape(answer: Any) -> dict[str, set[str]]:
    """The types at each path; an event's name stands before its paths."""
    found: dict[str, set[str]] = {}
    for value in values(answer):
        name = value.get("type", "chunk") if isinstance(answer, str) else ""
        found.setdefault(name, {"object"})
        for path, kind in paths(value):
            found.setdefault(name + path, set()).add(kind)
    return found


def differences(theirs: Any, ours: Any) -> dict[str, str]:
    """The paths at which two answers differ: `only theirs`, `only ours`, or the types of both."""
    real, mock = shape(theirs), shape(ours)
    found = dict.fromkeys(real.keys() - mock.keys(), "only theirs")
    found |= dict.fromkeys(mock.keys() - real.keys(), "only ours")
    for path in real.keys() & mock.keys():
        one, other = real[path] - {"null"}, mock[path] - {"null"}
        if one and other and one != other:
            found[path] = f"{sorted(one)} and {sorted(other)}"
    return found


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "flag"
        case int() | float():
            return "number"
        case str():
            return "text"
        case _:
            return type(value).__name__


_MEMBER = re.compile(r"\[[^]]*\]")
_ROW = re.compile(r"\| (?P<wire>[^|]+) \| (?P<fields>`[^|]+) \| (?P<why>[^|]+) \|")
_GROWN = "the API has grown since"


def explained(page: str) -> list[tuple[str, str, str]]:
    """The rows of the page's table: a wire's title, a field, and who alone has it, or `either`."""
    table = page.partition("\n## Where we differ and why\n")[2].partition("\n## ")[0]
    return [
        (row["wire"], field, "only ours" if row["why"].startswith(_GROWN) else "either")
        for row in _ROW.finditer(table)
        for field in re.findall("`([^`]+)`", row["fields"])
    ]


def explanation(path: str, who: str, *, wire: str, table: list[tuple[str, str, str]]) -> str | None:
    """The field of the table that a difference is in."""
    bare = "." + _MEMBER.sub("", path) + "."
    for title, field, whose in table:
        if title == WIRES[wire] and whose in (who, "either") and f".{field}." in bare:
            return field
    return None
