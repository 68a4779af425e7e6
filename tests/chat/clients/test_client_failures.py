"""Errors of SDKs, the network and parsers become errors of the chat."""

import json
import logging
from importlib import import_module
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google.genai import errors as google

from chat_app.clients.failures import KINDS, to_chat_error
from chat_app.clients.sdk import unreadable_on_error
from chat_app.errors import (
    NETWORK_ERROR,
    RATE_LIMITED,
    SERVICE_UNAVAILABLE,
    UNAUTHORIZED,
    VALIDATION_ERROR,
    ChatError,
)

KEY = "sk-live-0123456789"
REQUEST = httpx2.Request("POST", "https://llm.example/v1")
CONNECTION_FAILED = (NETWORK_ERROR, "Connection failed")
UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")
INVALID_KEY = (UNAUTHORIZED, "Invalid API key")


def http_response(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=REQUEST)


def openai_error(status: int, body: object) -> Exception:
    return openai.APIStatusError(f"Error code: {status}", response=http_response(status), body=body)


def anthropic_error(status: int, body: object) -> Exception:
    return anthropic.APIStatusError(
        f"Error code: {status}", response=http_response(status), body=body
    )


def google_error(status: int, body: object) -> Exception:
    return google.ClientError(status, body, http_response(status))


def error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


def with_cause(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def code_and_message(error: Exception, **options: str) -> tuple[str, str]:
    chat_error = to_chat_error(error, **options)
    return chat_error.code, chat_error.message


@pytest.mark.parametrize("name", KINDS)
def test_every_name_in_the_table_is_an_exception_class(name: str) -> None:
    module, _, class_name = name.rpartition(".")
    assert issubclass(getattr(import_module(module), class_name), Exception)


@pytest.mark.parametrize(
    "error",
    [
        httpx2.ConnectError("refused"),
        httpx2.ConnectTimeout("slow"),
        httpx2.ReadTimeout("slow"),
        httpx2.ReadError("reset"),
        httpx2.WriteError("reset"),
        httpx2.PoolTimeout("full"),
        httpx2.RemoteProtocolError("cut"),
        httpx2.LocalProtocolError("odd"),
        openai.APIConnectionError(request=REQUEST),
        openai.APITimeoutError(request=REQUEST),
        anthropic.APIConnectionError(request=REQUEST),
        anthropic.APITimeoutError(request=REQUEST),
    ],
    ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
)
def test_network_errors_are_connection_failures(error: Exception) -> None:
    assert code_and_message(error) == CONNECTION_FAILED


@pytest.mark.parametrize("make_error", [openai_error, anthropic_error, google_error])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, INVALID_KEY),
        (429, (RATE_LIMITED, "Rate limited, try again")),
        (400, (SERVICE_UNAVAILABLE, "Odd.")),
        (403, (SERVICE_UNAVAILABLE, "Odd.")),
        (404, (SERVICE_UNAVAILABLE, "Odd.")),
        (500, (SERVICE_UNAVAILABLE, "Odd.")),
        (529, (SERVICE_UNAVAILABLE, "Odd.")),
    ],
)
def test_http_statuses_have_their_error(
    make_error: Any, status: int, expected: tuple[str, str]
) -> None:
    assert code_and_message(make_error(status, error_body("Odd."))) == expected


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "API key not valid. Please pass a valid API key."),
        (400, "API key expired. Please renew the API key."),
        (403, "Method doesn't allow unregistered callers (callers without established identity)."),
    ],
)
def test_google_key_errors_are_recognised_by_message(status: int, message: str) -> None:
    assert code_and_message(google_error(status, error_body(message))) == INVALID_KEY
    assert code_and_message(openai_error(status, error_body(message))) == (
        SERVICE_UNAVAILABLE,
        message,
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"message": "Odd."}, "Odd."),
        ({"error": {"message": "Odd."}}, "Odd."),
        ({"error": "Odd."}, "Odd."),
        ([{"error": {"message": "Odd."}}], "Odd."),
        ("Odd.", "Odd."),
        ("\n Odd. \n", "Odd."),
        ({"error": {"code": 5}}, "The provider answered with HTTP 500"),
        ({"message": 5}, "The provider answered with HTTP 500"),
        ("<html>Odd</html>", "The provider answered with HTTP 500"),
        ("  <!DOCTYPE html>", "The provider answered with HTTP 500"),
        ("", "The provider answered with HTTP 500"),
        (None, "The provider answered with HTTP 500"),
        ({"message": "a\x00b\x1b[31mc"}, "ab[31mc"),
        ({"message": "x" * 5_000}, "x" * 2_000 + "…"),
    ],
)
def test_provider_message_is_taken_from_the_body(body: object, message: str) -> None:
    assert code_and_message(openai_error(500, body)) == (SERVICE_UNAVAILABLE, message)


