"""Random documents: valid ones load and dump without loss, invalid ones are rejected."""

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
NO_DEADLINE = settings(deadline=None, suppress_health_check=CHECKS)


@NO_DEADLINE
@given(SCENARIOS)
def test_dump_of_a_random_document_loads_to_the_same_document(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    dumped = dump(document)
    assert load_documents(dumped) == [document]
    assert dump(load_documents(dumped)[0]) == dumped
    assert load_text(json.dumps(dumped).encode()) == [document]


@NO_DEADLINE
@given(SCENARIOS)
def test_random_document_and_its_dump_compile_to_the_same_scenario(data: dict[str, Any]) -> None:
    (document,) = load_documents(data)
    (reloaded,) = load_documents(dump(document))
    assert compile_scenario(reloaded) == compile_scenario(document)


@NO_DEADLINE
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
ANY_JSON = st.recursive(
    JSON | st.sampled_from(["match", "user", "http", "{{ x }}", "(", 200, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)


@NO_DEADLINE
@given(ANY_JSON)
def test_any_json_is_a_document_or_an_error_with_places(data: Any) -> None:
    check_load(data)


@st.composite
def broken_documents(draw: st.DrawFn) -> Any:
    """Draw the contract's example with a random value in one place."""
    data: Any = json.loads(json.dumps(CONTRACT))
    owner, key = draw(st.sampled_from(list(container_keys(data))))
    owner[key] = draw(ANY_JSON)
    return data


def container_keys(value: Any) -> Any:
    """Yield each container of a value with each of its keys or indexes."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from container_keys(value[key])


@NO_DEADLINE
@given(broken_documents())
def test_a_document_with_anything_in_one_place_is_a_document_or_an_error(data: Any) -> None:
    check_load(data)


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
