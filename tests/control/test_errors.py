"""Whatever goes wrong below `/control/` is `{"code", "message", "field"}`, never a page."""

import json
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from django.test import Client, override_settings
from rest_framework.exceptions import APIException, NotFound, Throttled, ValidationError

from scenarios_app.control.kit import ControlError, answer_error
from scenarios_app.engine.document import DocumentError, Problem
from scenarios_app.journal import journal
from tests.control.control_client import Control, chat, error_of, scenario

WRITING = [
    ("POST", "scenarios"),
    ("PUT", "scenarios/x"),
    ("POST", "scenarios/x/steps"),
    ("POST", "reset"),
    ("POST", "verify"),
    ("POST", "explain"),
]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["", "nobody", "state/x", "reset/x", "schema/x", "docs/x"])
def test_a_path_that_is_not_there_is_not_found(control: Control, method: str, path: str) -> None:
    response = control.ask(method, path, body=b"{}")
    assert error_of(response) == (404, "NOT_FOUND", None)
    assert f"/control/{path}" in response.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "scenarios", "GET, HEAD, POST"),
        ("POST", "scenarios/x", "GET, HEAD, PUT, DELETE"),
        ("GET", "scenarios/x/steps", "POST"),
        ("GET", "reset", "POST"),
        ("POST", "state", "GET, HEAD"),
        ("POST", "requests", "GET, HEAD, DELETE"),
        ("DELETE", "requests/x", "GET, HEAD"),
        ("GET", "verify", "POST"),
        ("GET", "explain", "POST"),
        ("POST", "schema/", "GET, HEAD"),
        ("POST", "docs/", "GET, HEAD"),
        ("OPTIONS", "reset", "POST"),
        ("PATCH", "scenarios/x", "GET, HEAD, PUT, DELETE"),
    ],
)
def test_a_method_that_is_not_there_is_named(
    control: Control, method: str, path: str, allowed: str
) -> None:
    response = control.ask(method, path, body=b"{}")
    assert error_of(response) == (405, "VALIDATION_ERROR", None)
    assert response.headers["Allow"] == allowed


@pytest.mark.parametrize(("method", "path"), WRITING)
@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "",
        "*/*",
    ],
)
def test_body_without_json_content_type_is_refused(
    control: Control, method: str, path: str, content_type: str
) -> None:
    """These are what a page of another origin can send without being asked."""
    body = json.dumps(scenario("x")).encode()
    response = control.ask(method, path, body=body, content_type=content_type)
    assert error_of(response) == (415, "VALIDATION_ERROR", None)


def test_request_without_a_body_is_refused(control: Control) -> None:
    chat()
    response = control.ask("POST", "reset", content_type="")
    assert error_of(response) == (415, "VALIDATION_ERROR", None)
    response = control.ask("POST", "reset", body=b"")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)
    assert len(control.get("requests").json()["requests"]) == 1


def test_json_may_say_its_charset(control: Control) -> None:
    kind = "application/json; charset=utf-8"
    assert control.ask("POST", "reset", body=b"{}", content_type=kind).status_code == 200


