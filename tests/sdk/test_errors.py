"""Errors that each provider's client raises: the exception of each status, with its attributes."""

from typing import Any

import anthropic
import openai
import pytest

from tests.sdk.clients import PROVIDERS, ProviderClient
from tests.sdk.errors import ERRORS, ExpectedErrors
from tests.sdk.scripted import load_fault
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

MESSAGE = "Nein – not now."


@pytest.fixture
def errors(provider: str) -> ExpectedErrors:
    return ERRORS[provider]


@pytest.mark.parametrize(
    ("provider", "status"),
    [(name, status) for name in PROVIDERS for status in ERRORS[name].statuses],
)
def test_a_scripted_error(
    live: Live, client: ProviderClient, errors: ExpectedErrors, status: int
) -> None:
    scripted = {
        "message": MESSAGE,
        "headers": {"x-why": "because"},
        **(errors.scripted_fields or {}),
    }
    load_fault(live, "http", status=status, **scripted)
    kind, *details = errors.statuses[status]
    for error in client.collect_errors():
        assert errors.describe(error) == (kind, status, MESSAGE, *details, *errors.details)
        assert not errors.get_response or errors.get_response(error).headers["x-why"] == "because"
        # Clients of Google and Ollama have no request id.
        assert client.provider in ("gemini", "ollama") or has_request_id(error)
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


def has_request_id(error: Exception) -> bool:
    match error:
        case anthropic.APIStatusError(request_id=str(request_id), body={"request_id": body_id}):
            return request_id.startswith("req_") and body_id == request_id
        case openai.APIStatusError(request_id=str(request_id)):
            return request_id.startswith("req_")
        case _:
            return False


@pytest.mark.parametrize(("kind", "status"), [("rate_limit", 429), ("model_error", 500)])
def test_an_error_by_its_kind(
    live: Live, client: ProviderClient, errors: ExpectedErrors, kind: str, status: int
) -> None:
    load_fault(live, kind)
    for error in client.collect_errors():
        expected, *details = errors.statuses[status]
        error_class, code, message, *attributes = errors.describe(error)
        assert (error_class, code) == (expected, status) and message.startswith("Simulated")
        assert attributes == (
            list(errors.details_by_kind[kind]) if errors.details_by_kind else details
        )
        if kind == "rate_limit" and errors.get_response:
            assert errors.get_response(error).headers["retry-after"] == "1"


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if ERRORS[name].get_response])
def test_rate_limit_has_retry_headers(
    live: Live, client: ProviderClient, errors: ExpectedErrors
) -> None:
    load_fault(live, "rate_limit", retry_after_ms=2500)
    assert errors.get_response is not None and errors.rate_limit_headers is not None
    for error in client.collect_errors():
        headers = errors.get_response(error).headers
        assert headers["retry-after"] == "3"
        assert headers.get("retry-after-ms") == errors.retry_after_ms
        limits = {name: value for name, value in headers.items() if "ratelimit" in name}
        assert errors.rate_limit_headers.items() <= limits.items()
        assert set(map(header_prefix, limits)) == set(map(header_prefix, errors.rate_limit_headers))


def header_prefix(header: str) -> str:
    return header.partition("ratelimit")[0]


@pytest.mark.parametrize(
    ("provider", "body", "place"),
    [(name, *wrong) for name in PROVIDERS for wrong in ERRORS[name].malformed],
)
def test_a_malformed_request_names_the_place(
    live: Live, client: ProviderClient, errors: ExpectedErrors, body: dict[str, Any], place: str
) -> None:
    live.load(scenario("one", text_step("Never.")))
    assert errors.names_place is not None
    for error in client.collect_errors(**body):
        assert errors.describe(error)[:2] == (errors.statuses[400][0], 400)
        assert errors.names_place(error, place)


@pytest.mark.parametrize("provider", [*PROVIDERS, "anthropic beta"])
def test_unmatched_request_names_the_nearest_scenario(
    live: Live, client: ProviderClient, errors: ExpectedErrors
) -> None:
    live.load(scenario("greet", {"match": {"model": "other-9"}, "produce": {"text": "x"}}))
    for error in client.collect_errors():
        kind, status, message, *attributes = errors.describe(error)
        assert (kind, status, *attributes) == (errors.statuses[404][0], 404, *errors.unmatched)
        assert message.startswith("no_scenario_matched: ")
        assert "greet" in message and "other-9" in message and client.model in message


def test_a_body_that_is_too_large(
    live: Live, client: ProviderClient, errors: ExpectedErrors, settings: Any
) -> None:
    for error in client.collect_errors("x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)):
        kind, status, message, *attributes = errors.describe(error)
        assert (kind, status, *attributes) == (errors.too_large[0], 413, *errors.too_large[1:])
        assert "larger than" in message
    live.load(scenario("one", text_step("Still here.")))
    assert client.create() == "Still here."
