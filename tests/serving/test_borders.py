"""Where calls come from: sessions, raw paths and headers, pages of other origins, connections."""

import functools
import re
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.state import key_session
from scenarios_app.serving.cors import METHODS, preflight_headers, shared_headers
from scenarios_app.serving.exchange import session_of
from scenarios_app.serving.transports.asgi_scope import (
    EXTENSION,
    Scope,
    announced_length,
    call_of_scope,
    close_of,
    make_call,
    path_of,
    read_headers,
    with_close,
)
from scenarios_app.wire.anthropic.wire import WIRE as ANTHROPIC
from scenarios_app.wire.base import Call
from scenarios_app.wire.openai.wire import WIRE as OPENAI
from tests.serving.pipelines import Playing, chat, says, scenario


def headed(**headers: str) -> Call:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(chat(), headers=named)


@pytest.mark.parametrize(
    ("call", "session"),
    [
        (headed(x_mockllm_session=" mine ", authorization="Bearer k"), "mine"),
        (headed(x_mockllm_session=" ", authorization="Bearer k"), key_session("k")),
        (headed(authorization="Bearer k"), key_session("k")),
        (headed(), "default"),
    ],
)
def test_a_session_is_the_header_else_the_key_else_the_default(call: Call, session: str) -> None:
    assert session_of(call, OPENAI.api_key(call)) == session


def test_a_key_has_one_session_on_every_wire_and_is_not_to_be_got_from_it() -> None:
    bearer, header = headed(authorization="Bearer sk-secret"), headed(x_api_key="sk-secret")
    name = session_of(bearer, OPENAI.api_key(bearer))
    assert name == session_of(header, ANTHROPIC.api_key(header))
    assert re.fullmatch("key-[0-9a-f]{12}", name)


async def test_header_cannot_name_the_session_of_another_key() -> None:
    once = {"produce": {"text": "only once"}}
    playing = Playing(scenario("one-time", once))
    stranger = {"x-mockllm-session": key_session("sk-owner"), "authorization": "Bearer sk-stranger"}
    status, _, body = await playing.ask(chat(headers=stranger))
    assert status == 400 and b"the session of an API key" in body
    assert playing.journal[0].session == key_session("sk-stranger")
    owner = await playing.ask(chat(headers={"authorization": "Bearer sk-owner"}))
    assert owner[0] == 200 and b"only once" in owner[2]


async def test_header_may_repeat_the_session_of_its_own_key() -> None:
    playing = Playing(scenario("hello", says("Hi")))
    own = {"x-mockllm-session": key_session("sk-owner"), "authorization": "Bearer sk-owner"}
    status, _, _ = await playing.ask(chat(headers=own))
    assert status == 200 and playing.journal[0].session == key_session("sk-owner")


async def test_a_session_name_that_is_too_long_is_refused() -> None:
    playing = Playing()
    status, _, body = await playing.ask(chat(headers={"x-mockllm-session": "s" * 201}))
    assert status == 400 and b"longer than 200" in body
    assert playing.journal[0].session == "s" * 200


def test_paths_stay_as_they_were_sent() -> None:
    scope = {"raw_path": b"/v1/a%2Fb?c", "path": "/v1/a/b"}
    assert path_of(scope) == "/v1/a%2Fb"
    assert path_of({"path": "/v1/ü b"}) == "/v1/%C3%BC%20b"


def test_headers_are_utf8_or_else_latin1_and_repeated_ones_are_joined() -> None:
    headers = [(b"X-A", "ü".encode()), (b"x-a", b"\xfc"), (b"x-b", b"1")]
    call = make_call("get", "/", query=b"a=1&b=&a=%C3%BC", headers=read_headers(headers), body=b"")
    assert call.headers == {"x-a": "ü, ü", "x-b": "1"}
    assert call.query == {"a": "ü", "b": ""}
    assert call.method == "GET"


def test_a_scope_makes_a_call() -> None:
    scope = {"method": "POST", "raw_path": b"/v1/x", "path": "/v1/x", "headers": []}
    assert call_of_scope(scope, b"{}") == Call("POST", "/v1/x", {}, {}, b"{}", siblings=1)


