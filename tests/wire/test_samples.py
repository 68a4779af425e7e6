"""What each provider's own client would send is what its wire reads, and where SDKs are pointed."""

import json
from urllib.parse import parse_qsl

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Message, Usage
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart
from scenarios_app.wire.base import Call, ComputeContext
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.openai.dialects.rows import PROVIDERS
from scenarios_app.wire.registry import find_target, providers, wires, wires_by_name
from scenarios_app.wire.samples import SampleRequest

FULL = SampleRequest(
    user="What is the weather?",
    model="some-model",
    system="Be brief.",
    tools=("get_weather", "add"),
    tool_name="get_weather",
    tool_result="sunny",
    turn=4,
)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("asked", [FULL, SampleRequest("Hello")], ids=["full", "bare"])
@pytest.mark.parametrize("way", wires_by_name())
def test_a_wire_reads_its_own_sample(way: str, asked: SampleRequest, stream: bool) -> None:
    asked = SampleRequest(
        **{name: getattr(asked, name) for name in asked.__slots__} | {"stream": stream}
    )
    wire = wires_by_name()[way]
    sent = wire.sample(asked)
    path, _, query = sent.path.partition("?")
    body = json.dumps(sent.body).encode()
    call = Call("POST", path, dict(parse_qsl(query)), sent.headers, body, query)
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    assert target.wire.name == way
    target.wire.authorise(call)
    target.wire.check_headers(call)
    request = target.endpoint.read(call, target.endpoint, target.params, read_body(body, Limits()))
    assert (request.provider, request.model) == (wire.provider, asked.model)
    assert (request.system_text, request.last_user_text) == (asked.system, asked.user)
    assert tuple(tool.name for tool in request.tools) == asked.tools
    results = [(result.name, result.content) for result in request.tool_results]
    assert results == ([(asked.tool_name, asked.tool_result)] if asked.tool_name else [])
    assert (request.turn, request.stream) == (asked.turn, stream)
    headers = wire.headers(request_id="r", created=1_735_689_600, error=None)
    assert [name for name, _ in headers] == [name.lower() for name, _ in headers]


CONVERSATION = (
    Message("user", (TextPart("Sun or rain?"),)),
    Message(
        "assistant",
        (
            TextPart("Let me look."),
            ToolCallPart("c1", "sun", '{"city": "Paris"}'),
            ToolCallPart("c2", "rain", "{}"),
        ),
    ),
    Message("tool", (ToolResultPart("c1", "sun", "yes"), ToolResultPart("c2", "rain", "no"))),
    Message("assistant", (TextPart("Sun."),)),
    Message("user", (TextPart("Thanks"),)),
)


@pytest.mark.parametrize("way", wires_by_name())
def test_a_wire_reads_a_whole_conversation_of_its_own(way: str) -> None:
    asked = SampleRequest("not this", conversation=CONVERSATION, system="Be brief.")
    sent = wires_by_name()[way].sample(asked)
    path, _, query = sent.path.partition("?")
    body = json.dumps(sent.body).encode()
    call = Call("POST", path, dict(parse_qsl(query)), sent.headers, body, query)
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    request = target.endpoint.read(call, target.endpoint, target.params, read_body(body, Limits()))
    assert (request.first_user_text, request.last_user_text) == ("Sun or rain?", "Thanks")
    calls = [(one.name, json.loads(one.arguments)) for one in request.tool_calls]
    assert calls == [("sun", {"city": "Paris"}), ("rain", {})]
    assert [one.content for one in request.tool_results] == ["yes", "no"]
    assert [one.name for one in request.tool_results] == ["sun", "rain"]
    said = [message.text for message in request.messages if message.role == "assistant"]
    assert "Let me look." in said and said[-1] == "Sun."


