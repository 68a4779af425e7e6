"""How long an answer took is told in the same unit everywhere, and it is the true one."""

import json
import re
from typing import Any

import httpx2
import pytest
from django.test import Client

from scenarios_app.journal.live import row_json
from scenarios_app.models import ServedRequest
from tests.project.test_metrics import sample
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.support.live_server import Live
from tests.support.scripted_wait import WAIT_MS, assert_milliseconds, assert_seconds

LATER: dict[str, Any] = {"text": "one two", "latency_ms": WAIT_MS}
PACED: dict[str, Any] = {"text": "one two", "pacing": {"first_ms": WAIT_MS, "words_per_chunk": 1}}


def ask(live: Live, model: str, *, stream: bool = False) -> ServedRequest:
    """The journal's row of a request that was answered."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "stream": stream}
    headers = {"authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    httpx2.post(url, json=body, headers=headers, trust_env=False).raise_for_status()
    return live.requests()[-1]


@pytest.fixture
def slow(live: Live) -> Live:
    """Answers that wait: `later` before its head, `paced` between head and text."""
    for name, produce in (("later", LATER), ("paced", PACED)):
        step = {"match": {"model": name}, "consume": False, "produce": produce}
        live.load(scenario(name, step))
    return live


@pytest.mark.parametrize(("model", "stream"), [("later", False), ("later", True), ("paced", True)])
def test_the_journal_tells_milliseconds(slow: Live, model: str, stream: bool) -> None:
    row = ask(slow, model, stream=stream)
    assert_milliseconds(row.duration_ms)
    assert_milliseconds(row_json(row)["duration_ms"])
    if model == "later":
        assert_milliseconds(row.timings["head_ms"])
    assert 0 <= row.timings["chosen_ms"] <= row.duration_ms


def test_the_control_api_tells_milliseconds(slow: Live) -> None:
    row = ask(slow, "later")
    with httpx2.Client(base_url=slow.base_url, trust_env=False) as client:
        (listed,) = client.get("/control/requests", params={"session": slow.key}).json()["requests"]
        one = client.get(f"/control/requests/{row.uid}").json()
    for told in (listed, one):
        assert_milliseconds(told["duration_ms"])
    assert_milliseconds(one["response"]["timings"]["head_ms"])


def test_the_admin_tells_milliseconds(slow: Live, admin_client: Client) -> None:
    row = ask(slow, "later")
    for path in ("", f"{row.pk}/change/"):
        html = admin_client.get(f"/admin/scenarios_app/servedrequest/{path}").content.decode()
        found = [float(ms.replace(",", "")) for ms in re.findall(r">\s*([\d,.]+)\sms\s*<", html)]
        assert found, path
        assert_milliseconds(max(found))


def test_metrics_tell_seconds(slow: Live) -> None:
    def grown() -> list[float]:
        text = httpx2.get(f"{slow.base_url}/metrics", trust_env=False).raise_for_status().text
        answers = {"provider": "openai", "stream": "false"}
        return [
            sample(text, "mockllm_answer_seconds_sum", **answers),
            sample(text, "mockllm_answer_seconds_bucket", le="0.1", **answers),
            sample(text, "mockllm_first_byte_seconds_sum", provider="openai"),
            sample(text, "mockllm_first_byte_seconds_bucket", le="0.1", provider="openai"),
        ]

    before = grown()
    ask(slow, "later")
    answer, soon, head, soon_begun = (now - then for now, then in zip(grown(), before, strict=True))
    assert_seconds(answer)
    assert_seconds(head)
    assert (soon, soon_begun) == (0, 0)


def test_explain_tells_milliseconds(slow: Live) -> None:
    def explained(model: str, stream: bool) -> tuple[float, float]:
        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
        asked = {
            "path": "/v1/chat/completions",
            "headers": {"authorization": f"Bearer {slow.key}"},
            "body": {**body, "stream": stream},
        }
        told = httpx2.post(f"{slow.base_url}/control/explain", json=asked, trust_env=False).json()
        return told["sent"]["delay_ms"], told["sent"]["duration_ms"]

    assert explained("later", stream=False) == (WAIT_MS, 0.0)
    assert explained("paced", stream=True) == (0.0, WAIT_MS)


async def test_times_of_answers_follow_a_clock_that_jumps_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also those that were prepared for a second that comes again."""
    playing = Playing(scenario("one", says("Hello.", consume=False)), clock=None)
    now = [2_000.0]
    monkeypatch.setattr("scenarios_app.serving.pipeline.time.time", lambda: now[0])
    told = []
    for now[0] in (2_000.5, 2_000.6, 2_000.7, 1_000.5, 1_000.6, 2_000.8, 9e9, 1.0):
        _, _, body = await playing.ask(chat())
        told.append(json.loads(body)["created"])
    assert told == [2_000, 2_000, 2_000, 1_000, 1_000, 2_000, 9_000_000_000, 1]
