"""What a whole answer says over Ollama's wire."""

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
from tests.wire.ollama.ollama_cases import STAMP, answer, parse, prompt, render

CHAT, GENERATE = parse(), prompt()


def test_a_chat_answer() -> None:
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


def test_a_generated_answer_has_its_text_at_the_top_and_the_conversation_so_far() -> None:
    told = render(GENERATE, answer([ReasoningPart("Hm."), TextPart("Hi")]))
    assert (told["response"], told["thinking"]) == ("Hi", "Hm.")
    assert "message" not in told
    assert all(isinstance(number, int) for number in told["context"])
    assert "context" not in render(prompt(raw=True), answer([TextPart("Hi")]))
    assert "context" not in render(CHAT, answer([TextPart("Hi")]))


def test_every_part_has_its_place() -> None:
    told = render(
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
    assert told["message"] == {
        "role": "assistant",
        "content": "One two",
        "thinking": "First. Then.",
        "tool_calls": [
            {"function": {"name": "f", "arguments": {"a": [1, 2.5, "ü"]}}},
            {"function": {"name": "g", "arguments": {}}},
        ],
    }
    assert told["done_reason"] == "stop"


def test_calls_of_a_generated_answer_stand_beside_it() -> None:
    told = render(GENERATE, answer([ToolCallPart("1", "f", '{"a":1}')], finish="tool_calls"))
    assert told["tool_calls"] == [{"function": {"name": "f", "arguments": {"a": 1}}}]
    assert told["response"] == ""


@pytest.mark.parametrize("arguments", ["", "{", "[1]", '"x"', "null", "1e999", "[" * 100_000])
def test_arguments_that_are_no_object_arrive_empty(arguments: str) -> None:
    told = render(CHAT, answer([ToolCallPart("1", "f", arguments)]))
    assert told["message"]["tool_calls"] == [{"function": {"name": "f", "arguments": {}}}]


def test_choices_follow_each_other() -> None:
    told = render(
        CHAT,
        answer(
            [TextPart("One. ")],
            [ToolCallPart("1", "f", "{}")],
            [ReasoningPart("Hm."), TextPart("Two.")],
        ),
    )
    assert told["message"]["content"] == "One. Two."
    assert told["message"]["thinking"] == "Hm."
    assert len(told["message"]["tool_calls"]) == 1


def test_parts_that_ollama_lacks_are_left_out() -> None:
    told = render(
        CHAT,
        answer(
            [RefusalPart("I won't."), TextPart(" Sorry.", (Citation("u", "T", "Sorry"),))],
            [ServerToolUsePart("1", "web_search", "{}")],
            [ServerToolResultPart("1", "web_search", "[]")],
        ),
    )
    assert told["message"] == {"role": "assistant", "content": "I won't. Sorry."}


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "stop"),
        ("content_filter", "stop"),
        ("stop_sequence", "stop"),
    ],
)
def test_why_it_ended(reason: FinishReason, told: str) -> None:
    assert render(CHAT, answer([TextPart("Hi")], finish=reason))["done_reason"] == told


def test_no_duration_is_zero() -> None:
    told = render(CHAT, answer([TextPart("")], usage=Usage(0, 0)))
    assert (told["prompt_eval_count"], told["eval_count"]) == (0, 0)
    assert min(value for key, value in told.items() if key.endswith("_duration")) > 0


def test_a_script_adds_fields_and_replaces_those_that_are_no_content() -> None:
    told = render(
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
    assert told["message"] == {"role": "assistant", "content": "Hi"}
    assert (told["model"], told["created_at"], told["done"]) == ("other", "now", True)
    assert (told["done_reason"], told["eval_duration"]) == ("unload", 7)
    assert told["remote_model"] == "big"
