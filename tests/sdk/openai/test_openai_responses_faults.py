"""Errors and broken answers of OpenAI's Responses, and what the client raises for each."""

import json
from typing import Any

import httpx2
import openai
import pytest

from tests.live import Live
from tests.sdk.openai.openai_client import Client, Read
from tests.sdk.openai.test_openai_errors import STATUSES
from tests.serving.pipelines import says, scenario

TEXT = "one two three four five"
ASKED: dict[str, Any] = {"model": "gpt-4o", "input": "Hello"}


def load(live: Live, kind: str, **fault: Any) -> None:
    """A scenario of five chunks of text, and a fault after two of them."""
    produce: dict[str, Any] = {"fault": {"kind": kind, **fault}}
    if kind not in ("timeout", "network_error", "invalid_response", "http", "rate_limit"):
        produce["fault"].setdefault("after_chunks", 2)
        produce |= {"text": TEXT, "pacing": {"words_per_chunk": 1}}
    live.load(scenario("one", {"consume": False, "produce": produce}))


def whole(client: Client, **asked: Any) -> Any:
    return client.ask(lambda c: c.responses.create(**ASKED, **asked))


def read(client: Client) -> Read:
    return client.read(lambda c: c.responses.create(**ASKED, stream=True))


def text(seen: Read) -> list[str]:
    deltas = (item for item in seen.items if item.type == "response.output_text.delta")
    return "".join(item.delta for item in deltas).split()


@pytest.mark.parametrize(("status", "expected"), STATUSES)
def test_a_scripted_error(
    live: Live, client: Client, status: int, expected: type[openai.APIStatusError]
) -> None:
    load(live, "http", status=status, message="Nein.", code="odd", param="input")
    for ask in (whole, lambda c: whole(c, stream=True)):
        with pytest.raises(openai.APIStatusError) as raised:
            ask(client)
        error = raised.value
        assert type(error) is expected and error.status_code == status
        assert (error.code, error.param) == ("odd", "input")
        assert error.request_id is not None and error.request_id.startswith("req_")


def test_a_rate_limit_says_when_to_come_again(live: Live, client: Client) -> None:
    load(live, "rate_limit", retry_after_ms=1500)
    with pytest.raises(openai.RateLimitError) as raised:
        whole(client)
    headers = raised.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "1500")
    assert headers["x-ratelimit-remaining-requests"] == "0"


def test_good_answers_tell_the_limits_too(live: Live, client: Client) -> None:
    live.load(scenario("one", says("Hi")))
    raw = client.ask(lambda c: c.responses.with_raw_response.create(**ASKED))
    assert int(raw.headers["x-ratelimit-remaining-requests"]) > 0
    assert raw.headers["x-request-id"].startswith("req_")
    assert raw.headers["x-mockllm-scenario"] == "one"


def test_no_scenario_is_not_found(live: Live, client: Client) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        whole(client)
    assert raised.value.code == "no_scenario_matched"


def test_a_failure_is_tried_again_by_the_client_itself(live: Live, client: Client) -> None:
    step = {"failures": {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 1}}}
    live.load(scenario("one", says("Hi", **step)))
    client.given["max_retries"] = 2
    assert whole(client).output_text == "Hi"
    assert [row.status for row in live.requests()] == [429, 429, 200]


def test_a_cut_stream_gives_what_was_sent_and_a_connection_error(
    live: Live, client: Client
) -> None:
    load(live, "disconnect")
    seen = read(client)
    assert text(seen) == ["one", "two"]
    assert type(seen.error) is openai.APIConnectionError
    assert isinstance(seen.error.__cause__, httpx2.RemoteProtocolError)
    assert [row.outcome for row in live.requests()] == ["fault"]


def test_a_cut_stream_can_be_taken_up_again(live: Live, client: Client) -> None:
    load(live, "disconnect")
    seen = read(client)
    name, last = seen.items[0].response.id, seen.items[-1].sequence_number
    rest = client.read(lambda c: c.responses.retrieve(name, stream=True, starting_after=last))
    assert rest.error is None
    assert text(Read([*seen.items, *rest.items])) == TEXT.split()
    assert rest.types[-1] == "response.completed"


def test_a_truncated_stream_raises_nothing_and_lacks_its_end(live: Live, client: Client) -> None:
    load(live, "truncate")
    seen = read(client)
    assert (text(seen), seen.error) == (["one", "two"], None)
    assert "response.completed" not in seen.types
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.helped(**ASKED)


def test_an_error_inside_the_stream_is_an_event(live: Live, client: Client) -> None:
    load(live, "error_event", message="The model fell over.", code="fell_over")
    seen = read(client)
    assert (text(seen), seen.error) == (["one", "two"], None)
    last = seen.items[-1]
    assert (last.type, last.message, last.code) == ("error", "The model fell over.", "fell_over")
    assert last.sequence_number == len(seen.items) - 1
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.helped(**ASKED)
    with pytest.raises(openai.InternalServerError, match="fell over"):
        whole(client)


def test_a_malformed_chunk_cannot_be_read(live: Live, client: Client) -> None:
    load(live, "malformed_chunk")
    seen = read(client)
    assert text(seen) == ["one", "two"]
    assert isinstance(seen.error, json.JSONDecodeError)


def test_a_stall_goes_on(live: Live, client: Client) -> None:
    load(live, "stall", hold_ms=50)
    assert text(read(client)) == TEXT.split()
    assert whole(client).output_text == TEXT


def test_silence_beyond_the_clients_patience_is_a_timeout(live: Live, client: Client) -> None:
    # Not so little that the pieces before it could take as long.
    client.given["timeout"] = 1.5
    load(live, "stall", hold_ms=60_000)
    seen = read(client)
    assert text(seen) == ["one", "two"] and isinstance(seen.error, openai.APITimeoutError)
    client.given["timeout"] = 0.3
    load(live, "timeout", hold_ms=60_000)
    with pytest.raises(openai.APITimeoutError):
        whole(client)


def test_no_answer_at_all_is_a_connection_error(live: Live, client: Client) -> None:
    load(live, "network_error")
    with pytest.raises(openai.APIConnectionError):
        whole(client)
    assert isinstance(read(client).error, openai.APIConnectionError)


def test_an_invalid_response_cannot_be_read(live: Live, client: Client) -> None:
    load(live, "invalid_response")
    with pytest.raises(json.JSONDecodeError):
        whole(client)
    assert isinstance(read(client).error, json.JSONDecodeError)


def test_whole_answers_break_too(live: Live, client: Client) -> None:
    load(live, "disconnect")
    with pytest.raises(openai.APIConnectionError):
        whole(client)
    load(live, "truncate")
    with pytest.raises(json.JSONDecodeError):
        whole(client)


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"input": [{"role": "critic", "content": "x"}]}, "input[0].role"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"text": {"format": {}}}, "text.format.type"),
    ],
)
def test_a_request_that_is_wrong_is_told_where(
    live: Live, client: Client, given: dict[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        client.ask(lambda c: c.responses.create(**{**ASKED, **given}))
    assert raised.value.param == param
