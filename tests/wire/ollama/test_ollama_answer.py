"""Bodies of unstreamed Ollama responses."""

import pytest

from scenarios_app.engine.canonical import Usage
from scenarios_app.engine.parts import (
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.wire.ollama.ollama_cases import STAMP, answer, parse, parse_generate, render

CHAT, GENERATE = parse(), parse_generate()


def test_chat_response_has_exact_fields() -> None:
    assert render(CHAT, answer([TextPart("Hi")])) == {
        "model": "llama3.2",
        "created_at": STAMP,
        "message": {"role": "assistant", "content": "Hi"},
        "done": True,
        "done_reason": "stop",
        "total_duration": 54_000_000,
        "load_duration": 5_000_000,
        "prompt_eval_count": 9,
        "prompt_eval_duration": 9_000_000,
        "eval_count": 2,
        "eval_duration": 40_000_000,
    }


def test_generate_response_has_text_and_context_at_the_top() -> None:
    body = render(GENERATE, answer([ReasoningPart("Hm."), TextPart("Hi")]))
    assert (body["response"], body["thinking"]) == ("Hi", "Hm.")
    assert "message" not in body
    assert all(isinstance(number, int) for number in body["context"])
    assert "context" not in render(parse_generate(raw=True), answer([TextPart("Hi")]))
    assert "context" not in render(CHAT, answer([TextPart("Hi")]))


def test_parts_become_content_thinking_and_tool_calls() -> None:
    body = render(
        CHAT,
        answer(
            [
                ReasoningPart("First. ", signature="s"),
                ReasoningPart("", redacted="secret"),
                ReasoningPart("Then."),
                TextPart("One "),
                ToolCallPart("id-1", "f", '{"a": [1, 2.5, "ü"]}'),
                TextPart("two"),
                ToolCallPart("id-2", "g", "{}"),
            ]
        ),
    )
    assert body["message"] == {
        "role": "assistant",
        "content": "One two",
        "thinking": "First. Then.",
        "tool_calls": [
            {"function": {"name": "f", "arguments": {"a": [1, 2.5, "ü"]}}},
            {"function": {"name": "g", "arguments": {}}},
        ],
    }
    assert body["done_reason"] == "stop"


def test_tool_calls_of_a_generate_response_are_at_the_top() -> None:
    body = render(GENERATE, answer([ToolCallPart("1", "f", '{"a":1}')], finish="tool_calls"))
    assert body["tool_calls"] == [{"function": {"name": "f", "arguments": {"a": 1}}}]
    assert body["response"] == ""


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '"x"', "null", "1e999", "[" * 100_000])
def test_invalid_arguments_become_an_empty_object(arguments: str) -> None:
    body = render(CHAT, answer([ToolCallPart("1", "f", arguments)]))
    assert body["message"]["tool_calls"] == [{"function": {"name": "f", "arguments": {}}}]


def test_choices_are_joined_in_order() -> None:
    body = render(
        CHAT,
        answer(
            [TextPart("One. ")],
            [ToolCallPart("1", "f", "{}")],
            [ReasoningPart("Hm."), TextPart("Two.")],
        ),
    )
    assert body["message"]["content"] == "One. Two."
    assert body["message"]["thinking"] == "Hm."
    assert len(body["message"]["tool_calls"]) == 1


def test_parts_that_ollama_lacks_are_left_out() -> None:
    body = render(
        CHAT,
        answer(
            [RefusalPart("I won't."), TextPart(" Sorry.", (Citation("u", "T", "Sorry"),))],
            [ServerToolUsePart("1", "web_search", "{}")],
            [ServerToolResultPart("1", "web_search", "[]")],
        ),
    )
    assert body["message"] == {"role": "assistant", "content": "I won't. Sorry."}


@pytest.mark.parametrize(
    ("reason", "done_reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "stop"),
        ("content_filter", "stop"),
        ("stop_sequence", "stop"),
    ],
)
def test_done_reason_is_translated(reason: FinishReason, done_reason: str) -> None:
    assert render(CHAT, answer([TextPart("Hi")], finish=reason))["done_reason"] == done_reason


def test_durations_are_never_zero() -> None:
    body = render(CHAT, answer([TextPart("")], usage=Usage(0, 0)))
    assert (body["prompt_eval_count"], body["eval_count"]) == (0, 0)
    assert min(value for key, value in body.items() if key.endswith("_duration")) > 0


def test_metadata_adds_fields_and_replaces_all_but_content() -> None:
    body = render(
        CHAT,
        answer(
            [TextPart("Hi")],
            metadata={
                "remote_model": "big",
                "model": "other",
                "created_at": "now",
                "done_reason": "unload",
                "eval_duration": 7,
                "message": "x",
                "done": False,
            },
        ),
    )
    assert body["message"] == {"role": "assistant", "content": "Hi"}
    assert (body["model"], body["created_at"], body["done"]) == ("other", "now", True)
    assert (body["done_reason"], body["eval_duration"]) == ("unload", 7)
    assert body["remote_model"] == "big"
