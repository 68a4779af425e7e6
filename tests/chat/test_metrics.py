"""The chat's metrics."""

import asyncio
from collections.abc import Callable

from chat_app.runs.metrics import METRICS, count_run_end, count_run_start
from chat_app.service import cancel
from mockllm_site.pages.metrics import registry
from tests.chat.api_client import Api
from tests.chat.chat_helpers import Chat, events_of, scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.tools.tool_servers import eventually
from tests.support.live_server import Live
from traces_app.follow import follow


def metric_value(name: str, **labels: str) -> float:
    return registry().get_sample_value(f"mockllm_chat_{name}", labels) or 0.0


def track_growth() -> Callable[..., float]:
    """Return a function that gives the growth of a metric from now on."""
    before: dict[str, float] = {}
    for family in METRICS:
        for metric in family.collect():
            for sample in metric.samples:
                before[f"{sample.name}{sorted(sample.labels.items())}"] = sample.value

    def growth(name: str, **labels: str) -> float:
        key = f"mockllm_chat_{name}{sorted(labels.items())}"
        return metric_value(name, **labels) - before.get(key, 0.0)

    return growth


async def test_a_run_counts_its_start_its_end_its_tools_and_its_first_tokens(chat: Chat) -> None:
    await chat.script(scenario(TOOL_CALL, {"text": "3"}))
    profile = await chat.profile(mcp_servers=["demo"])
    growth = track_growth()
    await events_of(await chat.send(profile=profile))
    # A run is counted as ended shortly after its followers see the end.
    await eventually(lambda: metric_value("runs_live") == 0)
    assert growth("runs_started_total", provider="openai") == 1
    assert growth("runs_ended_total", provider="openai", status="completed") == 1
    assert growth("tool_calls_total", status="success") == 1
    assert growth("first_token_seconds_count", provider="openai") == 2


async def test_a_run_is_live_until_it_is_cancelled(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    growth = track_growth()
    handle = await chat.send()
    async for event in follow(handle.id):
        if event.type == "chunk":
            break
    assert metric_value("runs_live") == 1
    await cancel(handle)
    assert growth("runs_ended_total", provider="openai", status="cancelled") == 1
    assert metric_value("runs_live") == 0


def test_custom_providers_share_a_label() -> None:
    growth = track_growth()
    count_run_start("my own provider")
    count_run_end("my own provider", "failed")
    assert growth("runs_started_total", provider="custom") == 1
    assert growth("runs_ended_total", provider="custom", status="failed") == 1


def test_open_streams_are_counted_while_they_are_open(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        stream.read_events(1)
        # The server may not yet know that clients of earlier tests have left.
        asyncio.run(eventually(lambda: metric_value("streams_open") == 1))
        api.post("cancel_stream", trace_id=stream.trace_id)
        stream.read_to_end()
    asyncio.run(eventually(lambda: metric_value("streams_open") == 0))
