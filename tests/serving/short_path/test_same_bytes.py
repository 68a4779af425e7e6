"""The short path against the pipeline, and both against one without templates: the same bytes, the
same state of sessions and the same journal."""

import json
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.journal.entry import Row, row_of
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, chat
from tests.serving.short_path.connection import Connection
from tests.serving.short_path.traffic import SESSIONS, calls, documents
from tests.serving.templates.test_templates import each_time
from tests.serving.test_replay import answered, asked, cassette, completion, said
from tests.serving.transports.direct_door import bare

CALLS = 100
# The share of random calls that the short path answers is at least this.
MIN_SHORT_SHARE = 0.25
OPTIONS = {"words_per_second": 0}


@pytest.mark.parametrize("seed", range(5))
async def test_all_paths_give_the_same_bytes_state_and_journal(seed: int) -> None:
    await compare(seed)


@pytest.mark.long
async def test_twenty_thousand_requests_get_the_same_on_all_paths() -> None:
    short = 0
    for seed in range(100, 300):
        short += await compare(seed)
    assert short > 200 * CALLS * MIN_SHORT_SHARE


async def compare(seed: int) -> int:
    """Compare the answers to some random calls; return how many the short path has answered."""
    draw = Random(seed)
    scenarios, sequence = documents(draw), calls(draw, CALLS)
    by_connection, by_pipeline = Playing(*scenarios, **OPTIONS), Playing(*scenarios, **OPTIONS)
    fresh = each_time(Playing(*scenarios, **OPTIONS))
    connection = Connection(by_connection)
    for number, call in enumerate(sequence):
        sent = await connection.ask(call)
        expected = await answer(by_pipeline, call)
        assert parse(sent) == expected, (seed, number)
        assert await answer(fresh, call) == expected, (seed, number)
    states = [
        [await each.state.read(name) for name in SESSIONS]
        for each in (by_connection, by_pipeline, fresh)
    ]
    assert states[0] == states[1] == states[2]
    stored = [stored_responses(each) for each in (by_connection, by_pipeline, fresh)]
    assert stored[0] == stored[1] == stored[2]
    journals = [
        [row(entry) for entry in each.journal] for each in (by_connection, by_pipeline, fresh)
    ]
    assert journals[0] == journals[1] == journals[2]
    return connection.short


def stored_responses(playing: Playing) -> dict[str, dict[str, bytes]]:
    return {name: state.responses for name, state in playing.state._states.items()}


async def answer(playing: Playing, call: Call) -> tuple[int, list[tuple[str, str]], bytes]:
    answered = await playing.pipeline.answer(call)
    body = b"".join([piece async for piece in answered.pieces()])
    headers = [header for header in answered.reply.headers if header[0] != "x-mockllm-request"]
    return answered.reply.status, headers, body


def parse(sent: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return status, headers and body of an answer's bytes, without what a server adds."""
    head, _, body = bare(sent).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    if ("transfer-encoding", "chunked") in headers:
        headers.remove(("transfer-encoding", "chunked"))
        body = b"".join(chunks(body))
    return int(status.split()[1]), headers, body


def chunks(data: bytes) -> list[bytes]:
    found = []
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        found.append(data[:length])
        data = data[length + 2 :]
    return found


def row(entry: Any) -> Row:
    """Return the journal's row without what differs from one server to the next."""
    made = row_of(entry, body_bytes=65_536)
    headers = {k: v for k, v in made.response_headers.items() if k != "x-mockllm-request"}
    sent = {k: v for k, v in made.request_headers.items() if k not in ("host", "content-length")}
    return made._replace(
        uid=None,
        siblings=0,
        at=None,
        duration_ms=0,
        timings=list(made.timings),
        response_headers=headers,
        request_headers=sent,
    )


async def test_edited_recording_is_matched_exactly_before_by_rules() -> None:
    # Dates are not compared by default.
    bodies = [said(f"Today is 2026-11-{day}.") for day in (24, 25)]
    document = cassette(*((asked(body), answered(completion("x"))) for body in bodies))
    for step, text in zip(document["steps"], ("for the 24th", "for the 25th"), strict=True):
        step |= {"consume": False, "produce": {"text": text}}
    playing, fresh = Playing(document), each_time(Playing(document))
    connection = Connection(playing)
    for _ in range(4):
        for body, text in zip(bodies, (b"for the 24th", b"for the 25th"), strict=True):
            sent = replace(chat(), body=json.dumps(body).encode())
            answered_by_connection = parse(await connection.ask(sent))
            assert answered_by_connection == await answer(fresh, sent)
            assert text in answered_by_connection[2]
