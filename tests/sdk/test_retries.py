"""The clients' own retries: they wait as long as they are told, and then get the answer."""

import time
from typing import Any

import anyio
import openai
import pytest

from tests.sdk.anthropic.anthropic_talk import HELLO as CLAUDE
from tests.sdk.anthropic.anthropic_talk import AnthropicTalk
from tests.sdk.openai.openai_talk import HELLO, OpenAITalk
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times that the clients sleep, in seconds, without their sleeping."""
    times: list[float] = []

    async def note(seconds: float) -> None:
        times.append(seconds)

    monkeypatch.setattr(time, "sleep", times.append)
    monkeypatch.setattr(anyio, "sleep", note)
    return times


def load(live: Live, times: int, **fault: Any) -> None:
    """A scenario whose only step fails so often, and then is used up by its answer."""
    failures = {"times": times, "fault": fault}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_openai_waits_out_a_rate_limit_to_the_millisecond(
    live: Live, chat: OpenAITalk, waited: list[float], way: str
) -> None:
    load(live, 2, kind="rate_limit", retry_after_ms=1250)
    chat.given["max_retries"] = 2
    if way == "whole":
        assert chat.whole(**HELLO).choices[0].message.content == "At last."
    else:
        assert chat.stream(**HELLO).text == "At last."
    assert waited == [1.25, 1.25]
    rows = live.requests()
    assert [(row.status, row.attempt, row.outcome) for row in rows] == [
        (429, 1, "fault"),
        (429, 2, "fault"),
        (200, 2, "complete"),
    ]
    counts = [row.request_headers["x-stainless-retry-count"] for row in rows]
    assert counts == ["0", "1", "2"]


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_anthropic_waits_out_a_rate_limit_in_whole_seconds(
    live: Live, either_claude: AnthropicTalk, waited: list[float], way: str
) -> None:
    load(live, 2, kind="rate_limit", retry_after_ms=1250)
    either_claude.given["max_retries"] = 2
    if way == "whole":
        assert either_claude.whole(**CLAUDE).content[0].text == "At last."
    else:
        assert either_claude.helped(**CLAUDE).final.content[0].text == "At last."
    assert waited == [2.0, 2.0]
    assert [row.status for row in live.requests()] == [429, 429, 200]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "model_error"},
        {"kind": "http", "status": 503},
        {"kind": "http", "status": 409},
        {"kind": "network_error"},
        {"kind": "timeout", "hold_ms": 5},
    ],
    ids=lambda fault: str(fault["kind"]) + str(fault.get("status", "")),
)
def test_whatever_may_pass_is_tried_again(
    live: Live,
    chat: OpenAITalk,
    claude: AnthropicTalk,
    waited: list[float],
    fault: dict[str, Any],
) -> None:
    live.load(
        scenario(
            "one",
            {
                "consume": False,
                "failures": {"times": 1, "fault": fault},
                "produce": {"text": "At last."},
            },
        )
    )
    chat.given["max_retries"] = claude.given["max_retries"] = 1
    # Attempts are counted by provider: each has its own failure.
    assert chat.whole(**HELLO).choices[0].message.content == "At last."
    assert claude.whole(**CLAUDE).content[0].text == "At last."
    assert len(waited) == 2
    assert len(live.requests()) == 4


def test_error_marked_as_not_retryable_is_not_retried(
    live: Live, chat: OpenAITalk, waited: list[float]
) -> None:
    load(live, 1, kind="http", status=503, retryable=False)
    chat.given["max_retries"] = 2
    with pytest.raises(openai.InternalServerError):
        chat.whole(**HELLO)
    assert (waited, len(live.requests())) == ([], 1)


def test_a_bad_request_is_tried_again_where_the_script_says_so(
    live: Live, chat: OpenAITalk, waited: list[float]
) -> None:
    load(live, 1, kind="http", status=400, retryable=True, retry_after_ms=3000)
    chat.given["max_retries"] = 1
    assert chat.whole(**HELLO).choices[0].message.content == "At last."
    assert waited == [3.0]


def test_a_client_that_gives_up_gets_the_last_error(
    live: Live, chat: OpenAITalk, waited: list[float]
) -> None:
    load(live, 3, kind="rate_limit", retry_after_ms=10)
    chat.given["max_retries"] = 1
    with pytest.raises(openai.RateLimitError):
        chat.whole(**HELLO)
    with pytest.raises(openai.RateLimitError):
        chat.given["max_retries"] = 0
        chat.whole(**HELLO)
    assert live.state().consumed == ()
    assert chat.whole(**HELLO).choices[0].message.content == "At last."
    assert [ref.label for ref in live.state().consumed] == ["1"]


def test_a_wait_of_more_than_two_minutes_is_not_openais(
    live: Live, chat: OpenAITalk, waited: list[float]
) -> None:
    load(live, 1, kind="rate_limit", retry_after_ms=121_000)
    chat.given["max_retries"] = 2
    with pytest.raises(openai.RateLimitError):
        chat.whole(**HELLO)
    assert waited == []
