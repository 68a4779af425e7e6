"""Builds requests and parses answers of every wire, so that one test can cover all of them.

Each wire has one row of `DIALECTS`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scenarios_app.wire.base import Call
from tests.serving import reading
from tests.serving.pipelines import chat, claude, gemini, llama

Messages: TypeAlias = list[dict[str, Any]]


@dataclass
class ParsedAnswer:
    """A parsed answer of any wire.

    `reasoning` has texts, or texts with their signatures; `calls` are ids, names and arguments.
    `pieces` and `reasoning_deltas` are the deltas of a stream in their order.
    """

    reasoning: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    finish: str | None = None
    pieces: list[str] = field(default_factory=list, compare=False)
    reasoning_deltas: list[str] = field(default_factory=list, compare=False)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thinking(self) -> str:
        return "".join(t if isinstance(t, str) else t[0] for t in self.reasoning)

    @property
    def report(self) -> dict[str, Any]:
        """The arguments of the one call, which must be a final report."""
        ((call_id, name, arguments),) = self.calls
        assert call_id in ("agent-final-report", "") and name == "agent__final_report"
        report: dict[str, Any] = arguments
        return report


@dataclass(frozen=True)
class Dialect:
    """Functions and properties of one wire.

    `call` builds a request from a text or `messages`; `system` adds a system prompt to messages;
    `tool` builds a tool definition. `parse` parses a whole or streamed answer; `tokens` returns its
    input and output tokens. `end` is the last bytes of a complete stream.

    `folds`: a message has at most one text and one reasoning. `one_message`: several messages of an
    answer become one. `ids`: calls have ids. `cached_apart`: input tokens exclude cached ones.
    """

    call: Callable[..., Call]
    system: Callable[[Messages, str], dict[str, Any]]
    tool: Callable[..., dict[str, Any]]
    parse: Callable[..., ParsedAnswer]
    tokens: Callable[..., tuple[int, int]]
    error: Callable[[Any], str]
    thinking: Mapping[str, Any]
    finish: Mapping[str, str]
    end: bytes
    folds: bool = True
    one_message: bool = False
    signs: bool = False
    ids: bool = True
    cached_apart: bool = False
    usage_fields: Mapping[str, Any] = field(default_factory=dict)


def _first_message(messages: Messages, system: str) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, *messages]}


def _function(name: str, **definition: Any) -> dict[str, Any]:
    if "schema" in definition:
        definition["parameters"] = definition.pop("schema")
    return {"type": "function", "function": {"name": name, **definition}}


def _anthropic_tool(name: str, **definition: Any) -> dict[str, Any]:
    schema = definition.pop("schema", {"type": "object"})
    return {"name": name, **definition, "input_schema": schema}


def _parse_openai(body: bytes, *, stream: bool) -> ParsedAnswer:
    parse = reading.parse_openai_stream if stream else reading.parse_openai_body
    choices = [choice for choice in parse(body) if choice != reading.ParsedChoice()]
    calls = [
        (call["id"], call["name"], json.loads(call["arguments"]))
        for choice in choices
        for call in choice.calls
    ]
    return ParsedAnswer(
        [choice.reasoning for choice in choices if choice.reasoning],
        [choice.text for choice in choices if choice.text],
        calls,
        choices[-1].finish if choices else None,
        [piece for choice in choices for piece in choice.pieces],
        [delta for choice in choices for delta in choice.reasoning_deltas],
    )


def _openai_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    events = [data for data in reading.events_of(body) if data != "[DONE]"]
    usage = json.loads(events[-1] if stream else body)["usage"]
    return usage["prompt_tokens"], usage["completion_tokens"]


def _parse_anthropic(body: bytes, *, stream: bool) -> ParsedAnswer:
    blocks, reason = (
        reading.parse_anthropic_stream(body) if stream else reading.parse_anthropic_body(body)
    )
    answer = ParsedAnswer(finish=reason)
    for block in blocks:
        match block["type"]:
            case "thinking":
                answer.reasoning.append((block["thinking"], block["signature"]))
            case "redacted_thinking":
                answer.reasoning.append(block["data"])
            case "text":
                answer.texts.append(block["text"])
            case "tool_use":
                answer.calls.append((block["id"], block["name"], block["input"]))
    deltas = reading.deltas_of(body) if stream else []
    answer.pieces = [delta["text"] for delta in deltas if "text" in delta]
    answer.reasoning_deltas = [delta["thinking"] for delta in deltas if "thinking" in delta]
    return answer


def _anthropic_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    if not stream:
        usage = json.loads(body)["usage"]
        return usage["input_tokens"], usage["output_tokens"]
    events = [json.loads(data) for data in reading.events_of(body)]
    input_usage, output_usage = events[0]["message"]["usage"], events[-2]["usage"]
    return input_usage["input_tokens"], output_usage["output_tokens"]


def _google_tool(name: str, **definition: Any) -> dict[str, Any]:
    if "schema" in definition:
        definition["parameters"] = definition.pop("schema")
    return {"functionDeclarations": [{"name": name, **definition}]}


def _parse_gemini(body: bytes, *, stream: bool) -> ParsedAnswer:
    choice = reading.parse_gemini_stream(body) if stream else reading.parse_gemini_body(body)
    return ParsedAnswer(
        [choice.reasoning] if choice.reasoning else [],
        [choice.text] if choice.text else [],
        [(call.get("id", ""), call["name"], call["args"]) for call in choice.calls],
        choice.finish,
        choice.pieces,
        choice.reasoning_deltas,
    )


def _gemini_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    last = body.removesuffix(b"\r\n\r\n").rpartition(b"data: ")[2] if stream else body
    usage = json.loads(last)["usageMetadata"]
    thoughts = usage.get("thoughtsTokenCount", 0)
    return usage["promptTokenCount"], usage["candidatesTokenCount"] + thoughts


def _parse_ollama(body: bytes, *, stream: bool) -> ParsedAnswer:
    choice = reading.parse_ollama_stream(body) if stream else reading.parse_ollama_body(body)
    return ParsedAnswer(
        [choice.reasoning] if choice.reasoning else [],
        [choice.text] if choice.text else [],
        [("", call["name"], call["arguments"]) for call in choice.calls],
        choice.finish,
        choice.pieces,
        choice.reasoning_deltas,
    )


def _ollama_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    last = json.loads(body.splitlines()[-1])
    return last["prompt_eval_count"], last["eval_count"]


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        call=chat,
        system=_first_message,
        tool=_function,
        parse=_parse_openai,
        tokens=_openai_tokens,
        error=lambda body: body["error"]["message"],
        thinking={"reasoning_effort": "low"},
        finish={
            "tool-calls": "tool_calls",
            "content-filter": "content_filter",
            "max_tokens": "length",
            "length": "length",
            "stop": "stop",
        },
        end=b"data: [DONE]\n\n",
        usage_fields={"stream_options": {"include_usage": True}},
    ),
    "anthropic": Dialect(
        call=claude,
        system=lambda messages, system: {"messages": messages, "system": system},
        tool=_anthropic_tool,
        parse=_parse_anthropic,
        tokens=_anthropic_tokens,
        error=lambda body: body["error"]["message"],
        thinking={"thinking": {"type": "enabled", "budget_tokens": 1024}},
        finish={
            "tool-calls": "tool_use",
            "content-filter": "refusal",
            "max_tokens": "max_tokens",
            "length": "max_tokens",
            "stop": "end_turn",
        },
        end=b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
        folds=False,
        signs=True,
        cached_apart=True,
    ),
    "gemini": Dialect(
        call=gemini,
        system=lambda messages, system: {"messages": messages, "system": system},
        tool=_google_tool,
        parse=_parse_gemini,
        tokens=_gemini_tokens,
        error=lambda body: body["error"]["message"],
        thinking={"thinking": {"thinkingBudget": 1024}},
        finish={
            "tool-calls": "STOP",
            "content-filter": "SAFETY",
            "max_tokens": "MAX_TOKENS",
            "length": "MAX_TOKENS",
            "stop": "STOP",
        },
        end=b"}\r\n\r\n",
        one_message=True,
    ),
    "ollama": Dialect(
        call=llama,
        system=_first_message,
        tool=_function,
        parse=_parse_ollama,
        tokens=_ollama_tokens,
        error=lambda body: body["error"],
        thinking={"think": True},
        finish={
            "tool-calls": "stop",
            "content-filter": "stop",
            "max_tokens": "length",
            "length": "length",
            "stop": "stop",
        },
        end=b"}\n",
        one_message=True,
        ids=False,
    ),
}
