"""Documents in turns by the thousand: each loads, is written and loads again, or is refused."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from scenarios_app.engine.document import (
    DocumentError,
    compile_scenario,
    dump,
    load_documents,
    load_text,
)
from scenarios_app.engine.document.load import is_in_turns
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.producing.placeholders import escape_placeholders, fill_placeholders
from tests.engine.turn_scripts import JSON, SCRIPTS, TEXT, calls, reports, script, turn

SCHEMA = Draft202012Validator(json_schema())
UNHURRIED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@UNHURRIED
@given(SCRIPTS)
def test_load_dump_load_gives_the_same(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    again = dump(document)
    assert not is_in_turns(again)
    assert load_documents(again) == [document]
    assert load_text(json.dumps([data]).encode()) == [document]
    assert compile_scenario(load_documents(again)[0]) == compile_scenario(document)


@UNHURRIED
@given(SCRIPTS)
def test_random_document_is_valid_in_the_schema(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    for form in (data, [data], {"scenarios": [data, dump(document)]}):
        SCHEMA.validate(form)


KEYS = st.sampled_from(
    [
        *("id", "name", "turns", "turn", "response", "kind", "toolCalls", "toolName", "arguments"),
        *("assistantText", "reportContent", "reasoning", "reasoningContent", "text", "tokenUsage"),
        *("failureError", "status", "headers", "failuresBeforeSuccess", "failureThrows"),
    ]
)
WILD = st.recursive(
    JSON | st.sampled_from(["tool-call", "final-report", "text", "timeout", 1, 429]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@UNHURRIED
@given(st.data())
def test_a_document_with_anything_in_one_place_is_a_document_or_an_error(data: Any) -> None:
    document = json.loads(json.dumps(data.draw(SCRIPTS)))
    owner, key = data.draw(st.sampled_from(list(places(document))))
    owner[key] = data.draw(WILD)
    loads(document)


@UNHURRIED
@given(WILD)
def test_anything_with_turns_is_a_document_or_an_error(wild: Any) -> None:
    loads({"id": "wild", "turns": wild})
    loads([wild])


def places(value: Any) -> Any:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def loads(data: Any) -> None:
    try:
        documents = load_documents(data)
    except DocumentError as error:
        assert error.problems
        assert all(problem.message for problem in error.problems)
        return
    SCHEMA.validate(data)
    for document in documents:
        compile_scenario(document)
        assert load_documents(dump(document)) == [document]


@UNHURRIED
@given(st.text("{} \n\tab._1é", max_size=40) | TEXT)
def test_a_text_as_it_is_written_is_filled_to_itself(text: str) -> None:
    assert (
        fill_placeholders(escape_placeholders(text), {"braces": "{{", "a": "!", "b.a": "!"}) == text
    )


@UNHURRIED
@given(JSON, TEXT)
def test_arguments_and_reports_are_sent_as_they_are_written(data: Any, text: str) -> None:
    document = script(
        turn(calls({"toolName": "f", "arguments": data})),
        turn(reports(text, reportMessages=[data]), 2),
    )
    (loaded,) = load_documents(document)
    first, second = compile_scenario(loaded).steps
    variables = {**loaded.variables}
    call, report = (filled(step, variables) for step in (first, second))
    assert json.loads(call) == data
    assert json.loads(report) == {
        "status": "success",
        "report_content": text,
        "messages": [data],
    }


def filled(step: Any, variables: Any) -> str:
    (call,) = step.produce.streaming.choices[0].parts
    return fill_placeholders(call.arguments, variables)
