"""`final_report` in our own form: a tool call, whatever stands around it."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalResponse
from scenarios_app.engine.document import DocumentError, compile_scenario, dump, load_documents
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.parts import (
    AnswerPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing.produce import Seed, produce
from scenarios_app.engine.scenario import ScriptedAnswer
from tests.engine.asking import ask
from tests.engine.documents import one_step

REPORT = {"report_format": "markdown", "report_content": "# Done"}
SENT = '{"status":"success","report_format":"markdown","report_content":"# Done"}'


def call(arguments: str = SENT) -> ToolCallPart:
    return ToolCallPart("agent-final-report", "agent__final_report", arguments)


def parts(**answer: Any) -> tuple[AnswerPart, ...]:
    compiled = ProduceDocument.model_validate(answer).compile().streaming
    assert isinstance(compiled, ScriptedAnswer)
    return compiled.choices[0].parts


def test_report_comes_after_text_and_calls_and_before_a_refusal() -> None:
    everything = parts(
        refusal="no", final_report=REPORT, tool_calls=[{"name": "f"}], text="t", reasoning="r"
    )
    assert everything == (
        ReasoningPart("r"),
        TextPart("t"),
        ToolCallPart("", "f", "{}"),
        call(),
        RefusalPart("no"),
    )


def test_every_key_is_sent_in_its_order_and_an_absent_one_is_not() -> None:
    report = {
        "messages": ["ü", {"b": None}],
        "content_json": {"z": 1, "a": []},
        "report_content": "",
        "status": "failure",
    }
    sent = '{"status":"failure","report_content":"","content_json":{"z":1,"a":[]},'
    assert parts(final_report=report) == (call(sent + '"messages":["ü",{"b":null}]}'),)


def test_one_of_several_choices_may_be_a_report() -> None:
    choices = [{"text": "a"}, {"final_report": REPORT}]
    compiled = ProduceDocument.model_validate({"choices": choices}).compile().streaming
    assert isinstance(compiled, ScriptedAnswer)
    assert [choice.parts for choice in compiled.choices] == [(TextPart("a"),), (call(),)]


def test_load_dump_load_gives_the_same() -> None:
    step = {"produce": {"final_report": {"report_content": "x"}}}
    (document,) = load_documents(one_step(**step))
    assert dump(document)["steps"] == [step]
    assert load_documents(dump(document)) == [document]


def test_its_texts_are_templates() -> None:
    data = one_step(produce={"final_report": {"report_content": '“{{ city }}" {{request.turn}}'}})
    (document,) = load_documents({**data, "variables": {"city": 'Pa"ris'}})
    scenario = compile_scenario(document)
    response = produce(
        scenario,
        scenario.steps[0],
        ask("hi"),
        seed=Seed("0" * 64),
        created=0,
        tool_call_prefix="call_",
        groups={},
    )
    assert isinstance(response, CanonicalResponse)
    expected = '{"status":"success","report_content":"“Pa\\"ris\\" 1"}'
    assert response.choices[0].parts == (call(expected),)
    assert response.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("report", "line"),
    [
        ("done", ": expected an object"),
        ({}, ".report_content: missing"),
        ({**REPORT, "status": 1}, ".status: expected a string"),
        ({**REPORT, "content": "x"}, ".content: unknown key"),
        ({"report_content": "{{ nobody }}"}, ": unknown name in {{ nobody }}"),
    ],
)
def test_invalid_report_is_rejected_with_its_path(report: Any, line: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_documents(one_step(produce={"final_report": report}))
    assert str(caught.value).startswith(f"steps[0].produce.final_report{line}")


@pytest.mark.parametrize(
    "other", [{"parts": [{"text": "a"}]}, {"chunks": ["a"]}, {"raw": {}}, {"choices": [REPORT]}]
)
def test_report_cannot_be_combined_with_another_form(other: Any) -> None:
    with pytest.raises(DocumentError):
        load_documents(one_step(produce={"final_report": REPORT, **other}))