@pytest.mark.parametrize(
    ("given", "length"),
    [([], 0), ([b"12"], 12), ([b"-1"], 0), ([b"x"], 0), ([b"9" * 5_000], int("9" * 18))],
)
def test_a_declared_length_is_a_number_or_nothing(given: list[bytes], length: int) -> None:
    headers = [(b"content-length", value) for value in given]
    assert announced_length({"headers": headers}, unknown=9) == length


ASKED = {"access_control_request_method": "POST", "access_control_request_headers": "a, b"}


def preflight(**headers: str) -> Call:
    return replace(headed(**headers), method="OPTIONS")


def test_a_preflight_of_an_allowed_origin_is_answered() -> None:
    call = preflight(origin="https://a.example", **ASKED)
    assert preflight_headers(call, ["*"]) == (
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", METHODS),
        ("access-control-allow-headers", "a, b"),
        ("access-control-max-age", "600"),
    )
    private = preflight(
        origin="https://a.example", access_control_request_private_network="true", **ASKED
    )
    assert ("access-control-allow-private-network", "true") in (
        preflight_headers(private, ["https://a.example"]) or ()
    )


@pytest.mark.parametrize(
    ("call", "origins"),
    [
        (preflight(origin="https://b.example", **ASKED), ["https://a.example"]),
        (preflight(origin="https://a.example", **ASKED), []),
        (preflight(**ASKED), ["*"]),
        (preflight(origin="https://a.example"), ["*"]),
        (headed(origin="https://a.example", **ASKED), ["*"]),
    ],
)
def test_anything_else_is_no_preflight(call: Call, origins: list[str]) -> None:
    assert preflight_headers(call, origins) is None


def test_header_names_asked_for_are_not_repeated_if_they_are_none() -> None:
    call = preflight(
        origin="https://a.example",
        access_control_request_method="POST",
        access_control_request_headers="a\r\nset-cookie: x",
    )
    names = [name for name, _ in preflight_headers(call, ["*"]) or ()]
    assert "access-control-allow-headers" not in names


def test_a_page_may_read_every_header_of_its_answer() -> None:
    call = headed(origin="https://a.example")
    answered = (("x-one", "1"), ("x-two", "2"), ("x-one", "3"))
    assert shared_headers(call, ["https://a.example"], answered) == (
        ("access-control-allow-origin", "https://a.example"),
        ("vary", "origin"),
        ("access-control-expose-headers", "x-one, x-two"),
    )
    assert shared_headers(call, ["https://b.example"], answered) == ()
    assert shared_headers(headed(), ["*"], answered) == ()


async def test_a_preflight_is_nothing_to_the_journal() -> None:
    playing = Playing(origins=("*",))
    status, _, body = await playing.ask(preflight(origin="https://a.example", **ASKED))
    assert (status, body, playing.journal) == (204, b"", [])


async def test_an_answer_with_an_error_may_be_read_by_pages_too() -> None:
    call = headed(origin="https://a.example")
    _, headers, _ = await Playing(origins=("*",)).ask(call)
    assert headers["access-control-allow-origin"] == "*"
    assert "x-mockllm-request" in headers["access-control-expose-headers"]
    _, headers, _ = await Playing().ask(call)
    assert "access-control-allow-origin" not in headers


def test_no_way_is_known_to_close_the_connection_of_any_other_server() -> None:
    class Transport:
        def close(self) -> None:
            raise AssertionError("not ours to close")

    class Cycle:
        transport = Transport()

        async def send(self, message: Any) -> None: ...

    async def bare(message: Any) -> None: ...

    assert close_of(Cycle().send) is None
    assert close_of(functools.partial(bare, Cycle())) is None
    assert close_of(bare) is None


async def test_a_scope_tells_of_closing_only_where_that_can_be() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        seen.append(scope)

    async def send(message: Any) -> None: ...

    await with_close(app)({"type": "http", "extensions": {"other": 1}}, send, send)  # type: ignore[arg-type]
    assert seen[0]["extensions"] == {"other": 1}
    assert EXTENSION not in seen[0]["extensions"]
