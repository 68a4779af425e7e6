"""Faults in OpenAI's Responses API: resumed streams and the stream helper."""

from typing import Any

import pytest

from tests.sdk.openai.openai_client import OpenAIClient, StreamItems
from tests.sdk.scripted import TEXT, load_fault
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

REQUEST: dict[str, Any] = {"model": "gpt-4o", "input": "Hello"}


def create_response(client: OpenAIClient, **params: Any) -> Any:
    return client.ask(lambda c: c.responses.create(**REQUEST, **params))


def read_stream(client: OpenAIClient) -> StreamItems:
    return client.read(lambda c: c.responses.create(**REQUEST, stream=True))


def split_text(stream: StreamItems) -> list[str]:
    deltas = (item for item in stream.items if item.type == "response.output_text.delta")
    return "".join(item.delta for item in deltas).split()


def test_successful_response_has_rate_limit_headers(live: Live, client: OpenAIClient) -> None:
    live.load(scenario("one", text_step("Hi")))
    raw = client.ask(lambda c: c.responses.with_raw_response.create(**REQUEST))
    assert int(raw.headers["x-ratelimit-remaining-requests"]) > 0
    assert raw.headers["x-request-id"].startswith("req_")
    assert raw.headers["x-mockllm-scenario"] == "one"


def test_client_retries_scripted_failures(live: Live, client: OpenAIClient) -> None:
    step = {"failures": {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 1}}}
    live.load(scenario("one", text_step("Hi", **step)))
    client.options["max_retries"] = 2
    assert create_response(client).output_text == "Hi"
    assert [row.status for row in live.requests()] == [429, 429, 200]


def test_cut_stream_can_be_resumed(live: Live, client: OpenAIClient) -> None:
    load_fault(live, "disconnect")
    stream = read_stream(client)
    response_id, last_number = stream.items[0].response.id, stream.items[-1].sequence_number
    rest = client.read(
        lambda c: c.responses.retrieve(response_id, stream=True, starting_after=last_number)
    )
    assert rest.error is None
    assert split_text(StreamItems([*stream.items, *rest.items])) == TEXT.split()
    assert rest.types[-1] == "response.completed"


def test_stream_helper_raises_on_a_truncated_stream(live: Live, client: OpenAIClient) -> None:
    load_fault(live, "truncate")
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.stream_with_helper(**REQUEST)


def test_an_error_inside_the_stream_is_the_last_event(live: Live, client: OpenAIClient) -> None:
    load_fault(live, "error_event", message="The model fell over.")
    *before, last = read_stream(client).items
    assert (last.type, last.sequence_number) == ("error", len(before))
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.stream_with_helper(**REQUEST)
