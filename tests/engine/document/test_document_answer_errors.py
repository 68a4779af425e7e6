"""Error messages for invalid answers: each has the path and the expected value."""

from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from tests.engine.documents import load_error_lines, one_step_scenario

COUNT_RANGE = "from 0 to 2147483647"
KINDS = (
    "http, rate_limit, rate_limited, overloaded, model_error, timeout, network_error, no_pong, "
    "refuse_upgrade, invalid_response, disconnect, close_socket, truncate, malformed_chunk, stall, "
    "error_event"
)
CLOSE_CODES = "1000, 1001, 1002, 1003, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014"

NO_ANSWER = 'says nothing: give it an answer (text "" for an empty one)'
PRODUCE: list[tuple[Any, str]] = [
    (None, ": expected an object"),
    ({}, f": {NO_ANSWER}"),
    ({"tool_calls": [], "reasoning": []}, f": {NO_ANSWER}"),
    ({"finish_reason": "stop"}, f": {NO_ANSWER}"),
    ({"streaming": {}}, f".streaming: {NO_ANSWER}"),
    ({"text": 5}, ".text: expected a string"),
    ({"text": "a", "parts": [{"text": "b"}]}, ".parts: cannot be combined with text"),
    ({"reasoning": "a", "chunks": ["b"]}, ".chunks: cannot be combined with reasoning"),
    ({"parts": [{"text": "a"}], "raw": {}}, ".raw: cannot be combined with parts"),
    ({"text": "a", "streaming": {"text": "b"}}, ".streaming: cannot be combined with text"),
    ({"raw": {}, "usage": {"input_tokens": 1}}, ".usage: cannot be combined with raw"),
    (
        {"choices": [{"text": "a"}], "finish_reason": "stop"},
        ".finish_reason: cannot be combined with choices",
    ),
    (
        {"non_streaming": {"text": "a"}, "provider_metadata": {"openai": {}}},
        ".provider_metadata: cannot be combined with non_streaming",
    ),
    ({"choices": []}, ".choices: expected at least one"),
    ({"chunks": []}, ".chunks: expected at least one"),
    ({"parts": []}, ".parts: expected at least one"),
    ({"choices": [{"chunks": ["a"]}]}, ".choices[0].chunks: unknown key, expected one of "),
    (
        {"tool_calls": [{"name": "f", "result": {"text": "a", "fault": "timeout"}}]},
        ".tool_calls[0].result.text: cannot be combined with fault",
    ),
    (
        {"tool_calls": [{"name": "f", "result": {"is_error": True, "fault": "disconnect"}}]},
        ".tool_calls[0].result.is_error: cannot be combined with fault",
    ),
    ({"reasoning": 5}, ".reasoning: expected a string or a list"),
    ({"reasoning": ["a"]}, ".reasoning[0]: expected an object"),
    ({"reasoning": [{"signature": "s"}]}, ".reasoning[0].text: missing"),
    (
        {"reasoning": [{"redacted": True}]},
        ".reasoning[0].text: expected the encrypted form, since redacted is true",
    ),
    (
        {"reasoning": [{"redacted": 1}]},
        ".reasoning[0].redacted: expected true, false or a string of at least one character",
    ),
    ({"tool_calls": [{"arguments": {}}]}, ".tool_calls[0].name: missing"),
    (
        {"finish_reason": "tool-calls", "text": "a"},
        '.finish_reason: "tool-calls" is unknown, did you mean "tool_calls"?',
    ),
    (
        {"stop_sequence": "END", "text": "a"},
        ".stop_sequence: only allowed with finish_reason stop_sequence",
    ),
    (
        {"text": "a", "usage": {"input_tokens": -1}},
        f".usage.input_tokens: expected a whole number {COUNT_RANGE}",
    ),
    (
        {"text": "a", "usage": {"outputTokens": 1}},
        '.usage.outputTokens: unknown key, did you mean "output_tokens"?',
    ),
    (
        {"text": "a", "provider_metadata": {"openai": 1}},
        ".provider_metadata.openai: expected an object",
    ),
    ({"text": "a", "latency_ms": 600_001}, ".latency_ms: expected at most 600000 milliseconds"),
    (
        {"text": "a", "pacing": {"first_ms": 600_001}},
        ".pacing.first_ms: expected at most 600000 milliseconds",
    ),
    (
        {"text": "a", "pacing": {"chunk_ms": 600_001}},
        ".pacing.chunk_ms: expected at most 600000 milliseconds",
    ),
    ({"text": "a", "pacing": {"jitter": 1.1}}, ".pacing.jitter: expected a number from 0 to 1"),
    ({"text": "a", "pacing": {"jitter": "0"}}, ".pacing.jitter: expected a number from 0 to 1"),
    (
        {"text": "a", "pacing": {"words_per_second": -1}},
        ".pacing.words_per_second: expected a number from 0 up",
    ),
    (
        {"text": "a", "pacing": {"words_per_chunk": 0}},
        ".pacing.words_per_chunk: expected a whole number from 1 to 2147483647",
    ),
    (
        {"text": "a", "pacing": {"words_per_second": 1, "chunk_ms": 1}},
        ".pacing.chunk_ms: cannot be combined with words_per_second",
    ),
    ({"raw": {"status": 199}}, ".raw.status: expected an HTTP status from 200 to 599"),
    ({"raw": {"status": 600}}, ".raw.status: expected an HTTP status from 200 to 599"),
    ({"raw": {"status": 204, "body": "a"}}, ".raw.body: an answer of status 204 has no body"),
    ({"raw": {"status": 304, "body": {}}}, ".raw.body: an answer of status 304 has no body"),
    (
        {"raw": {"headers": {"a": "b\nc: d"}}},
        ".raw.headers.a: expected printable latin-1 without spaces around it",
    ),
    (
        {"raw": {"headers": {"": "a"}}},
        '.raw.headers[""]: this is not the name of a header',
    ),
]


