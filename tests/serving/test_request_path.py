"""docs/architecture.md names exactly the files whose functions a request calls."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from scenarios_app.journal import Journal
from scenarios_app.serving import services
from scenarios_app.serving.fast import recent as of_recent
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.fast.recent import RecentAnswers
from scenarios_app.serving.transports.asgi_scope import App
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.transports.guarded import open_connection
from tests.serving.transports.protocol_server import encode_call
from tests.serving.transports.provider_app import provider_app
from tests.serving.transports.test_application import Client

ROOT = Path(__file__).resolve().parents[2]
# Modules around the pipeline that this test bypasses.
BYPASSED_FILES = {
    "mockllm_site/asgi",
    "mockllm_site/serve/request_threads",
    "scenarios_app/catalog/__init__",
    "scenarios_app/journal/__init__",
    "scenarios_app/serving/metrics",
    "scenarios_app/serving/services",
}
# Modules that only streams need.
STREAM_FILES = {
    "scenarios_app/engine/producing/plan",
    "scenarios_app/wire/base",
    "scenarios_app/wire/openai/chat_stream",
}
# Used by a stream only on request.
OPTIONAL_STREAM_FILES = {"scenarios_app/wire/openai/dialects/usages"}
WEATHER = scenario(
    "weather", text_step("Sunny.", match={"messages": [{"role": "user", "contains": "weather"}]})
)


def documented_files() -> set[str]:
    """Return the files that the page names."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = page.partition("It passes these files:\n\n")[2].partition("\n\n")[0]
    lines = re.findall(r"^    (\S+)/: (.+)$", block, re.MULTILINE)
    return {f"{folder}/{name}" for folder, names in lines for name in names.split()}


@contextmanager
def trace_files() -> Iterator[set[str]]:
    """Collect the product's files whose functions are called; the set is filled at the end."""
    called_files, product_files = set[str](), set[str]()

    def record_call(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called_files.add(frame.f_code.co_filename)

    sys.setprofile(record_call)
    try:
        yield product_files
    finally:
        sys.setprofile(None)
    packages = (f"{ROOT}/scenarios_app", f"{ROOT}/mockllm_site")
    paths = {Path(name) for name in called_files if name.startswith(packages)}
    product_files.update(str(path.relative_to(ROOT).with_suffix("")) for path in paths)


async def files_of_request(app: App, *, stream: bool) -> set[str]:
    """Return the files whose functions a chat request calls."""
    client = Client(chat("How is the weather?", stream=stream))
    with trace_files() as files:
        await app(client.scope, client.receive, client.send)
    assert client.sent[0]["status"] == 200
    return files


def documented_count(number: str) -> int:
    """Return a number of the page's sentence about these files."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    sentence = page.partition("that a text condition matches passes ")[2]
    sentence = sentence.partition(". It passes")[0]
    names = ("files", "files streamed", "short", "short streamed")
    return dict(zip(names, map(int, re.findall(r"\d+", sentence)), strict=True))[number]


@pytest.mark.parametrize(("stream", "suffix"), [(False, ""), (True, " streamed")])
async def test_the_page_counts_the_files(stream: bool, suffix: str) -> None:
    app = provider_app(Harness(WEATHER))
    await files_of_request(app, stream=stream)
    files = await files_of_request(app, stream=stream) | BYPASSED_FILES
    assert len(files) == documented_count(f"files{suffix}")


@pytest.mark.parametrize(("stream", "suffix"), [(False, ""), (True, " streamed")])
async def test_plain_request_passes_few_files_under_serve(
    stream: bool, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal()
    journal.unread = True
    for module in (services, of_recent):
        monkeypatch.setattr(module, "journal", journal)
    harness, process = Harness(WEATHER), services.Services()
    recent = RecentAnswers(process.record_all)
    process.add_source(recent)
    harness.pipeline.record = process._record
    harness.layer = FastLayer(lambda: harness.pipeline, recent.add)
    request = encode_call(chat("How is the weather?", stream=stream))
    protocol, client = open_connection(harness)
    for _ in range(4):
        protocol.data_received(request)
    with trace_files() as files:
        protocol.data_received(request)
    assert len(client.received) == 5
    assert (
        len(files | {"scenarios_app/catalog/__init__"}) == documented_count(f"short{suffix}") <= 29
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_the_page_names_the_files_that_a_request_passes(stream: bool) -> None:
    app = provider_app(Harness(WEATHER))
    await files_of_request(app, stream=stream)
    files = await files_of_request(app, stream=stream)
    assert files | BYPASSED_FILES | STREAM_FILES | OPTIONAL_STREAM_FILES == documented_files()
