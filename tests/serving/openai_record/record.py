"""Loads recorded exchanges of OpenAI's API and its dialects, scripts them, and compares shapes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scenarios_app.wire.base import Call
from tests.serving.openai_record.differences import DIFFERENCES
from tests.serving.pipelines import KEY, Harness, scenario

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "tests" / "data" / "openai_record.jsonl"
SHARED = ROOT.parent / "shared" / "data" / "real_traffic"
# By file name: the wire's name in the docs, and the part of the path to cut.
WIRES: Mapping[str, tuple[str, str, str]] = {
    "chat": ("OpenAI chat", "", ""),
    "responses": ("OpenAI Responses", "", ""),
    "embeddings": ("OpenAI embeddings", "", ""),
    "openrouter": ("OpenRouter", "", "/openrouter"),
    "groq": ("Groq", "", "/groq"),
    "mistral": ("Mistral", "", "/mistral"),
    "deepseek": ("DeepSeek", "", "/deepseek"),
}
# Values of clients or of test authors, whose form is not the provider's.
FREE = frozenset(
    {"arguments", "schema", "parameters", "metadata", "format", "embedding", "instructions"}
)


@dataclass(frozen=True)
class Exchange:
    """One recorded request with its answer; `name` is the file and the line number."""

    name: str
    wire: str
    path: str
    request: dict[str, Any]
    answer: Any

    @property
    def streamed(self) -> bool:
        return isinstance(self.answer, str)

    @property
    def real(self) -> list[dict[str, Any]]:
        """The chunks or events of a stream, or the one body."""
        return list(events(self.answer)) if self.streamed else [self.answer]

    @property
    def day(self) -> str:
        """The day of the recording in ISO format; 9999-12-31 if the answer has no time."""
        for value in self.real:
            response = value.get("response", value)
            if created := response.get("created_at") or response.get("created"):
                return datetime.fromtimestamp(created, UTC).date().isoformat()
        return "9999-12-31"


def exchanges(folder: Path) -> Iterator[Exchange]:
    """Yield the exchanges with status 200 that refer to no earlier response."""
    for file, (wire, cut_prefix, added_prefix) in WIRES.items():
        path = folder / f"{file}.jsonl"
        for number, line in enumerate(path.read_text().splitlines()):
            row = json.loads(line)
            if row["status"] != 200 or row["request"].get("previous_response_id"):
                continue
            request_path = added_prefix + row["path"].removeprefix(cut_prefix)
            yield Exchange(f"{file}:{number}", wire, request_path, row["request"], row["answer"])


def samples() -> list[Exchange]:
    """Return the exchanges of this repository, which are written by hand."""
    rows = map(json.loads, SAMPLES.read_text().splitlines())
    return [Exchange(**row) for row in rows]


def events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield json.loads(line[5:])


def to_script(exchange: Exchange) -> dict[str, Any] | None:
    """Return what a step must produce for the real answer, or None if a scenario cannot express
    it."""
    real = exchange.real
    if exchange.path.endswith("/embeddings"):
        return {}
    if exchange.path.endswith("/responses"):
        completed = [e["response"] for e in real if e.get("type") == "response.completed"]
        return _items(completed[0] if exchange.streamed else real[0])
    return _message(real, streamed=exchange.streamed)


def _message(real: list[dict[str, Any]], *, streamed: bool) -> dict[str, Any]:
    produce: dict[str, Any] = {"text": "", "reasoning": "", "refusal": ""}
    calls: dict[int, dict[str, str]] = {}
    signature = None
    for choice in (c for chunk in real for c in chunk["choices"][:1]):
        part = choice["delta" if streamed else "message"]
        produce["text"] += part.get("content") or ""
        produce["refusal"] += part.get("refusal") or ""
        produce["reasoning"] += part.get("reasoning") or part.get("reasoning_content") or ""
        for detail in part.get("reasoning_details") or ():
            signature = detail.get("signature") or detail.get("data") or signature
        for position, call in enumerate(part.get("tool_calls") or ()):
            call_parts = calls.setdefault(
                call["index"] if streamed else position, {"name": "", "text": ""}
            )
            call_parts["name"] += call["function"].get("name") or ""
            call_parts["text"] += call["function"].get("arguments") or ""
    if produce["reasoning"]:
        signature_field = {"signature": signature} if signature else {}
        produce["reasoning"] = [{"text": produce["reasoning"], **signature_field}]
    tool_calls = [{"name": c["name"], "arguments": json.loads(c["text"])} for c in calls.values()]
    return {key: value for key, value in (produce | {"tool_calls": tool_calls}).items() if value}


def _items(response: dict[str, Any]) -> dict[str, Any] | None:
    produce: dict[str, Any] = {"reasoning": [], "text": "", "tool_calls": []}
    for item in response["output"]:
        match item["type"]:
            case "reasoning":
                produce["reasoning"] += [{"text": part["text"]} for part in item["summary"]]
            case "message":
                produce["text"] += "".join(part["text"] for part in item["content"])
            case "function_call":
                arguments = json.loads(item["arguments"])
                produce["tool_calls"].append({"name": item["name"], "arguments": arguments})
            case _:
                return None
    if any(
        part.get("annotations") for item in response["output"] for part in item.get("content", [])
    ):
        return None
    return {key: value for key, value in produce.items() if value} or None


async def replay_request(exchange: Exchange, produce: dict[str, Any] | None) -> tuple[int, bytes]:
    """Return status and body of our answer to the same request, scripted with `produce` if
    given."""
    step = {"produce": produce or {"text": "Something."}}
    body = json.dumps(exchange.request).encode()
    headers = {"authorization": f"Bearer {KEY}", "host": "testserver"}
    call = Call("POST", exchange.path, {}, headers, body)
    status, _, answer_body = await Harness(scenario("recorded", step)).ask(call)
    return status, answer_body


def differences(exchange: Exchange, response_body: bytes) -> set[str]:
    """Return the paths that only one side has or whose types differ, without the known
    differences. Null equals any type."""
    ours = (
        list(events(response_body.decode())) if exchange.streamed else [json.loads(response_body)]
    )
    their_shape, our_shape = _shape(exchange.real), _shape(ours)
    one_sided = {f"ours alone: {path}" for path in our_shape.keys() - their_shape.keys()}
    one_sided |= {f"real alone: {path}" for path in their_shape.keys() - our_shape.keys()}
    lines = {line for line in one_sided if not _is_excused(exchange, line.partition(": ")[2])}
    for path in their_shape.keys() & our_shape.keys():
        types = their_shape[path] - {"null"}, our_shape[path] - {"null"}
        if all(types) and types[0] != types[1]:
            lines.add(f"type of {path}: {types[0]} and {types[1]}")
    return lines


def _is_excused(exchange: Exchange, typed_path: str) -> bool:
    # In an event, a response, item or part has the same paths as in a whole answer.
    path = typed_path.partition(" ")[2]
    inner = path.removeprefix("response.")
    if path.startswith("item."):
        kinds = ("message", "function_call", "reasoning")
        paths = [f"output[{kind}].{path.removeprefix('item.')}" for kind in kinds]
    else:
        paths = [inner]
    return any(
        row.excuses(exchange.wire, each, exchange.day) for row in DIFFERENCES for each in paths
    )


def _shape(values: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the types of the values by path; the paths of an event begin with its type."""
    types: dict[str, set[str]] = {}
    for event in values:
        kind = event.get("type", "answer")
        types.setdefault(f"{kind} ", set()).add("event")
        for path, value in _walk(event, ""):
            types.setdefault(f"{kind} {path.removeprefix('.')}", set()).add(_kind(value))
    return types


def _walk(value: Any, parent: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{parent}.{key}"
            yield path, inner
            if key not in FREE:
                yield from _walk(inner, path)
    elif isinstance(value, list):
        for inner in value:
            tag = inner.get("type") if isinstance(inner, dict) else None
            yield from _walk(inner, f"{parent}[{tag if isinstance(tag, str) else ''}]")


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a flag"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