@pytest.mark.parametrize(("produce", "line"), PRODUCE)
def test_invalid_answer_is_rejected_with_its_path(produce: Any, line: str) -> None:
    (problem,) = load_error_lines(one_step_scenario(produce=produce))
    assert problem.startswith(f"steps[0].produce{line}")


PARTS: list[tuple[Any, str]] = [
    ({}, ": expected exactly one of text, reasoning, tool_call, refusal, json, hosted_tool"),
    (
        {"signature": "s"},
        ": expected exactly one of text, reasoning, tool_call, refusal, json, hosted_tool",
    ),
    (
        {"text": "a", "refusal": "b"},
        ": expected exactly one of text, reasoning, tool_call, refusal, json, hosted_tool",
    ),
    (
        {"text": "a", "redacted": "b"},
        ": expected exactly one of text, reasoning, tool_call, refusal, json, hosted_tool",
    ),
    ({"text": "a", "signature": "s"}, ".signature: belongs to reasoning"),
    ({"refusal": "a", "redacted": False}, ".redacted: belongs to reasoning"),
    (
        {"redacted": True},
        ".reasoning: expected the encrypted form, since redacted is true",
    ),
    ({"tool_call": {}}, ".tool_call.name: missing"),
]


@pytest.mark.parametrize(("part", "line"), PARTS)
def test_invalid_part_is_rejected_with_its_path(part: Any, line: str) -> None:
    assert load_error_lines(one_step_scenario(produce={"parts": [part]})) == [
        f"steps[0].produce.parts[0]{line}"
    ]


CHUNKS: list[tuple[list[Any], str]] = [
    ([5], "[0]: expected a string or an object"),
    ([{}], "[0]: expected exactly one of text, reasoning, tool_call, refusal"),
    (
        [{"tool_call": {"arguments": "a"}}],
        "[0].tool_call.index: missing: a piece without a name continues a call",
    ),
    (
        [{"tool_call": {"index": 0, "arguments": "a"}}],
        "[0].tool_call.name: missing: this is the first piece of call 0",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 1, "arguments": "a"}}],
        "[1].tool_call.name: missing: this is the first piece of call 1",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"name": "g", "index": 0}}],
        "[1].tool_call.index: expected 1: a piece with a name begins a call",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 0, "id": "c", "arguments": ""}}],
        "[1].tool_call.id: belongs to the first piece of a call",
    ),
    (
        [{"tool_call": {"name": "f"}}, {"tool_call": {"index": 0, "arguments": {}}}],
        "[1].tool_call.arguments: expected a string: a piece of the arguments' text",
    ),
]


