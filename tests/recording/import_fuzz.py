"""Mutates recordings of every format and imports them: each is refused clearly or makes a scenario.

As a program: `python -m tests.recording.import_fuzz [FILES_PER_FORMAT] [SEED]`.
"""

import json
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import yaml

from scenarios_app.engine.document import DocumentError, ScenarioDocument, load_text
from scenarios_app.recording.files import read_upload

MAX_SECONDS: Final = 1.0
MAX_MEGABYTES: Final = 100

_URL: Final = "https://api.openai.com/v1/chat/completions"
_ASKED: Final = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Weather?"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
}
_CALL: Final = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
_ANSWER: Final = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Sunny.", "tool_calls": [_CALL]},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
_STREAM: Final = 'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n'
_CASSETTE: Final = {
    "version": 1,
    "interactions": [
        {
            "request": {
                "method": "POST",
                "uri": _URL,
                "headers": {"authorization": ["Bearer sk-1234567890abcdef1234567890"]},
                "body": json.dumps(_ASKED),
            },
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"content-type": ["application/json"]},
                "body": {"string": body},
            },
        }
        for body in (json.dumps(_ANSWER), _STREAM)
    ],
}
_OTLP_ATTRIBUTES: Final = [
    {"key": key, "value": {"stringValue": value}}
    for key, value in {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [
                        {"type": "text", "content": "Hello"},
                        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}},
                    ],
                    "finish_reason": "stop",
                }
            ]
        ),
    }.items()
]
_OTLP_SPAN: Final = {
    "name": "chat",
    "startTimeUnixNano": "1",
    "endTimeUnixNano": 2,
    "attributes": [
        *_OTLP_ATTRIBUTES,
        {"key": "gen_ai.tool.call.id", "value": {"stringValue": "c"}},
        {"key": "gen_ai.tool.call.result", "value": {"stringValue": "sunny"}},
    ],
}
# A file of each format: its suffix and its values, those of JSONL line by line.
SAMPLES: Final[dict[str, tuple[str, Any]]] = {
    "vcrpy": (".yaml", _CASSETTE),
    "vcrpy_json": (".json", _CASSETTE),
    "har": (
        ".har",
        {
            "log": {
                "version": "1.2",
                "entries": [
                    {
                        "request": {
                            "method": "POST",
                            "url": f"{_URL}?key=abc",
                            "headers": [{"name": "x-api-key", "value": "sk-ant-1234567890abcdef"}],
                            "postData": {
                                "mimeType": "application/json",
                                "text": json.dumps(_ASKED),
                            },
                        },
                        "response": {
                            "status": 200,
                            "headers": [{"name": "content-type", "value": "application/json"}],
                            "content": {"size": 2, "text": json.dumps(_ANSWER)},
                        },
                        "timings": {"wait": 12.5},
                    }
                ],
            }
        },
    ),
    "aimock": (
        ".json",
        {
            "fixtures": [
                {
                    "match": {"userMessage": "hi", "model": "gpt-4o", "turnIndex": 0},
                    "response": {
                        "content": "Hello",
                        "toolCalls": [{"name": "f", "arguments": "{}"}],
                    },
                    "latency": 5,
                },
                {
                    "match": {"toolCallId": "c1"},
                    "response": {"error": {"message": "no"}, "status": 429},
                },
                {
                    "match": {"hasToolResult": True, "sequenceIndex": 0},
                    "response": {
                        "blocks": [{"type": "text", "text": "a"}],
                        "usage": {"input_tokens": 1},
                    },
                },
            ]
        },
    ),
    "wiremock": (
        ".json",
        {
            "mappings": [
                {
                    "priority": 1,
                    "request": {
                        "method": "POST",
                        "urlPathPattern": "^/v1/chat/.*completions$",
                        "queryParameters": {"a": {"equalTo": "b"}},
                        "headers": {"content-type": {"equalTo": "application/json"}},
                        "bodyPatterns": [{"contains": "hi"}, {"equalToJson": json.dumps(_ASKED)}],
                    },
                    "response": {
                        "status": 200,
                        "jsonBody": _ANSWER,
                        "headers": {"x-request-id": "1"},
                        "fixedDelayMilliseconds": 10,
                    },
                },
                {
                    "request": {"method": "ANY", "url": "/v1/chat/completions"},
                    "response": {"status": 500, "base64Body": "e30="},
                },
            ]
        },
    ),
    "jsonl": (
        ".jsonl",
        [
            {
                "request": {"body": _ASKED, "url": _URL},
                "response": {"status": 200, "body": _ANSWER},
            },
            {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": _ASKED},
            {"custom_id": "a", "response": {"status_code": 200, "body": _ANSWER}},
            {"messages": [*_ASKED["messages"], {"role": "assistant", "content": "Sunny."}]},  # type: ignore[misc]
        ],
    ),
    "otlp": (
        ".json",
        {"resourceSpans": [{"scopeSpans": [{"spans": [_OTLP_SPAN]}]}]},
    ),
    "trace": (
        ".json",
        {
            "trace_id": "t",
            "events": [
                {"type": "tool_output", "tool_call_id": "c", "output": "x", "is_error": False},
                {"type": "tool_end", "tool_call_id": "c", "status": "success", "duration_ms": 5},
            ],
            "model_calls": [
                {
                    "purpose": "answer",
                    "number": 1,
                    "tools": ["f"],
                    "finish_reason": "tool_calls",
                    "parts": [
                        {"tool_call": {"id": "c", "name": "f", "arguments": {}}},
                        {"text": "a"},
                    ],
                    "input_tokens": 1,
                }
            ],
        },
    ),
}
SAMPLES["websocket"] = (
    ".json",
    {
        "interactions": [
            {"direction": "sent", "data": {"type": "response.create", "input": "hi"}},
            {"direction": "received", "data": {"type": "error", "status": 400, "headers": {}}},
        ]
    },
)
# A document of this server, with many keys of its format.
SAMPLES["document"] = (
    ".json",
    {
        "name": "a",
        "description": "b",
        "tags": ["x"],
        "priority": 1,
        "variables": {"city": "Paris"},
        "system_prompt_must_include": ["be brief"],
        "steps": [
            {
                "name": "one",
                "consume": False,
                "turn": 1,
                "match": {
                    "provider": "openai",
                    "model": {"contains": "gpt"},
                    "messages": [{"role": "user", "which": "last", "regex": "^a(b|c)*$"}],
                    "tools": ["f"],
                    "headers": {"x-team": "qa"},
                },
                "failures": {"times": 2, "fault": {"kind": "http", "status": 429}},
                "produce": {
                    "text": "It is sunny in {{ city }}.",
                    "reasoning": "hm",
                    "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
                    "latency_ms": 5,
                    "pacing": {"jitter": 0.5, "words_per_chunk": 2},
                    "usage": {"input_tokens": 3},
                },
            },
            {
                "match": {},
                "produce": {"fault": {"kind": "disconnect", "after_chunks": 2}, "text": "x"},
            },
        ],
    },
)
_LONG: Final = (
    "(?a" * 40_000,
    "\\(" * 60_000,
    "[^/]+" * 20_000 + "(?",
    "{{" * 50_000,
    "data: {\n\n" * 12_000,
    "sk-" + "a1" * 20_000,
    '"api_key": "' * 10_000,
    "%" * 100_000,
    "9" * 5_000,
    "[" * 100_000,
    "\ud800",
    "a\x00b",
)
_ODD: Final[tuple[Any, ...]] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        10**30,
        10**400,
        -(2**63),
        "",
        " ",
        "\n",
        "/",
        "{",
        "//[",
        "http://[",
    ),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": [1]}}, ["a"], [1], "text", "2024-01-01", "!!"),
    *_LONG,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A file whose import crashed or took too much."""

    format: str
    number: int
    reason: str
    data: bytes


def mutated(rng: random.Random, value: Any) -> Any:
    """A copy of decoded JSON with one to four values, keys or items changed."""
    copy = deepcopy(value)
    for _ in range(rng.randint(1, 4)):
        holder, key = _drawn_place(rng, copy)
        if holder is None:
            return deepcopy(rng.choice(_ODD))
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice([*_NAMES, *map(str, _ODD[:20])])] = holder.pop(key)
            case 2 if isinstance(holder, list):
                holder += [deepcopy(holder[key]) for _ in range(rng.choice((1, 2, 50)))]
            case 3:
                holder[key] = [holder[key]]
            case 4:
                _, _, other = _all_places(copy)[rng.randrange(len(_all_places(copy)))]
                holder[key] = deepcopy(other)
            case _:
                holder[key] = deepcopy(rng.choice(_ODD))
    return copy


_NAMES: Final = ("request", "response", "body", "url", "urlPattern", "text", "parsed_body", "error")


def _all_places(value: Any) -> list[tuple[Any, Any, Any]]:
    places: list[tuple[Any, Any, Any]] = []
    queue = [value]
    while queue and len(places) < 500:
        holder = queue.pop(0)
        if isinstance(holder, dict | list):
            keys = holder if isinstance(holder, dict) else range(len(holder))
            places += [(holder, key, holder[key]) for key in keys]
            queue += [holder[key] for key in keys]
    return places


def _drawn_place(rng: random.Random, value: Any) -> tuple[Any, Any]:
    places = _all_places(value)
    if not places:
        return None, None
    holder, key, _ = rng.choice(places)
    return holder, key


def file_of(rng: random.Random, suffix: str, value: Any) -> bytes:
    """The bytes of a mutated file; some of these are changed once more."""
    changed = mutated(rng, value)
    if suffix == ".yaml":
        data = _yaml(changed)
    elif suffix == ".jsonl" and isinstance(changed, list):
        data = b"\n".join(json.dumps(line).encode() for line in changed)
    else:
        data = json.dumps(changed).encode()
    if rng.random() < 0.3 and data:
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data = data[:at]
            case 1:
                data = (
                    data[:at]
                    + rng.choice((b"\xff", b"\x00", b"{", b'"', b"&a ", b"*a"))
                    + data[at:]
                )
            case 2:
                data = data[:at] + data[at + rng.randint(1, 20) :]
            case _:
                data = data[:at] + data[at : at + 200] * rng.choice((2, 100)) + data[at:]
    return data


def _yaml(value: Any) -> bytes:
    try:
        return yaml.dump(value, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)).encode()
    except UnicodeEncodeError:
        # JSON is YAML, and can contain lone surrogates.
        return json.dumps(value).encode()


def imported(data: bytes, source: str) -> list[ScenarioDocument]:
    """The documents of a file as the import page and the command read them."""
    files = read_upload(data, source=source)
    return load_text(data) if files is None else files.documents


def findings(
    format: str,
    count: int,
    *,
    seed: int = 0,
    clock: Callable[[], float] = time.process_time,
    keep: Callable[[list[ScenarioDocument]], object] = list,
) -> Iterator[Finding]:
    """Yield what went wrong with `count` mutated files of a format; `keep` stores what was read."""
    suffix, value = SAMPLES[format]
    for number in range(count):
        data = file_of(random.Random(f"{format}/{seed}/{number}"), suffix, value)
        started, size = clock(), _peak_megabytes()
        reason = ""
        try:
            keep(imported(data, f"fuzzed{suffix}"))
        except DocumentError:
            pass
        except Exception:
            reason = traceback.format_exc(limit=-4)
        seconds, grown = clock() - started, _peak_megabytes() - size
        if not reason and seconds > MAX_SECONDS:
            reason = f"took {seconds:.1f} s"
        if not reason and grown > MAX_MEGABYTES:
            reason = f"took {grown:.0f} MB"
        if reason:
            yield Finding(format, number, reason, data)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for name in SAMPLES:
        started = time.perf_counter()
        found = list(findings(name, count, seed=seed))
        failed += len(found)
        print(
            f"{name}: {count} files, {len(found)} findings, {time.perf_counter() - started:.0f} s"
        )
        reasons: dict[str, Finding] = {}
        for finding in found:
            reasons.setdefault(finding.reason.strip().splitlines()[-1][:80], finding)
        for finding in reasons.values():
            print(f"  file {finding.number} ({len(finding.data)} bytes): {finding.reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
