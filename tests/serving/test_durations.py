"""Durations of answers have the right unit in the journal, the API, the admin and the metrics."""

import json
import re
from typing import Any

import httpx2
import pytest
from django.test import Client

from scenarios_app.models import ServedRequest
from scenarios_app.serving import pipeline
from scenarios_app.serving.exchange import ArrivalClock
from scenarios_app.serving.fast import short_path
from tests.project.test_metrics import read_metric
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.support.live_server import Live
from tests.support.scripted_wait import WAIT_MS, assert_milliseconds, assert_seconds

LATER: dict[str, Any] = {"text": "one two", "latency_ms": WAIT_MS}
PACED: dict[str, Any] = {"text": "one two", "pacing": {"first_ms": WAIT_MS, "words_per_chunk": 1}}


def ask(live: Live, model: str, *, stream: bool = False) -> ServedRequest:
    """Send a request and return its journal row."""
    body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "stream": stream}
    headers = {"authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    httpx2.post(url, json=body, headers=headers, trust_env=False).raise_for_status()
    return live.requests()[-1]


@pytest.fixture
def slow_server(live: Live) -> Live:
    """A server with delayed answers: `later` before the head, `paced` between head and text."""
    for name, produce in (("later", LATER), ("paced", PACED)):
        step = {"match": {"model": name}, "consume": False, "produce": produce}
        live.load(scenario(name, step))
    return live


@pytest.mark.parametrize(("model", "stream"), [("later", False), ("later", True), ("paced", True)])
def test_journal_durations_are_milliseconds(slow_server: Live, model: str, stream: bool) -> None:
    row = ask(slow_server, model, stream=stream)
    assert_milliseconds(row.duration_ms)
    if model == "later":
        assert_milliseconds(row.timings["head_ms"])
    assert 0 <= row.timings["chosen_ms"] <= row.duration_ms


def test_control_api_durations_are_milliseconds(slow_server: Live) -> None:
    row = ask(slow_server, "later")
    with httpx2.Client(base_url=slow_server.base_url, trust_env=False) as client:
        (list_entry,) = client.get("/control/requests", params={"session": slow_server.key}).json()[
            "requests"
        ]
        entry = client.get(f"/control/requests/{row.uid}").json()
    for api_entry in (list_entry, entry):
        assert_milliseconds(api_entry["duration_ms"])
    assert_milliseconds(entry["response"]["timings"]["head_ms"])


def test_admin_durations_are_milliseconds(slow_server: Live, admin_client: Client) -> None:
    row = ask(slow_server, "later")
    for path in ("", f"{row.pk}/change/"):
        html = admin_client.get(f"/admin/scenarios_app/servedrequest/{path}").content.decode()
        durations = [
            float(ms.replace(",", "")) for ms in re.findall(r">\s*([\d,.]+)\sms\s*<", html)
        ]
        assert durations, path
        assert_milliseconds(max(durations))


def test_metrics_durations_are_seconds(slow_server: Live) -> None:
    def read_metrics() -> list[float]:
        text = (
            httpx2.get(f"{slow_server.base_url}/metrics", trust_env=False).raise_for_status().text
        )
        answers = {"provider": "openai", "stream": "false"}
        return [
            read_metric(text, "mockllm_answer_seconds_sum", **answers),
            read_metric(text, "mockllm_answer_seconds_bucket", le="0.1", **answers),
            read_metric(text, "mockllm_first_byte_seconds_sum", provider="openai"),
            read_metric(text, "mockllm_first_byte_seconds_bucket", le="0.1", provider="openai"),
        ]

    before = read_metrics()
    ask(slow_server, "later")
    answer, answers_within, head, heads_within = (
        after - earlier for after, earlier in zip(read_metrics(), before, strict=True)
    )
    assert_seconds(answer)
    assert_seconds(head)
    assert (answers_within, heads_within) == (0, 0)


def test_explain_durations_are_milliseconds(slow_server: Live) -> None:
    def explain(model: str, stream: bool) -> tuple[float, float]:
        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
        request = {
            "path": "/v1/chat/completions",
            "headers": {"authorization": f"Bearer {slow_server.key}"},
            "body": {**body, "stream": stream},
        }
        explanation = httpx2.post(
            f"{slow_server.base_url}/control/explain", json=request, trust_env=False
        ).json()
        return explanation["sent"]["delay_ms"], explanation["sent"]["duration_ms"]

    assert explain("later", stream=False) == (WAIT_MS, 0.0)
    assert explain("paced", stream=True) == (0.0, WAIT_MS)


async def test_times_of_answers_follow_a_clock_that_jumps_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Answers from a template follow it too, if a second is repeated."""
    harness = Harness(scenario("one", text_step("Hello.", consume=False)), clock=None)
    now = [2_000.0]
    clock = ArrivalClock(lambda: now[0])
    for module in (pipeline, short_path):
        monkeypatch.setattr(module, "arrival_clock", clock)
    created_times = []
    for now[0] in (2_000.5, 2_000.6, 2_000.7, 1_999.5, 1_000.6, 2_000.8, 9e9, 1.0):
        bodies = [(await harness.ask(chat()))[2], (await harness.ask_fast(chat())).body]
        created_times.append([json.loads(body)["created"] for body in bodies])
    seconds = [2_000, 2_000, 2_000, 1_999, 1_000, 2_000, 9_000_000_000, 1]
    assert created_times == [[second] * 2 for second in seconds]
