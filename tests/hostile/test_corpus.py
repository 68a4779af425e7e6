"""Whatever is sent, the answer is the provider's own error, and the next request is answered."""

from dataclasses import replace

import pytest

from scenarios_app.journal import journal
from tests.hostile.asked_ways import CHAT, GOOD, OPENAI, Row
from tests.hostile.corpus import GROUPS
from tests.hostile.raw import Answer, exchange, message
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live
from tests.wire.envelopes import envelope_complaint

NEXT = message("POST", CHAT, GOOD, headers=OPENAI)


@pytest.mark.parametrize("group", GROUPS)
def test_every_row_gets_the_answer_it_deserves(either_live: Live, group: str) -> None:
    either_live.load(scenario("anything", says("Fine.")))
    failed, refused = journal.failed, journal.dropped
    wrong = {}
    for row in GROUPS[group]():
        answer = exchange(either_live.port, row.data, half_close=row.half_close)
        if either_live.through_django and row.django:
            row = replace(row, status=row.django)
        if complaint := complaint_of(row, answer):
            wrong[row.name] = complaint
        after = exchange(either_live.port, NEXT)
        assert after.status == 200, f"{row.name} broke the server"
    assert wrong == {}
    assert journal.flush()
    assert (journal.failed, journal.dropped) == (failed, refused)


def complaint_of(row: Row, answer: Answer) -> str:
    """What is wrong with an answer, if anything."""
    if answer.status != row.status:
        return f"expected {row.status}, got {answer.status} {answer.body[:200]!r}"
    if row.bare or answer.status == 0:
        return ""
    if answer.headers.get("content-type") != "application/json":
        return f"content type {answer.headers.get('content-type')}"
    if "x-mockllm-request" not in answer.headers:
        return "no header of ours"
    if answer.status == 200:
        return "" if isinstance(answer.json(), dict) else "no object"
    return envelope_complaint(row.provider, answer.json())


def test_the_corpus_is_as_large_as_it_is_meant_to_be() -> None:
    names = [row.name for group in GROUPS.values() for row in group()]
    assert len(names) == len(set(names))
    assert len(names) >= 120
