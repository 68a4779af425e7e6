"""Unstreamed `response` objects: repeated request fields, status and metadata."""

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


def test_text_response_has_exact_fields() -> None:
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


def test_response_repeats_the_fields_of_its_request() -> None:
    fields: dict[str, Any] = {
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
    body = render(parse(**fields), answer((TextPart("Hi"),)))
    validate_type(type_=Response, value=body)
    for key in fields.keys() - {"reasoning", "text", "model", "tools"}:
        assert body[key] == fields[key], key
    assert body["reasoning"] == {
        "context": "current_turn",
        "effort": "low",
        "mode": "standard",
        "summary": None,
    }
    (tool,) = fields["tools"]
    assert body["tools"] == [{**tool, "description": None, "output_schema": None}]
    assert body["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    assert "conversation" not in body


@pytest.mark.parametrize("conversation", ["conv_1", {"id": "conv_1"}])
def test_conversation_is_an_object_with_its_id(conversation: Any) -> None:
    body = render(parse(conversation=conversation), answer(()))
    assert body["conversation"] == {"id": "conv_1"}


def test_a_deferred_tool_is_repeated_in_its_namespace() -> None:
    deferred = {"type": "function", "name": "f", "parameters": {}, "defer_loading": True}
    body = render(parse(tools=[{"type": "tool_search"}, deferred]), answer((CALL,)))
    search, namespace = body["tools"]
    assert search == {"type": "tool_search", "description": None, "parameters": None}
    assert (namespace["type"], namespace["name"]) == ("namespace", "f")
    assert "defer_loading" not in namespace["tools"][0]


@pytest.mark.parametrize(
    ("location", "country"),
    [(None, "US"), ({"type": "approximate", "city": "Rome"}, None)],
)
def test_search_tool_has_a_default_location(
    location: dict[str, str] | None, country: str | None
) -> None:
    requested_tool = (
        {"type": "web_search"}
        if location is None
        else {"type": "web_search", "user_location": location}
    )
    (tool,) = render(parse(tools=[requested_tool]), answer(()))["tools"]
    assert (tool["search_context_size"], tool["filters"]) == ("medium", None)
    assert tool["user_location"]["country"] == country
    assert tool["user_location"]["city"] == (location and "Rome")


def test_other_tools_are_repeated_unchanged() -> None:
    requested_tool = {"type": "code_interpreter", "container": {"type": "auto"}}
    assert render(parse(tools=[requested_tool]), answer(()))["tools"] == [requested_tool]


def test_schema_is_strict_without_description_by_default() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {}}
    body = render(parse(text={"format": form}), answer(()))
    assert body["text"]["format"] == {**form, "description": None, "strict": True}


@pytest.mark.parametrize(("requested", "tier"), [("auto", "default"), ("flex", "flex")])
def test_service_tier_auto_becomes_default(requested: str, tier: str) -> None:
    assert render(parse(service_tier=requested), answer(()))["service_tier"] == tier


def test_background_response_has_no_billing_field() -> None:
    assert "billing" not in render(parse(background=True), answer(()))


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", "max_output_tokens"), ("content_filter", "content_filter")],
)
def test_truncated_response_is_incomplete_with_a_reason(finish: FinishReason, reason: str) -> None:
    body = render(parse(), answer((TextPart("a"), TextPart("b")), finish=finish))
    validate_type(type_=Response, value=body)
    assert (body["status"], body["completed_at"]) == ("incomplete", None)
    assert body["incomplete_details"] == {"reason": reason}
    assert [item["status"] for item in body["output"]] == ["completed", "incomplete"]


def test_reasoning_item_has_no_status() -> None:
    body = render(parse(), answer((ReasoningPart("a"),), finish="length"))
    assert "status" not in body["output"][0]


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "stop_sequence"])
def test_other_finish_reasons_mean_completed(finish: FinishReason) -> None:
    body = render(parse(), answer((TextPart("a"),), finish=finish))
    assert (body["status"], body["incomplete_details"]) == ("completed", None)


def test_metadata_adds_fields_and_replaces_id_status_and_error() -> None:
    error = {"code": "server_error", "message": "Broken."}
    scripted = answer((TextPart("a"),), id="resp_mine", status="failed", error=error, x=1)
    body = render(parse(), scripted)
    validate_type(type_=Response, value=body)
    assert (body["id"], body["status"], body["error"], body["x"]) == (
        "resp_mine",
        "failed",
        error,
        1,
    )


def test_metadata_cannot_replace_reserved_fields() -> None:
    body = render(parse(), answer((TextPart("a"),), output=[], usage=None, object="x"))
    assert body["output"] and body["usage"] and body["object"] == "response"
