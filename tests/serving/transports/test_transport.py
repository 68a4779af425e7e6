"""Official SDKs over the in-process transports: pieces arrive when due, and leaving clients end
their streams."""

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from tests.serving.pipelines import KEY, Harness, scenario, text_step

HELLO: Any = [{"role": "user", "content": "Hello"}]


def paced(chunk_ms: int, text: str = "a b c") -> dict[str, Any]:
    step = text_step(text)
    step["produce"]["pacing"] = {"chunk_ms": chunk_ms, "words_per_chunk": 1}
    return step


def faulty(kind: str, **keys: Any) -> dict[str, Any]:
    step = paced(0)
    step["produce"]["fault"] = {"kind": kind, **keys}
    if kind in ("timeout", "network_error"):
        step["produce"] = {"fault": step["produce"]["fault"]}
    return step


def openai_of(harness: Harness, **options: Any) -> openai.AsyncOpenAI:
    client = httpx2.AsyncClient(transport=MockTransport(harness.running))
    return openai.AsyncOpenAI(
        base_url="http://mock/v1", api_key=KEY, http_client=client, max_retries=0, **options
    )


def anthropic_of(harness: Harness) -> anthropic.AsyncAnthropic:
    client = httpx2.AsyncClient(transport=MockTransport(harness.running))
    return anthropic.AsyncAnthropic(
        base_url="http://mock", api_key=KEY, http_client=client, max_retries=0
    )


async def tasks_settle(before: "set[asyncio.Task[Any]]") -> bool:
    """Return whether all later tasks have ended after some turns of the event loop."""
    for _ in range(20):
        await asyncio.sleep(0)
    return asyncio.all_tasks() <= before


async def test_openai_and_anthropic_clients_are_answered() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    async with openai_of(harness) as client:
        answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert answer.choices[0].message.content == "Hi!"
    async with anthropic_of(harness) as other:
        message = await other.messages.create(model="claude", max_tokens=9, messages=HELLO)
        assert message.content[0].type == "text" and message.content[0].text == "Hi!"


async def test_sync_openai_client_gets_a_stream() -> None:
    harness = Harness(scenario("s", paced(1)))

    def read_stream() -> list[str]:
        with openai.OpenAI(
            base_url="http://mock/v1",
            api_key=KEY,
            http_client=httpx2.Client(transport=SyncMockTransport(harness.running)),
        ) as client:
            stream = client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
            return [chunk.choices[0].delta.content or "" for chunk in stream]

    assert "".join(await asyncio.to_thread(read_stream)) == "a b c"


async def test_pieces_come_as_they_are_due() -> None:
    """A tenth of a second lies between two words: a busy machine may merge two, not all six."""
    harness = Harness(scenario("s", paced(100, "a b c d e f")))
    async with httpx2.AsyncClient(transport=MockTransport(harness.running)) as client:
        request = post(client, stream=True)
        response = await client.send(request, stream=True)
        pieces = [piece async for piece in response.aiter_raw()]
        await response.aclose()
    assert len(pieces) >= 3


async def test_the_elapsed_time_is_measured_of_whole_answers_too() -> None:
    harness = Harness(scenario("s", text_step("Hi!")))
    async with openai_of(harness) as client:
        raw = await client.chat.completions.with_raw_response.create(model="gpt-4o", messages=HELLO)
        assert raw.elapsed.total_seconds() >= 0


@pytest.mark.parametrize("kind", ["timeout", "network_error"])
async def test_missing_answer_is_a_connection_error(kind: str) -> None:
    harness = Harness(scenario("s", faulty(kind, **({"hold_ms": 5} if kind == "timeout" else {}))))
    async with openai_of(harness) as client:
        with pytest.raises(openai.APIConnectionError) as raised:
            await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert isinstance(raised.value.__cause__, httpx2.RemoteProtocolError)
    async with anthropic_of(harness) as other:
        with pytest.raises(anthropic.APIConnectionError):
            await other.messages.create(model="claude", max_tokens=9, messages=HELLO)


async def test_cut_comes_after_the_earlier_events() -> None:
    harness = Harness(scenario("s", faulty("disconnect", after_chunks=2)))
    received_text = ""
    async with anthropic_of(harness) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            async with client.messages.stream(
                model="claude", max_tokens=9, messages=HELLO
            ) as stream:
                async for text in stream.text_stream:
                    received_text += text
    assert received_text == "a b"
    assert harness.journal[0].outcome == "fault"


@pytest.mark.parametrize("stream", [False, True])
async def test_read_timeout_of_the_client_is_obeyed(stream: bool) -> None:
    step = paced(60_000)
    step["produce"]["latency_ms"] = 0 if stream else 60_000
    harness = Harness(scenario("s", step))
    before = asyncio.all_tasks()
    async with openai_of(harness, timeout=0.5) as client:
        with pytest.raises((openai.APITimeoutError, httpx2.ReadTimeout)):
            answer = await client.chat.completions.create(
                model="gpt-4o", messages=HELLO, stream=stream
            )
            async for _ in answer:
                pass
    assert await tasks_settle(before)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]


def post(client: httpx2.AsyncClient, **fields: Any) -> httpx2.Request:
    body = {"model": "gpt-4o", "messages": HELLO, **fields}
    headers = {"authorization": f"Bearer {KEY}"}
    url = "http://mock/v1/chat/completions"
    return client.build_request("POST", url, json=body, headers=headers)


async def open_stream(harness: Harness) -> httpx2.Response:
    """Return an open response whose second piece is never sent."""
    client = httpx2.AsyncClient(transport=MockTransport(harness.running), timeout=None)
    return await client.send(post(client, stream=True), stream=True)


async def test_a_close_from_another_task_ends_the_stream_and_its_reader() -> None:
    harness = Harness(scenario("s", paced(60_000)))
    before = asyncio.all_tasks()
    response = await open_stream(harness)
    pieces = response.aiter_raw()
    await anext(pieces)
    read_task = asyncio.create_task(anext(pieces))
    await asyncio.sleep(0)
    await response.aclose()
    with pytest.raises(httpx2.ReadError):
        await read_task
    assert await tasks_settle(before)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]


async def test_a_cancelled_reader_ends_the_stream() -> None:
    harness = Harness(scenario("s", paced(60_000)))
    before = asyncio.all_tasks()

    async def read() -> None:
        async with openai_of(harness) as client:
            stream = await client.chat.completions.create(
                model="gpt-4o", messages=HELLO, stream=True
            )
            async with stream:
                async for _ in stream:
                    has_read.set()

    has_read = asyncio.Event()
    task = asyncio.create_task(read())
    await has_read.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await tasks_settle(before)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]


async def test_collected_response_ends_its_stream() -> None:
    harness = Harness(scenario("s", paced(60_000)))
    before = asyncio.all_tasks()
    response = await open_stream(harness)
    del response
    gc.collect()
    assert await tasks_settle(before)
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]
    assert harness.pipeline.streams.taken == 0


@pytest.fixture
def sync_client() -> Iterator[tuple[Harness, httpx2.Client]]:
    harness = Harness(scenario("s", paced(60_000)))
    with httpx2.Client(transport=SyncMockTransport(harness.running), timeout=5) as client:
        yield harness, client


def test_a_sync_client_that_closes_early_ends_the_stream(
    sync_client: tuple[Harness, httpx2.Client],
) -> None:
    harness, client = sync_client
    body = {"model": "gpt-4o", "messages": HELLO, "stream": True}
    url, headers = "http://mock/v1/chat/completions", {"authorization": "Bearer k"}
    with client.stream("POST", url, json=body, headers=headers) as response:
        assert next(response.iter_raw())
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]
