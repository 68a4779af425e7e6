"""A whole answer as OpenAI's `response`: what it repeats of its question, and how it ended."""

from typing import Any

import pytest
from openai._models import validate_type
from openai.types.responses import Response

from scenarios_app.engine.parts import (
    FinishReason,
    ReasoningPart,
    TextPart,
)
from tests.wire.openai.responses_answers import CALL, HEX, answer
from tests.wire.openai.responses_cases import parse, render


def test_a_text_is_all_of_this() -> None:
    assert render(parse(input="Hello"), answer((TextPart("Hi"),))) == {
        "id": f"resp_{HEX}",
        "object": "response",
        "created_at": 1735689600,
        "completed_at": 1735689600,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "background": False,
        "billing": {"payer": "developer"},
        "frequency_penalty": 0.0,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "model": "gpt-4o",
        "moderation": None,
        "output": [
            {
                "type": "message",
                "id": f"msg_{HEX}00",
                "status": "completed",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}
                ],
            }
        ],
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": "in_memory",
        "reasoning": {"context": None, "effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tool_usage": {
            "image_gen": {
                "input_tokens": 0,
                "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
                "total_tokens": 0,
            },
            "web_search": {"num_requests": 0},
        },
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 11,
        },
        "user": None,
    }


def test_it_repeats_what_was_asked() -> None:
    asked: dict[str, Any] = {
        "background": True,
        "instructions": "Be brief.",
        "frequency_penalty": 0.5,
        "max_output_tokens": 16,
        "max_tool_calls": 1,
        "metadata": {"a": "b"},
        "model": "gpt-5",
        "parallel_tool_calls": False,
        "prompt": {"id": "pmpt_1"},
        "presence_penalty": -0.5,
        "prompt_cache_key": "k",
        "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
        "prompt_cache_retention": "24h",
        "reasoning": {"effort": "low"},
        "safety_identifier": "s",
        "store": False,
        "temperature": 0.0,
        "text": {"verbosity": "low"},
        "tool_choice": "required",
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": True}],
        "top_logprobs": 2,
        "top_p": 0.0,
        "truncation": "auto",
        "user": "u",
    }
    whole = render(parse(**asked), answer((TextPart("Hi"),)))
    validate_type(type_=Response, value=whole)
    for key in asked.keys() - {"reasoning", "text", "model", "tools"}:
        assert whole[key] == asked[key], key
    assert whole["reasoning"] == {
        "context": "current_turn",
        "effort": "low",
        "mode": "standard",
        "summary": None,
    }
    (tool,) = asked["tools"]
    assert whole["tools"] == [{**tool, "description": None, "output_schema": None}]
    assert whole["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    assert "conversation" not in whole


@pytest.mark.parametrize("given", ["conv_1", {"id": "conv_1"}])
def test_a_conversation_is_named_as_an_object(given: Any) -> None:
    whole = render(parse(conversation=given), answer(()))
    assert whole["conversation"] == {"id": "conv_1"}


def test_a_deferred_tool_is_repeated_in_its_namespace() -> None:
    deferred = {"type": "function", "name": "f", "parameters": {}, "defer_loading": True}
    whole = render(parse(tools=[{"type": "tool_search"}, deferred]), answer((CALL,)))
    search, namespace = whole["tools"]
    assert search == {"type": "tool_search", "description": None, "parameters": None}
    assert (namespace["type"], namespace["name"]) == ("namespace", "f")
    assert "defer_loading" not in namespace["tools"][0]


@pytest.mark.parametrize(
    ("place", "country"),
    [(None, "US"), ({"type": "approximate", "city": "Rome"}, None)],
)
def test_a_search_says_where_it_is_made(place: dict[str, str] | None, country: str | None) -> None:
    given = (
        {"type": "web_search"} if place is None else {"type": "web_search", "user_location": place}
    )
    (tool,) = render(parse(tools=[given]), answer(()))["tools"]
    assert (tool["search_context_size"], tool["filters"]) == ("medium", None)
    assert tool["user_location"]["country"] == country
    assert tool["user_location"]["city"] == (place and "Rome")


def test_other_tools_are_said_again_as_they_came() -> None:
    given = {"type": "code_interpreter", "container": {"type": "auto"}}
    assert render(parse(tools=[given]), answer(()))["tools"] == [given]


def test_a_schema_is_strict_and_described_by_nothing_unless_it_says_so() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {}}
    whole = render(parse(text={"format": form}), answer(()))
    assert whole["text"]["format"] == {**form, "description": None, "strict": True}


@pytest.mark.parametrize(("asked", "tier"), [("auto", "default"), ("flex", "flex")])
def test_the_tier_is_the_one_that_was_worked_in(asked: str, tier: str) -> None:
    assert render(parse(service_tier=asked), answer(()))["service_tier"] == tier


def test_background_response_has_no_billing_field() -> None:
    assert "billing" not in render(parse(background=True), answer(()))


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", "max_output_tokens"), ("content_filter", "content_filter")],
)
def test_an_answer_that_was_cut_short_says_why(finish: FinishReason, reason: str) -> None:
    whole = render(parse(), answer((TextPart("a"), TextPart("b")), finish=finish))
    validate_type(type_=Response, value=whole)
    assert (whole["status"], whole["completed_at"]) == ("incomplete", None)
    assert whole["incomplete_details"] == {"reason": reason}
    assert [item["status"] for item in whole["output"]] == ["completed", "incomplete"]


def test_thinking_alone_has_no_status_to_be_cut_short() -> None:
    whole = render(parse(), answer((ReasoningPart("a"),), finish="length"))
    assert "status" not in whole["output"][0]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "stop_sequence"])
def test_every_other_end_is_completion(finish: FinishReason) -> None:
    whole = render(parse(), answer((TextPart("a"),), finish=finish))
    assert (whole["status"], whole["incomplete_details"]) == ("completed", None)


def test_scripted_fields_add_to_it_and_may_say_how_it_ended() -> None:
    error = {"code": "server_error", "message": "Broken."}
    scripted = answer((TextPart("a"),), id="resp_mine", status="failed", error=error, x=1)
    whole = render(parse(), scripted)
    validate_type(type_=Response, value=whole)
    assert (whole["id"], whole["status"], whole["error"], whole["x"]) == (
        "resp_mine",
        "failed",
        error,
        1,
    )


def test_metadata_cannot_replace_reserved_fields() -> None:
    whole = render(parse(), answer((TextPart("a"),), output=[], usage=None, object="x"))
    assert whole["output"] and whole["usage"] and whole["object"] == "response"
