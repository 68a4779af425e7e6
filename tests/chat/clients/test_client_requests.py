"""The request that each provider gets: only what was asked for, in its own words."""

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
from tests.chat.scripted import sent
from tests.chat.ways import FAMILIES, MODEL

LOOK = Tool("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
SEAL = b64encode(b"\xff\xfe seal").decode()
USER = UserTurn("Look!")
CALL = ToolCall("call_1", "look", '{"at":"it"}')
ANSWER = AssistantTurn((ThinkingPart("Hm.", SEAL), TextPart("I "), TextPart("look."), CALL))
RESULTS = ToolResults((ToolOutput("call_1", "look", "seen"), ToolOutput("call_2", "x", "no", True)))
TALK = (USER, ANSWER, RESULTS)
ALL: dict[str, Any] = {
    "system_prompt": "Be brief.",
    "temperature": 0.5,
    "max_tokens": 99,
    "tools": (LOOK,),
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
def test_nothing_is_said_that_was_not_asked(
    settings: Any, family: str, expected: dict[str, Any]
) -> None:
    body = sent(settings, family, USER)
    if family == "google":
        body.pop("generationConfig", None)
    assert body == expected


def test_all_of_a_request_to_openai(settings: Any) -> None:
    function = {"name": "look", "arguments": '{"at":"it"}'}
    body = sent(settings, "openai", *TALK, **ALL)
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
    offered = {"name": "look", "description": "Looks.", "parameters": LOOK.input_schema}
    assert body["tools"] == [{"type": "function", "function": offered}]
    assert (body["temperature"], body["max_completion_tokens"]) == (0.5, 99)


@pytest.mark.parametrize("provider_id", ["openrouter", "ollama", "test-llm"])
def test_others_know_the_limit_by_its_older_name(settings: Any, provider_id: str) -> None:
    body = sent(settings, provider_id, max_tokens=99)
    assert body["max_tokens"] == 99 and "max_completion_tokens" not in body


def test_test_llm_is_named_in_the_model(settings: Any) -> None:
    assert sent(settings, "test-llm")["model"] == f"test-llm/{MODEL}"


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
def test_a_budget_is_an_effort_to_openai(budget: int, expected: str) -> None:
    assert reasoning_effort(budget) == expected


@pytest.mark.parametrize("provider_id", ["openai", "openrouter", "ollama", "test-llm"])
def test_thinking_is_asked_of_openai_by_effort(settings: Any, provider_id: str) -> None:
    assert sent(settings, provider_id, thinking_budget=10_000)["reasoning_effort"] == "medium"


def test_all_of_a_request_to_anthropic(settings: Any) -> None:
    body = sent(settings, "anthropic", *TALK, **ALL)
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
    schema = {"name": "look", "description": "Looks.", "input_schema": LOOK.input_schema}
    assert (body["system"], body["tools"]) == ("Be brief.", [schema])
    assert (body["temperature"], body["max_tokens"]) == (0.5, 99)


def test_anthropic_thinks_at_no_temperature_and_beyond_its_limit(settings: Any) -> None:
    body = sent(settings, "anthropic", temperature=0.5, thinking_budget=10_000)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    assert body["max_tokens"] == 14_096
    assert "temperature" not in body


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", ["claude-opus-4-1-20250805", "claude-sonnet-4-6", "claude-x"])
def test_an_old_model_of_anthropics_is_asked_without_a_warning(settings: Any, model: str) -> None:
    assert sent(settings, "anthropic", model=model, thinking_budget=2_000)["model"] == model


def test_request_omits_fields_that_anthropic_refuses(settings: Any) -> None:
    unsigned = AssistantTurn((ThinkingPart("Hm."), TextPart(" \n"), TextPart("Hi")))
    silent = AssistantTurn((ThinkingPart("Hm."),))
    redacted = AssistantTurn((ThinkingPart(redacted="opaque"), TextPart("Ho")))
    body = sent(settings, "anthropic", USER, unsigned, USER, silent, USER, redacted, USER)
    assert [m["content"] for m in body["messages"] if m["role"] == "assistant"] == [
        [{"type": "text", "text": "Hi"}],
        [{"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "Ho"}],
    ]


def test_all_of_a_request_to_google(settings: Any) -> None:
    body = sent(settings, "google", *TALK, **ALL)
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
    [offered] = body["tools"][0]["functionDeclarations"]
    assert (offered["name"], offered["description"]) == ("look", "Looks.")
    assert LOOK.input_schema in offered.values()
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["generationConfig"]["temperature"] == 0.5
    assert body["generationConfig"]["maxOutputTokens"] == 99


def test_google_is_told_its_budget(settings: Any) -> None:
    asked = sent(settings, "google", thinking_budget=2_000)["generationConfig"]
    assert sorted(asked["thinkingConfig"].values()) == [True, 2_000]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((ThinkingPart("", SEAL), CALL), ["functionCall"]),
        ((ThinkingPart("Hm.", SEAL), CALL), ["text", "functionCall"]),
        ((TextPart("Hi"), ThinkingPart("", SEAL)), ["text", "text"]),
        ((ThinkingPart("Hm.", SEAL),), ["text", "text"]),
    ],
)
def test_googles_signature_stands_on_what_came_of_the_thinking(
    settings: Any, parts: tuple[Any, ...], expected: list[str]
) -> None:
    sent_parts = sent(settings, "google", USER, AssistantTurn(parts))["contents"][1]["parts"]
    assert [next(key for key in part if "thought" not in key) for part in sent_parts] == expected
    assert ["thoughtSignature" in part for part in sent_parts] == [
        *[False] * (len(expected) - 1),
        True,
    ]


@pytest.mark.parametrize("signature", ["", "no base64!"])
def test_thinking_that_is_not_googles_stays_out(settings: Any, signature: str) -> None:
    answer = AssistantTurn((ThinkingPart("Hm.", signature), TextPart("Hi")))
    body = sent(settings, "google", USER, answer, USER)
    assert body["contents"][1]["parts"] == [{"text": "Hi"}]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_of_nothing_is_no_error(settings: Any, family: str) -> None:
    body = sent(settings, family, USER, AssistantTurn(()), USER)
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
    assert "oops" in json.dumps(sent(settings, family, USER, answer, results))
