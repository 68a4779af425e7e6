"""No scripted or recorded header reaches beyond its answer, and none replaces the policy."""

from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from scenarios_app.catalog.lint import suspicions_of
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.producing.reach import cookie_name
from scenarios_app.serving.cors import LEFT_OUT_HEADER, POLICY
from scenarios_app.serving.services import options
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, scenario
from tests.serving.short_path.connection import Connection
from tests.serving.test_replay import (
    cassette,
    chat_body,
    completion,
    recorded_request,
    recorded_response,
)

LOGIN = f"{settings.SESSION_COOKIE_NAME}=stolen; Path=/"
OPEN_POLICY = {"Content-Security-Policy": "default-src *", "X-Content-Type-Options": "off"}
HEADERS = {"Set-Cookie": LOGIN, **OPEN_POLICY}
RAW = {"status": 200, "headers": HEADERS, "body": "<script>fetch('/admin/')</script>"}
STEPS: dict[str, dict[str, Any]] = {
    "raw": {"produce": {"raw": RAW}},
    "side effects": {"produce": {"text": "Hi"}, "side_effects": {"headers": HEADERS}},
    "fault": {"produce": {"fault": {"kind": "http", "status": 500, "headers": HEADERS}}},
    "first attempts": {
        "produce": {"text": "Hi"},
        "failures": {"times": 9, "fault": {"kind": "http", "status": 500, "headers": HEADERS}},
    },
}
STEP_ROWS = [pytest.param(step, id=name) for name, step in STEPS.items()]


def guarded(headers: dict[str, str]) -> bool:
    return dict(POLICY).items() <= headers.items() and "set-cookie" not in headers


def attack(*, stream: bool = False) -> Call:
    return chat(stream=stream, headers={name.lower(): value for name, value in HEADERS.items()})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("step", STEP_ROWS)
async def test_scripted_headers_set_no_login_and_keep_the_policy(
    step: dict[str, Any], stream: bool
) -> None:
    harness = Harness(scenario("s", {"consume": False, **step}))
    connection = Connection(harness)
    for _ in range(4):
        _, headers, _ = await harness.ask(attack(stream=stream))
        assert guarded(headers)
        assert headers[LEFT_OUT_HEADER] == "set-cookie sessionid"
        head = (await connection.ask(attack(stream=stream))).partition(b"\r\n\r\n")[0].lower()
        assert b"\r\ncontent-security-policy: sandbox; default-src 'none'\r\n" in head
        assert head.count(b"content-security-policy") == 1 and b"\r\nset-cookie" not in head
    assert all(LEFT_OUT_HEADER in dict(entry.response_headers) for entry in harness.journal)


async def test_echoed_headers_set_no_login_and_keep_the_policy() -> None:
    effects = {"echo_headers": list(HEADERS)}
    harness = Harness(scenario("s", {"produce": {"text": "Hi"}, "side_effects": effects}))
    _, headers, _ = await harness.ask(attack())
    assert dict(POLICY).items() <= headers.items()
    # The value of this header is masked, wherever it is shown.
    assert cookie_name(headers.get("set-cookie", "")) != settings.SESSION_COOKIE_NAME


async def test_short_path_leaves_out_a_scripted_login() -> None:
    harness = Harness(scenario("s", {"consume": False, **STEPS["side effects"]}))
    connection = Connection(harness)
    answers = [await connection.ask(chat()) for _ in range(4)]
    assert connection.short
    assert all(b"set-cookie: " not in answer and b"sandbox" in answer for answer in answers)


async def test_recorded_headers_set_no_login_and_the_body_stays_as_recorded() -> None:
    page = b"<script>fetch('/admin/')</script>"
    recorded = recorded_response(
        page, **{"content-type": "text/html", "set-cookie": LOGIN, "content-security-policy": "x"}
    )
    harness = Harness(cassette((recorded_request(chat_body("Hello")), recorded)))
    status, headers, body = await harness.ask(chat())
    assert (status, body, headers["content-type"]) == (200, page, "text/html")
    assert guarded(headers)


async def test_replayed_answer_has_the_recorded_status_type_and_bytes() -> None:
    recorded = recorded_response(completion("Hi"))
    harness = Harness(cassette((recorded_request(chat_body("Hello")), recorded)))
    status, headers, body = await harness.ask(chat())
    assert (status, body) == (200, recorded.body)
    assert headers["content-type"] == "application/json; charset=utf-8" and guarded(headers)


async def test_preflight_has_the_policy() -> None:
    headers = {"origin": "https://a.example", "access-control-request-method": "POST"}
    call = Call("OPTIONS", "/v1/chat/completions", {}, headers, b"")
    _, answered, _ = await Harness(cors_origins=("*",)).ask(call)
    assert dict(POLICY).items() <= answered.items()


async def test_other_cookies_are_sent() -> None:
    effects = {"headers": {"Set-Cookie": "__cf_bm=x; Path=/"}}
    harness = Harness(scenario("s", {"produce": {"text": "Hi"}, "side_effects": effects}))
    _, headers, _ = await harness.ask(chat())
    assert headers["set-cookie"] == "__cf_bm=x; Path=/" and LEFT_OUT_HEADER not in headers


async def test_header_that_deletes_all_cookies_is_left_out() -> None:
    effects = {"headers": {"Clear-Site-Data": '"cookies"'}}
    harness = Harness(scenario("s", {"produce": {"text": "Hi"}, "side_effects": effects}))
    _, headers, _ = await harness.ask(chat())
    assert "clear-site-data" not in headers and headers[LEFT_OUT_HEADER] == "clear-site-data"


@pytest.mark.parametrize(
    ("cookie", "name"),
    [
        ("sessionid=a; Path=/", "sessionid"),
        ("  sessionid = a", "sessionid"),
        ("sessionid", "sessionid"),
        # A cookie without a name is sent as its value.
        ("=sessionid=a", "sessionid"),
        ("= sessionid=a", "sessionid"),
        ("\u00a0sessionid=a", "sessionid"),
        ("sessionid2=a", "sessionid2"),
        ("a=sessionid=b", "a"),
    ],
)
def test_cookie_has_the_name_that_a_server_reads(cookie: str, name: str) -> None:
    assert cookie_name(cookie) == name


@override_settings(SESSION_COOKIE_NAME="login", CSRF_COOKIE_NAME="token")
def test_names_of_the_cookies_come_from_the_settings() -> None:
    assert options().admin_cookies == {"login", "token"}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("raw", "produce.raw.headers"),
        ("side effects", "side_effects.headers"),
        ("fault", "produce.fault.headers"),
        ("first attempts", "failures.fault.headers"),
    ],
)
def test_left_out_header_is_a_suspicion_at_its_place(name: str, place: str) -> None:
    documents = load_documents(scenario("s", {"match": {"model": "m"}, **STEPS[name]}))
    (suspicion,) = suspicions_of(documents)
    assert (suspicion.kind, suspicion.place, suspicion.step) == ("unsent", place, 1)
    assert suspicion.message == "left out: set-cookie sessionid would change logins of the admin"
