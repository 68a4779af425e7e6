"""Requests for the turns of scripts over every wire, and the expected answers.

Expected answers are computed from the document alone, without the code under test.
"""

from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.state import key_session
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS, ParsedAnswer
from tests.serving.modes import WireName, sample_call
from tests.serving.pipelines import KEY, Harness

SESSION = key_session(KEY)
MODEL = "test-llm-1"
ERROR, FALLBACK = "Scenario validation failed.", "Encountered scenario mismatch."
THINKING: Mapping[WireName, Mapping[str, Any]] = {
    wire: dialect.thinking for wire, dialect in DIALECTS.items()
}


def turn_request(
    wire: WireName,
    user_text: str,
    *,
    turn: int = 1,
    system: str = "",
    tools: tuple[str, ...] = (),
    model: str = MODEL,
    stream: bool = False,
    **fields: Any,
) -> Call:
    """Return a call for one turn of the conversation that begins with this user message."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": user_text}]
    for number in range(1, turn):
        messages.append({"role": "assistant", "content": f"answer {number}"})
        messages.append({"role": "user", "content": "go on"})
    dialect = DIALECTS[wire]
    prompt = dialect.system(messages, system) if system else {"messages": messages}
    if tools:
        fields["tools"] = [dialect.tool(name) for name in tools]
    request_fields = {**prompt, **fields}
    return sample_call(wire, user_text, model=model, stream=stream, **request_fields)


def parse_body(wire: WireName, body: bytes, *, stream: bool) -> ParsedAnswer:
    return DIALECTS[wire].parse(body, stream=stream)


def expected_calls(wire: WireName, *calls: tuple[str, str, Any]) -> list[tuple[str, str, Any]]:
    """Return tool calls as the wire's parser gives them, without ids if the wire has none."""
    ids = DIALECTS[wire].ids
    return [(call_id if ids else "", name, arguments) for call_id, name, arguments in calls]


def expected_answer(wire: WireName, response: Mapping[str, Any]) -> ParsedAnswer:
    """Return the parsed answer that a turn's response must give."""
    segments = list(response.get("reasoning") or ())
    more_segments = response.get("reasoningContent") or []
    segments += more_segments if isinstance(more_segments, list) else [more_segments]
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
    calls = expected_calls(wire, *calls)
    spoken_texts = [text for text in texts if text]
    reasoning = [_reasoning_part(s) if dialect.signs else s["text"] for s in segments]
    if not dialect.folds:
        return ParsedAnswer(reasoning, spoken_texts, calls, finish)
    joined_reasoning = ["".join(reasoning)] if any(reasoning) else []
    return ParsedAnswer(
        joined_reasoning, ["".join(spoken_texts)] if spoken_texts else [], calls, finish
    )


def _reasoning_part(segment: Mapping[str, Any]) -> Any:
    metadata = segment.get("providerMetadata", {}).get("anthropic", {})
    if redacted := metadata.get("redactedData"):
        return redacted
    return segment["text"], metadata.get("signature", "")


def tokens_of(wire: WireName, body: bytes, *, stream: bool) -> tuple[int, int]:
    """Return input and output tokens; some streams have them only on request."""
    return DIALECTS[wire].tokens(body, stream=stream)


async def send_turn(
    harness: Harness, wire: WireName, user_text: str, **fields: Any
) -> ParsedAnswer:
    """Send a turn's request, assert status 200 and return the parsed answer."""
    stream = fields.get("stream", False)
    status, _, body = await harness.ask(turn_request(wire, user_text, **fields))
    assert status == 200, body
    return parse_body(wire, body, stream=stream)


def is_failure(answer: ParsedAnswer, text: str, message: str) -> bool:
    """Return whether an answer is the built-in failure report with this text and message."""
    title = "Test Harness Error" if text == ERROR else "Scenario Failure"
    content = f"# {title}\n\n{message}"
    report = {"status": "failure", "report_format": "markdown", "report_content": content}
    return (answer.texts, answer.report, answer.reasoning) == ([text], report, [])


async def violations(harness: Harness) -> tuple[str, ...]:
    """Return the violations of the session of all calls here."""
    return (await harness.state.read(SESSION)).violations
