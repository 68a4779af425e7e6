"""The chat's metrics."""

import asyncio
from collections.abc import Callable

from chat_app.runs.metrics import METRICS, count_run_end, count_run_start
from chat_app.service import cancel
from mockllm_site.pages.metrics import registry
from tests.chat.asking import Api
from tests.chat.chatting import Chat, events_of, scenario
from tests.chat.open_streams import opened
from tests.chat.scripts import ENDLESS, TOOL_CALL
from tests.chat.tools.tool_servers import eventually
from tests.support.live_server import Live
from traces_app.follow import follow


def figure(name: str, **labels: str) -> float:
    return registry().get_sample_value(f"mockllm_chat_{name}", labels) or 0.0


def since() -> Callable[..., float]:
    """How much a figure grew from now on: the process has said things in other tests."""
    before: dict[str, float] = {}
    for family in METRICS:
        for metric in family.collect():
            for sample in metric.samples:
                before[f"{sample.name}{sorted(sample.labels.items())}"] = sample.value

    def grown(name: str, **labels: str) -> float:
        key = f"mockllm_chat_{name}{sorted(labels.items())}"
        return figure(name, **labels) - before.get(key, 0.0)

    return grown


async def test_a_run_counts_its_start_its_end_its_tools_and_its_first_tokens(chat: Chat) -> None:
    await chat.script(scenario(TOOL_CALL, {"text": "3"}))
    profile = await chat.profile(mcp_servers=["demo"])
    grown = since()
    await events_of(await chat.send(profile=profile))
    # A run is counted as ended shortly after its followers see the end.
    await eventually(lambda: figure("runs_live") == 0)
    assert grown("runs_started_total", provider="openai") == 1
    assert grown("runs_ended_total", provider="openai", status="completed") == 1
    assert grown("tool_calls_total", status="success") == 1
    assert grown("first_token_seconds_count", provider="openai") == 2


async def test_a_run_is_live_until_it_is_cancelled(chat: Chat) -> None:
    await chat.script(scenario(ENDLESS))
    grown = since()
    handle = await chat.send()
    async for event in follow(handle.id):
        if event.type == "chunk":
            break
    assert figure("runs_live") == 1
    await cancel(handle)
    assert grown("runs_ended_total", provider="openai", status="cancelled") == 1
    assert figure("runs_live") == 0


def test_custom_providers_share_a_label() -> None:
    grown = since()
    count_run_start("my own provider")
    count_run_end("my own provider", "failed")
    assert grown("runs_started_total", provider="custom") == 1
    assert grown("runs_ended_total", provider="custom", status="failed") == 1


def test_streams_are_told_while_they_are_open(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        stream.until(1)
        # The server may not yet know that clients of earlier tests have left.
        asyncio.run(eventually(lambda: figure("streams_open") == 1))
        api.post("cancel_stream", trace_id=stream.trace_id)
        stream.read()
    asyncio.run(eventually(lambda: figure("streams_open") == 0))
