"""Conversations with scripts in turns over every wire, and what the scripts say should be heard.

What is expected is worked out here from the document alone, by nothing of what is tested.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scenarios_app.serving.session import key_session
from scenarios_app.wire.base import Call
from tests.serving import reading
from tests.serving.modes import WireName, asking
from tests.serving.pipelines import KEY, Playing

SESSION = key_session(KEY)
MODEL = "test-llm-1"
ERROR, FALLBACK = "Scenario validation failed.", "Encountered scenario mismatch."
THINKING: Mapping[WireName, dict[str, Any]] = {
    "openai": {"reasoning_effort": "low"},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
}
FINISH = {
    "openai": {
        "tool-calls": "tool_calls",
        "content-filter": "content_filter",
        "max_tokens": "length",
        "length": "length",
        "stop": "stop",
    },
    "anthropic": {
        "tool-calls": "tool_use",
        "content-filter": "refusal",
        "max_tokens": "max_tokens",
        "length": "max_tokens",
        "stop": "end_turn",
    },
}


@dataclass
class Heard:
    """An answer, from whichever wire. OpenAI has no signatures and joins its texts."""

    thoughts: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    finish: str | None = None

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def report(self) -> dict[str, Any]:
        """The final report that is handed in."""
        ((call_id, name, arguments),) = self.calls
        assert (call_id, name) == ("agent-final-report", "agent__final_report")
        report: dict[str, Any] = arguments
        return report


def talk(
    wire: WireName,
    said: str,
    *,
    turn: int = 1,
    system: str = "",
    tools: tuple[str, ...] = (),
    model: str = MODEL,
    stream: bool = False,
    **fields: Any,
) -> Call:
    """A call for one turn of the conversation that begins with what is said."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    for number in range(1, turn):
        messages.append({"role": "assistant", "content": f"answer {number}"})
        messages.append({"role": "user", "content": "go on"})
    if wire == "openai":
        if system:
            messages.insert(0, {"role": "system", "content": system})
        if tools:
            fields["tools"] = [{"type": "function", "function": {"name": n}} for n in tools]
    else:
        if system:
            fields["system"] = system
        if tools:
            fields["tools"] = [{"name": n, "input_schema": {"type": "object"}} for n in tools]
    given = {"messages": messages, **fields}
    return asking(wire, said, model=model, stream=stream, **given)


def heard(wire: WireName, body: bytes, *, stream: bool) -> Heard:
    if wire == "openai":
        read = reading.openai_stream if stream else reading.openai_whole
        (spoken,) = read(body)
        calls = [(c["id"], c["name"], json.loads(c["arguments"])) for c in spoken.calls]
        thoughts = [spoken.reasoning] if spoken.reasoning else []
        return Heard(thoughts, [spoken.text] if spoken.text else [], calls, spoken.finish)
    blocks, reason = reading.anthropic_stream(body) if stream else reading.anthropic_whole(body)
    answer = Heard(finish=reason)
    kinds = [block["type"] for block in blocks]
    assert kinds == sorted(kinds, key=lambda kind: "thinking" not in kind), "thinking comes first"
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
    return answer


def expected(wire: WireName, response: Mapping[str, Any]) -> Heard:
    """What a turn's response should be heard as, worked out from the document."""
    segments = list(response.get("reasoning") or ())
    more = response.get("reasoningContent") or []
    segments += more if isinstance(more, list) else [more]
    segments = [{"text": s} if isinstance(s, str) else s for s in segments]
    texts = [response.get("assistantText")]
    calls: list[tuple[str, str, Any]] = []
    for number, call in enumerate(response.get("toolCalls", ()), 1):
        texts.append(call.get("assistantText"))
        calls.append((call.get("callId", f"call-{number}"), call["toolName"], call["arguments"]))
    if response["kind"] == "final-report":
        keys = {
            "report_format": "reportFormat",
            "report_content": "reportContent",
            "content_json": "reportContentJson",
            "messages": "reportMessages",
        }
        report = {ours: response[key] for ours, key in keys.items() if key in response}
        arguments = {"status": response.get("status", "success"), **report}
        calls.append(("agent-final-report", "agent__final_report", arguments))
    default = "tool-calls" if calls else "stop"
    finish = FINISH[wire].get(response.get("finishReason", ""), FINISH[wire][default])
    said = [text for text in texts if text]
    if wire == "openai":
        joined = "".join(segment["text"] for segment in segments)
        return Heard([joined] if joined else [], ["".join(said)] if said else [], calls, finish)
    return Heard([_signed(segment) for segment in segments], said, calls, finish)


def _signed(segment: Mapping[str, Any]) -> Any:
    signed = segment.get("providerMetadata", {}).get("anthropic", {})
    if hidden := signed.get("redactedData"):
        return hidden
    return segment["text"], signed.get("signature", "")


def usage_of(wire: WireName, body: bytes, *, stream: bool) -> dict[str, int]:
    """The token counts of an answer; OpenAI's stream has to be asked for them."""
    if not stream:
        usage: dict[str, int] = json.loads(body)["usage"]
        return usage
    events = [json.loads(data) for data in reading.events_of(body) if data != "[DONE]"]
    if wire == "openai":
        asked: dict[str, int] = events[-1]["usage"]
        return asked
    begun, ended = events[0]["message"]["usage"], events[-2]["usage"]
    return {**begun, **ended}


async def hear(playing: Playing, wire: WireName, said: str, **asked: Any) -> Heard:
    """What is heard of a turn that is answered."""
    stream = asked.get("stream", False)
    status, _, body = await playing.ask(talk(wire, said, **asked))
    assert status == 200, body
    return heard(wire, body, stream=stream)


def is_failure(answer: Heard, text: str, message: str) -> bool:
    """Whether an answer is one of the two that nobody scripts."""
    title = "Test Harness Error" if text == ERROR else "Scenario Failure"
    content = f"# {title}\n\n{message}"
    report = {"status": "failure", "report_format": "markdown", "report_content": content}
    return (answer.texts, answer.report, answer.thoughts) == ([text], report, [])


async def violations(playing: Playing) -> tuple[str, ...]:
    """Those of the session that every call here belongs to."""
    return (await playing.state.read(SESSION)).violations
