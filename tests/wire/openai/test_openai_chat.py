"""The OpenAI wire's interface to the pipeline: keys, claims and malformed bodies."""

import json

import pytest

from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from tests.wire.openai.openai_cases import CHAT, answer, make_call, parse, parse_chunks, stream


@pytest.mark.parametrize(
    ("authorization", "key"),
    [
        ("Bearer sk-1", "sk-1"),
        ("bearer sk-1", "sk-1"),
        ("BEARER   sk-1 ", "sk-1"),
        ("Bearer My API Key", "My API Key"),
        ("Bearer ", None),
        ("Bearer", None),
        ("Basic sk-1", None),
        ("sk-1", None),
        ("", None),
    ],
)
def test_the_key_is_the_bearer_token(authorization: str, key: str | None) -> None:
    call = make_call(headers={"authorization": authorization})
    assert WIRE.api_key(call) == key
    if key:
        WIRE.authorise(call)
    else:
        with pytest.raises(WireError) as raised:
            WIRE.authorise(call)
        assert raised.value.answer.status == 401


def is_authorised_without_key(host: str) -> bool:
    """Return whether a call without a key to this host is accepted."""
    try:
        WIRE.authorise(make_call(headers={"host": host}))
    except WireError as error:
        assert error.answer.status == 401
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "localhost:11434", "[::1]:11434", "qa:11434"])
def test_no_key_is_needed_on_ollamas_port(host: str) -> None:
    assert is_authorised_without_key(host)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1:114345", "11434", "[::11434]", ""])
def test_key_is_needed_on_other_hosts(host: str) -> None:
    assert not is_authorised_without_key(host)


def test_key_is_needed_on_azures_paths_on_any_port() -> None:
    path = "/openai/deployments/gpt-4o/chat/completions"
    with pytest.raises(WireError):
        WIRE.authorise(make_call(path=path, headers={"host": "localhost:11434"}))


def test_no_header_is_no_key() -> None:
    assert WIRE.api_key(make_call(headers={})) is None


def test_another_providers_header_is_no_key() -> None:
    assert WIRE.api_key(make_call(headers={"x-api-key": "k"})) is None


def test_wire_claims_every_call_without_further_headers() -> None:
    call = make_call(headers={})
    assert WIRE.claims(call)
    WIRE.check_headers(call)


def test_ids_of_scripted_tool_calls_look_like_openais() -> None:
    assert WIRE.tool_call_prefix == "call_"


def test_wire_is_not_sequential() -> None:
    assert not WIRE.sequential


def test_streams_are_server_sent_events() -> None:
    assert WIRE.stream_type.partition(";")[0] == "text/event-stream"


def test_encoder_writes_chat_completion_chunks() -> None:
    chunks = parse_chunks(stream(parse(), answer([TextPart("Hi")])))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_malformed_body_is_invalid_json() -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(WIRE.malformed_body)


def test_malformed_event_is_one_event_of_invalid_json() -> None:
    data = WIRE.malformed_event.removeprefix(b"data: ").removesuffix(b"\n\n")
    assert b"\n" not in data
    with pytest.raises(json.JSONDecodeError):
        json.loads(data)


def test_request_has_its_path_route_and_headers() -> None:
    call = make_call(path="/v1/chat/completions", headers={"x-team": "qa"})
    body = Node({"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]})
    request = CHAT.read(call, CHAT, {}, body)
    assert (request.provider, request.path) == ("openai", "/v1/chat/completions")
    assert request.route == CHAT.pattern
    assert request.headers == {"x-team": "qa"}
