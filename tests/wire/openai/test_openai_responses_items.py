"""Output items of a `response`: reasoning, messages, calls and searches."""

import pytest
from msgspec.structs import replace

from scenarios_app.engine.parts import (
    Citation,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.wire.openai.responses_answers import CALL, HEX, answer, output
from tests.wire.openai.responses_cases import parse, render


def test_each_part_is_an_item_with_its_id() -> None:
    items = output(ReasoningPart("Hm."), TextPart("a"), CALL, RefusalPart("No."))
    assert [(item["type"], item["id"]) for item in items] == [
        ("reasoning", f"rs_{HEX}00"),
        ("message", f"msg_{HEX}01"),
        ("function_call", f"fc_{HEX}02"),
        ("message", f"msg_{HEX}03"),
    ]
    assert items[3]["content"] == [{"type": "refusal", "refusal": "No."}]


def test_function_call_has_call_id_and_item_id() -> None:
    (item,) = output(CALL)
    assert item == {
        "type": "function_call",
        "id": f"fc_{HEX}00",
        "call_id": "call_1",
        "name": "f",
        "arguments": '{"a":1}',
        "status": "completed",
    }


def test_custom_tool_call_has_its_input() -> None:
    (item,) = output(replace(CALL, custom=True))
    assert (item["type"], item["id"]) == ("custom_tool_call", f"ctc_{HEX}00")
    assert item["input"] == '{"a":1}' and "arguments" not in item


def test_repeated_call_ids_become_unique() -> None:
    body = render(parse(), answer((CALL, CALL), (ToolCallPart("call_1_2", "g", ""), CALL)))
    ids = [item["call_id"] for item in body["output"]]
    assert ids == ["call_1", "call_1_2", "call_1_2_2", "call_1_3"]


@pytest.mark.parametrize(
    ("part", "summary", "encrypted"),
    [
        (ReasoningPart("Hm.", signature="sig"), ["Hm."], "sig"),
        (ReasoningPart("", redacted="sealed"), [], "sealed"),
    ],
)
def test_reasoning_has_a_summary_and_encrypted_content(
    part: ReasoningPart, summary: list[str], encrypted: str
) -> None:
    (item,) = output(part)
    assert item["summary"] == [{"type": "summary_text", "text": text} for text in summary]
    assert (item["encrypted_content"], item["content"]) == (encrypted, [])


def test_unscripted_encrypted_content_depends_on_the_item_id() -> None:
    (item,), (second_item,) = output(ReasoningPart("Hm.")), output(ReasoningPart("Well."))
    assert item["encrypted_content"].startswith("gAAAAAB")
    assert len(item["encrypted_content"]) > 200
    assert item["encrypted_content"] == second_item["encrypted_content"]


@pytest.mark.parametrize(
    ("model", "reasoning", "has_reasoning"),
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
def test_reasoning_models_start_with_an_unscripted_reasoning_item(
    model: str, reasoning: dict[str, str] | None, has_reasoning: bool
) -> None:
    items = output(TextPart("Hi"), model=model, reasoning=reasoning)
    assert [item["type"] for item in items] == ["reasoning"] * has_reasoning + ["message"]
    if has_reasoning:
        assert (items[0]["id"], items[0]["summary"]) == (f"rs_{HEX}00", [])
        assert items[1]["id"] == f"msg_{HEX}01"


def test_empty_response_has_no_reasoning_item() -> None:
    assert output(model="o3") == []


def test_scripted_reasoning_is_the_only_reasoning_item() -> None:
    items = output(ReasoningPart("Hm."), TextPart("Hi"), model="gpt-5")
    assert [item["type"] for item in items] == ["reasoning", "message"]


@pytest.mark.parametrize(("model", "first"), [("gpt-5.4", "commentary"), ("gpt-5", None)])
def test_messages_of_some_models_have_a_phase(model: str, first: str | None) -> None:
    text = TextPart("a")
    with_comment, with_answer = (output(text, CALL, model=model), output(CALL, text, model=model))
    assert with_comment[-2].get("phase") == first
    assert with_answer[-1].get("phase") == (first and "final_answer")
    assert "phase" not in with_comment[-1]


def test_citations_are_annotations() -> None:
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


def test_citation_of_missing_words_spans_the_text() -> None:
    (item,) = output(TextPart("It rains.", (Citation("https://a", "A", "snow"),)))
    (annotation,) = item["content"][0]["annotations"]
    assert (annotation["start_index"], annotation["end_index"]) == (0, 9)


@pytest.mark.parametrize(
    ("arguments", "query", "queries"), [('{"query":"rain"}', "rain", ["rain"]), ("{}", "", [])]
)
def test_web_search_is_an_item(arguments: str, query: str, queries: list[str]) -> None:
    (item,) = output(ServerToolUsePart("srv_1", "web_search", arguments))
    assert item == {
        "type": "web_search_call",
        "id": f"ws_{HEX}00",
        "status": "completed",
        "action": {"type": "search", "query": query, "queries": queries},
    }


def test_other_server_tools_are_left_out() -> None:
    parts = (
        ServerToolUsePart("srv_1", "bash_code_execution", "{}"),
        ServerToolResultPart("srv_1", "web_search", "[]"),
        TextPart("x"),
    )
    assert [item["id"] for item in output(*parts)] == [f"msg_{HEX}00"]


def test_items_of_choices_are_numbered_consecutively() -> None:
    body = render(parse(), answer((TextPart("a"),), (), (TextPart("b"), CALL)))
    ids = [item["id"][-2:] for item in body["output"]]
    assert ids == ["00", "01", "02"]
