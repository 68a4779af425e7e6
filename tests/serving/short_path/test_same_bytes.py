"""The short path and the pipeline give the same bytes, session state and journal."""

import json
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.journal_entry import CleanEntry, clean_entry
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat
from tests.serving.short_path.connection import Connection
from tests.serving.short_path.traffic import SESSIONS, calls, documents
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
OPTIONS = {"words_per_second": 0}


@pytest.mark.parametrize("seed", range(5))
async def test_both_paths_give_the_same_bytes_state_and_journal(seed: int) -> None:
    await compare(seed)


@pytest.mark.long
async def test_twenty_thousand_requests_get_the_same_on_both_paths() -> None:
    short = 0
    for seed in range(100, 300):
        short += await compare(seed)
    assert short > 200 * CALLS * MIN_SHORT_SHARE


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
    both = by_connection, by_pipeline
    states = [[await each.state.read(name) for name in SESSIONS] for each in both]
    assert states[0] == states[1]
    assert stored_responses(by_connection) == stored_responses(by_pipeline)
    journals = [list(map(comparable_row, each.journal)) for each in both]
    assert journals[0] == journals[1]
    return connection.short


def stored_responses(harness: Harness) -> dict[str, dict[str, bytes]]:
    return {name: state.responses for name, state in harness.state._states.items()}


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


def comparable_row(entry: Any) -> CleanEntry:
    """Return the journal's row without the fields that differ between servers."""
    journal_row = clean_entry(entry, body_bytes=65_536)
    response_headers = {
        k: v for k, v in journal_row.response_headers.items() if k != "x-mockllm-request"
    }
    request_headers = {
        k: v for k, v in journal_row.request_headers.items() if k not in ("host", "content-length")
    }
    return replace(
        journal_row,
        uid="",
        siblings=0,
        at=0,
        duration_ms=0,
        timings=dict.fromkeys(journal_row.timings, 0),
        response_plain=False,
        response_headers=response_headers,
        request_headers=request_headers,
    )


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
