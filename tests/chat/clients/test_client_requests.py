"""The request body that each provider gets."""

import json
from base64 import b64encode
from typing import Any

import pytest

from chat_app.clients.openai import reasoning_effort
from chat_app.clients.sdk import to_object
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    TextPart,
    ThinkingPart,
    Tool,
    ToolOutput,
    ToolResults,
    UserTurn,
)
from tests.chat.mock_provider import FAMILIES, MODEL
from tests.chat.scripted_transport import capture_request_body

LOOK_TOOL = Tool("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
SEAL = b64encode(b"\xff\xfe seal").decode()
USER = UserTurn("Look!")
CALL = ToolCall("call_1", "look", '{"at":"it"}')
ANSWER = AssistantTurn((ThinkingPart("Hm.", SEAL), TextPart("I "), TextPart("look."), CALL))
RESULTS = ToolResults((ToolOutput("call_1", "look", "seen"), ToolOutput("call_2", "x", "no", True)))
TURNS = (USER, ANSWER, RESULTS)
ALL_FIELDS: dict[str, Any] = {
    "system_prompt": "Be brief.",
    "temperature": 0.5,
    "max_tokens": 99,
    "tools": (LOOK_TOOL,),
}


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (
            "openai",
            {
                "model": MODEL,
                "messages": [{"role": "user", "content": "Look!"}],
                "stream": True,
                "stream_options": {"include_usage": True},
            },
        ),
        (
            "anthropic",
            {
                "model": MODEL,
                "messages": [{"role": "user", "content": "Look!"}],
                "max_tokens": 4_096,
                "stream": True,
            },
        ),
        ("google", {"contents": [{"role": "user", "parts": [{"text": "Look!"}]}]}),
    ],
)
def test_minimal_request_has_no_optional_fields(
    settings: Any, family: str, expected: dict[str, Any]
) -> None:
    body = capture_request_body(settings, family, USER)
    if family == "google":
        body.pop("generationConfig", None)
    assert body == expected


def test_openai_request_has_all_fields(settings: Any) -> None:
    function = {"name": "look", "arguments": '{"at":"it"}'}
    body = capture_request_body(settings, "openai", *TURNS, **ALL_FIELDS)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look!"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "seen"},
        {"role": "tool", "tool_call_id": "call_2", "content": "no"},
    ]
    tool = {"name": "look", "description": "Looks.", "parameters": LOOK_TOOL.input_schema}
    assert body["tools"] == [{"type": "function", "function": tool}]
    assert (body["temperature"], body["max_completion_tokens"]) == (0.5, 99)


@pytest.mark.parametrize("provider_id", ["openrouter", "ollama", "test-llm"])
def test_other_providers_get_max_tokens(settings: Any, provider_id: str) -> None:
    body = capture_request_body(settings, provider_id, max_tokens=99)
    assert body["max_tokens"] == 99 and "max_completion_tokens" not in body


def test_test_llm_is_named_in_the_model(settings: Any) -> None:
    assert capture_request_body(settings, "test-llm")["model"] == f"test-llm/{MODEL}"


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (1, "low"),
        (4_096, "low"),
        (4_097, "medium"),
        (10_000, "medium"),
        (16_384, "medium"),
        (16_385, "high"),
    ],
)
def test_budget_maps_to_an_openai_effort(budget: int, expected: str) -> None:
    assert reasoning_effort(budget) == expected


@pytest.mark.parametrize("provider_id", ["openai", "openrouter", "ollama", "test-llm"])
def test_thinking_budget_is_sent_to_openai_as_effort(settings: Any, provider_id: str) -> None:
    assert (
        capture_request_body(settings, provider_id, thinking_budget=10_000)["reasoning_effort"]
        == "medium"
    )


def test_anthropic_request_has_all_fields(settings: Any) -> None:
    body = capture_request_body(settings, "anthropic", *TURNS, **ALL_FIELDS)
    assert body["messages"] == [
        {"role": "user", "content": "Look!"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": SEAL},
                {"type": "text", "text": "I "},
                {"type": "text", "text": "look."},
                {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "it"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": "seen",
                    "is_error": False,
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": "no",
                    "is_error": True,
                },
            ],
        },
    ]
    schema = {"name": "look", "description": "Looks.", "input_schema": LOOK_TOOL.input_schema}
    assert (body["system"], body["tools"]) == ("Be brief.", [schema])
    assert (body["temperature"], body["max_tokens"]) == (0.5, 99)


