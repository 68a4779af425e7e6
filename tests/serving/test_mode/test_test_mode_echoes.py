"""Instruction blocks that ask what a request holds: its text, tools, headers and URL come back."""

import json
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, asking, marked
from tests.serving.test_mode.block_answers import apart, choices, texts

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
@pytest.mark.parametrize(("probe", "said"), PROBES, ids=lambda value: str(value)[:40])
async def test_probes_tell_what_the_request_holds(
    wire: WireName, probe: dict[str, Any], said: str
) -> None:
    block = {"messages": [probe]}
    user = {"role": "user", "content": marked(block)}
    fields = DIALECTS[wire].system([user], "Be brief.")
    found = await texts(wire, block, **fields, tools=tools(wire), model="m")
    assert found == [said]


@pytest.mark.parametrize("wire", WIRES)
async def test_tools_are_echoed_as_they_were_sent(wire: WireName) -> None:
    (echoed,) = await texts(wire, {"messages": [{"tools_echo": {}}]}, tools=tools(wire))
    assert json.loads(echoed) == tools(wire)


@pytest.mark.parametrize("wire", WIRES)
async def test_probes_say_what_is_absent(wire: WireName) -> None:
    block = {"messages": [{"system_prompt_echo": {}}, {"tools_list": {}}, {"tools_echo": {}}]}
    said = [
        "The request has no system prompt.",
        "The request offers no tools.",
        "The request offers no tools.",
    ]
    assert await texts(wire, block) == apart(wire, said)


async def test_all_params_are_echoed_where_none_is_named() -> None:
    block = {"messages": [{"request_params_echo": {}}]}
    call = asking("openai", marked(block), stream=False, seed=7)
    (choice,) = await choices(call, stream=False)
    assert json.loads(choice.text) == json.loads(call.body)


async def test_headers_are_echoed_with_their_secrets_masked() -> None:
    call = asking(
        "openai",
        marked({"messages": [{"request_headers_echo": {}}]}),
        stream=False,
        headers={"authorization": "Bearer sk-very-secret-1234", "x-team": "qa"},
    )
    (choice,) = await choices(call, stream=False)
    assert json.loads(choice.text) == {"authorization": "Bearer ***1234", "x-team": "qa"}


@pytest.mark.parametrize(
    ("query", "raw", "echoed"),
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
    query: dict[str, str], raw: str, echoed: str
) -> None:
    call = asking("openai", marked({"messages": [{"request_url_echo": {}}]}), stream=False)
    call = Call(call.method, call.path, query, call.headers, call.body, raw)
    (choice,) = await choices(call, stream=False)
    assert choice.text == echoed
