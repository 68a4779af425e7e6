"""A whole answer as OpenAI's `response`."""

from typing import Any

import pytest
from openai._models import validate_type
from openai.types.responses import Response

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.wire.openai.responses_cases import parse, render

HEX = "0123456789abcdef0123456789abcdef"
CALL = ToolCallPart("call_1", "f", '{"a":1}')


def answer(
    *choices: tuple[AnswerPart, ...], finish: FinishReason = "stop", **metadata: Any
) -> CanonicalResponse:
    return CanonicalResponse(
        id=HEX,
        created=1735689600,
        model="gpt-4o",
        choices=tuple(Choice(parts, finish) for parts in choices),
        usage=Usage(9, 2, reasoning_tokens=1, cached_tokens=3, cache_write_tokens=4),
        metadata=metadata,
    )


def output(*parts: AnswerPart, **body: Any) -> list[dict[str, Any]]:
    """The items that an answer of these parts has."""
    whole = render(parse(**body), answer(parts))
    validate_type(type_=Response, value=whole)
    items: list[dict[str, Any]] = whole["output"]
    return items


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


def test_each_part_is_an_item_with_an_id_of_its_own() -> None:
    items = output(ReasoningPart("Hm."), TextPart("a"), CALL, RefusalPart("No."))
    assert [(item["type"], item["id"]) for item in items] == [
        ("reasoning", f"rs_{HEX}00"),
        ("message", f"msg_{HEX}01"),
        ("function_call", f"fc_{HEX}02"),
        ("message", f"msg_{HEX}03"),
    ]
    assert items[3]["content"] == [{"type": "refusal", "refusal": "No."}]


def test_a_call_has_its_own_id_beside_the_items() -> None:
    (item,) = output(CALL)
    assert item == {
        "type": "function_call",
        "id": f"fc_{HEX}00",
        "call_id": "call_1",
        "name": "f",
        "arguments": '{"a":1}',
        "status": "completed",
    }


def test_a_custom_tools_call_has_text() -> None:
    (item,) = output(CALL, tools=[{"type": "custom", "name": "f"}])
    assert (item["type"], item["id"]) == ("custom_tool_call", f"ctc_{HEX}00")
    assert item["input"] == '{"a":1}' and "arguments" not in item


def test_calls_of_one_id_are_told_apart() -> None:
    whole = render(parse(), answer((CALL, CALL), (ToolCallPart("call_1_2", "g", ""), CALL)))
    ids = [item["call_id"] for item in whole["output"]]
    assert ids == ["call_1", "call_1_2", "call_1_2_2", "call_1_3"]


@pytest.mark.parametrize(
    ("part", "summary", "encrypted"),
    [
        (ReasoningPart("Hm.", signature="sig"), ["Hm."], "sig"),
        (ReasoningPart("", redacted="sealed"), [], "sealed"),
    ],
)
def test_thinking_is_a_summary_and_what_is_sealed(
    part: ReasoningPart, summary: list[str], encrypted: str
) -> None:
    (item,) = output(part)
    assert item["summary"] == [{"type": "summary_text", "text": text} for text in summary]
    assert (item["encrypted_content"], item["content"]) == (encrypted, [])


def test_thinking_that_no_script_seals_is_sealed_by_its_id() -> None:
    (item,), (again,) = output(ReasoningPart("Hm.")), output(ReasoningPart("Well."))
    assert item["encrypted_content"].startswith("gAAAAAB")
    assert len(item["encrypted_content"]) > 200
    assert item["encrypted_content"] == again["encrypted_content"]


