"""The answers of requirement 003's scripts in each wire's own format."""

import json

import pytest

from tests.engine.turn_scripts import (
    final_report_response,
    script,
    text_response,
    tool_call_response,
    turn,
)
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import (
    expected_calls,
    parse_body,
    send_turn,
    tokens_of,
    turn_request,
)

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)


@EVERY_WIRE
async def test_default_usage_is_64_32_96(wire: WireName) -> None:
    harness = Harness(script(turn(text_response("one")), id="run"))
    for user_text in ("run", "nobody"):
        _, _, body = await harness.ask(turn_request(wire, user_text))
        assert tokens_of(wire, body, stream=False) == (64, 32)
        if wire == "openai":
            assert json.loads(body)["usage"]["total_tokens"] == 96


async def test_scripted_usage_is_sent_in_each_wires_own_terms() -> None:
    usage = {
        "inputTokens": 90,
        "outputTokens": 30,
        "totalTokens": 125,
        "reasoningTokens": 7,
        "cacheReadInputTokens": 40,
        "cacheWriteInputTokens": 45,
    }
    harness = Harness(script(turn(text_response("a", tokenUsage=usage))))
    _, _, body = await harness.ask(turn_request("openai", "script"))
    usage_sent = json.loads(body)["usage"]
    assert [usage_sent[f"{key}_tokens"] for key in ("prompt", "completion", "total")] == [
        90,
        30,
        125,
    ]
    assert usage_sent["prompt_tokens_details"]["cached_tokens"] == 40
    assert usage_sent["completion_tokens_details"]["reasoning_tokens"] == 7
    _, _, body = await harness.ask(turn_request("anthropic", "script"))
    usage_sent = json.loads(body)["usage"]
    assert (usage_sent["input_tokens"], usage_sent["output_tokens"]) == (90, 30)
    assert usage_sent["cache_read_input_tokens"] == 40
    assert usage_sent["cache_creation_input_tokens"] == 45


@EVERY_WIRE
async def test_provider_metadata_preservation(wire: WireName) -> None:
    metadata = {"actualProvider": "router/x", "costs": [0.5], "openai": {"tier": 1}}
    harness = Harness(script(turn(text_response("a", providerMetadata=metadata))))
    _, _, body = await harness.ask(turn_request(wire, "script"))
    answer = json.loads(body)
    assert (answer["actualProvider"], answer["costs"]) == ("router/x", [0.5])
    assert answer.get("tier") == (1 if wire == "openai" else None)


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_large_response_handling(wire: WireName, stream: bool) -> None:
    content, argument = "Zeile – 1\n" * 40_000, "x" * 300_000
    harness = Harness(
        script(
            turn(final_report_response(content)),
            turn(tool_call_response({"toolName": "f", "arguments": {"a": argument}}), 2),
        )
    )
    answer = await send_turn(harness, wire, "script", stream=stream)
    assert answer.report["report_content"] == content
    answer = await send_turn(harness, wire, "script", stream=stream, turn=2)
    assert answer.calls == expected_calls(wire, ("call-1", "f", {"a": argument}))


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_placeholders_of_mockllm_are_plain_text_in_a_turn_script(
    wire: WireName, stream: bool
) -> None:
    text = "{{ request.model }} {{x}} {{ braces }}"
    response = tool_call_response(
        {"toolName": "f", "arguments": {text: [text]}}, assistantText=text
    )
    answer = await send_turn(Harness(script(turn(response))), wire, "script", stream=stream)
    assert (answer.text, answer.calls) == (
        text,
        expected_calls(wire, ("call-1", "f", {text: [text]})),
    )


@EVERY_WIRE
async def test_stream_conversion_gives_the_whole_answer_in_pieces(wire: WireName) -> None:
    response = tool_call_response(
        {"toolName": "f", "assistantText": "then", "arguments": {"a": "some words"}},
        {"toolName": "g", "arguments": {}},
        assistantText="one two three four five six seven",
        reasoning=[
            {"text": "r", "providerMetadata": {"anthropic": {"signature": "sig"}}},
            {"text": "s"},
        ],
    )
    harness = Harness(script(turn(response)))
    whole_answer = await send_turn(harness, wire, "script")
    _, _, body = await harness.ask(turn_request(wire, "script", stream=True))
    streamed = parse_body(wire, body, stream=True)
    assert streamed == whole_answer
    assert len(streamed.pieces) > len(whole_answer.texts) and body.endswith(DIALECTS[wire].end)
