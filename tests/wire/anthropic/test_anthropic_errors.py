"""Anthropic's errors: scripted types, rate limit headers, and exceptions of the SDK."""

import json
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types.beta_error_response import BetaErrorResponse

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.anthropic.wire import WIRE
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import MINIMAL_BODY, call, response, stream
from tests.wire.statuses import ANTHROPIC

CREATED = 1_763_760_000
BUCKETS = ("requests", "tokens", "input-tokens", "output-tokens")


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500, 504, 529])
def test_the_sdks_type_accepts_the_envelope(status: int) -> None:
    BetaErrorResponse.model_validate(_render_error(ErrorAnswer(status, "Oh.")), strict=True)


def test_scripted_type_and_code_are_in_the_body() -> None:
    answer = ErrorAnswer(400, "Oh.", type="billing_error", code="card_declined", param="model")
    assert _render_error(answer)["error"] == {
        "type": "billing_error",
        "message": "Oh.",
        "details": {"error_code": "card_declined"},
    }


def test_an_error_in_a_stream_is_a_named_event_without_a_request_id() -> None:
    event = WIRE.stream_error(ErrorAnswer(529, "Over\nloaded"), events_sent=7)
    assert event == (
        b"event: error\n"
        b'data: {"type":"error","error":{"type":"overloaded_error","message":"Over\\nloaded"}}\n\n'
    )


def test_every_answer_has_a_request_id_an_organization_and_its_limits() -> None:
    headers = _render_headers(None)
    assert headers["request-id"] == "req_f00d"
    assert headers["anthropic-organization-id"]
    for bucket in BUCKETS:
        limit = int(headers[f"anthropic-ratelimit-{bucket}-limit"])
        assert 0 < int(headers[f"anthropic-ratelimit-{bucket}-remaining"]) <= limit
        reset = datetime.fromisoformat(headers[f"anthropic-ratelimit-{bucket}-reset"])
        assert reset == datetime.fromtimestamp(CREATED + 60, UTC)
    assert "retry-after" not in headers
    assert len(headers) == 2 + 3 * len(BUCKETS)


def test_exhausted_limit_has_its_reset_time() -> None:
    headers = _render_headers(ErrorAnswer(429, "Slow.", retry_after_ms=1500, limited=True))
    assert headers["retry-after"] == "2"
    for bucket in BUCKETS:
        assert headers[f"anthropic-ratelimit-{bucket}-remaining"] == "0"
        reset = datetime.fromisoformat(headers[f"anthropic-ratelimit-{bucket}-reset"])
        assert reset == datetime.fromtimestamp(CREATED + 2, UTC)


def test_exhausted_limit_without_retry_after_resets_after_its_window() -> None:
    headers = _render_headers(ErrorAnswer(429, "Slow.", limited=True))
    assert "retry-after" not in headers
    reset = datetime.fromisoformat(headers["anthropic-ratelimit-tokens-reset"])
    assert reset == datetime.fromtimestamp(CREATED + 60, UTC)


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (409, anthropic.ConflictError),
        (422, anthropic.UnprocessableEntityError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_the_sdk_raises_the_error_of_the_status(status: int, error_class: type[Any]) -> None:
    answer = ErrorAnswer(status, "Oh.", code="because")
    headers = WIRE.headers(request_id="f00d", created=CREATED, error=answer)
    body = WIRE.error(answer, request_id="f00d")
    with pytest.raises(error_class) as raised:
        _create_message(httpx2.Response(status, headers=list(headers), content=body))
    assert raised.value.request_id == "req_f00d"
    assert raised.value.api_message == "Oh."
    assert raised.value.type == ANTHROPIC[status]
    assert raised.value.error_code == "because"


def test_the_sdk_raises_an_error_in_a_stream() -> None:
    event = WIRE.stream_error(ErrorAnswer(529, "Full."), events_sent=1)
    answer = httpx2.Response(200, headers={"content-type": WIRE.stream_type}, content=event)
    with pytest.raises(anthropic.APIStatusError) as raised:
        list(_create_message(answer, stream=True))
    assert raised.value.type == "overloaded_error"


def test_the_sdk_fails_on_the_malformed_event() -> None:
    stream_start = stream(response(TextPart("a"))).partition(b"event: content_block_delta")[0]
    answer = httpx2.Response(
        200, headers={"content-type": WIRE.stream_type}, content=stream_start + WIRE.malformed_event
    )
    with pytest.raises(json.JSONDecodeError):
        list(_create_message(answer, stream=True))


def test_wire_errors_have_the_providers_type() -> None:
    with pytest.raises(WireError) as raised:
        WIRE.authorise(call(headers={}))
    assert _render_error(raised.value.answer)["error"]["type"] == "authentication_error"


def _render_error(answer: ErrorAnswer) -> dict[str, Any]:
    return json.loads(WIRE.error(answer, request_id="f00d"))


def _render_headers(error: ErrorAnswer | None) -> dict[str, str]:
    headers = WIRE.headers(request_id="f00d", created=CREATED, error=error)
    assert len(dict(headers)) == len(headers), "a header is there twice"
    return dict(headers)


def _create_message(answer: httpx2.Response, **options: Any) -> Any:
    http_client = httpx2.Client(transport=httpx2.MockTransport(lambda request: answer))
    with anthropic.Anthropic(
        api_key="k", base_url="http://test", http_client=http_client, max_retries=0
    ) as client:
        result = client.messages.create(**MINIMAL_BODY, **options)
        return list(result) if options else result