@pytest.mark.parametrize("way", ["openai", "responses"])
def test_custom_call_and_its_result_are_sent_as_such(way: str) -> None:
    call = ToolCallPart("c1", "exec", "ls", custom=True, namespace="" if way == "openai" else "n")
    talk = (
        CONVERSATION[0],
        Message("assistant", (call,)),
        Message("tool", (ToolResultPart("c1", "exec", "a b"),)),
    )
    sent = wires_by_name()[way].sample(SampleRequest("", conversation=talk))
    body = json.dumps(sent.body).encode()
    target = find_target(Call("POST", sent.path, {}, sent.headers, body))
    assert target is not None and target.endpoint is not None
    made = Call("POST", sent.path, {}, sent.headers, body)
    request = target.endpoint.read(made, target.endpoint, target.params, read_body(body, Limits()))
    assert request.messages == talk
    assert way == "openai" or sent.body["input"][-1]["type"] == "custom_tool_call_output"


@pytest.mark.parametrize("arguments", ["[1]", '{"half": ', "[" * 100_000])
@pytest.mark.parametrize("way", ["anthropic", "gemini", "ollama"])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(way: str, arguments: str) -> None:
    call = Message("assistant", (ToolCallPart("c1", "sun", arguments),))
    sent = wires_by_name()[way].sample(SampleRequest("", conversation=(CONVERSATION[0], call)))
    assert arguments not in json.dumps(sent.body) and "{}" in json.dumps(sent.body)


@pytest.mark.parametrize("way", wires_by_name())
def test_answers_of_one_form_are_known_by_it(way: str) -> None:
    forms = []
    for _ in range(2):
        sent = wires_by_name()[way].sample(SampleRequest("Hello"))
        path, _, query = sent.path.partition("?")
        body = json.dumps(sent.body).encode()
        call = Call("POST", path, dict(parse_qsl(query)), sent.headers, body, query)
        target = find_target(call)
        assert target is not None and target.endpoint is not None
        if target.endpoint.cache_key is None:
            continue
        node = read_body(body, Limits())
        read = target.endpoint.read(call, target.endpoint, target.params, node)
        forms.append(target.endpoint.cache_key(read))
    assert len(set(forms)) == (1 if forms else 0)


def test_sdks_are_pointed_at_the_server() -> None:
    origin = "http://mock.example:8000"
    sdks = [sdk for wire in wires_by_name().values() for sdk in wire.sdk_setups(origin)]
    assert [sdk.name for sdk in sdks] == ["OpenAI", "Azure OpenAI", "Anthropic", "Gemini", "Ollama"]
    for sdk in sdks:
        assert sdk.base_url.startswith(origin)
        assert f'"{sdk.base_url}"' in sdk.code


def test_each_provider_is_named_once() -> None:
    assert providers() == ("openai", *PROVIDERS, "anthropic", "gemini", "ollama")


def test_only_responses_that_apis_return_again_are_archived() -> None:
    archived = {
        (wire.name, endpoint.canonical)
        for wire in wires()
        for endpoint in wire.endpoints
        if endpoint.archival is not None
    }
    assert {name for name, _ in archived} == {"responses", "openai", "anthropic"}
    resources = {path.removeprefix("/v1/messages").removeprefix("/v1") for _, path in archived}
    assert {path.split("/")[1] for path in resources} == {
        *("responses", "conversations", "files", "batches"),
    }


def test_counting_input_tokens_writes_nothing_to_the_archive() -> None:
    (count,) = (
        e
        for e in wires_by_name()["responses"].endpoints
        if e.pattern == "/v1/responses/input_tokens"
    )
    assert count.archival is not None
    request = CanonicalRequest("openai", count.pattern, count.pattern, "gpt-4o")
    response = CanonicalResponse("f00d", 0, "gpt-4o", (), Usage(1, 1))
    assert count.archival.record(request, response, b"") == ()
    assert count.archival.record_body(request, b"") == ()
    assert count.compute is not None
    assert isinstance(count.compute(request, ComputeContext({}, 0, "f00d")), bytes)
