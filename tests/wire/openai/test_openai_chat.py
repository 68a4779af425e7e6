"""The OpenAI wire as the pipeline meets it: keys, routing facts, broken answers."""

import json

import pytest

from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.wire import WIRE
from tests.wire.openai.openai_cases import CHAT, answer, chunks_of, make_call, parse, stream


@pytest.mark.parametrize(
    ("sent", "key"),
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
def test_the_key_is_the_bearer_token(sent: str, key: str | None) -> None:
    call = make_call(headers={"authorization": sent})
    assert WIRE.api_key(call) == key
    if key:
        WIRE.authorise(call)
    else:
        with pytest.raises(WireError) as refused:
            WIRE.authorise(call)
        assert refused.value.answer.status == 401


def authorised(host: str) -> bool:
    """Whether who sends no key to this host is let in."""
    try:
        WIRE.authorise(make_call(headers={"host": host}))
    except WireError as error:
        assert error.answer.status == 401
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1:11434", "localhost:11434", "[::1]:11434", "qa:11434"])
def test_on_ollamas_port_no_key_is_asked_for(host: str) -> None:
    assert authorised(host)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "127.0.0.1:114345", "11434", "[::11434]", ""])
def test_anywhere_else_one_is(host: str) -> None:
    assert not authorised(host)


def test_on_azures_paths_one_is_in_any_case() -> None:
    path = "/openai/deployments/gpt-4o/chat/completions"
    with pytest.raises(WireError):
        WIRE.authorise(make_call(path=path, headers={"host": "localhost:11434"}))


def test_no_header_is_no_key() -> None:
    assert WIRE.api_key(make_call(headers={})) is None


def test_another_providers_header_is_no_key() -> None:
    assert WIRE.api_key(make_call(headers={"x-api-key": "k"})) is None


def test_it_takes_every_call_and_asks_for_no_further_header() -> None:
    call = make_call(headers={})
    assert WIRE.claims(call)
    WIRE.check_headers(call)


def test_ids_of_scripted_tool_calls_look_like_openais() -> None:
    assert WIRE.tool_call_prefix == "call_"


def test_parts_may_interleave() -> None:
    assert not WIRE.sequential


def test_streams_are_server_sent_events() -> None:
    assert WIRE.stream_type.partition(";")[0] == "text/event-stream"


def test_the_encoder_gives_a_stream() -> None:
    chunks = chunks_of(stream(parse(), answer([TextPart("Hi")])))
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}


def test_the_malformed_body_is_no_json() -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(WIRE.malformed_body)


def test_the_malformed_event_is_one_event_that_is_no_json() -> None:
    data = WIRE.malformed_event.removeprefix(b"data: ").removesuffix(b"\n\n")
    assert b"\n" not in data
    with pytest.raises(json.JSONDecodeError):
        json.loads(data)


def test_a_request_knows_its_paths_and_headers() -> None:
    call = make_call(path="/v1/chat/completions", headers={"x-team": "qa"})
    body = Node({"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]})
    request = CHAT.read(call, CHAT, {}, body)
    assert (request.provider, request.path) == ("openai", "/v1/chat/completions")
    assert request.route == CHAT.pattern
    assert request.headers == {"x-team": "qa"}
