"""The short path and the pipeline give the same bytes, session state and journal."""

import http.client
import json
import pickle
from random import Random

import pytest
from msgspec.structs import replace

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat
from tests.serving.processes.servers import run_asgi_server
from tests.serving.short_path.connection import Connection
from tests.serving.short_path.results import OPTIONS, Results, results_of
from tests.serving.short_path.traffic import calls, documents
from tests.serving.test_replay import (
    cassette,
    chat_body,
    completion,
    recorded_request,
    recorded_response,
)
from tests.serving.transports.protocol_server import without_varying_headers

CALLS = 100
# The share of random calls that the short path answers is at least this.
MIN_SHORT_SHARE = 0.25
SEEDS, PARTS = range(100, 300), 10
# Headers that differ by server or answer.
ADDED_BY_SERVERS = {"date", "server", "transfer-encoding", "x-mockllm-request"}


@pytest.mark.parametrize("seed", range(5))
async def test_both_paths_give_the_same_bytes_state_and_journal(seed: int) -> None:
    await compare(seed)


@pytest.mark.long
async def test_twenty_thousand_requests_get_the_same_with_the_layer() -> None:
    short = sum([await compare(seed) for seed in SEEDS])
    assert short > len(SEEDS) * CALLS * MIN_SHORT_SHARE


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
async def test_twenty_thousand_requests_get_the_same_in_django(part: int) -> None:
    """Without the layer on the connection of `serve`, and under daphne."""
    with run_asgi_server("daphne", "tests.serving.short_path.seeded_app:app") as port:
        for seed in SEEDS[part::PARTS]:
            await compare_views(seed, port)


async def compare(seed: int) -> int:
    """Compare the answers to random calls; return the number of short path answers."""
    draw = Random(seed)
    scenarios, sequence = documents(draw), calls(draw, CALLS)
    by_connection, by_pipeline = Harness(*scenarios, **OPTIONS), Harness(*scenarios, **OPTIONS)
    connection = Connection(by_connection)
    for number, call in enumerate(sequence):
        sent_bytes = await connection.ask(call)
        expected = await play_answer(by_pipeline, call)
        assert parse_answer(sent_bytes) == expected, (seed, number)
    assert await results_of(by_connection) == await results_of(by_pipeline)
    return connection.short


async def compare_views(seed: int, port: int) -> None:
    """Compare the answers to random calls of the pipeline with those of Django's view, on a
    connection of `serve` without the layer and under the server at a port."""
    draw = Random(seed)
    scenarios, sequence = documents(draw), calls(draw, CALLS)
    by_pipeline, by_view = Harness(*scenarios, **OPTIONS), Harness(*scenarios, **OPTIONS)
    connection = Connection(by_view, fast=False)
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    fetch(client, replace(chat(), method="GET", path=f"/-/begin/{seed}"))
    for number, call in enumerate(sequence):
        expected = await play_answer(by_pipeline, call)
        assert parse_answer(await connection.ask(call)) == expected, (seed, number)
        status, headers, body = fetch(client, call)
        own = [header for header in headers if header[0] not in ADDED_BY_SERVERS]
        assert (status, sorted(own), body) == (expected[0], sorted(expected[1]), expected[2])
    results = await results_of(by_pipeline)
    assert await results_of(by_view) == results
    _, _, data = fetch(client, replace(chat(), method="GET", path="/-/results"))
    assert Results(*pickle.loads(data)) == results
    client.close()


def fetch(
    client: http.client.HTTPConnection, call: Call
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return status, headers and body of the answer to a call as it is."""
    path = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    client.putrequest(call.method, path, skip_accept_encoding=True)
    for name, value in {"content-length": str(len(call.body)), **call.headers}.items():
        client.putheader(name, value)
    client.endheaders(call.body)
    response = client.getresponse()
    headers = [(name.lower(), value) for name, value in response.getheaders()]
    return response.status, headers, response.read()


async def play_answer(harness: Harness, call: Call) -> tuple[int, list[tuple[str, str]], bytes]:
    played = await harness.pipeline.answer(call)
    body = b"".join([piece async for piece in played.pieces()])
    headers = [header for header in played.reply.headers if header[0] != "x-mockllm-request"]
    return played.reply.status, headers, body


def parse_answer(answer_bytes: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return status, headers and body of an answer's bytes, without headers that a server adds."""
    head, _, body = without_varying_headers(answer_bytes).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    if ("transfer-encoding", "chunked") in headers:
        headers.remove(("transfer-encoding", "chunked"))
        body = b"".join(split_chunks(body))
    return int(status.split()[1]), headers, body


def split_chunks(data: bytes) -> list[bytes]:
    data_chunks = []
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        data_chunks.append(data[:length])
        data = data[length + 2 :]
    return data_chunks


async def test_edited_recording_is_matched_exactly_before_by_rules() -> None:
    # Dates are not compared by default.
    bodies = [chat_body(f"Today is 2026-11-{day}.") for day in (24, 25)]
    document = cassette(
        *((recorded_request(body), recorded_response(completion("x"))) for body in bodies)
    )
    for step, text in zip(document["steps"], ("for the 24th", "for the 25th"), strict=True):
        step |= {"consume": False, "produce": {"text": text}}
    harness, by_pipeline = Harness(document), Harness(document)
    connection = Connection(harness)
    for _ in range(4):
        for body, text in zip(bodies, (b"for the 24th", b"for the 25th"), strict=True):
            call = replace(chat(), body=json.dumps(body).encode())
            connection_answer = parse_answer(await connection.ask(call))
            assert connection_answer == await play_answer(by_pipeline, call)
            assert text in connection_answer[2]
