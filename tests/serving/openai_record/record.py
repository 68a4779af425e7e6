"""Recorded exchanges with those who speak OpenAI's API: read, scripted, and compared by shape."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scenarios_app.wire.base import Call
from tests.serving.openai_record.differences import DIFFERENCES
from tests.serving.pipelines import KEY, Playing, scenario

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
    """One exchange. The name is the file's, with the line after it."""

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
        """The chunks or events, or the one body."""
        return list(events(self.answer)) if self.streamed else [self.answer]

    @property
    def day(self) -> str:
        """When it was recorded, today where it does not say."""
        for said in self.real:
            within = said.get("response", said)
            if at := within.get("created_at") or within.get("created"):
                return datetime.fromtimestamp(at, UTC).date().isoformat()
        return "9999-12-31"


def exchanges(folder: Path) -> Iterator[Exchange]:
    """The exchanges that a provider answered with 200, and that name nothing of another one."""
    for file, (wire, own, ours) in WIRES.items():
        path = folder / f"{file}.jsonl"
        for number, line in enumerate(path.read_text().splitlines()):
            row = json.loads(line)
            if row["status"] != 200 or row["request"].get("previous_response_id"):
                continue
            where = ours + row["path"].removeprefix(own)
            yield Exchange(f"{file}:{number}", wire, where, row["request"], row["answer"])


def samples() -> list[Exchange]:
    """The exchanges of this repository, in our own words."""
    rows = map(json.loads, SAMPLES.read_text().splitlines())
    return [Exchange(**row) for row in rows]


def events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            yield json.loads(line[5:])


def scripted(exchange: Exchange) -> dict[str, Any] | None:
    """The real answer as a step produces it; None where a scenario can't say it."""
    real = exchange.real
    if exchange.path.endswith("/embeddings"):
        return {}
    if exchange.path.endswith("/responses"):
        ended = [e["response"] for e in real if e.get("type") == "response.completed"]
        return _items(ended[0] if exchange.streamed else real[0])
    return _message(real, streamed=exchange.streamed)


def _message(real: list[dict[str, Any]], *, streamed: bool) -> dict[str, Any]:
    said: dict[str, Any] = {"text": "", "reasoning": "", "refusal": ""}
    calls: dict[int, dict[str, str]] = {}
    signature = None
    for choice in (c for chunk in real for c in chunk["choices"][:1]):
        part = choice["delta" if streamed else "message"]
        said["text"] += part.get("content") or ""
        said["refusal"] += part.get("refusal") or ""
        said["reasoning"] += part.get("reasoning") or part.get("reasoning_content") or ""
        for detail in part.get("reasoning_details") or ():
            signature = detail.get("signature") or detail.get("data") or signature
        for place, call in enumerate(part.get("tool_calls") or ()):
            slot = calls.setdefault(call["index"] if streamed else place, {"name": "", "text": ""})
            slot["name"] += call["function"].get("name") or ""
            slot["text"] += call["function"].get("arguments") or ""
    if said["reasoning"]:
        signed = {"signature": signature} if signature else {}
        said["reasoning"] = [{"text": said["reasoning"], **signed}]
    called = [{"name": c["name"], "arguments": json.loads(c["text"])} for c in calls.values()]
    return {key: value for key, value in (said | {"tool_calls": called}).items() if value}


def _items(response: dict[str, Any]) -> dict[str, Any] | None:
    said: dict[str, Any] = {"reasoning": [], "text": "", "tool_calls": []}
    for item in response["output"]:
        match item["type"]:
            case "reasoning":
                said["reasoning"] += [{"text": part["text"]} for part in item["summary"]]
            case "message":
                said["text"] += "".join(part["text"] for part in item["content"])
            case "function_call":
                arguments = json.loads(item["arguments"])
                said["tool_calls"].append({"name": item["name"], "arguments": arguments})
            case _:
                return None
    if any(
        part.get("annotations") for item in response["output"] for part in item.get("content", [])
    ):
        return None
    return {key: value for key, value in said.items() if value} or None


async def answered(exchange: Exchange, produce: dict[str, Any] | None) -> tuple[int, bytes]:
    """What we say to the same request: as the real one did, if there is a script of it."""
    step = {"produce": produce or {"text": "Something."}}
    body = json.dumps(exchange.request).encode()
    headers = {"authorization": f"Bearer {KEY}", "host": "testserver"}
    call = Call("POST", exchange.path, {}, headers, body)
    status, _, sent = await Playing(scenario("recorded", step)).ask(call)
    return status, sent


def differences(exchange: Exchange, sent: bytes) -> set[str]:
    """The paths that are on one side alone, and those whose types differ; without those that the
    table tells of. A null may stand for any type."""
    ours = list(events(sent.decode())) if exchange.streamed else [json.loads(sent)]
    theirs, said = _shape(exchange.real), _shape(ours)
    alone = {f"ours alone: {where}" for where in said.keys() - theirs.keys()}
    alone |= {f"real alone: {where}" for where in theirs.keys() - said.keys()}
    found = {line for line in alone if not _told(exchange, line.partition(": ")[2])}
    for where in theirs.keys() & said.keys():
        kinds = theirs[where] - {"null"}, said[where] - {"null"}
        if all(kinds) and kinds[0] != kinds[1]:
            found.add(f"type of {where}: {kinds[0]} and {kinds[1]}")
    return found


def _told(exchange: Exchange, where: str) -> bool:
    # In an event, a response, item or part has the same paths as in a whole answer.
    path = where.partition(" ")[2]
    inner = path.removeprefix("response.")
    if path.startswith("item."):
        kinds = ("message", "function_call", "reasoning")
        paths = [f"output[{kind}].{path.removeprefix('item.')}" for kind in kinds]
    else:
        paths = [inner]
    return any(
        row.excuses(exchange.wire, each, exchange.day) for row in DIFFERENCES for each in paths
    )


def _shape(said: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The kinds of values by path; of events each behind its type."""
    found: dict[str, set[str]] = {}
    for event in said:
        kind = event.get("type", "answer")
        found.setdefault(f"{kind} ", set()).add("event")
        for where, value in _walk(event, ""):
            found.setdefault(f"{kind} {where.removeprefix('.')}", set()).add(_kind(value))
    return found


def _walk(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            where = f"{place}.{key}"
            yield where, inner
            if key not in FREE:
                yield from _walk(inner, where)
    elif isinstance(value, list):
        for inner in value:
            tag = inner.get("type") if isinstance(inner, dict) else None
            yield from _walk(inner, f"{place}[{tag if isinstance(tag, str) else ''}]")


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
