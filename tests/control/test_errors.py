"""Errors below `/control/` are `{"code", "message", "field"}`, never an HTML page."""

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
def test_unknown_path_is_404(control: Control, method: str, path: str) -> None:
    response = control.request(method, path, body=b"{}")
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
def test_unknown_method_is_rejected_by_name(
    control: Control, method: str, path: str, allowed: str
) -> None:
    response = control.request(method, path, body=b"{}")
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
    # A page of another origin can send these types without a CORS preflight.
    body = json.dumps(scenario("x")).encode()
    response = control.request(method, path, body=body, content_type=content_type)
    assert error_of(response) == (415, "VALIDATION_ERROR", None)


def test_request_without_a_body_is_refused(control: Control) -> None:
    chat()
    response = control.request("POST", "reset", content_type="")
    assert error_of(response) == (415, "VALIDATION_ERROR", None)
    response = control.request("POST", "reset", body=b"")
    assert error_of(response) == (400, "VALIDATION_ERROR", None)
    assert len(control.get("requests").json()["requests"]) == 1


def test_json_with_charset_is_accepted(control: Control) -> None:
    kind = "application/json; charset=utf-8"
    assert control.request("POST", "reset", body=b"{}", content_type=kind).status_code == 200


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
    response = control.request(method, path, body=body)
    assert error_of(response)[:2] == (400, "VALIDATION_ERROR")
    assert len(response.content) < 2_000


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_a_body_that_is_too_large_is_refused(
    control: Control, settings: Any, method: str, path: str
) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100
    control.client.raise_request_exception = False
    largest_body = json.dumps({"a": "x" * 80}).encode()
    assert error_of(control.request(method, path, body=largest_body))[0] in (400, 404)
    response = control.request(method, path, body=json.dumps({"a": "x" * 100}).encode())
    assert error_of(response) == (413, "VALIDATION_ERROR", None)


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*", "nonsense", ""])
def test_responses_are_json_for_any_accept_header(control: Control, accept: str) -> None:
    response = control.request("GET", "requests", headers={"accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert error_of(control.request("GET", "nobody", headers={"accept": accept}))[0] == 404


@pytest.mark.parametrize(
    "path", ["scenarios", "reset", "state", "requests", "verify", "explain", "requests/x"]
)
def test_trailing_slash_is_accepted_without_redirect(control: Control, path: str) -> None:
    for method in ("GET", "POST"):
        response_without_slash = control.request(method, path, body=b"[]")
        response_with_slash = control.request(method, f"{path}/", body=b"[]")
        assert (response_with_slash.status_code, response_with_slash.content) == (
            response_without_slash.status_code,
            response_without_slash.content,
        )


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


def test_database_error_is_503(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_locked(*_: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("scenarios_app.control.requests.rows_of_session", raise_locked)
    assert error_of(control.get("requests")) == (503, "SERVICE_UNAVAILABLE", None)


def test_journal_that_is_behind_is_503(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    flush = journal.flush
    monkeypatch.setattr(journal, "flush", lambda *_: False)
    assert error_of(control.get("requests")) == (503, "SERVICE_UNAVAILABLE", None)
    monkeypatch.setattr(journal, "flush", flush)


@pytest.mark.parametrize("debug", [False, True])
def test_unknown_host_gets_json_and_no_page(db: None, settings: Any, debug: bool) -> None:
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
def test_every_exception_has_its_response(
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