@pytest.mark.parametrize(("chunks", "line"), CHUNKS)
def test_invalid_chunks_are_rejected_with_their_path(chunks: list[Any], line: str) -> None:
    assert load_error_lines(one_step_scenario(produce={"chunks": chunks})) == [
        f"steps[0].produce.chunks{line}"
    ]


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, ".kind: missing"),
    ({"kind": "boom"}, f".kind: expected one of {KINDS}"),
    ({"kind": "rate-limit"}, '.kind: "rate-limit" is unknown, did you mean "rate_limit"?'),
    ({"kind": "http"}, ".status: missing"),
    ({"kind": "http", "status": 204}, ".status: an error has a body, and 204 and 304 have none"),
    (
        {"kind": "http", "status": 500, "body": "a", "code": "b"},
        ".code: belongs to the envelope, which body replaces",
    ),
    (
        {"kind": "rate_limit", "status": 503},
        ".status: does not belong to a fault of kind rate_limit",
    ),
    ({"kind": "timeout", "code": "a"}, ".code: does not belong to a fault of kind timeout"),
    (
        {"kind": "model_error", "hold_ms": 5},
        ".hold_ms: does not belong to a fault of kind model_error",
    ),
    (
        {"kind": "timeout", "hold_ms": 600_001},
        ".hold_ms: expected at most 600000 milliseconds",
    ),
    (
        {"kind": "timeout", "after_chunks": 3},
        ".after_chunks: does not belong to a fault of kind timeout",
    ),
    (
        {"kind": "close_socket", "close_code": 1005},
        f".close_code: expected one of {CLOSE_CODES}, or 3000 to 4999",
    ),
    (
        {"kind": "close_socket", "close_code": 5000},
        f".close_code: expected one of {CLOSE_CODES}, or 3000 to 4999",
    ),
    (
        {"kind": "disconnect", "after_frames": 1},
        ".after_frames: does not belong to a fault of kind disconnect",
    ),
    (
        {"kind": "rate_limit", "headers": {"connection": "close"}},
        ".headers.connection: this header is the connection's own",
    ),
]


@pytest.mark.parametrize("code", [1000, 1006, 3000, 4999])
def test_close_code_that_a_server_may_use_is_accepted(code: int) -> None:
    fault = {"kind": "close_socket", "close_code": code, "after_frames": 0, "half_frame": True}
    document = one_step_scenario(produce={"text": "a", "fault": fault})
    assert len(load_documents({"scenarios": [document]})) == 1


@pytest.mark.parametrize(("fault", "line"), FAULTS)
@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("produce.fault", lambda fault: {"produce": {"fault": fault}}),
        ("failures.fault", lambda fault: {"failures": {"times": 1, "fault": fault}}),
    ],
)
def test_invalid_fault_is_rejected_with_its_path(
    place: str, step: Any, fault: dict[str, Any], line: str
) -> None:
    assert load_error_lines(one_step_scenario(**step(fault))) == [f"steps[0].{place}{line}"]


def test_standalone_fault_cannot_be_combined_with_an_answer() -> None:
    produce = {
        "text": "a",
        "usage": {"input_tokens": 1},
        "finish_reason": "stop",
        "fault": {"kind": "timeout"},
    }
    assert load_error_lines(one_step_scenario(produce=produce)) == [
        f"steps[0].produce.{key}: a fault of kind timeout cannot be combined with an answer"
        for key in ("text", "finish_reason", "usage")
    ]


def test_fault_inside_an_answer_needs_an_answer() -> None:
    assert load_error_lines(one_step_scenario(produce={"fault": {"kind": "stall"}})) == [
        "steps[0].produce.fault: a fault of kind stall needs an answer that it strikes in"
    ]
    step = {"failures": {"times": 1, "fault": {"kind": "stall"}}}
    assert load_error_lines(one_step_scenario(**step, produce={"fault": {"kind": "timeout"}})) == [
        "steps[0].failures.fault.kind: stall strikes inside an answer, and this step has none"
    ]


@pytest.mark.parametrize(
    "produce",
    [
        {"text": "é" * 1_048_577},
        {"raw": {"body": "a" * 2_097_153}},
        {"choices": [{"text": "a" * 1_048_577}] * 2},
        {"tool_calls": [{"name": "f", "arguments": "a" * 2_097_153}]},
        {"streaming": {"text": "a"}, "non_streaming": {"text": "a" * 2_097_153}},
    ],
)
def test_answer_beyond_the_text_limit_is_rejected(produce: dict[str, Any]) -> None:
    (line,) = load_error_lines(one_step_scenario(produce=produce))
    assert line.startswith("steps[0].produce: holds 209715")
    assert line.endswith(" bytes of text, expected at most 2097152")


@pytest.mark.parametrize(
    "result",
    ["sunny", {"text": "no such city", "is_error": True, "ms": 5}, {"fault": "timeout", "ms": 5}],
)
def test_tool_result_may_be_a_text_an_error_or_a_fault(result: Any) -> None:
    document = one_step_scenario(produce={"tool_calls": [{"name": "f", "result": result}]})
    (loaded_document,) = load_documents(document)
    call = loaded_document.model_dump(exclude_defaults=True)["steps"][0]["produce"]["tool_calls"][0]
    assert call["result"] == result
