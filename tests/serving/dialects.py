"""How each wire is asked and heard, so that a test can say the same to every one of them.

A wire has one row of `DIALECTS`, and nothing else in the tests of this folder names it by a case.
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
class Heard:
    """An answer, from whichever wire. Thoughts are texts, or texts with their signatures; calls are
    ids, names and arguments. `pieces` and `thought` are the deltas of a stream, in their order."""

    thoughts: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    finish: str | None = None
    pieces: list[str] = field(default_factory=list, compare=False)
    thought: list[str] = field(default_factory=list, compare=False)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def thinking(self) -> str:
        return "".join(t if isinstance(t, str) else t[0] for t in self.thoughts)

    @property
    def report(self) -> dict[str, Any]:
        """The final report that is handed in."""
        ((call_id, name, arguments),) = self.calls
        assert call_id in ("agent-final-report", "") and name == "agent__final_report"
        report: dict[str, Any] = arguments
        return report


@dataclass(frozen=True)
class Dialect:
    """`call` makes a request of a text, or of `messages`; `system` puts a system prompt into what
    is asked, `tool` makes the definition of one. `hear` reads an answer, whole or streamed;
    `tokens` reads what went in and came out. `end` is what a stream that runs to its end ends with.

    `folds`: the texts and thoughts of a message are one each. `one_message`: all the messages of an
    answer are one. Without `ids` calls have none. `cached_apart`: tokens from a cache are not
    among those that went in.
    """

    call: Callable[..., Call]
    system: Callable[[Messages, str], dict[str, Any]]
    tool: Callable[..., dict[str, Any]]
    hear: Callable[..., Heard]
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
    usage_asked: Mapping[str, Any] = field(default_factory=dict)


def _first_message(messages: Messages, system: str) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, *messages]}


def _function(name: str, **definition: Any) -> dict[str, Any]:
    if "schema" in definition:
        definition["parameters"] = definition.pop("schema")
    return {"type": "function", "function": {"name": name, **definition}}


def _anthropic_tool(name: str, **definition: Any) -> dict[str, Any]:
    schema = definition.pop("schema", {"type": "object"})
    return {"name": name, **definition, "input_schema": schema}


def _hear_openai(body: bytes, *, stream: bool) -> Heard:
    read = reading.openai_stream if stream else reading.openai_whole
    spoken = [s for s in read(body) if s != reading.Spoken()]
    calls = [(c["id"], c["name"], json.loads(c["arguments"])) for s in spoken for c in s.calls]
    return Heard(
        [s.reasoning for s in spoken if s.reasoning],
        [s.text for s in spoken if s.text],
        calls,
        spoken[-1].finish if spoken else None,
        [piece for s in spoken for piece in s.pieces],
        [piece for s in spoken for piece in s.thoughts],
    )


def _openai_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    events = [data for data in reading.events_of(body) if data != "[DONE]"]
    usage = json.loads(events[-1] if stream else body)["usage"]
    return usage["prompt_tokens"], usage["completion_tokens"]


def _hear_anthropic(body: bytes, *, stream: bool) -> Heard:
    blocks, reason = reading.anthropic_stream(body) if stream else reading.anthropic_whole(body)
    answer = Heard(finish=reason)
    for block in blocks:
        match block["type"]:
            case "thinking":
                answer.thoughts.append((block["thinking"], block["signature"]))
            case "redacted_thinking":
                answer.thoughts.append(block["data"])
            case "text":
                answer.texts.append(block["text"])
            case "tool_use":
                answer.calls.append((block["id"], block["name"], block["input"]))
    deltas = reading.deltas_of(body) if stream else []
    answer.pieces = [delta["text"] for delta in deltas if "text" in delta]
    answer.thought = [delta["thinking"] for delta in deltas if "thinking" in delta]
    return answer


def _anthropic_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    if not stream:
        usage = json.loads(body)["usage"]
        return usage["input_tokens"], usage["output_tokens"]
    events = [json.loads(data) for data in reading.events_of(body)]
    begun, ended = events[0]["message"]["usage"], events[-2]["usage"]
    return begun["input_tokens"], ended["output_tokens"]


def _google_tool(name: str, **definition: Any) -> dict[str, Any]:
    if "schema" in definition:
        definition["parameters"] = definition.pop("schema")
    return {"functionDeclarations": [{"name": name, **definition}]}


def _hear_gemini(body: bytes, *, stream: bool) -> Heard:
    spoken = reading.gemini_stream(body) if stream else reading.gemini_whole(body)
    return Heard(
        [spoken.reasoning] if spoken.reasoning else [],
        [spoken.text] if spoken.text else [],
        [(call.get("id", ""), call["name"], call["args"]) for call in spoken.calls],
        spoken.finish,
        spoken.pieces,
        spoken.thoughts,
    )


def _gemini_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    last = body.removesuffix(b"\r\n\r\n").rpartition(b"data: ")[2] if stream else body
    usage = json.loads(last)["usageMetadata"]
    thoughts = usage.get("thoughtsTokenCount", 0)
    return usage["promptTokenCount"], usage["candidatesTokenCount"] + thoughts


def _hear_ollama(body: bytes, *, stream: bool) -> Heard:
    spoken = reading.ollama_stream(body) if stream else reading.ollama_whole(body)
    return Heard(
        [spoken.reasoning] if spoken.reasoning else [],
        [spoken.text] if spoken.text else [],
        [("", call["name"], call["arguments"]) for call in spoken.calls],
        spoken.finish,
        spoken.pieces,
        spoken.thoughts,
    )


def _ollama_tokens(body: bytes, *, stream: bool) -> tuple[int, int]:
    last = json.loads(body.splitlines()[-1])
    return last["prompt_eval_count"], last["eval_count"]


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(
        call=chat,
        system=_first_message,
        tool=_function,
        hear=_hear_openai,
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
        usage_asked={"stream_options": {"include_usage": True}},
    ),
    "anthropic": Dialect(
        call=claude,
        system=lambda messages, system: {"messages": messages, "system": system},
        tool=_anthropic_tool,
        hear=_hear_anthropic,
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
        hear=_hear_gemini,
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
        hear=_hear_ollama,
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
