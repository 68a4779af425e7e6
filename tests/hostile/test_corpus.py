"""Invalid requests get the provider's own error, and the next request is answered."""

import pytest

from scenarios_app.journal import journal
from tests.hostile.corpus import GROUPS
from tests.hostile.provider_requests import CHAT, GOOD, OPENAI, Row
from tests.hostile.raw import Response, encode_request, send_bytes
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live
from tests.wire.envelopes import envelope_complaint

NEXT = encode_request("POST", CHAT, GOOD, headers=OPENAI)


@pytest.mark.parametrize("group", GROUPS)
def test_every_row_gets_its_expected_status(live: Live, group: str) -> None:
    live.load(scenario("anything", text_step("Fine.")))
    failed_before, dropped_before = journal.failed, journal.dropped
    complaints = {}
    for row in GROUPS[group]():
        answer = send_bytes(live.port, row.data, half_close=row.half_close)
        if complaint := find_complaint(row, answer):
            complaints[row.name] = complaint
        next_answer = send_bytes(live.port, NEXT)
        assert next_answer.status == 200, f"{row.name} broke the server"
    assert complaints == {}
    assert journal.flush()
    assert (journal.failed, journal.dropped) == (failed_before, dropped_before)


def find_complaint(row: Row, answer: Response) -> str:
    """Return the fault of a response, or an empty string."""
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


def test_corpus_has_120_rows_with_unique_names() -> None:
    names = [row.name for group in GROUPS.values() for row in group()]
    assert len(names) == len(set(names))
    assert len(names) >= 120