def test_anthropic_thinking_omits_temperature_and_raises_max_tokens(settings: Any) -> None:
    body = capture_request_body(settings, "anthropic", temperature=0.5, thinking_budget=10_000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    assert body["max_tokens"] == 14_096
    assert "temperature" not in body


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", ["claude-opus-4-1-20250805", "claude-sonnet-4-6", "claude-x"])
def test_deprecated_anthropic_model_causes_no_warning(settings: Any, model: str) -> None:
    assert (
        capture_request_body(settings, "anthropic", model=model, thinking_budget=2_000)["model"]
        == model
    )


def test_request_omits_fields_that_anthropic_refuses(settings: Any) -> None:
    unsigned = AssistantTurn((ThinkingPart("Hm."), TextPart(" \n"), TextPart("Hi")))
    silent = AssistantTurn((ThinkingPart("Hm."),))
    redacted = AssistantTurn((ThinkingPart(redacted="opaque"), TextPart("Ho")))
    body = capture_request_body(
        settings, "anthropic", USER, unsigned, USER, silent, USER, redacted, USER
    )
    assert [m["content"] for m in body["messages"] if m["role"] == "assistant"] == [
        [{"type": "text", "text": "Hi"}],
        [{"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "Ho"}],
    ]


def test_google_request_has_all_fields(settings: Any) -> None:
    body = capture_request_body(settings, "google", *TURNS, **ALL_FIELDS)
    # The SDK writes base64 in its other alphabet.
    seal = SEAL.replace("/", "_").replace("+", "-")
    call = {"id": "call_1", "name": "look", "args": {"at": "it"}}
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Look!"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "I ", "thoughtSignature": seal},
                {"text": "look."},
                {"functionCall": call},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "call_1",
                        "name": "look",
                        "response": {"output": "seen"},
                    }
                },
                {"functionResponse": {"id": "call_2", "name": "x", "response": {"error": "no"}}},
            ],
        },
    ]
    [tool] = body["tools"][0]["functionDeclarations"]
    assert (tool["name"], tool["description"]) == ("look", "Looks.")
    assert LOOK_TOOL.input_schema in tool.values()
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["generationConfig"]["temperature"] == 0.5
    assert body["generationConfig"]["maxOutputTokens"] == 99


def test_thinking_budget_is_sent_to_google(settings: Any) -> None:
    config = capture_request_body(settings, "google", thinking_budget=2_000)["generationConfig"]
    assert sorted(config["thinkingConfig"].values()) == [True, 2_000]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((ThinkingPart("", SEAL), CALL), ["functionCall"]),
        ((ThinkingPart("Hm.", SEAL), CALL), ["text", "functionCall"]),
        ((TextPart("Hi"), ThinkingPart("", SEAL)), ["text", "text"]),
        ((ThinkingPart("Hm.", SEAL),), ["text", "text"]),
    ],
)
def test_google_signature_is_on_the_part_after_the_thinking(
    settings: Any, parts: tuple[Any, ...], expected: list[str]
) -> None:
    sent_parts = capture_request_body(settings, "google", USER, AssistantTurn(parts))["contents"][
        1
    ]["parts"]
    assert [next(key for key in part if "thought" not in key) for part in sent_parts] == expected
    assert ["thoughtSignature" in part for part in sent_parts] == [
        *[False] * (len(expected) - 1),
        True,
    ]


@pytest.mark.parametrize("signature", ["", "no base64!"])
def test_thinking_of_other_providers_is_not_sent_to_google(settings: Any, signature: str) -> None:
    answer = AssistantTurn((ThinkingPart("Hm.", signature), TextPart("Hi")))
    body = capture_request_body(settings, "google", USER, answer, USER)
    assert body["contents"][1]["parts"] == [{"text": "Hi"}]


@pytest.mark.parametrize("family", FAMILIES)
def test_empty_answer_is_sent_without_error(settings: Any, family: str) -> None:
    body = capture_request_body(settings, family, USER, AssistantTurn(()), USER)
    turns = body.get("messages") or body["contents"]
    assert [turn["role"] for turn in turns if turn["role"] != "assistant"] == ["user", "user"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{}", {}),
        ("[1]", {"arguments": "[1]"}),
        ('"text"', {"arguments": '"text"'}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("", {"arguments": ""}),
        ('{"a": NaN}', {"arguments": '{"a": NaN}'}),
        ('{"a": 1e999}', {"arguments": '{"a": 1e999}'}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
    ],
)
def test_arguments_become_an_object(text: str, expected: dict[str, Any]) -> None:
    assert to_object(text) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_broken_arguments_of_an_earlier_call_can_be_sent(settings: Any, family: str) -> None:
    answer = AssistantTurn((ToolCall("call_1", "look", '{"at": oops'),))
    results = ToolResults((ToolOutput("call_1", "look", "Error: no JSON", True),))
    assert "oops" in json.dumps(capture_request_body(settings, family, USER, answer, results))
