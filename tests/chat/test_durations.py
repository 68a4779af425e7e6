"""How long an answer, its model calls and its tools took, in every place that tells it."""

import asyncio
import re
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from tests.chat.asking import Api, Stream
from tests.chat.chatting import scenario
from tests.chat.scripts import calls
from tests.chat.test_figures import figure, since
from tests.chat.tools.tool_servers import eventually
from tests.support.live_server import Live
from tests.support.scripted_wait import MIN_MS, WAIT_MS, assert_milliseconds, assert_seconds
from traces_app.models import Trace
from traces_app.otlp import run_span, to_otlp

LATER: dict[str, Any] = {"latency_ms": WAIT_MS}
SLOW_TOOL: dict[str, Any] = calls("slow", seconds=WAIT_MS / 1_000) | LATER
SLOW_MODEL: dict[str, Any] = {"text": "That took a while."} | LATER


@pytest.fixture
def answered(live: Live, api: Api) -> Stream:
    """A run whose two model calls are slow, and the tool between them too."""
    live.load(scenario(SLOW_TOOL, SLOW_MODEL))
    stream = api.send()
    assert stream.text == SLOW_MODEL["text"]
    # Wait for writes after the last event.
    asyncio.run(eventually(lambda: figure("runs_live") == 0))
    return stream


def test_a_tools_end_tells_milliseconds(answered: Stream) -> None:
    (end,) = answered.of("tool_end")
    assert_milliseconds(end["duration_ms"])


def test_metrics_tell_seconds(live: Live, api: Api) -> None:
    grown = since()
    live.load(scenario(SLOW_MODEL))
    api.send()
    assert_seconds(grown("first_token_seconds_sum", provider="openai"))
    assert grown("first_token_seconds_bucket", provider="openai", le="0.1") == 0


def test_a_trace_tells_milliseconds(answered: Stream, api: Api) -> None:
    record = api.get(f"trace/{answered.trace_id}").json()
    totals = record["totals"]
    assert_milliseconds(totals["first_token_ms"])
    assert_milliseconds(totals["duration_ms"] - totals["first_token_ms"])
    for call in record["model_calls"]:
        started, finished = (datetime.fromisoformat(call[k]) for k in ("started_at", "finished_at"))
        assert_seconds((finished - started).total_seconds())
    at = {e["type"]: datetime.fromisoformat(e["at"]) for e in record["events"]}
    assert_seconds((at["tool_end"] - at["tool_start"]).total_seconds())


def test_the_waterfall_tells_milliseconds(answered: Stream, client: Client) -> None:
    html = client.get(f"/traces/{answered.trace_id}/").content.decode()
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
    for told in lengths:
        assert_milliseconds(told)
    # Each call begins when the previous one has ended, in the chart too.
    assert starts[0] == 0
    assert starts[1] + MIN_MS <= starts[2] and starts[2] + MIN_MS <= starts[3]
    for start, left in zip(starts, lefts, strict=True):
        assert left == pytest.approx(start / lengths[0] * widths[0], abs=2)


def test_the_page_of_a_trace_tells_milliseconds(answered: Stream, client: Client) -> None:
    html = client.get(f"/traces/{answered.trace_id}/").content.decode()
    told = dict(re.findall(r"<dt>([\w ]+)</dt><dd>([\d,.]+) ms</dd>", html))
    assert told.keys() == {"First token", "Duration"}
    events = re.findall(r'([\d.]+) ms</td><td><span class="tag">(\w+)<', html)
    at = {type: float(ms) for ms, type in events}
    for ms in (*map(float, told.values()), at["tool_end"] - at["tool_start"], at["done"]):
        assert_milliseconds(ms)


def test_the_admin_tells_milliseconds(answered: Stream, admin_client: Client) -> None:
    path = "/admin/traces_app/trace/"
    for page in (path, f"{path}{answered.trace_id}/change/"):
        html = admin_client.get(page).content.decode()
        found = [float(ms.replace(",", "")) for ms in re.findall(r">\s*([\d,]+) ms\s*<", html)]
        assert found, page
        assert_milliseconds(max(found))


def test_exported_spans_tell_nanoseconds(answered: Stream) -> None:
    body = to_otlp([run_span(Trace.objects.get(pk=answered.trace_id))], version="1")
    spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    lasted = {
        span["name"]: int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
        for span in spans
    }
    for name in ("invoke_agent mockllm", "execute_tool slow"):
        assert_milliseconds(lasted[name] / 1_000_000)
    # Both calls have the same name; the second one is used here.
    assert_milliseconds(lasted["chat gpt-4o"] / 1_000_000)
    started = Trace.objects.get(pk=answered.trace_id).started_at
    assert int(spans[0]["startTimeUnixNano"]) // 10**9 == int(started.timestamp())
