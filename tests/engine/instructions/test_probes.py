"""Each probe says what the request holds, and of what is not there that it is not."""

import json

import pytest
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json, Tool
from scenarios_app.engine.instructions.kinds import Probe
from scenarios_app.engine.instructions.probes import Received, probe_text
from tests.engine.asking import ask, say
from tests.engine.instructions.blocks import RECEIVED, message, text

SCHEMA: Json = {"type": "object", "properties": {"größe": {"type": "string"}}}
BARE = ask("Hello")
FULL = replace(
    ask(say("system", "Be kind."), say("user", "Hello"), say("system", "Be brief.")),
    tools=(Tool("get_weather", "Weather.", SCHEMA), Tool("now"), Tool("größe", schema=True)),
)


def probe_answer(
    probe: Probe, request: CanonicalRequest = FULL, received: Received = RECEIVED
) -> str:
    return probe_text(probe, request, lambda: received)


def test_the_system_prompt_is_all_of_it() -> None:
    assert probe_answer(Probe("system_prompt_echo")) == "Be kind.\nBe brief."
    assert probe_answer(Probe("system_prompt_echo"), BARE) == "The request has no system prompt."


def test_the_tools_are_listed_by_name() -> None:
    assert probe_answer(Probe("tools_list")) == "get_weather\nnow\ngröße"
    assert probe_answer(Probe("tools_list"), BARE) == "The request offers no tools."


@pytest.mark.parametrize("key", ["tools", "functions"])
def test_the_tools_are_echoed_as_they_were_sent(key: str) -> None:
    tools: Json = [{"type": "function", "function": {"name": "get_weather", "x": "é"}}]
    received = replace(RECEIVED, body={key: tools})
    echoed = probe_answer(Probe("tools_echo"), received=received)
    assert echoed == '[{"type":"function","function":{"name":"get_weather","x":"é"}}]'


@pytest.mark.parametrize("body", [{}, {"tools": []}, {"tools": None}])
def test_no_tools_to_echo_are_said_so(body: dict[str, Json]) -> None:
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
def test_a_tools_schema_is_json_or_a_text_that_says_there_is_none(tool: str, schema: str) -> None:
    assert probe_answer(Probe("tool_schema", tool=tool)) == schema


def test_the_url_is_echoed_with_its_query() -> None:
    assert probe_answer(Probe("request_url_echo")) == "/v1/chat/completions?beta=true"


def test_the_headers_are_echoed_as_json() -> None:
    echoed = probe_answer(Probe("request_headers_echo"))
    assert json.loads(echoed) == {"x-team": "qa", "authorization": "Bearer ***1234"}
    none = probe_answer(Probe("request_headers_echo"), received=replace(RECEIVED, headers={}))
    assert none == "The request has no headers."


@pytest.mark.parametrize(
    ("fields", "echoed"),
    [
        ((), '{"model":"gpt-4o","temperature":0.5,"tools":[{"type":"function"}]}'),
        (("temperature", "model"), '{"temperature":0.5,"model":"gpt-4o"}'),
        (("model", "top_p", "n"), '{"model":"gpt-4o"}\nNot in the request: top_p, n'),
        (("top_p",), "Not in the request: top_p"),
    ],
)
def test_params_are_echoed_and_absent_ones_named(fields: tuple[str, ...], echoed: str) -> None:
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
def test_a_block_asks_for_a_probe_by_its_kind(kind: dict[str, Json], echoed: str) -> None:
    found = text(message(**kind), tools=["get_weather"])
    assert found.replace(" ", "") == echoed.replace(" ", "")


def test_probe_decodes_the_request_only_if_needed() -> None:
    def unread() -> Received:
        raise AssertionError("the request was decoded for nothing")

    assert probe_text(Probe("tools_list"), FULL, unread)


def test_a_model_that_the_path_names_is_a_parameter_where_it_is_asked_for() -> None:
    received = replace(RECEIVED, body={"temperature": 0.5})
    echoed = probe_answer(Probe("request_params_echo", fields=("model", "seed")), received=received)
    assert echoed == f'{{"model":"{FULL.model}"}}\nNot in the request: seed'
    assert probe_answer(Probe("request_params_echo"), received=received) == '{"temperature":0.5}'
