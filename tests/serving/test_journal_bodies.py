"""Bodies that running answers hold for the journal: complete within memory limits, as sent."""

import pytest

from scenarios_app.engine.journal_entry import clean_entry, held_bytes
from scenarios_app.serving import pipeline as pipelines
from scenarios_app.serving.pipeline import SMALL_BODY_BYTES
from scenarios_app.serving.playback import ProcessLimit
from scenarios_app.serving.reply import SentCopy
from tests.serving.pipelines import Harness, chat, scenario, text_step

LONG = "word, " * 10_000
REQUEST = "x" * 100_000


def long_harness(**options: int) -> Harness:
    return Harness(scenario("one", text_step(LONG)), **options)


async def test_journal_has_a_long_stream_as_it_was_sent() -> None:
    harness = long_harness()
    _, _, response_body = await harness.ask(chat(stream=True))
    (entry,) = harness.journal
    # The body can be read more than once.
    for _ in range(2):
        assert b"".join(entry.response_body) == response_body
    assert entry.response_bytes == len(response_body)
    assert held_bytes(entry.response_body) < len(response_body) / 5


async def test_events_of_a_long_stream_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarios_app.serving import respond

    plans = []
    plan = respond.plan
    monkeypatch.setattr(respond, "plan", lambda *a, **k: plans.append(1) or plan(*a, **k))
    harness = long_harness()
    await harness.ask(chat(stream=True))
    assert clean_entry(harness.journal[0], body_bytes=1_000_000).response_body
    assert len(plans) == 1


async def test_journal_has_the_received_part_of_an_abandoned_stream() -> None:
    harness = long_harness()
    answer = await harness.pipeline.answer(chat(stream=True))
    pieces = answer.pieces()
    received = [await anext(pieces), await anext(pieces), await anext(pieces)]
    await pieces.aclose()
    (entry,) = harness.journal
    assert entry.outcome == "client_gone"
    assert b"".join(entry.response_body) == b"".join(received) != b""


async def test_long_stream_is_cut_at_the_limit() -> None:
    harness = long_harness(journal_body_bytes=100_000)
    _, _, response_body = await harness.ask(chat(stream=True))
    row = clean_entry(harness.journal[0], body_bytes=100_000)
    assert len(response_body) > 200_000
    assert (row.response_body.encode(), row.response_cut) == (response_body[:100_000], True)
    assert row.response_bytes == len(response_body)


def test_copy_holds_no_more_than_its_limit_and_a_piece() -> None:
    copy = SentCopy(100)
    for _ in range(10):
        copy.add(b"x" * 60)
    assert b"".join(copy) == b"x" * 120


async def test_request_bodies_of_running_answers_share_their_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pipelines, "HELD_BODY_BYTES", 250_000)
    harness = long_harness()
    calls = [chat(REQUEST, stream=True) for _ in range(3)]
    answers = [await harness.pipeline.answer(call) for call in calls]
    for answer in answers:
        answer.abort()
    rows = [clean_entry(entry, body_bytes=1_000_000) for entry in harness.journal]
    assert [row.request_cut for row in rows] == [False, False, True]
    assert rows[0].request_body.encode() == calls[0].body
    assert rows[2].request_body.encode() == calls[2].body[:SMALL_BODY_BYTES]
    assert {row.request_bytes for row in rows} == {len(calls[0].body)}
    # All of the memory is free again.
    _ = await harness.ask(calls[0])
    _ = await harness.ask(chat("x" * 240_000))
    assert [len(entry.request_body) for entry in harness.journal[3:]] == [
        len(calls[0].body),
        len(chat("x" * 240_000).body),
    ]


async def test_answer_that_is_never_sent_frees_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HELD_BODY_BYTES", 150_000)
    harness = long_harness()
    for _ in range(3):
        answer = await harness.pipeline.answer(chat(REQUEST))
        del answer
    assert [len(entry.request_body) > 100_000 for entry in harness.journal] == [True] * 3


async def test_small_bodies_take_no_memory_of_the_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HELD_BODY_BYTES", 0)
    harness = long_harness()
    call = chat("x" * 60_000)
    await harness.ask(call)
    assert harness.journal[0].request_body == call.body


def test_limit_takes_all_or_nothing() -> None:
    limit = ProcessLimit(10)
    assert [limit.take(6), limit.take(5), limit.take(4)] == [True, False, True]
    limit.free(6)
    assert limit.taken == 4
