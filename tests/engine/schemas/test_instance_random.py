"""Values generated for random JSON Schemas, checked with `jsonschema`."""

import json
from typing import Any

import pytest
import re2
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType
from referencing import Registry

from scenarios_app.engine.schemas.instance import make_instance
from scenarios_app.engine.schemas.keywords import SchemaError
from tests.engine.schemas.schema_strategies import ANY_SCHEMA, satisfiable_schemas
from tests.support.hypothesis_profiles import example_count

# `jsonschema` uses Python's `re`, which warns about some character sets.
pytestmark = pytest.mark.filterwarnings("ignore:Possible .* at position:FutureWarning")


def is_valid(value: Any, schema: Any) -> bool:
    return Draft202012Validator(schema, registry=Registry()).is_valid(value)


@settings(max_examples=example_count(10_000))
@given(satisfiable_schemas(), st.text(max_size=3))
def test_satisfiable_schema_gets_a_valid_value(schema: Any, key: str) -> None:
    value = make_instance(schema, key)
    assert is_valid(value, schema), (schema, value)
    assert json.dumps(make_instance(json.loads(json.dumps(schema)), key)) == json.dumps(value)


UNDECIDED_ERRORS = (RecursionError, ZeroDivisionError, UnknownType)


@settings(max_examples=example_count(10_000))
@given(ANY_SCHEMA)
def test_any_schema_gives_a_valid_value_or_an_error_message(schema: Any) -> None:
    try:
        value = make_instance(schema, "key")
    except SchemaError as error:
        assert error.message.endswith(".")
        return
    try:
        valid = is_valid(value, schema)
    except BaseException as error:
        if not isinstance(error, UNDECIDED_ERRORS) and type(error).__name__ != "PanicException":
            raise
        # `jsonschema` cannot decide: the schema refers to itself without end, or an alternative has
        # a multipleOf of 0 or an unknown type.
        assume(False)
    assert valid or not is_readable(schema), (schema, value)


def is_readable(schema: Any) -> bool:
    """Return whether RE2 can read all patterns: no value is made for another, such as `a?+`."""
    if isinstance(schema, dict):
        return all(map(is_readable, schema.values())) and _can_compile(schema.get("pattern"))
    return not isinstance(schema, list) or all(map(is_readable, schema))


def _can_compile(pattern: Any) -> bool:
    try:
        re2.compile(pattern if isinstance(pattern, str) else "")
    except re2.error:
        return False
    return True
