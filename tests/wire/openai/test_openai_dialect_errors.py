"""Errors and headers in each dialect of OpenAI's API."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.openai.dialects.rows import DIALECTS
from scenarios_app.wire.openai.wire import WIRES_BY_DIALECT


@pytest.mark.parametrize(
    ("name", "status", "envelope"),
    [
        ("openrouter", 400, {"error": {"message": "M", "code": 400}}),
        (
            "vllm",
            404,
            {"error": {"message": "M", "type": "NotFoundError", "param": None, "code": 404}},
        ),
        (
            "vllm",
            500,
            {
                "error": {
                    "message": "M",
                    "type": "InternalServerError",
                    "param": None,
                    "code": 500,
                }
            },
        ),
        (
            "vllm",
            599,
            {"error": {"message": "M", "type": "UnknownError", "param": None, "code": 599}},
        ),
        (
            "deepseek",
            401,
            {
                "error": {
                    "message": "M",
                    "type": "authentication_error",
                    "param": None,
                    "code": "invalid_request_error",
                }
            },
        ),
        (
            "deepseek",
            503,
            {"error": {"message": "M", "type": "server_error", "param": None, "code": None}},
        ),
        (
            "groq",
            404,
            {
                "error": {
                    "message": "M",
                    "type": "invalid_request_error",
                    "code": "model_not_found",
                }
            },
        ),
        (
            "groq",
            429,
            {"error": {"message": "M", "type": "tokens", "code": "rate_limit_exceeded"}},
        ),
        (
            "mistral",
            400,
            {
                "object": "error",
                "message": "M",
                "type": "invalid_request_error",
                "param": None,
                "code": "3051",
                "raw_status_code": 400,
            },
        ),
        (
            "mistral",
            500,
            {
                "object": "error",
                "message": "M",
                "type": "internal_server_error",
                "param": None,
                "code": "3000",
                "raw_status_code": 500,
            },
        ),
        ("xai", 400, {"code": "Client specified an invalid argument", "error": "M"}),
        ("xai", 500, {"code": "Internal error", "error": "M"}),
        (
            "ollama",
            404,
            {"error": {"message": "M", "type": "not_found_error", "param": None, "code": None}},
        ),
        (
            "ollama",
            500,
            {"error": {"message": "M", "type": "api_error", "param": None, "code": None}},
        ),
        (
            "azure",
            404,
            {
                "error": {
                    "message": "M",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "model_not_found",
                }
            },
        ),
    ],
)
def test_an_error_has_the_dialects_envelope(
    name: str, status: int, envelope: dict[str, Any]
) -> None:
    wire, error = WIRES_BY_DIALECT[name], ErrorAnswer(status, "M")
    assert json.loads(wire.error(error, request_id="r")) == envelope
    event = wire.stream_error(error, events_sent=1)
    assert json.loads(event.removeprefix(b"data: ")) == envelope


def test_openrouter_puts_other_error_fields_into_metadata() -> None:
    error = ErrorAnswer(429, "M", code="c", limited=True)
    body = json.loads(WIRES_BY_DIALECT["openrouter"].error(error, request_id="r"))
    assert body["error"]["metadata"] == {"raw": "M", "provider_name": "mockllm", "code": "c"}
    assert body["user_id"] == "user_mockllm"


@pytest.mark.parametrize("name", DIALECTS)
def test_rate_limit_error_has_retry_after(name: str) -> None:
    error = ErrorAnswer(429, "M", limited=True, retry_after_ms=1500)
    headers = dict(WIRES_BY_DIALECT[name].headers(request_id="abc", created=0, error=error))
    assert headers["retry-after"] == "2"
    success_headers = dict(WIRES_BY_DIALECT[name].headers(request_id="abc", created=0, error=None))
    assert "retry-after" not in success_headers
    assert ("x-ratelimit-limit-requests" in success_headers) is (
        name in {"openai", "azure", "groq", "mistral", "xai"}
    )


def test_headers_have_the_request_id() -> None:
    headers = dict(WIRES_BY_DIALECT["groq"].headers(request_id="abc", created=0, error=None))
    assert headers["x-request-id"] == "req_abc"
    azure = dict(WIRES_BY_DIALECT["azure"].headers(request_id="abc", created=0, error=None))
    assert azure["apim-request-id"] == "abc"
