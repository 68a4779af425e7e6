"""Errors as each provider's client raises them: each status its exception, and what it says."""

from typing import Any

import anthropic
import openai
import pytest

from tests.sdk.clients import PROVIDERS, Client
from tests.sdk.errors import ERRORS, Errors
from tests.sdk.scripted import load_fault
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live

MESSAGE = "Nein – not now."


@pytest.fixture
def errors(provider: str) -> Errors:
    return ERRORS[provider]


@pytest.mark.parametrize(
    ("provider", "status"),
    [(name, status) for name in PROVIDERS for status in ERRORS[name].statuses],
)
def test_a_scripted_error(live: Live, client: Client, errors: Errors, status: int) -> None:
    scripted = {"message": MESSAGE, "headers": {"x-why": "because"}, **(errors.scripted or {})}
    load_fault(live, "http", status=status, **scripted)
    kind, *details = errors.statuses[status]
    for error in client.refused():
        assert errors.told(error) == (kind, status, MESSAGE, *details, *errors.details)
        assert not errors.answer or errors.answer(error).headers["x-why"] == "because"
        # Google and Ollama give it none.
        assert client.provider in ("gemini", "ollama") or has_the_id_of_its_request(error)
    assert [row.outcome for row in live.requests()] == ["fault", "fault"]


def has_the_id_of_its_request(error: Exception) -> bool:
    match error:
        case anthropic.APIStatusError(request_id=str(id), body={"request_id": told}):
            return id.startswith("req_") and told == id
        case openai.APIStatusError(request_id=str(id)):
            return id.startswith("req_")
        case _:
            return False


@pytest.mark.parametrize(("kind", "status"), [("rate_limit", 429), ("model_error", 500)])
def test_an_error_by_its_kind(
    live: Live, client: Client, errors: Errors, kind: str, status: int
) -> None:
    load_fault(live, kind)
    for error in client.refused():
        expected, *details = errors.statuses[status]
        found, code, message, *said = errors.told(error)
        assert (found, code) == (expected, status) and message.startswith("Simulated")
        assert said == (list(errors.kinds[kind]) if errors.kinds else details)
        if kind == "rate_limit" and errors.answer:
            assert errors.answer(error).headers["retry-after"] == "1"


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if ERRORS[name].answer])
def test_a_rate_limit_says_when_to_come_again(live: Live, client: Client, errors: Errors) -> None:
    load_fault(live, "rate_limit", retry_after_ms=2500)
    assert errors.answer is not None and errors.limits is not None
    for error in client.refused():
        headers = errors.answer(error).headers
        assert headers["retry-after"] == "3"
        assert headers.get("retry-after-ms") == errors.retry_after_ms
        limits = {name: value for name, value in headers.items() if "ratelimit" in name}
        assert errors.limits.items() <= limits.items()
        assert set(map(owner, limits)) == set(map(owner, errors.limits))


def owner(header: str) -> str:
    return header.partition("ratelimit")[0]


@pytest.mark.parametrize(
    ("provider", "given", "place"),
    [(name, *wrong) for name in PROVIDERS for wrong in ERRORS[name].malformed],
)
def test_a_malformed_request_names_the_place(
    live: Live, client: Client, errors: Errors, given: dict[str, Any], place: str
) -> None:
    live.load(scenario("one", says("Never.")))
    assert errors.names is not None
    for error in client.refused(**given):
        assert errors.told(error)[:2] == (errors.statuses[400][0], 400)
        assert errors.names(error, place)


@pytest.mark.parametrize("provider", [*PROVIDERS, "anthropic beta"])
def test_unmatched_request_names_the_nearest_scenario(
    live: Live, client: Client, errors: Errors
) -> None:
    live.load(scenario("greet", {"match": {"model": "other-9"}, "produce": {"text": "x"}}))
    for error in client.refused():
        kind, status, message, *said = errors.told(error)
        assert (kind, status, *said) == (errors.statuses[404][0], 404, *errors.unmatched)
        assert message.startswith("no_scenario_matched: ")
        assert "greet" in message and "other-9" in message and client.model in message


def test_a_body_that_is_too_large(
    live: Live, client: Client, errors: Errors, settings: Any
) -> None:
    for error in client.refused("x" * (settings.MOCKLLM_MAX_BODY_BYTES + 1)):
        kind, status, message, *said = errors.told(error)
        assert (kind, status, *said) == (errors.too_large[0], 413, *errors.too_large[1:])
        assert "larger than" in message
    live.load(scenario("one", says("Still here.")))
    assert client.whole() == "Still here."
