"""The clients' retries: they wait as long as the response asks, and then get the answer."""

import time
from typing import Any

import anyio
import openai
import pytest

from tests.sdk.anthropic.anthropic_client import HELLO as ANTHROPIC_HELLO
from tests.sdk.anthropic.anthropic_client import AnthropicClient
from tests.sdk.openai.openai_chat_client import HELLO, OpenAIChatClient
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


@pytest.fixture
def sleep_seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace sleeping by a list of the durations, in seconds."""
    seconds: list[float] = []

    async def record_seconds(duration: float) -> None:
        seconds.append(duration)

    monkeypatch.setattr(time, "sleep", seconds.append)
    monkeypatch.setattr(anyio, "sleep", record_seconds)
    return seconds


def load(live: Live, times: int, **fault: Any) -> None:
    """Load a scenario whose only step fails `times` times, then answers and is consumed."""
    failures = {"times": times, "fault": fault}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))


@pytest.mark.parametrize("mode", ["whole", "streamed"])
def test_openai_waits_out_a_rate_limit_to_the_millisecond(
    live: Live, chat: OpenAIChatClient, sleep_seconds: list[float], mode: str
) -> None:
    load(live, 2, kind="rate_limit", retry_after_ms=1250)
    chat.options["max_retries"] = 2
    if mode == "whole":
        assert chat.create(**HELLO).choices[0].message.content == "At last."
    else:
        assert chat.stream(**HELLO).text == "At last."
    assert sleep_seconds == [1.25, 1.25]
    rows = live.requests()
    assert [(row.status, row.attempt, row.outcome) for row in rows] == [
        (429, 1, "fault"),
        (429, 2, "fault"),
        (200, 2, "complete"),
    ]
    counts = [row.request_headers["x-stainless-retry-count"] for row in rows]
    assert counts == ["0", "1", "2"]


@pytest.mark.parametrize("mode", ["whole", "streamed"])
def test_anthropic_waits_out_a_rate_limit_in_whole_seconds(
    live: Live, either_claude: AnthropicClient, sleep_seconds: list[float], mode: str
) -> None:
    load(live, 2, kind="rate_limit", retry_after_ms=1250)
    either_claude.options["max_retries"] = 2
    if mode == "whole":
        assert either_claude.create(**ANTHROPIC_HELLO).content[0].text == "At last."
    else:
        assert (
            either_claude.stream_with_helper(**ANTHROPIC_HELLO).final.content[0].text == "At last."
        )
    assert sleep_seconds == [2.0, 2.0]
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
def test_transient_failure_is_retried(
    live: Live,
    chat: OpenAIChatClient,
    claude: AnthropicClient,
    sleep_seconds: list[float],
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
    chat.options["max_retries"] = claude.options["max_retries"] = 1
    # Attempts are counted by provider: each has its own failure.
    assert chat.create(**HELLO).choices[0].message.content == "At last."
    assert claude.create(**ANTHROPIC_HELLO).content[0].text == "At last."
    assert len(sleep_seconds) == 2
    assert len(live.requests()) == 4


def test_error_marked_as_not_retryable_is_not_retried(
    live: Live, chat: OpenAIChatClient, sleep_seconds: list[float]
) -> None:
    load(live, 1, kind="http", status=503, retryable=False)
    chat.options["max_retries"] = 2
    with pytest.raises(openai.InternalServerError):
        chat.create(**HELLO)
    assert (sleep_seconds, len(live.requests())) == ([], 1)


def test_bad_request_marked_as_retryable_is_retried(
    live: Live, chat: OpenAIChatClient, sleep_seconds: list[float]
) -> None:
    load(live, 1, kind="http", status=400, retryable=True, retry_after_ms=3000)
    chat.options["max_retries"] = 1
    assert chat.create(**HELLO).choices[0].message.content == "At last."
    assert sleep_seconds == [3.0]


def test_a_client_that_gives_up_gets_the_last_error(
    live: Live, chat: OpenAIChatClient, sleep_seconds: list[float]
) -> None:
    load(live, 3, kind="rate_limit", retry_after_ms=10)
    chat.options["max_retries"] = 1
    with pytest.raises(openai.RateLimitError):
        chat.create(**HELLO)
    with pytest.raises(openai.RateLimitError):
        chat.options["max_retries"] = 0
        chat.create(**HELLO)
    assert live.state().consumed == ()
    assert chat.create(**HELLO).choices[0].message.content == "At last."
    assert [ref.label for ref in live.state().consumed] == ["1"]


def test_openai_does_not_wait_longer_than_two_minutes(
    live: Live, chat: OpenAIChatClient, sleep_seconds: list[float]
) -> None:
    load(live, 1, kind="rate_limit", retry_after_ms=121_000)
    chat.options["max_retries"] = 2
    with pytest.raises(openai.RateLimitError):
        chat.create(**HELLO)
    assert sleep_seconds == []
