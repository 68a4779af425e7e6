"""Parsing of an OpenAI chat request's fields, without its messages."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Json, Tool
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.chat_request import ChatFields
from tests.wire.openai.openai_cases import HELLO, catch_error, parse, parse_body

SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}


def test_a_bare_request_has_the_defaults() -> None:
    request = parse()
    assert (request.model, request.stream, request.n) == ("gpt-4o", False, 1)
    assert (request.temperature, request.top_p, request.max_tokens) == (None, None, None)
    assert (request.tools, request.tool_choice, request.stop) == ((), None, ())
    assert (request.reasoning, request.response_format) == (False, None)
    assert (request.metadata, request.own) == ({}, ChatFields())


def test_null_equals_an_absent_field() -> None:
    names = ["tools", "functions", "tool_choice", "function_call", "stream", "stream_options"]
    names += ["temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "n", "seed"]
    names += ["reasoning", "reasoning_effort", "response_format", "metadata", "user", "modalities"]
    request = parse(**dict.fromkeys(names))
    assert (request.tools, request.n, request.stream, request.stop) == ((), 1, False, ())
    assert (request.metadata, request.reasoning, request.response_format) == ({}, False, None)


def test_sampling_fields_are_read() -> None:
    request = parse(stream=True, temperature=0, top_p=0.5, n=3, metadata={"team": "qa"})
    assert (request.stream, request.temperature, request.top_p) == (True, 0.0, 0.5)
    assert (request.n, request.metadata) == (3, {"team": "qa"})


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 7}, 7),
        ({"max_tokens": 5, "max_completion_tokens": 7}, 7),
        ({"max_tokens": 0}, 0),
        ({"max_tokens": 5, "max_completion_tokens": 0}, 0),
    ],
)
def test_newer_token_limit_takes_precedence(fields: dict[str, int], limit: int) -> None:
    assert parse(**fields).max_tokens == limit


@pytest.mark.parametrize(
    ("stop", "expected"), [("\n", ("\n",)), (["a", "b"], ("a", "b")), ([], ())]
)
def test_stop_is_a_string_or_several(stop: Any, expected: tuple[str, ...]) -> None:
    assert parse(stop=stop).stop == expected


@pytest.mark.parametrize(
    ("fields", "enabled"),
    [
        ({"reasoning_effort": "high"}, True),
        ({"reasoning_effort": "minimal"}, True),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning": {"effort": "low"}}, True),
        ({"reasoning": {"max_tokens": 100}}, True),
        ({"reasoning": {}}, True),
        ({"reasoning": {"enabled": True}}, True),
        ({"reasoning": {"enabled": False}}, False),
        ({"reasoning": {"effort": "none"}}, False),
        ({"reasoning": "none"}, False),
        ({"reasoning": "high"}, True),
        ({"reasoning": True}, True),
        ({"reasoning": False}, False),
        ({"reasoning_effort": "none", "reasoning": {"effort": "high"}}, True),
    ],
)
def test_reasoning_fields_switch_reasoning(fields: dict[str, Any], enabled: bool) -> None:
    assert parse(**fields).reasoning is enabled


def test_tools_of_every_kind() -> None:
    function = {"name": "f", "description": "does f", "parameters": SCHEMA, "strict": True}
    custom = {"name": "shell", "format": {"type": "text"}}
    request = parse(
        tools=[{"type": "function", "function": function}, {"type": "custom", "custom": custom}],
        functions=[{"name": "old"}],
    )
    assert request.tools == (
        Tool("f", "does f", SCHEMA),
        Tool("shell", "", {"type": "text"}, "custom"),
        Tool("old", "", None),
    )


@pytest.mark.parametrize(
    ("fields", "choice"),
    [
        ({"tool_choice": "required"}, "required"),
        ({"tool_choice": {"type": "custom"}}, {"type": "custom"}),
        ({"function_call": "none"}, "none"),
        ({"function_call": {"name": "f"}}, {"name": "f"}),
        ({"tool_choice": "auto", "function_call": "none"}, "auto"),
    ],
)
def test_tool_choice_is_kept_as_sent(fields: dict[str, Any], choice: Any) -> None:
    assert parse(**fields).tool_choice == choice


def test_the_response_format_is_kept_as_sent() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    assert parse(response_format=form).response_format == form


def test_fields_that_nobody_reads_change_nothing() -> None:
    assert parse(seed=1, user="u", new_next_month={"a": [1]}) == parse()


def test_fields_that_affect_only_the_response_are_read() -> None:
    custom = {"type": "custom", "custom": {"name": "grep"}}
    usage = {"include_usage": True}
    assert parse(tools=[custom], functions=[{"name": "f"}], stream_options=usage).own == (
        ChatFields(include_usage=True)
    )
    assert parse(functions=[{"name": "f"}], tools=[]).own == ChatFields(legacy_functions=True)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": 5}, "model"),
        ({"stream": "yes"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"stream_options": True}, "stream_options"),
        ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"stream_options": {"include_obfuscation": ""}}, "stream_options.include_obfuscation"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": []}, "top_p"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": "x", "max_completion_tokens": 1}, "max_tokens"),
        ({"max_completion_tokens": "5"}, "max_completion_tokens"),
        ({"stop": 5}, "stop"),
        ({"stop": ["a", 1]}, "stop[1]"),
        ({"n": "2"}, "n"),
        ({"tools": {}}, "tools"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"tools": [{"type": "function", "function": "f"}]}, "tools[0].function"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
            "tools[0].function.parameters",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "f", "description": 1}}]},
            "tools[0].custom.description",
        ),
        ({"functions": [{"name": 1}]}, "functions[0].name"),
        ({"tool_choice": 1}, "tool_choice"),
        ({"tool_choice": ["f"]}, "tool_choice"),
        ({"function_call": True}, "function_call"),
        ({"reasoning_effort": 1}, "reasoning_effort"),
        ({"reasoning": 1}, "reasoning"),
        ({"reasoning": []}, "reasoning"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": 1}}, "response_format.type"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"team": 1}}, "metadata.team"),
        ({"metadata": {"team": None}}, "metadata.team"),
        ({"seed": "1"}, "seed"),
        ({"logprobs": 1}, "logprobs"),
        ({"logit_bias": []}, "logit_bias"),
        ({"modalities": "text"}, "modalities"),
        ({"user": 7}, "user"),
        ({"frequency_penalty": "0"}, "frequency_penalty"),
    ],
)
def test_field_of_the_wrong_type_is_rejected_with_its_path(
    fields: dict[str, Any], param: str
) -> None:
    error = catch_error(**fields)
    assert (error.param, error.code) == (param, "invalid_type")
    assert f"'{param}'" in error.message


def test_first_invalid_field_of_the_body_is_reported() -> None:
    # In the order of a set the reported field would differ between processes.
    invalid_fields = dict.fromkeys(
        ["seed", "user", "logit_bias", "top_p", "modalities", "audio"], True
    )
    for name in invalid_fields:
        fields = {name: True, **invalid_fields}
        assert catch_error(**fields).param == name


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"messages": None}, "messages"),
        ({"tools": [{"function": {"name": "f"}}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"functions": [{}]}, "functions[0].name"),
        ({"response_format": {}}, "response_format.type"),
    ],
)
def test_missing_field_is_rejected_with_its_path(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(WireError) as raised:
        parse_body({"model": "gpt-4o", "messages": [HELLO], **fields})
    error = raised.value.answer
    assert (error.status, error.param) == (400, param)
    assert error.code == "missing_required_parameter"


def test_empty_body_is_rejected_for_its_missing_model() -> None:
    with pytest.raises(WireError) as raised:
        parse_body({})
    assert raised.value.answer.message == "Missing required parameter: 'model'."


def test_a_model_must_have_a_name() -> None:
    assert catch_error(model="").param == "model"


@pytest.mark.parametrize("n", [1, 128])
def test_choices_up_to_the_limit_are_accepted(n: int) -> None:
    assert parse(n=n).n == n


@pytest.mark.parametrize(
    ("n", "code"),
    [
        (0, "integer_below_min_value"),
        (-(10**30), "integer_below_min_value"),
        (129, "integer_above_max_value"),
        (10**30, "integer_above_max_value"),
    ],
)
def test_number_of_choices_out_of_range_is_rejected(n: int, code: str) -> None:
    error = catch_error(n=n)
    assert (error.param, error.code) == ("n", code)
    assert error.message == f"Invalid 'n': expected 1 to 128 choices, but got {n}."


def test_error_of_an_unknown_tool_type_lists_the_known_ones() -> None:
    error = catch_error(tools=[{"type": "web_search"}])
    assert (error.param, error.code) == ("tools[0].type", "invalid_value")
    assert error.message.endswith("'web_search'. Supported values are 'function' and 'custom'.")
