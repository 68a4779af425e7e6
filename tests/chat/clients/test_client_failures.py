"""The table of failures: what SDKs, the network and parsers raise, as the chat's errors."""

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
FAILED = (NETWORK_ERROR, "Connection failed")
UNREADABLE = (SERVICE_UNAVAILABLE, "Failed to parse response")
INVALID = (UNAUTHORIZED, "Invalid API key")


def answered(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=REQUEST)


def by_openai(status: int, body: object) -> Exception:
    return openai.APIStatusError(f"Error code: {status}", response=answered(status), body=body)


def by_anthropic(status: int, body: object) -> Exception:
    return anthropic.APIStatusError(f"Error code: {status}", response=answered(status), body=body)


def by_google(status: int, body: object) -> Exception:
    return google.ClientError(status, body, answered(status))


def error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def seen(error: Exception, **options: str) -> tuple[str, str]:
    chat_error = to_chat_error(error, **options)
    return chat_error.code, chat_error.message


@pytest.mark.parametrize("name", KINDS)
def test_every_name_in_the_table_is_a_class(name: str) -> None:
    module, _, kind = name.rpartition(".")
    assert issubclass(getattr(import_module(module), kind), Exception)


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
def test_the_network(error: Exception) -> None:
    assert seen(error) == FAILED


@pytest.mark.parametrize("by", [by_openai, by_anthropic, by_google])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, INVALID),
        (429, (RATE_LIMITED, "Rate limited, try again")),
        (400, (SERVICE_UNAVAILABLE, "Odd.")),
        (403, (SERVICE_UNAVAILABLE, "Odd.")),
        (404, (SERVICE_UNAVAILABLE, "Odd.")),
        (500, (SERVICE_UNAVAILABLE, "Odd.")),
        (529, (SERVICE_UNAVAILABLE, "Odd.")),
    ],
)
def test_statuses(by: Any, status: int, expected: tuple[str, str]) -> None:
    assert seen(by(status, error_body("Odd."))) == expected


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "API key not valid. Please pass a valid API key."),
        (400, "API key expired. Please renew the API key."),
        (403, "Method doesn't allow unregistered callers (callers without established identity)."),
    ],
)
def test_google_has_other_statuses_for_a_key(status: int, message: str) -> None:
    assert seen(by_google(status, error_body(message))) == INVALID
    assert seen(by_openai(status, error_body(message))) == (SERVICE_UNAVAILABLE, message)


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
def test_a_providers_own_words(body: object, message: str) -> None:
    assert seen(by_openai(500, body)) == (SERVICE_UNAVAILABLE, message)


@pytest.mark.parametrize("by", [by_openai, by_anthropic, by_google])
def test_the_key_is_in_no_message(by: Any) -> None:
    _, message = seen(by(500, error_body(f"Bearer {KEY} is not known, {KEY}!")), key=KEY)
    assert message == "Bearer … is not known, …!"


def test_a_key_that_is_a_word_takes_no_words_out() -> None:
    assert seen(by_openai(500, error_body("a test key")), key="test")[1] == "a test key"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (openai.APIError("Odd.", REQUEST, body={"message": "Odd."}), "Odd."),
        (openai.APIError("Odd.", REQUEST, body=None), "Odd."),
        (by_anthropic(200, {"type": "error", "error": {"message": "Odd."}}), "Odd."),
        (google.ClientError(429, error_body("Odd."), None), "Odd."),
    ],
)
def test_an_error_inside_a_stream(error: Exception, expected: str) -> None:
    assert seen(error) == (SERVICE_UNAVAILABLE, expected)


def test_the_first_cause_counts() -> None:
    """SDKs wrap whatever a transport raises as a broken connection."""
    wrapped = openai.APIConnectionError(request=REQUEST)
    own = ChatError(VALIDATION_ERROR, "Base URL: no", field="base_url")
    assert to_chat_error(caused(wrapped, own)) is own
    assert seen(caused(wrapped, httpx2.DecodingError("gzip"))) == UNREADABLE
    assert seen(caused(wrapped, OSError("reset"))) == FAILED
    assert seen(caused(ValueError("?"), caused(httpx2.ReadError("reset"), OSError()))) == FAILED


def test_an_error_that_causes_itself_is_no_loop() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert seen(first) == (SERVICE_UNAVAILABLE, "first")


def test_unexpected_error_is_reported_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert seen(RuntimeError(f"boom with {KEY}"), key=KEY) == (
        SERVICE_UNAVAILABLE,
        "boom with …",
    )
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert "RuntimeError: boom with …" in record.getMessage()
    assert KEY not in caplog.text
    assert seen(RuntimeError()) == (SERVICE_UNAVAILABLE, "RuntimeError")


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
def test_whatever_cannot_be_read(error: Exception) -> None:
    with pytest.raises(ChatError) as raised, unreadable_on_error():
        raise error
    assert (raised.value.code, raised.value.message) == UNREADABLE
    assert raised.value.__cause__ is error


def test_errors_other_than_parse_errors_pass_unchanged() -> None:
    for error in (httpx2.ReadError("reset"), by_openai(500, None), RuntimeError("boom")):
        with pytest.raises(type(error)), unreadable_on_error():
            raise error


def test_message_is_found_in_a_deeply_nested_body() -> None:
    body = error_body("Deep.")
    for _ in range(5_000):
        body = {"error": body}
    assert seen(by_openai(400, body)) == (SERVICE_UNAVAILABLE, "Deep.")