@pytest.mark.parametrize(("method", "path"), WRITING)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": 1,}',
        b"{'a': 1}",
        b'{"session": null} x',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'{"a": "\\ud800"}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"1" * 10_000,
    ],
)
def test_malformed_json_is_refused(control: Control, method: str, path: str, body: bytes) -> None:
    control.put("scenarios/x", scenario("x"))
    response = control.ask(method, path, body=body)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")
    assert len(response.content) < 2_000


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_a_body_that_is_too_large_is_refused(
    control: Control, settings: Any, method: str, path: str
) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100
    control.client.raise_request_exception = False
    fits = json.dumps({"a": "x" * 80}).encode()
    assert error_of(control.ask(method, path, body=fits))[0] in (400, 404)
    response = control.ask(method, path, body=json.dumps({"a": "x" * 100}).encode())
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "nonsense", ""])
def test_answers_are_json_whatever_is_accepted(control: Control, accept: str) -> None:
    response = control.ask("GET", "requests", headers={"accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert error_of(control.ask("GET", "nobody", headers={"accept": accept}))[0] == 404


@pytest.mark.parametrize(
    "path", ["scenarios", "reset", "state", "requests", "verify", "explain", "requests/x"]
)
def test_a_slash_at_the_end_is_taken_and_never_redirected(control: Control, path: str) -> None:
    for method in ("GET", "POST"):
        plain = control.ask(method, path, body=b"[]")
        slashed = control.ask(method, f"{path}/", body=b"[]")
        assert (slashed.status_code, slashed.content) == (plain.status_code, plain.content)


def test_internal_error_does_not_reveal_its_reason(
    control: Control, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr("scenarios_app.control.requests.rows_of_session", fail)
    for debug in (False, True):
        with override_settings(DEBUG=debug):
            response = control.get("requests")
        assert error_of(response) == (500, "INTERNAL_ERROR", None)
        assert b"secret reason" not in response.content
    assert "the secret reason" in caplog.text


def test_a_database_that_does_not_answer_is_unavailable(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("scenarios_app.control.requests.rows_of_session", locked)
    assert error_of(control.get("requests")) == (503, "SERVICE_UNAVAILABLE", None)


def test_a_journal_that_is_behind_is_unavailable(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = journal.flush
    monkeypatch.setattr(journal, "flush", lambda *_: False)
    assert error_of(control.get("requests")) == (503, "SERVICE_UNAVAILABLE", None)
    monkeypatch.setattr(journal, "flush", flush)


@pytest.mark.parametrize("debug", [False, True])
def test_a_host_that_is_not_ours_gets_no_page_either(db: None, settings: Any, debug: bool) -> None:
    settings.DEBUG = debug
    settings.ALLOWED_HOSTS = ["localhost"]
    response = Client(headers={"host": "evil.example"}).get("/control/requests")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)
    assert response.headers["Content-Type"] == "application/json"


def test_other_pages_keep_their_own_errors(db: None, settings: Any) -> None:
    settings.DEBUG = True
    response = Client().get("/nobody")
    assert response.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ControlError(409, "taken", field="name"), (409, "CONFLICT", "name")),
        (DocumentError("steps[0]", "missing"), (400, "VALIDATION_ERROR", "steps[0]")),
        (DocumentError("", "not JSON"), (400, "VALIDATION_ERROR", None)),
        (ValidationError({"a": {"b": ["wrong"]}}), (400, "VALIDATION_ERROR", "a.b")),
        (ValidationError(["wrong"]), (400, "VALIDATION_ERROR", None)),
        (Throttled(wait=1.2), (429, "RATE_LIMITED", None)),
        (Throttled(), (429, "RATE_LIMITED", None)),
        (NotFound(), (404, "NOT_FOUND", None)),
        (Http404(), (404, "NOT_FOUND", None)),
        (PermissionDenied(), (403, "FORBIDDEN", None)),
        (APIException(), (500, "INTERNAL_ERROR", None)),
        (KeyError("x"), (500, "INTERNAL_ERROR", None)),
    ],
)
def test_every_exception_has_its_answer(
    error: Exception, expected: tuple[int, str, str | None]
) -> None:
    response = answer_error(error, {})
    body = json.loads(response.content)
    assert (response.status_code, body["code"], body["field"]) == expected
    assert set(body) == {"code", "message", "field"}


def test_message_lists_all_problems_of_a_document() -> None:
    error = DocumentError.of([Problem("steps[0].turn", "missing"), Problem("name", "taken")])
    body = json.loads(answer_error(error, {}).content)
    assert (body["message"], body["field"]) == (
        "steps[0].turn: missing\nname: taken",
        "steps[0].turn",
    )


def test_throttled_request_has_retry_after() -> None:
    assert answer_error(Throttled(wait=1.2), {}).headers["Retry-After"] == "2"
