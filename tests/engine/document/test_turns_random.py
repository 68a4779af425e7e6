"""Random turn scripts: valid ones load and dump without loss, invalid ones are rejected."""

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
from tests.engine.turn_scripts import (
    JSON,
    SCRIPTS,
    TEXT,
    final_report_response,
    script,
    tool_call_response,
    turn,
)

SCHEMA = Draft202012Validator(json_schema())
NO_DEADLINE = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@NO_DEADLINE
@given(SCRIPTS)
def test_load_dump_load_gives_the_same(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    dumped = dump(document)
    assert not is_in_turns(dumped)
    assert load_documents(dumped) == [document]
    assert load_text(json.dumps([data]).encode()) == [document]
    assert compile_scenario(load_documents(dumped)[0]) == compile_scenario(document)


@NO_DEADLINE
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
ANY_JSON = st.recursive(
    JSON | st.sampled_from(["tool-call", "final-report", "text", "timeout", 1, 429]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@NO_DEADLINE
@given(st.data())
def test_a_document_with_anything_in_one_place_is_a_document_or_an_error(data: Any) -> None:
    document = json.loads(json.dumps(data.draw(SCRIPTS)))
    owner, key = data.draw(st.sampled_from(list(container_keys(document))))
    owner[key] = data.draw(ANY_JSON)
    check_load(document)


@NO_DEADLINE
@given(ANY_JSON)
def test_anything_with_turns_is_a_document_or_an_error(value: Any) -> None:
    check_load({"id": "wild", "turns": value})
    check_load([value])


def container_keys(value: Any) -> Any:
    """Yield each container of a value with each of its keys or indexes."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from container_keys(value[key])


def check_load(data: Any) -> None:
    """Load data and check that it is a valid document or is rejected with messages."""
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


@NO_DEADLINE
@given(st.text("{} \n\tab._1é", max_size=40) | TEXT)
def test_escaped_text_is_filled_to_the_original(text: str) -> None:
    assert (
        fill_placeholders(escape_placeholders(text), {"braces": "{{", "a": "!", "b.a": "!"}) == text
    )


@NO_DEADLINE
@given(JSON, TEXT)
def test_arguments_and_reports_of_a_script_are_sent_unchanged(data: Any, text: str) -> None:
    document = script(
        turn(tool_call_response({"toolName": "f", "arguments": data})),
        turn(final_report_response(text, reportMessages=[data]), 2),
    )
    (loaded_document,) = load_documents(document)
    first, second = compile_scenario(loaded_document).steps
    variables = {**loaded_document.variables}
    call_arguments, report_arguments = (
        filled_arguments(step, variables) for step in (first, second)
    )
    assert json.loads(call_arguments) == data
    assert json.loads(report_arguments) == {
        "status": "success",
        "report_content": text,
        "messages": [data],
    }


def filled_arguments(step: Any, variables: Any) -> str:
    (call,) = step.produce.streaming.choices[0].parts
    return fill_placeholders(call.arguments, variables)