@pytest.mark.parametrize("make_error", [openai_error, anthropic_error, google_error])
def test_the_key_is_in_no_message(make_error: Any) -> None:
    _, message = code_and_message(
        make_error(500, error_body(f"Bearer {KEY} is not known, {KEY}!")), key=KEY
    )
    assert message == "Bearer … is not known, …!"


def test_short_key_is_not_redacted() -> None:
    assert (
        code_and_message(openai_error(500, error_body("a test key")), key="test")[1] == "a test key"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (openai.APIError("Odd.", REQUEST, body={"message": "Odd."}), "Odd."),
        (openai.APIError("Odd.", REQUEST, body=None), "Odd."),
        (anthropic_error(200, {"type": "error", "error": {"message": "Odd."}}), "Odd."),
        (google.ClientError(429, error_body("Odd."), None), "Odd."),
    ],
)
def test_error_in_a_stream_has_its_message(error: Exception, expected: str) -> None:
    assert code_and_message(error) == (SERVICE_UNAVAILABLE, expected)


def test_first_cause_decides_the_error() -> None:
    """SDKs wrap every error of a transport in a connection error."""
    connection_error = openai.APIConnectionError(request=REQUEST)
    chat_error = ChatError(VALIDATION_ERROR, "Base URL: no", field="base_url")
    assert to_chat_error(with_cause(connection_error, chat_error)) is chat_error
    assert (
        code_and_message(with_cause(connection_error, httpx2.DecodingError("gzip"))) == UNREADABLE
    )
    assert code_and_message(with_cause(connection_error, OSError("reset"))) == CONNECTION_FAILED
    assert (
        code_and_message(
            with_cause(ValueError("?"), with_cause(httpx2.ReadError("reset"), OSError()))
        )
        == CONNECTION_FAILED
    )


def test_cyclic_causes_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert code_and_message(first) == (SERVICE_UNAVAILABLE, "first")


def test_unexpected_error_is_reported_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert code_and_message(RuntimeError(f"boom with {KEY}"), key=KEY) == (
        SERVICE_UNAVAILABLE,
        "boom with …",
    )
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert "RuntimeError: boom with …" in record.getMessage()
    assert KEY not in caplog.text
    assert code_and_message(RuntimeError()) == (SERVICE_UNAVAILABLE, "RuntimeError")


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("odd", "{", 0),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
        google.UnknownApiResponseError("odd"),
        RecursionError(),
        KeyError("choices"),
        TypeError("odd"),
        AttributeError("odd"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_parse_errors_are_unreadable_responses(error: Exception) -> None:
    with pytest.raises(ChatError) as raised, unreadable_on_error():
        raise error
    assert (raised.value.code, raised.value.message) == UNREADABLE
    assert raised.value.__cause__ is error


def test_errors_other_than_parse_errors_pass_unchanged() -> None:
    for error in (httpx2.ReadError("reset"), openai_error(500, None), RuntimeError("boom")):
        with pytest.raises(type(error)), unreadable_on_error():
            raise error


def test_message_is_found_in_a_deeply_nested_body() -> None:
    body = error_body("Deep.")
    for _ in range(5_000):
        body = {"error": body}
    assert code_and_message(openai_error(400, body)) == (SERVICE_UNAVAILABLE, "Deep.")
