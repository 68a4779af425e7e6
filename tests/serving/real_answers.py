"""Loads real answers of providers, converts them to scripts, and compares their shape with ours.

Answers in `tests/data/real_answers.json` are written in the shape of real ones. Recorded answers
are loaded too if they lie beside the checkout.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from tests.support.requirement_samples import PROJECT_DATA, REQUIREMENT_DATA

Row: TypeAlias = dict[str, Any]
# Keys whose values have any form; paths end there.
FREE = frozenset({"args", "input", "response"})
BESIDE = frozenset({"text", "thought", "functionCall", "thoughtSignature"})
WIRES = {"anthropic": "Anthropic", "gemini": "Gemini"}
"""The titles of the wires that are compared with real answers."""


def own_rows() -> list[Row]:
    """Return the project's own rows, each with `wire`, a description as `what`, and `differs`: the
    fields in which ours differ."""
    rows: list[Row] = json.loads((PROJECT_DATA / "real_answers.json").read_text())
    return rows


def recorded_rows() -> list[Row]:
    """Return the recorded requests that a provider answered with 200, with their answers."""
    rows: list[Row] = []
    for wire in WIRES:
        file = REQUIREMENT_DATA / "real_traffic" / f"{wire}.jsonl"
        if file.is_file():
            file_rows = map(json.loads, file.read_text().splitlines())
            rows += ({**row, "wire": wire} for row in file_rows if row["status"] == 200)
    return rows


def values(answer: Any) -> list[Any]:
    """Return a whole answer as the only value, or the events of a stream."""
    if not isinstance(answer, str):
        return [answer]
    lines = (line for line in answer.splitlines() if line.startswith("data:"))
    return [json.loads(line.removeprefix("data:")) for line in lines]


def to_script(row: Row) -> Row | None:
    """Return what a step must produce for the same answer, or None if a document cannot express
    it."""
    answer_values = values(row["answer"])
    return (_anthropic if row["wire"] == "anthropic" else _gemini)(answer_values)


def _anthropic(answer_values: list[Any]) -> Row | None:
    blocks = _joined(answer_values) if len(answer_values) > 1 else answer_values[0]["content"]
    script: Row = {"parts": []}
    for block in blocks:
        match block:
            case {"type": "text", "text": text, **more} if not more.get("citations"):
                script["parts"].append({"text": text})
            case {"type": "thinking", "thinking": text, "signature": signature} if text:
                script["parts"].append({"reasoning": text, "signature": signature})
            case {"type": "tool_use", "name": name, "input": arguments}:
                script["parts"].append({"tool_call": {"name": name, "arguments": arguments}})
            case _:
                return None
    return script


def _joined(events: list[Any]) -> list[Row]:
    """Return the blocks of a stream."""
    blocks: list[Row] = []
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                blocks.append({**block, "input": ""})
            case {"type": "content_block_delta", "delta": delta}:
                for key in delta.keys() - {"type"}:
                    block_key = {"partial_json": "input"}.get(key, key)
                    blocks[-1][block_key] = blocks[-1].get(block_key, "") + delta[key]
    return [{**block, "input": json.loads(block["input"] or "{}")} for block in blocks]


def _gemini(answer_values: list[Any]) -> Row | None:
    script: Row = {"parts": []}
    for part in (
        p for chunk in answer_values for c in chunk["candidates"] for p in c["content"]["parts"]
    ):
        if part.keys() - BESIDE:
            return None
        if call := part.get("functionCall"):
            tool_call = {"name": call["name"], "arguments": call.get("args", {})}
            script["parts"].append({"tool_call": tool_call})
        elif text := part["text"]:
            script["parts"].append({"reasoning" if part.get("thought") else "text": text})
    return script


def paths(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the type of every key; list items of different `type` have different
    paths."""
    match value:
        case dict():
            for key, item in value.items():
                yield f"{path}.{key}", _kind(item)
                if key not in FREE:
                    yield from paths(item, f"{path}.{key}")
        case list():
            for item in value:
                kind = item.get("type", "") if isinstance(item, dict) else ""
                yield from paths(item, f"{path}[{kind}]")


def shape(answer: Any) -> dict[str, set[str]]:
    """Return the types at each path; the paths of an event begin with its name."""
    types: dict[str, set[str]] = {}
    for value in values(answer):
        name = value.get("type", "chunk") if isinstance(answer, str) else ""
        types.setdefault(name, {"object"})
        for path, kind in paths(value):
            types.setdefault(name + path, set()).add(kind)
    return types


def differences(theirs: Any, ours: Any) -> dict[str, str]:
    """Return the paths at which two answers differ, each with `only theirs`, `only ours` or both
    types."""
    their_shape, our_shape = shape(theirs), shape(ours)
    differing_paths = dict.fromkeys(their_shape.keys() - our_shape.keys(), "only theirs")
    differing_paths |= dict.fromkeys(our_shape.keys() - their_shape.keys(), "only ours")
    for path in their_shape.keys() & our_shape.keys():
        their_types, our_types = their_shape[path] - {"null"}, our_shape[path] - {"null"}
        if their_types and our_types and their_types != our_types:
            differing_paths[path] = f"{sorted(their_types)} and {sorted(our_types)}"
    return differing_paths


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


def read_difference_table(page: str) -> list[tuple[str, str, str]]:
    """Return the rows of the page's table: a wire's title, a field, and the side that alone has it
    or `either`."""
    section = page.partition("\n## Where we differ and why\n")[2].partition("\n## ")[0]
    return [
        (row["wire"], field, "only ours" if row["why"].startswith(_GROWN) else "either")
        for row in _ROW.finditer(section)
        for field in re.findall("`([^`]+)`", row["fields"])
    ]


def find_explanation(
    path: str, side: str, *, wire: str, table: list[tuple[str, str, str]]
) -> str | None:
    """Return the table's field that covers a difference, or None."""
    plain_path = "." + _MEMBER.sub("", path) + "."
    for title, field, row_side in table:
        if title == WIRES[wire] and row_side in (side, "either") and f".{field}." in plain_path:
            return field
    return None
