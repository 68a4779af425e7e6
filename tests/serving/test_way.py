"""The way of a request: docs/architecture.md names the files that one passes, and no other."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from scenarios_app.journal import Journal
from scenarios_app.serving import services
from scenarios_app.serving.transports.asgi import ProviderApp
from tests.serving.pipelines import Playing, chat, record_with, says, scenario
from tests.serving.transports.direct_door import raw
from tests.serving.transports.guarded import connection
from tests.serving.transports.test_asgi_door import Client

ROOT = Path(__file__).resolve().parents[2]
# Modules around the pipeline that this test replaces.
AROUND = {
    "mockllm_site/asgi",
    "scenarios_app/catalog/__init__",
    "scenarios_app/journal/__init__",
    "scenarios_app/serving/metrics",
    "scenarios_app/serving/services",
}
# Modules that only streams need.
ONLY_STREAMS = {
    "scenarios_app/engine/producing/plan",
    "scenarios_app/wire/base",
    "scenarios_app/wire/openai/chat_stream",
}
# Used by a stream only on request.
ONLY_WHOLE = {"scenarios_app/wire/openai/dialects/usages"}
WEATHER = scenario(
    "weather", says("Sunny.", match={"messages": [{"role": "user", "contains": "weather"}]})
)


def told() -> set[str]:
    """The files that the page names, by folder."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = page.partition("It passes these files:\n\n")[2].partition("\n\n")[0]
    lines = re.findall(r"^    (\S+)/: (.+)$", block, re.MULTILINE)
    return {f"{folder}/{name}" for folder, names in lines for name in names.split()}


@contextmanager
def seeing() -> Iterator[set[str]]:
    """The files of the product whose functions are called."""
    called, found = set[str](), set[str]()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code.co_filename)

    sys.setprofile(see)
    try:
        yield found
    finally:
        sys.setprofile(None)
    rooms = (f"{ROOT}/scenarios_app", f"{ROOT}/mockllm_site")
    inside = {Path(name) for name in called if name.startswith(rooms)}
    found.update(str(path.relative_to(ROOT).with_suffix("")) for path in inside)


async def passed(door: ProviderApp, *, stream: bool) -> set[str]:
    """The files whose functions are called for one chat request."""
    client = Client(chat("How is the weather?", stream=stream))
    with seeing() as found:
        await door(client.scope, client.receive, client.send)
    assert client.sent[0]["status"] == 200
    return found


def count(number: str) -> int:
    """A number of the page's sentence about the way."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    sentence = page.partition("that a text condition matches passes ")[2]
    sentence = sentence.partition(". It passes")[0]
    names = ("files", "files streamed", "alike", "alike streamed", "short", "short streamed")
    return dict(zip(names, map(int, re.findall(r"\d+", sentence)), strict=True))[number]


@pytest.mark.parametrize(("stream", "suffix"), [(False, ""), (True, " streamed")])
async def test_the_page_counts_the_files(stream: bool, suffix: str) -> None:
    door = ProviderApp(Playing(WEATHER).running)
    await passed(door, stream=stream)
    assert len(await passed(door, stream=stream) | AROUND) == count(f"files{suffix}")
    assert len(await passed(door, stream=stream) | AROUND) == count(f"alike{suffix}")


@pytest.mark.parametrize(("stream", "suffix"), [(False, ""), (True, " streamed")])
async def test_plain_request_passes_few_files_under_serve(
    stream: bool, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal()
    journal.unread = True
    monkeypatch.setattr(services, "journal", journal)
    playing = Playing(WEATHER)
    record_with(playing, services.Services()._record)
    asked = raw(chat("How is the weather?", stream=stream))
    protocol, client = connection(playing, monkeypatch)
    for _ in range(4):
        protocol.data_received(asked)
    with seeing() as found:
        protocol.data_received(asked)
    assert len(client.heard) == 5
    assert len(found | {"scenarios_app/catalog/__init__"}) == count(f"short{suffix}") <= 26


@pytest.mark.parametrize("stream", [False, True])
async def test_the_page_names_the_files_that_a_request_passes(stream: bool) -> None:
    door = ProviderApp(Playing(WEATHER).running)
    await passed(door, stream=stream)
    found = await passed(door, stream=stream)
    assert found | AROUND | ONLY_STREAMS | ONLY_WHOLE == told()
