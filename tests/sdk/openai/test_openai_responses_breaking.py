"""What only OpenAI's Responses does where an answer breaks: streams taken up again, and helpers."""

from typing import Any

import pytest

from tests.sdk.openai.openai_client import Client, Read
from tests.sdk.scripted import TEXT, load_fault
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live

ASKED: dict[str, Any] = {"model": "gpt-4o", "input": "Hello"}


def whole(client: Client, **asked: Any) -> Any:
    return client.ask(lambda c: c.responses.create(**ASKED, **asked))


def read(client: Client) -> Read:
    return client.read(lambda c: c.responses.create(**ASKED, stream=True))


def text(seen: Read) -> list[str]:
    deltas = (item for item in seen.items if item.type == "response.output_text.delta")
    return "".join(item.delta for item in deltas).split()


def test_good_answers_tell_the_limits_too(live: Live, client: Client) -> None:
    live.load(scenario("one", says("Hi")))
    raw = client.ask(lambda c: c.responses.with_raw_response.create(**ASKED))
    assert int(raw.headers["x-ratelimit-remaining-requests"]) > 0
    assert raw.headers["x-request-id"].startswith("req_")
    assert raw.headers["x-mockllm-scenario"] == "one"


def test_a_failure_is_tried_again_by_the_client_itself(live: Live, client: Client) -> None:
    step = {"failures": {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 1}}}
    live.load(scenario("one", says("Hi", **step)))
    client.given["max_retries"] = 2
    assert whole(client).output_text == "Hi"
    assert [row.status for row in live.requests()] == [429, 429, 200]


def test_a_cut_stream_can_be_taken_up_again(live: Live, client: Client) -> None:
    load_fault(live, "disconnect")
    seen = read(client)
    name, last = seen.items[0].response.id, seen.items[-1].sequence_number
    rest = client.read(lambda c: c.responses.retrieve(name, stream=True, starting_after=last))
    assert rest.error is None
    assert text(Read([*seen.items, *rest.items])) == TEXT.split()
    assert rest.types[-1] == "response.completed"


def test_the_helper_has_nothing_of_a_truncated_stream(live: Live, client: Client) -> None:
    load_fault(live, "truncate")
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.helped(**ASKED)


def test_an_error_inside_the_stream_is_the_last_event(live: Live, client: Client) -> None:
    load_fault(live, "error_event", message="The model fell over.")
    *before, last = read(client).items
    assert (last.type, last.sequence_number) == ("error", len(before))
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.helped(**ASKED)
