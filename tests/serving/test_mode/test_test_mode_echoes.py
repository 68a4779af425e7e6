"""Instruction blocks that echo the request's system prompt, tools, headers and URL."""

import json
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, sample_call, with_marks
from tests.serving.test_mode.block_answers import fetch_choices, fetch_texts, join_messages

SCHEMA = {"type": "object", "properties": {"location": {"type": "string"}}}


def tools(wire: WireName) -> list[dict[str, Any]]:
    return [DIALECTS[wire].tool("get_weather", description="Weather.", schema=SCHEMA)]


PROBES: list[tuple[dict[str, Any], str]] = [
    ({"system_prompt_echo": {}}, "Be brief."),
    ({"tools_list": {}}, "get_weather"),
    ({"tool_schema": {"name": "get_weather"}}, json.dumps(SCHEMA, separators=(",", ":"))),
    ({"tool_schema": {"name": "get_time"}}, "Tool not found: get_time"),
    ({"request_params_echo": {"fields": ["model"]}}, '{"model":"m"}'),
    ({"request_params_echo": {"fields": ["seed"]}}, "Not in the request: seed"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("probe", "expected"), PROBES, ids=lambda value: str(value)[:40])
async def test_probes_echo_parts_of_the_request(
    wire: WireName, probe: dict[str, Any], expected: str
) -> None:
    block = {"messages": [probe]}
    user = {"role": "user", "content": with_marks(block)}
    fields = DIALECTS[wire].system([user], "Be brief.")
    texts = await fetch_texts(wire, block, **fields, tools=tools(wire), model="m")
    assert texts == [expected]


@pytest.mark.parametrize("wire", WIRES)
async def test_tools_are_echoed_as_they_were_sent(wire: WireName) -> None:
    (text,) = await fetch_texts(wire, {"messages": [{"tools_echo": {}}]}, tools=tools(wire))
    assert json.loads(text) == tools(wire)


@pytest.mark.parametrize("wire", WIRES)
async def test_probes_report_absent_parts(wire: WireName) -> None:
    block = {"messages": [{"system_prompt_echo": {}}, {"tools_list": {}}, {"tools_echo": {}}]}
    expected = [
        "The request has no system prompt.",
        "The request offers no tools.",
        "The request offers no tools.",
    ]
    assert await fetch_texts(wire, block) == join_messages(wire, expected)


async def test_all_params_are_echoed_where_none_is_named() -> None:
    block = {"messages": [{"request_params_echo": {}}]}
    call = sample_call("openai", with_marks(block), stream=False, seed=7)
    (choice,) = await fetch_choices(call, stream=False)
    assert json.loads(choice.text) == json.loads(call.body)


async def test_headers_are_echoed_with_their_secrets_masked() -> None:
    call = sample_call(
        "openai",
        with_marks({"messages": [{"request_headers_echo": {}}]}),
        stream=False,
        headers={"authorization": "Bearer sk-very-secret-1234", "x-team": "qa"},
    )
    (choice,) = await fetch_choices(call, stream=False)
    assert json.loads(choice.text) == {"authorization": "Bearer ***1234", "x-team": "qa"}


@pytest.mark.parametrize(
    ("query", "raw", "expected_url"),
    [
        ({}, "", "/v1/chat/completions"),
        ({"a": "1"}, "a=%31&a=1&b", "/v1/chat/completions?a=%31&a=1&b"),
        (
            {"key": "a-long-secret-1234"},
            "key=a-long-secret-1234",
            "/v1/chat/completions?key=***1234",
        ),
    ],
)
async def test_the_url_is_echoed_as_received_but_for_a_key(
    query: dict[str, str], raw: str, expected_url: str
) -> None:
    call = sample_call("openai", with_marks({"messages": [{"request_url_echo": {}}]}), stream=False)
    call = Call(call.method, call.path, query, call.headers, call.body, raw)
    (choice,) = await fetch_choices(call, stream=False)
    assert choice.text == expected_url