@pytest.mark.parametrize(
    ("model", "reasoning", "thinks"),
    [
        ("gpt-4o", None, False),
        ("gpt-4o", {"effort": "high"}, False),
        ("gpt-5-mini", None, True),
        ("gpt-5-mini", {"effort": "none"}, False),
        ("o3", {"summary": "auto"}, True),
        ("gpt-5.4", None, False),
        ("gpt-5.4", {"effort": "low"}, True),
        ("gpt-5.6", {"context": "all_turns"}, False),
        ("gpt-5.6", {"summary": "auto"}, True),
    ],
)
def test_models_that_think_begin_with_it_where_nothing_was_scripted(
    model: str, reasoning: dict[str, str] | None, thinks: bool
) -> None:
    items = output(TextPart("Hi"), model=model, reasoning=reasoning)
    assert [item["type"] for item in items] == ["reasoning"] * thinks + ["message"]
    if thinks:
        assert (items[0]["id"], items[0]["summary"]) == (f"rs_{HEX}00", [])
        assert items[1]["id"] == f"msg_{HEX}01"


def test_an_answer_that_says_nothing_thinks_nothing() -> None:
    assert output(model="o3") == []


def test_thinking_that_is_scripted_stays_alone() -> None:
    items = output(ReasoningPart("Hm."), TextPart("Hi"), model="gpt-5")
    assert [item["type"] for item in items] == ["reasoning", "message"]


@pytest.mark.parametrize(("model", "first"), [("gpt-5.4", "commentary"), ("gpt-5", None)])
def test_messages_of_some_models_are_comment_or_answer(model: str, first: str | None) -> None:
    text = TextPart("a")
    comment, answered = (output(text, CALL, model=model), output(CALL, text, model=model))
    assert comment[-2].get("phase") == first
    assert answered[-1].get("phase") == (first and "final_answer")
    assert "phase" not in comment[-1]


def test_a_deferred_tool_is_called_in_its_namespace() -> None:
    deferred = {"type": "function", "name": "f", "parameters": {}, "defer_loading": True}
    (item,) = output(CALL, tools=[{"type": "tool_search"}, deferred])
    assert item["namespace"] == "f"
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


def test_who_pays_for_the_background_is_not_told() -> None:
    assert "billing" not in render(parse(background=True), answer(()))


def test_sources_are_annotations() -> None:
    part = TextPart("It rains.", (Citation("https://a", "A", "rains"), Citation("https://b")))
    (item,) = output(part, TextPart("x"))[:1]
    assert item["content"][0]["annotations"] == [
        {
            "type": "url_citation",
            "start_index": 3,
            "end_index": 8,
            "title": "A",
            "url": "https://a",
        },
        {"type": "url_citation", "start_index": 0, "end_index": 9, "title": "", "url": "https://b"},
    ]


def test_words_that_are_not_in_the_text_cite_all_of_it() -> None:
    (item,) = output(TextPart("It rains.", (Citation("https://a", "A", "snow"),)))
    (annotation,) = item["content"][0]["annotations"]
    assert (annotation["start_index"], annotation["end_index"]) == (0, 9)


@pytest.mark.parametrize(
    ("given", "query", "queries"), [('{"query":"rain"}', "rain", ["rain"]), ("{}", "", [])]
)
def test_a_web_search_is_an_item_of_its_own(given: str, query: str, queries: list[str]) -> None:
    (item,) = output(ServerToolUsePart("srv_1", "web_search", given))
    assert item == {
        "type": "web_search_call",
        "id": f"ws_{HEX}00",
        "status": "completed",
        "action": {"type": "search", "query": query, "queries": queries},
    }


def test_other_tools_of_a_provider_are_left_out() -> None:
    parts = (
        ServerToolUsePart("srv_1", "code_execution", "{}"),
        ServerToolResultPart("srv_1", "web_search", "[]"),
        TextPart("x"),
    )
    assert [item["id"] for item in output(*parts)] == [f"msg_{HEX}00"]


def test_choices_are_items_one_after_another() -> None:
    whole = render(parse(), answer((TextPart("a"),), (), (TextPart("b"), CALL)))
    ids = [item["id"][-2:] for item in whole["output"]]
    assert ids == ["00", "01", "02"]


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


def test_what_it_consists_of_cannot_be_replaced() -> None:
    whole = render(parse(), answer((TextPart("a"),), output=[], usage=None, object="x"))
    assert whole["output"] and whole["usage"] and whole["object"] == "response"
