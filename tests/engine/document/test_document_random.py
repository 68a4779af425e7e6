"""Documents by the thousand: every right one comes through whole, no wrong one gets past."""

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
from scenarios_app.engine.document.schema_maker import json_schema
from tests.engine.document.document_strategies import JSON, SCENARIOS
from tests.engine.documents import CONTRACT

SCHEMA = Draft202012Validator(json_schema())
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]
UNHURRIED = settings(deadline=None, suppress_health_check=CHECKS)


@UNHURRIED
@given(SCENARIOS)
def test_load_dump_load_gives_the_same(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    written = dump(document)
    assert load_documents(written) == [document]
    assert dump(load_documents(written)[0]) == written
    assert load_text(json.dumps(written).encode()) == [document]


@UNHURRIED
@given(SCENARIOS)
def test_random_document_and_its_dump_compile_to_the_same_scenario(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    (again,) = load_documents(dump(document))
    assert compile_scenario(again) == compile_scenario(document)


@UNHURRIED
@given(SCENARIOS)
def test_random_document_is_valid_in_the_schema(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    SCHEMA.validate(data)
    SCHEMA.validate(dump(document))


KEYS = st.sampled_from(
    [
        *("name", "steps", "match", "messages", "model", "role", "which", "regex", "headers"),
        *("produce", "text", "reasoning", "parts", "chunks", "raw", "status", "body", "choices"),
        *("tool_calls", "arguments", "index", "fault", "kind", "select", "turn", "variables"),
    ]
)
WILD = st.recursive(
    JSON | st.sampled_from(["match", "user", "http", "{{ x }}", "(", 200, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@UNHURRIED
@given(WILD)
def test_any_json_is_a_document_or_an_error_with_places(data: Any) -> None:
    loads(data)


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """The contract's example with anything at all in one place of it."""
    data: Any = json.loads(json.dumps(CONTRACT))
    owner, key = draw(st.sampled_from(list(places(data))))
    owner[key] = draw(WILD)
    return data


def places(value: Any) -> Any:
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@UNHURRIED
@given(broken())
def test_a_document_with_anything_in_one_place_is_a_document_or_an_error(data: Any) -> None:
    loads(data)


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
