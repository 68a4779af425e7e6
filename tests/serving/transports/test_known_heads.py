"""Heads that come again on connections: known by their bytes, and answered as those that are
parsed."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from scenarios_app.serving.transports import uvicorn_protocol as door
from scenarios_app.serving.transports.uvicorn_protocol import UvicornProtocol
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat, claude, gemini, llama
from tests.serving.transports.direct_door import (
    DOCUMENT,
    Running,
    answer_of,
    bare,
    direct,
    raw,
    serving,
)

ASKED = [
    *(chat(model=m, stream=s) for m in ("gpt-4o", "paced", "late", "none") for s in (False, True)),
    chat(n=0),
    chat(headers={"authorization": ""}),
    claude(model="gpt-4o", stream=True),
    gemini(model="gpt-4o"),
    llama(model="gpt-4o"),
    Call("POST", "/v1/embeddings", {}, chat().headers, b'{"model": "m", "input": "a"}'),
    Call("POST", "/v1/nowhere", {}, chat().headers, b"{}"),
    Call("GET", "/v1/models", {}, chat().headers, b""),
]


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    UvicornProtocol._cached_heads.clear()
    yield
    UvicornProtocol._cached_heads.clear()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What parsers are given, packet by packet."""
    packets: list[bytes] = []
    feed = HttpToolsProtocol.data_received

    def received(self: HttpToolsProtocol, data: bytes) -> None:
        if type(self).__name__ == "Direct":
            packets.append(data)
        feed(self, data)

    monkeypatch.setattr(HttpToolsProtocol, "data_received", received)
    return packets


def unframed(said: bytes) -> bytes:
    """An answer without what tells how its pieces were timed."""
    return re.sub(rb"\r\n[0-9a-f]+\r\n", b"", bare(said))


def plain(said: bytes) -> bytes:
    """An answer without its ids, which go with the number of a request in its session."""
    return re.sub(rb"[0-9a-f]{24,32}|[0-9a-f-]{36}", b"", unframed(said))


async def said(running: Running, *asked: bytes) -> list[bytes]:
    """The answers to requests that come one after another on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    answers = []
    for one in asked:
        writer.write(one)
        answers.append(await answer_of(reader))
    writer.close()
    return answers


@pytest.mark.parametrize("asked", ASKED, ids=range(len(ASKED)))
async def test_an_answer_is_the_same_whether_its_head_was_parsed(asked: Call) -> None:
    async with serving(Playing(DOCUMENT), HttpToolsProtocol) as running:
        cycled = await said(running, *[raw(asked)] * 4)
    async with direct() as (running, playing):
        answers = await said(running, *[raw(asked)] * 4)
        assert len(playing.journal) == 4
    assert list(map(unframed, answers)) == list(map(unframed, cycled))


async def test_cached_head_is_not_parsed_whatever_the_length_of_its_body(
    parsed: list[bytes],
) -> None:
    asked, other = raw(chat("Hello")), raw(chat("Other"))
    async with direct() as (running, _):
        await said(running, asked, asked, other, raw(chat("longer than that")), asked)
        # Other connections use the cached head too.
        await said(running, other)
    # The first answer is encoded; the second one makes a template.
    assert parsed == [asked, asked]


async def test_delayed_reply_to_a_cached_head_is_parsed_for_the_cycle(parsed: list[bytes]) -> None:
    asked = raw(chat(model="late"))
    async with direct() as (running, playing):
        answers = await said(running, asked, asked)
        assert running.taken == []
        assert len(playing.journal) == 2
    assert parsed == [asked, asked]
    assert plain(answers[0]) == plain(answers[1])


async def test_each_body_of_a_known_head_is_its_own() -> None:
    texts = ["one", "two", "six", "ten"]
    async with direct() as (running, playing):
        await said(running, *(raw(chat(text)) for text in texts * 2))
        assert [entry.asked for entry in playing.journal] == texts * 2


async def test_another_pipeline_knows_nothing_of_it(parsed: list[bytes]) -> None:
    asked = raw(chat())
    for _ in range(2):
        async with direct() as (running, playing):
            await said(running, *[asked] * 4)
            assert len(playing.journal) == 4
    assert parsed == [asked] * 4


HEAD, _, BODY = raw(chat()).partition(b"\r\n\r\n")
# Beginnings that a parser treats differently, or that are not certainly a head.
ODD = {
    "blank lines first": b"\r\n\r\n" + HEAD,
    "one blank line first": b"\r\n" + HEAD,
    "folded": HEAD + b"\r\nx-long: a\r\n b",
    "long": HEAD + b"\r\nx-long: " + b"a" * door.MAX_HEAD_BYTES,
    "a cut": HEAD.replace(b"\r\n", b"\n", 1),
}


@pytest.mark.parametrize("name", ODD)
async def test_a_head_is_known_only_by_lines_that_are_all_its_own(name: str) -> None:
    odd = ODD[name] + b"\r\n\r\n" + BODY
    async with serving(Playing(DOCUMENT), HttpToolsProtocol) as running:
        cycled = await running.say(odd.replace(b"host:", b"connection: close\r\nhost:"))
    async with direct() as (running, _):
        answered = await running.say(odd.replace(b"host:", b"connection: close\r\nhost:"))
        assert bare(answered) == bare(cycled)
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(odd)
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
        writer.close()
    assert UvicornProtocol._cached_heads.keys() <= {re.sub(rb"(content-length: )\d+", rb"\1", HEAD)}


async def test_second_request_in_a_packet_of_a_cached_head_is_answered() -> None:
    asked = raw(chat())
    async with direct() as (running, playing):
        await said(running, asked)
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(asked * 3 + asked[:50])
        for _ in range(3):
            await answer_of(reader)
        writer.write(asked[50:])
        await answer_of(reader)
        writer.close()
        assert len(playing.journal) == 5


async def test_a_known_request_after_a_stream_that_is_open_waits_for_its_end() -> None:
    paced, asked = raw(chat(model="paced", stream=True)), raw(chat())
    async with direct() as (running, playing):
        await said(running, asked, paced)
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(paced)
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(asked)
        rest = await reader.readuntil(b"0\r\n\r\n")
        assert b"chunked" in head
        assert b"[DONE]" in rest
        assert (await answer_of(reader)).startswith(b"HTTP/1.1 200")
        writer.close()
        assert [entry.streamed for entry in playing.journal] == [False, True, True, False]


async def test_only_so_many_heads_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MAX_HEADS", 3)
    async with direct() as (running, _):
        await said(running, *(raw(chat(), **{"x-number": str(number)}) for number in range(6)))
    assert len(UvicornProtocol._cached_heads) == 3


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.sampled_from([chat(), chat("Other", stream=True), chat(n=0), claude(model="gpt-4o")]),
        max_size=8,
    ),
    st.data(),
)
async def test_packets_may_be_cut_anywhere(asked: list[Call], data: Any) -> None:
    sent = b"".join(map(raw, asked))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)), max_size=6)))
    async with direct() as (running, playing):
        expected = await said(running, *map(raw, asked))
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
            writer.write(sent[start:end])
            await writer.drain()
            await asyncio.sleep(0)
        answers = [await answer_of(reader) for _ in asked]
        writer.close()
        assert len(playing.journal) == 2 * len(asked)
    assert list(map(plain, answers)) == list(map(plain, expected))
