"""`final_report` in the scenario format becomes a tool call."""

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
from tests.engine.documents import one_step_scenario
from tests.engine.match_builders import chat_request

REPORT = {"report_format": "markdown", "report_content": "# Done"}
REPORT_ARGUMENTS = '{"status":"success","report_format":"markdown","report_content":"# Done"}'


def report_call(arguments: str = REPORT_ARGUMENTS) -> ToolCallPart:
    return ToolCallPart("agent-final-report", "agent__final_report", arguments)


def compile_parts(**fields: Any) -> tuple[AnswerPart, ...]:
    answer = ProduceDocument.model_validate(fields).compile().streaming
    assert isinstance(answer, ScriptedAnswer)
    return answer.choices[0].parts


def test_report_comes_after_text_and_calls_and_before_a_refusal() -> None:
    all_parts = compile_parts(
        refusal="no", final_report=REPORT, tool_calls=[{"name": "f"}], text="t", reasoning="r"
    )
    assert all_parts == (
        ReasoningPart("r"),
        TextPart("t"),
        ToolCallPart("", "f", "{}"),
        report_call(),
        RefusalPart("no"),
    )


def test_every_key_is_sent_in_its_order_and_an_absent_one_is_not() -> None:
    report = {
        "messages": ["ü", {"b": None}],
        "content_json": {"z": 1, "a": []},
        "report_content": "",
        "status": "failure",
    }
    first_keys = '{"status":"failure","report_content":"","content_json":{"z":1,"a":[]},'
    assert compile_parts(final_report=report) == (
        report_call(first_keys + '"messages":["ü",{"b":null}]}'),
    )


def test_one_of_several_choices_may_be_a_report() -> None:
    choices = [{"text": "a"}, {"final_report": REPORT}]
    answer = ProduceDocument.model_validate({"choices": choices}).compile().streaming
    assert isinstance(answer, ScriptedAnswer)
    assert [choice.parts for choice in answer.choices] == [(TextPart("a"),), (report_call(),)]


def test_load_dump_load_gives_the_same() -> None:
    step = {"produce": {"final_report": {"report_content": "x"}}}
    (document,) = load_documents(one_step_scenario(**step))
    assert dump(document)["steps"] == [step]
    assert load_documents(dump(document)) == [document]


def test_texts_of_a_report_are_templates() -> None:
    data = one_step_scenario(
        produce={"final_report": {"report_content": '“{{ city }}" {{request.turn}}'}}
    )
    (document,) = load_documents({**data, "variables": {"city": 'Pa"ris'}})
    scenario = compile_scenario(document)
    response = produce(
        scenario,
        scenario.steps[0],
        chat_request("hi"),
        seed=Seed("0" * 64),
        created=0,
        tool_call_prefix="call_",
        groups={},
    )
    assert isinstance(response, CanonicalResponse)
    expected = '{"status":"success","report_content":"“Pa\\"ris\\" 1"}'
    assert response.choices[0].parts == (report_call(expected),)
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
    with pytest.raises(DocumentError) as error:
        load_documents(one_step_scenario(produce={"final_report": report}))
    assert str(error.value).startswith(f"steps[0].produce.final_report{line}")


@pytest.mark.parametrize(
    "other_form",
    [{"parts": [{"text": "a"}]}, {"chunks": ["a"]}, {"raw": {}}, {"choices": [REPORT]}],
)
def test_report_cannot_be_combined_with_another_form(other_form: Any) -> None:
    with pytest.raises(DocumentError):
        load_documents(one_step_scenario(produce={"final_report": REPORT, **other_form}))
