"""Conversations with scripts in turns over every wire, and what the scripts say should be heard.

What is expected is worked out here from the document alone, by nothing of what is tested.
"""

from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, Heard
from tests.serving.modes import WireName, asking
from tests.serving.pipelines import KEY, Playing

SESSION = key_session(KEY)
MODEL = "test-llm-1"
ERROR, FALLBACK = "Scenario validation failed.", "Encountered scenario mismatch."
THINKING: Mapping[WireName, Mapping[str, Any]] = {
    wire: dialect.thinking for wire, dialect in DIALECTS.items()
}


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
    dialect = DIALECTS[wire]
    prompt = dialect.system(messages, system) if system else {"messages": messages}
    if tools:
        fields["tools"] = [dialect.tool(name) for name in tools]
    given = {**prompt, **fields}
    return asking(wire, said, model=model, stream=stream, **given)


def heard(wire: WireName, body: bytes, *, stream: bool) -> Heard:
    return DIALECTS[wire].hear(body, stream=stream)


def called(wire: WireName, *calls: tuple[str, str, Any]) -> list[tuple[str, str, Any]]:
    """Calls as they are heard: a wire without ids has none."""
    ids = DIALECTS[wire].ids
    return [(call_id if ids else "", name, arguments) for call_id, name, arguments in calls]


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
    dialect = DIALECTS[wire]
    finish = dialect.finish.get(response.get("finishReason", ""), dialect.finish[default])
    calls = called(wire, *calls)
    said = [text for text in texts if text]
    thoughts = [_signed(s) if dialect.signs else s["text"] for s in segments]
    if not dialect.folds:
        return Heard(thoughts, said, calls, finish)
    joined = ["".join(thoughts)] if any(thoughts) else []
    return Heard(joined, ["".join(said)] if said else [], calls, finish)


def _signed(segment: Mapping[str, Any]) -> Any:
    signed = segment.get("providerMetadata", {}).get("anthropic", {})
    if hidden := signed.get("redactedData"):
        return hidden
    return segment["text"], signed.get("signature", "")


def tokens_of(wire: WireName, body: bytes, *, stream: bool) -> tuple[int, int]:
    """The tokens of a request and of its answer; some streams have to be asked for them."""
    return DIALECTS[wire].tokens(body, stream=stream)


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
