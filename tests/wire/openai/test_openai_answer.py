"""Unstreamed OpenAI responses: exact bodies, and the official SDK's strict validation."""

from typing import Any

import pytest
from msgspec.structs import replace
from openai._models import validate_type
from openai.types.chat import ChatCompletion

from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.openai import families
from scenarios_app.wire.openai.families import FAMILIES, family_of
from tests.wire.openai.openai_cases import CHAT, answer, parse, parse_chunks, render, stream

CALL = ToolCallPart("call_1", "f", '{"a":1}')
FUNCTIONS = {"functions": [{"name": "f"}]}
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 2,
    "total_tokens": 11,
    "prompt_tokens_details": {"cached_tokens": 3, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 1,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}


def render_message(*parts: AnswerPart, **fields: Any) -> dict[str, Any]:
    body = render(parse(**fields), answer(parts))
    validate_type(type_=ChatCompletion, value=body)
    message: dict[str, Any] = body["choices"][0]["message"]
    return message


def test_text_response_has_exact_fields() -> None:
    assert render(parse(), answer([TextPart("Hi")])) == {
        "id": "chatcmpl-f00d",
        "object": "chat.completion",
        "created": 1735689600,
        "model": "gpt-4o",
        "system_fingerprint": "fp_a2a69af70d",
        "service_tier": "default",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hi",
                    "refusal": None,
                    "annotations": [],
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": USAGE,
    }


def test_texts_are_joined() -> None:
    assert render_message(TextPart("Good "), TextPart("day"))["content"] == "Good day"


def test_tool_call_replaces_content() -> None:
    message = render_message(CALL)
    assert message["content"] is None
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]


def test_text_stays_beside_tool_calls() -> None:
    message = render_message(
        TextPart("Let me look."), CALL, ToolCallPart("call_2", "g", "broken {")
    )
    assert message["content"] == "Let me look."
    assert [call["id"] for call in message["tool_calls"]] == ["call_1", "call_2"]
    assert message["tool_calls"][1]["function"]["arguments"] == "broken {"


def test_an_empty_text_beside_a_call_is_no_content() -> None:
    assert render_message(TextPart(""), CALL)["content"] is None


@pytest.mark.parametrize("parts", [(), (TextPart(""),), (ReasoningPart("Hm."),)])
def test_response_without_text_and_call_has_empty_content(
    parts: tuple[AnswerPart, ...],
) -> None:
    message = render_message(*parts)
    assert message["content"] == ""
    assert "tool_calls" not in message


def test_refusal_replaces_content() -> None:
    message = render_message(RefusalPart("I won't."))
    assert (message["content"], message["refusal"]) == (None, "I won't.")


def test_reasoning_is_in_the_field_reasoning_only() -> None:
    message = render_message(ReasoningPart("One. ", signature="s"), ReasoningPart("Two."), CALL)
    assert message["reasoning"] == "One. Two."
    assert "reasoning_content" not in message


@pytest.mark.parametrize(
    ("model", "has_logprobs", "has_fingerprint"),
    [("gpt-4o-mini", True, True), ("o3-mini", False, True), ("gpt-5-mini", False, False)],
)
def test_choice_and_top_level_fields_depend_on_the_model(
    model: str, has_logprobs: bool, has_fingerprint: bool
) -> None:
    response = replace(answer([TextPart("Hi")]), model=model)
    for body in (render(parse(), response), parse_chunks(stream(parse(), response))[1]):
        assert ("logprobs" in body["choices"][0]) is has_logprobs
        assert isinstance(body["system_fingerprint"], str) is has_fingerprint


@pytest.mark.parametrize("parts", [(TextPart("Hi"),), (ReasoningPart("", redacted="x"), CALL)])
def test_message_without_readable_reasoning_has_no_such_field(
    parts: tuple[AnswerPart, ...],
) -> None:
    assert not {"reasoning", "reasoning_content"} & render_message(*parts).keys()


def test_a_call_of_a_custom_tool_is_a_custom_call() -> None:
    message = render_message(ToolCallPart("call_2", "shell", "ls -l", custom=True), CALL)
    assert message["tool_calls"][0] == {
        "id": "call_2",
        "type": "custom",
        "custom": {"name": "shell", "input": "ls -l"},
    }
    assert message["tool_calls"][1]["type"] == "function"


def test_request_with_legacy_functions_gets_a_function_call() -> None:
    body = render(parse(**FUNCTIONS), answer([CALL], finish="tool_calls"))
    validate_type(type_=ChatCompletion, value=body)
    (choice,) = body["choices"]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "f", "arguments": '{"a":1}'}
    assert "tool_calls" not in choice["message"]


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        ([CALL, CALL], FUNCTIONS),
        ([CALL], {**FUNCTIONS, "tools": [{"type": "function", "function": {"name": "f"}}]}),
        ([CALL], {}),
    ],
)
def test_several_calls_are_tool_calls_despite_legacy_functions(
    parts: list[AnswerPart], fields: dict[str, Any]
) -> None:
    (choice,) = render(parse(**fields), answer(parts, finish="tool_calls"))["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert len(choice["message"]["tool_calls"]) == len(parts)
    assert "function_call" not in choice["message"]


@pytest.mark.parametrize(
    ("reason", "finish_reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("content_filter", "content_filter"),
        ("stop_sequence", "stop"),
    ],
)
def test_finish_reason_is_translated(reason: FinishReason, finish_reason: str) -> None:
    body = render(parse(), answer([TextPart("Hi")], finish=reason))
    assert body["choices"][0]["finish_reason"] == finish_reason
    validate_type(type_=ChatCompletion, value=body)


def test_choices_are_numbered() -> None:
    body = render(parse(n=3), answer([TextPart("a")], [CALL], [TextPart("c")]))
    validate_type(type_=ChatCompletion, value=body)
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert [choice["message"]["content"] for choice in body["choices"]] == ["a", None, "c"]


def test_scripted_metadata_joins_the_top_level_but_replaces_no_structure() -> None:
    metadata: dict[str, Any] = {
        "system_fingerprint": "fp_1",
        "service_tier": "flex",
        "x_extra": {"a": [1]},
        "object": "other",
        "choices": [],
        "usage": None,
    }
    body = render(parse(), answer([TextPart("Hi")], metadata=metadata))
    validate_type(type_=ChatCompletion, value=body)
    assert (body["system_fingerprint"], body["service_tier"]) == ("fp_1", "flex")
    assert body["x_extra"] == {"a": [1]}
    assert (body["object"], body["usage"]) == ("chat.completion", USAGE)
    assert len(body["choices"]) == 1


def test_text_is_encoded_as_utf_8() -> None:
    assert "Grüße 世界".encode() in CHAT.render(parse(), answer([TextPart("Grüße 世界")]))


@pytest.mark.parametrize("name", FAMILIES)
def test_longest_prefix_decides_for_names_of_any_length(name: str) -> None:
    assert family_of(name) is family_of(f"{name}-{'x' * 1_000}") is FAMILIES[name]


def test_long_names_take_one_entry_of_the_cache() -> None:
    families._family_of_beginning.cache_clear()
    for number in range(50):
        family_of("gpt-4o-" + "x" * 1_000 + str(number))
    assert families._family_of_beginning.cache_info().currsize == 1
