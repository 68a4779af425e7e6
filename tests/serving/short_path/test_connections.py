"""The short path on connections that end, with rare headers and with errors of the catalog."""

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.serving.pipelines import Harness, chat
from tests.serving.short_path.connection import collect_short_path_answers
from tests.serving.transports.protocol_server import (
    DOCUMENT,
    encode_call,
    run_direct_server,
    run_loop_server,
)
from tests.serving.transports.test_cached_heads import without_ids


@pytest.mark.parametrize("stream", [False, True])
async def test_connection_that_is_to_end_is_closed_after_the_answer(stream: bool) -> None:
    request = encode_call(chat(stream=stream), close=True)
    async with run_loop_server(Harness(DOCUMENT), HttpToolsProtocol) as server:
        expected = [await server.exchange(request) for _ in range(4)]
    async with run_direct_server() as (server, harness):
        with collect_short_path_answers() as short:
            answers = [await server.exchange(request) for _ in range(4)]
        assert len(harness.journal) == 4
    assert len(short) == 3
    assert b"connection: close\r\n" in answers[-1]
    assert list(map(without_ids, answers)) == list(map(without_ids, expected))


@pytest.mark.parametrize("header", ["origin", "x-mockllm-scenario"])
async def test_request_with_a_rare_header_is_left_to_the_pipeline(header: str) -> None:
    request = encode_call(chat(headers={header: "s"}))
    async with run_direct_server() as (server, harness):
        with collect_short_path_answers() as short:
            for _ in range(4):
                await server.exchange(request.replace(b"host:", b"connection: close\r\nhost:"))
        assert [entry.scenario for entry in harness.journal] == ["s"] * 4
    assert short == []


async def test_error_of_the_catalog_is_answered_by_the_pipeline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = encode_call(chat())
    async with run_direct_server() as (server, harness):
        for _ in range(3):
            await server.exchange(encode_call(chat(), close=True))

        def failing(*_: object) -> None:
            raise RuntimeError("no database")

        monkeypatch.setattr(harness.catalog, "index_for", failing)
        answer = await server.exchange(request.replace(b"host:", b"connection: close\r\nhost:"))
        await server.exchange(encode_call(chat(), close=True))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b'"message":"The mock server failed to answer this request' in answer
    assert [entry.status for entry in harness.journal] == [200, 200, 200, 500, 500]
