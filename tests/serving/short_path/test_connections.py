"""The short path on connections: ones that end, ones that are slow, and requests of odd heads."""

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.serving.pipelines import Playing, chat
from tests.serving.short_path.connection import counted_answers
from tests.serving.transports.direct_door import DOCUMENT, direct, raw, serving
from tests.serving.transports.test_known_heads import plain


@pytest.mark.parametrize("stream", [False, True])
async def test_connection_that_is_to_end_is_closed_after_the_answer(stream: bool) -> None:
    asked = raw(chat(stream=stream), close=True)
    async with serving(Playing(DOCUMENT), HttpToolsProtocol) as running:
        expected = [await running.say(asked) for _ in range(4)]
    async with direct() as (running, playing):
        with counted_answers() as short:
            answers = [await running.say(asked) for _ in range(4)]
        assert len(playing.journal) == 4
    assert len(short) == 2
    assert b"connection: close\r\n" in answers[-1]
    assert list(map(plain, answers)) == list(map(plain, expected))


@pytest.mark.parametrize("header", ["origin", "x-mockllm-scenario"])
async def test_request_with_a_rare_header_is_left_to_the_pipeline(header: str) -> None:
    asked = raw(chat(headers={header: "s"}))
    async with direct() as (running, playing):
        with counted_answers() as short:
            for _ in range(4):
                await running.say(asked.replace(b"host:", b"connection: close\r\nhost:"))
        assert [entry.scenario for entry in playing.journal] == ["s"] * 4
    assert short == []


async def test_error_of_the_catalog_is_answered_by_the_pipeline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = raw(chat())
    async with direct() as (running, playing):
        for _ in range(3):
            await running.say(raw(chat(), close=True))

        def failing(*_: object) -> None:
            raise RuntimeError("no database")

        monkeypatch.setattr(playing.catalog, "index_for", failing)
        answer = await running.say(asked.replace(b"host:", b"connection: close\r\nhost:"))
        await running.say(raw(chat(), close=True))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b'"message":"The mock server failed to answer this request' in answer
    assert [entry.status for entry in playing.journal] == [200, 200, 200, 500, 500]
