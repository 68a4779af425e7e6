"""Sample requests of each wire are parsed by it; SDK setups; archived endpoints."""

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
@pytest.mark.parametrize("sample", [FULL, SampleRequest("Hello")], ids=["full", "bare"])
@pytest.mark.parametrize("wire_name", wires_by_name())
def test_wire_parses_its_sample_request(
    wire_name: str, sample: SampleRequest, stream: bool
) -> None:
    sample = SampleRequest(
        **{name: getattr(sample, name) for name in sample.__slots__} | {"stream": stream}
    )
    wire = wires_by_name()[wire_name]
    sample_request = wire.sample(sample)
    path, _, query = sample_request.path.partition("?")
    body = json.dumps(sample_request.body).encode()
    call = Call("POST", path, dict(parse_qsl(query)), sample_request.headers, body, query)
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    assert target.wire.name == wire_name
    target.wire.authorise(call)
    target.wire.check_headers(call)
    request = target.endpoint.read(call, target.endpoint, target.params, read_body(body, Limits()))
    assert (request.provider, request.model) == (wire.provider, sample.model)
    assert (request.system_text, request.last_user_text) == (sample.system, sample.user)
    assert tuple(tool.name for tool in request.tools) == sample.tools
    results = [(result.name, result.content) for result in request.tool_results]
    assert results == ([(sample.tool_name, sample.tool_result)] if sample.tool_name else [])
    assert (request.turn, request.stream) == (sample.turn, stream)
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


@pytest.mark.parametrize("wire_name", wires_by_name())
def test_wire_parses_its_sample_conversation(wire_name: str) -> None:
    sample = SampleRequest("not this", conversation=CONVERSATION, system="Be brief.")
    sample_request = wires_by_name()[wire_name].sample(sample)
    path, _, query = sample_request.path.partition("?")
    body = json.dumps(sample_request.body).encode()
    call = Call("POST", path, dict(parse_qsl(query)), sample_request.headers, body, query)
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    request = target.endpoint.read(call, target.endpoint, target.params, read_body(body, Limits()))
    assert (request.first_user_text, request.last_user_text) == ("Sun or rain?", "Thanks")
    calls = [(call.name, json.loads(call.arguments)) for call in request.tool_calls]
    assert calls == [("sun", {"city": "Paris"}), ("rain", {})]
    assert [result.content for result in request.tool_results] == ["yes", "no"]
    assert [result.name for result in request.tool_results] == ["sun", "rain"]
    assistant_texts = [message.text for message in request.messages if message.role == "assistant"]
    assert "Let me look." in assistant_texts and assistant_texts[-1] == "Sun."


@pytest.mark.parametrize("wire_name", ["openai", "responses"])
def test_sample_keeps_custom_calls_and_results(wire_name: str) -> None:
    call = ToolCallPart(
        "c1", "exec", "ls", custom=True, namespace="" if wire_name == "openai" else "n"
    )
    conversation = (
        CONVERSATION[0],
        Message("assistant", (call,)),
        Message("tool", (ToolResultPart("c1", "exec", "a b"),)),
    )
    sample_request = wires_by_name()[wire_name].sample(SampleRequest("", conversation=conversation))
    body = json.dumps(sample_request.body).encode()
    target = find_target(Call("POST", sample_request.path, {}, sample_request.headers, body))
    assert target is not None and target.endpoint is not None
    request_call = Call("POST", sample_request.path, {}, sample_request.headers, body)
    request = target.endpoint.read(
        request_call, target.endpoint, target.params, read_body(body, Limits())
    )
    assert request.messages == conversation
    assert (
        wire_name == "openai"
        or sample_request.body["input"][-1]["type"] == "custom_tool_call_output"
    )


@pytest.mark.parametrize("arguments", ["[1]", '{"half": ', "[" * 100_000])
@pytest.mark.parametrize("wire_name", ["anthropic", "gemini", "ollama"])
def test_sample_has_an_empty_object_for_invalid_arguments(wire_name: str, arguments: str) -> None:
    call = Message("assistant", (ToolCallPart("c1", "sun", arguments),))
    sample_request = wires_by_name()[wire_name].sample(
        SampleRequest("", conversation=(CONVERSATION[0], call))
    )
    assert arguments not in json.dumps(sample_request.body) and "{}" in json.dumps(
        sample_request.body
    )


def test_sdk_setups_use_the_base_url_of_the_server() -> None:
    origin = "http://mock.example:8000"
    sdks = [sdk for wire in wires_by_name().values() for sdk in wire.sdk_setups(origin)]
    assert [sdk.name for sdk in sdks] == ["OpenAI", "Azure OpenAI", "Anthropic", "Gemini", "Ollama"]
    for sdk in sdks:
        assert sdk.base_url.startswith(origin)
        assert f'"{sdk.base_url}"' in sdk.code


def test_providers_are_listed_once() -> None:
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
