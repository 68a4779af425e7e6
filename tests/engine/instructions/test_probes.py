"""Probes: echoes of the request, and texts for fields that the request does not have."""

import json

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json, Tool
from scenarios_app.engine.instructions.kinds import Probe
from scenarios_app.engine.instructions.probes import Received, probe_text
from tests.engine.instructions.blocks import RECEIVED, block_of_message, only_text
from tests.engine.match_builders import chat_request, text_message

SCHEMA: Json = {"type": "object", "properties": {"größe": {"type": "string"}}}
BARE_REQUEST = chat_request("Hello")
FULL_REQUEST = replace(
    chat_request(
        text_message("system", "Be kind."),
        text_message("user", "Hello"),
        text_message("system", "Be brief."),
    ),
    tools=(Tool("get_weather", "Weather.", SCHEMA), Tool("now"), Tool("größe", schema=True)),
)


def probe_answer(
    probe: Probe, request: CanonicalRequest = FULL_REQUEST, received: Received = RECEIVED
) -> str:
    return probe_text(probe, request, lambda: received)


def test_system_prompt_echo_joins_all_system_messages() -> None:
    assert probe_answer(Probe("system_prompt_echo")) == "Be kind.\nBe brief."
    assert (
        probe_answer(Probe("system_prompt_echo"), BARE_REQUEST)
        == "The request has no system prompt."
    )


def test_the_tools_are_listed_by_name() -> None:
    assert probe_answer(Probe("tools_list")) == "get_weather\nnow\ngröße"
    assert probe_answer(Probe("tools_list"), BARE_REQUEST) == "The request offers no tools."


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_the_tools_are_echoed_as_they_were_sent(key: str) -> None:
    tools: Json = [{"type": "function", "function": {"name": "get_weather", "x": "é"}}]
    received = replace(RECEIVED, body={key: tools})
    echoed = probe_answer(Probe("tools_echo"), received=received)
    assert echoed == '[{"type":"function","function":{"name":"get_weather","x":"é"}}]'


@pytest.mark.parametrize("body", [{}, {"tools": []}, {"tools": None}])
def test_tools_echo_without_tools_is_a_text(body: dict[str, Json]) -> None:
    echoed = probe_answer(Probe("tools_echo"), received=replace(RECEIVED, body=body))
    assert echoed == "The request offers no tools."


@pytest.mark.parametrize(
    ("tool", "schema"),
    [
        ("get_weather", '{"type":"object","properties":{"größe":{"type":"string"}}}'),
        ("größe", "true"),
        ("now", "Tool without a schema: now"),
        ("get_time", "Tool not found: get_time"),
    ],
)
def test_schema_of_a_tool_is_json_or_a_text(tool: str, schema: str) -> None:
    assert probe_answer(Probe("tool_schema", tool=tool)) == schema


def test_the_url_is_echoed_with_its_query() -> None:
    assert probe_answer(Probe("request_url_echo")) == "/v1/chat/completions?beta=true"


def test_the_headers_are_echoed_as_json() -> None:
    echoed = probe_answer(Probe("request_headers_echo"))
    assert json.loads(echoed) == {"x-team": "qa", "authorization": "Bearer ***1234"}
    empty_echo = probe_answer(Probe("request_headers_echo"), received=replace(RECEIVED, headers={}))
    assert empty_echo == "The request has no headers."


@pytest.mark.parametrize(
    ("fields", "echoed"),
    [
        ((), '{"model":"gpt-4o","temperature":0.5,"tools":[{"type":"function"}]}'),
        (("temperature", "model"), '{"temperature":0.5,"model":"gpt-4o"}'),
        (("model", "top_p", "n"), '{"model":"gpt-4o"}\nNot in the request: top_p, n'),
        (("top_p",), "Not in the request: top_p"),
    ],
)
def test_params_are_echoed_and_absent_ones_listed(fields: tuple[str, ...], echoed: str) -> None:
    assert probe_answer(Probe("request_params_echo", fields=fields)) == echoed


@pytest.mark.parametrize(
    ("kind", "echoed"),
    [
        ({"system_prompt_echo": {}}, "The request has no system prompt."),
        ({"tools_list": {}}, "get_weather"),
        ({"tools_echo": {}}, '[{"type":"function"}]'),
        ({"tool_schema": {"name": "get_weather"}}, "Tool without a schema: get_weather"),
        ({"request_url_echo": {}}, "/v1/chat/completions?beta=true"),
        ({"request_headers_echo": {}}, '{"x-team":"qa","authorization":"Bearer ***1234"}'),
        ({"request_params_echo": {"fields": ["model"]}}, '{"model":"gpt-4o"}'),
        ({"request_params_echo": {"fields": []}}, json.dumps(RECEIVED.body)),
    ],
)
def test_message_kind_selects_its_probe(kind: dict[str, Json], echoed: str) -> None:
    answer_text = only_text(block_of_message(**kind), tools=["get_weather"])
    assert answer_text.replace(" ", "") == echoed.replace(" ", "")


def test_probe_decodes_the_request_only_if_needed() -> None:
    def fail_to_decode() -> Received:
        raise AssertionError("the request was decoded for nothing")

    assert probe_text(Probe("tools_list"), FULL_REQUEST, fail_to_decode)


def test_model_of_the_path_is_echoed_if_requested() -> None:
    received = replace(RECEIVED, body={"temperature": 0.5})
    echoed = probe_answer(Probe("request_params_echo", fields=("model", "seed")), received=received)
    assert echoed == f'{{"model":"{FULL_REQUEST.model}"}}\nNot in the request: seed'
    assert probe_answer(Probe("request_params_echo"), received=received) == '{"temperature":0.5}'
