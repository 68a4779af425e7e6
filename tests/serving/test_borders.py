"""Calls as they arrive: sessions, raw paths and headers, cross-origin requests, connections."""

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
    with_prepared_scope,
)
from scenarios_app.wire.anthropic.wire import WIRE as ANTHROPIC
from scenarios_app.wire.base import Call
from scenarios_app.wire.openai.wire import WIRE as OPENAI
from tests.serving.pipelines import Harness, chat, scenario, text_step


def chat_with_headers(**headers: str) -> Call:
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return replace(chat(), headers=header_values)


@pytest.mark.parametrize(
    ("call", "session"),
    [
        (chat_with_headers(x_mockllm_session=" mine ", authorization="Bearer k"), "mine"),
        (chat_with_headers(x_mockllm_session=" ", authorization="Bearer k"), key_session("k")),
        (chat_with_headers(authorization="Bearer k"), key_session("k")),
        (chat_with_headers(), "default"),
    ],
)
def test_a_session_is_the_header_else_the_key_else_the_default(call: Call, session: str) -> None:
    assert session_of(call, OPENAI.api_key(call)) == session


def test_key_has_one_session_on_every_wire_which_does_not_reveal_it() -> None:
    bearer, header = (
        chat_with_headers(authorization="Bearer sk-secret"),
        chat_with_headers(x_api_key="sk-secret"),
    )
    name = session_of(bearer, OPENAI.api_key(bearer))
    assert name == session_of(header, ANTHROPIC.api_key(header))
    assert re.fullmatch("key-[0-9a-f]{12}", name)


async def test_header_cannot_name_the_session_of_another_key() -> None:
    once_step = {"produce": {"text": "only once"}}
    harness = Harness(scenario("one-time", once_step))
    stranger = {"x-mockllm-session": key_session("sk-owner"), "authorization": "Bearer sk-stranger"}
    status, _, body = await harness.ask(chat(headers=stranger))
    assert status == 400 and b"the session of an API key" in body
    assert harness.journal[0].session == key_session("sk-stranger")
    owner = await harness.ask(chat(headers={"authorization": "Bearer sk-owner"}))
    assert owner[0] == 200 and b"only once" in owner[2]


async def test_header_may_repeat_the_session_of_its_own_key() -> None:
    harness = Harness(scenario("hello", text_step("Hi")))
    own = {"x-mockllm-session": key_session("sk-owner"), "authorization": "Bearer sk-owner"}
    status, _, _ = await harness.ask(chat(headers=own))
    assert status == 200 and harness.journal[0].session == key_session("sk-owner")


async def test_a_session_name_that_is_too_long_is_refused() -> None:
    harness = Harness()
    status, _, body = await harness.ask(chat(headers={"x-mockllm-session": "s" * 201}))
    assert status == 400 and b"longer than 200" in body
    assert harness.journal[0].session == "s" * 200


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
    ("values", "length"),
    [([], 0), ([b"12"], 12), ([b"-1"], 0), ([b"x"], 0), ([b"9" * 5_000], int("9" * 18))],
)
def test_a_declared_length_is_a_number_or_nothing(values: list[bytes], length: int) -> None:
    headers = [(b"content-length", value) for value in values]
    assert announced_length({"headers": headers}, unknown=9) == length


PREFLIGHT_HEADERS = {
    "access_control_request_method": "POST",
    "access_control_request_headers": "a, b",
}


def preflight(**headers: str) -> Call:
    return replace(chat_with_headers(**headers), method="OPTIONS")


def test_a_preflight_of_an_allowed_origin_is_answered() -> None:
    call = preflight(origin="https://a.example", **PREFLIGHT_HEADERS)
    assert preflight_headers(call, ["*"]) == (
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", METHODS),
        ("access-control-allow-headers", "a, b"),
        ("access-control-max-age", "600"),
    )
    private = preflight(
        origin="https://a.example",
        access_control_request_private_network="true",
        **PREFLIGHT_HEADERS,
    )
    assert ("access-control-allow-private-network", "true") in (
        preflight_headers(private, ["https://a.example"]) or ()
    )


@pytest.mark.parametrize(
    ("call", "origins"),
    [
        (preflight(origin="https://b.example", **PREFLIGHT_HEADERS), ["https://a.example"]),
        (preflight(origin="https://a.example", **PREFLIGHT_HEADERS), []),
        (preflight(**PREFLIGHT_HEADERS), ["*"]),
        (preflight(origin="https://a.example"), ["*"]),
        (chat_with_headers(origin="https://a.example", **PREFLIGHT_HEADERS), ["*"]),
    ],
)
def test_other_requests_are_no_preflight(call: Call, origins: list[str]) -> None:
    assert preflight_headers(call, origins) is None


def test_invalid_requested_header_names_are_not_repeated() -> None:
    call = preflight(
        origin="https://a.example",
        access_control_request_method="POST",
        access_control_request_headers="a\r\nset-cookie: x",
    )
    names = [name for name, _ in preflight_headers(call, ["*"]) or ()]
    assert "access-control-allow-headers" not in names


def test_a_page_may_read_every_header_of_its_answer() -> None:
    call = chat_with_headers(origin="https://a.example")
    reply_headers = (("x-one", "1"), ("x-two", "2"), ("x-one", "3"))
    assert shared_headers(call, ["https://a.example"], reply_headers) == (
        ("access-control-allow-origin", "https://a.example"),
        ("vary", "origin"),
        ("access-control-expose-headers", "x-one, x-two"),
    )
    assert shared_headers(call, ["https://b.example"], reply_headers) == ()
    assert shared_headers(chat_with_headers(), ["*"], reply_headers) == ()


async def test_preflight_is_not_journalled() -> None:
    harness = Harness(cors_origins=("*",))
    status, _, body = await harness.ask(preflight(origin="https://a.example", **PREFLIGHT_HEADERS))
    assert (status, body, harness.journal) == (204, b"", [])


async def test_error_answer_has_the_cors_headers_too() -> None:
    call = chat_with_headers(origin="https://a.example")
    _, headers, _ = await Harness(cors_origins=("*",)).ask(call)
    assert headers["access-control-allow-origin"] == "*"
    assert "x-mockllm-request" in headers["access-control-expose-headers"]
    _, headers, _ = await Harness().ask(call)
    assert "access-control-allow-origin" not in headers


def test_connections_of_unknown_servers_have_no_close_function() -> None:
    class Transport:
        def close(self) -> None:
            raise AssertionError("not ours to close")

    class Cycle:
        transport = Transport()

        async def send(self, message: Any) -> None: ...

    async def plain_send(message: Any) -> None: ...

    assert close_of(Cycle().send) is None
    assert close_of(functools.partial(plain_send, Cycle())) is None
    assert close_of(plain_send) is None


async def test_scope_has_the_close_extension_only_where_the_server_supports_it() -> None:
    scopes: list[Scope] = []

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        scopes.append(scope)

    async def send(message: Any) -> None: ...

    scope = {"type": "http", "headers": [], "extensions": {"other": 1}}
    await with_prepared_scope(app)(scope, send, send)
    assert scopes[0]["extensions"] == {"other": 1}
    assert EXTENSION not in scopes[0]["extensions"]
