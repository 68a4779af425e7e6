"""Durations of answers, model calls and tools, everywhere they are displayed or exported."""

import asyncio
import re
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from tests.chat.api_client import Api, Stream
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import call_tool
from tests.chat.test_metrics import metric_value, track_growth
from tests.chat.tools.tool_servers import eventually
from tests.support.live_server import Live
from tests.support.scripted_wait import MIN_MS, WAIT_MS, assert_milliseconds, assert_seconds
from traces_app.models import Trace
from traces_app.otlp import run_span, to_otlp

LATER: dict[str, Any] = {"latency_ms": WAIT_MS}
SLOW_TOOL: dict[str, Any] = call_tool("slow", seconds=WAIT_MS / 1_000) | LATER
SLOW_MODEL: dict[str, Any] = {"text": "That took a while."} | LATER


@pytest.fixture
def slow_stream(live: Live, api: Api) -> Stream:
    """The stream of a run with two slow model calls and a slow tool between them."""
    live.load(scenario(SLOW_TOOL, SLOW_MODEL))
    stream = api.send()
    assert stream.text == SLOW_MODEL["text"]
    # Wait for writes after the last event.
    asyncio.run(eventually(lambda: metric_value("runs_live") == 0))
    return stream


def test_tool_end_has_milliseconds(slow_stream: Stream) -> None:
    (end,) = slow_stream.of("tool_end")
    assert_milliseconds(end["duration_ms"])


def test_metrics_have_seconds(live: Live, api: Api) -> None:
    growth = track_growth()
    live.load(scenario(SLOW_MODEL))
    api.send()
    assert_seconds(growth("first_token_seconds_sum", provider="openai"))
    assert growth("first_token_seconds_bucket", provider="openai", le="0.1") == 0


def test_trace_record_has_milliseconds(slow_stream: Stream, api: Api) -> None:
    record = api.get(f"trace/{slow_stream.trace_id}").json()
    totals = record["totals"]
    assert_milliseconds(totals["first_token_ms"])
    assert_milliseconds(totals["duration_ms"] - totals["first_token_ms"])
    for call in record["model_calls"]:
        started, finished = (datetime.fromisoformat(call[k]) for k in ("started_at", "finished_at"))
        assert_seconds((finished - started).total_seconds())
    at = {e["type"]: datetime.fromisoformat(e["at"]) for e in record["events"]}
    assert_seconds((at["tool_end"] - at["tool_start"]).total_seconds())


def test_waterfall_shows_milliseconds(slow_stream: Stream, client: Client) -> None:
    html = client.get(f"/traces/{slow_stream.trace_id}/").content.decode()
    rows = re.findall(
        r'<tr data-kind="(\w+)">.*?([\d,.]+) ms</td>.*?([\d,.]+) ms</td>.*?'
        r'<rect [^>]*x="([\d.]+)"[^>]*width="([\d.]+)"',
        html,
        re.DOTALL,
    )
    kinds = [kind for kind, *_ in rows]
    assert kinds == ["run", "call", "tool", "call"]
    starts, lengths, lefts, widths = (
        [float(row[column]) for row in rows] for column in range(1, 5)
    )
    for length in lengths:
        assert_milliseconds(length)
    # Each call begins when the previous one has ended, in the chart too.
    assert starts[0] == 0
    assert starts[1] + MIN_MS <= starts[2] and starts[2] + MIN_MS <= starts[3]
    for start, left in zip(starts, lefts, strict=True):
        assert left == pytest.approx(start / lengths[0] * widths[0], abs=2)


def test_trace_page_shows_milliseconds(slow_stream: Stream, client: Client) -> None:
    html = client.get(f"/traces/{slow_stream.trace_id}/").content.decode()
    durations = dict(re.findall(r"<dt>([\w ]+)</dt><dd>([\d,.]+) ms</dd>", html))
    assert durations.keys() == {"First token", "Duration"}
    events = re.findall(r'([\d.]+) ms</td><td><span class="tag">(\w+)<', html)
    at = {type: float(ms) for ms, type in events}
    for ms in (*map(float, durations.values()), at["tool_end"] - at["tool_start"], at["done"]):
        assert_milliseconds(ms)


def test_admin_shows_milliseconds(slow_stream: Stream, admin_client: Client) -> None:
    path = "/admin/traces_app/trace/"
    for page in (path, f"{path}{slow_stream.trace_id}/change/"):
        html = admin_client.get(page).content.decode()
        durations = [float(ms.replace(",", "")) for ms in re.findall(r">\s*([\d,]+) ms\s*<", html)]
        assert durations, page
        assert_milliseconds(max(durations))


def test_exported_spans_have_nanoseconds(slow_stream: Stream) -> None:
    body = to_otlp([run_span(Trace.objects.get(pk=slow_stream.trace_id))], version="1")
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    nanoseconds = {
        span["name"]: int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        for span in spans
    }
    for name in ("invoke_agent mockllm", "execute_tool slow"):
        assert_milliseconds(nanoseconds[name] / 1_000_000)
    # Both calls have the same name; the second one is used here.
    assert_milliseconds(nanoseconds["chat gpt-4o"] / 1_000_000)
    started = Trace.objects.get(pk=slow_stream.trace_id).started_at
    assert int(spans[0]["startTimeUnixNano"]) // 10**9 == int(started.timestamp())
