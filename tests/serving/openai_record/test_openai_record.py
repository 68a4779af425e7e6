"""OpenAI's wires and dialects have the keys and types of real answers."""

from pathlib import Path

import pytest

from tests.serving.openai_record.differences import DIFFERENCES
from tests.serving.openai_record.record import (
    ROOT,
    SHARED,
    Exchange,
    differences,
    exchanges,
    replay_request,
    samples,
    to_script,
)

SAMPLES = samples()
# Written by hand in the clients' tests, although named like recordings.
INVENTED_IDS = {"resp_1234"}
DOCS = ROOT / "docs" / "differences.md"

needs_recordings = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the record of real answers is not at ../{SHARED.name}"
)


async def find_differences(exchange: Exchange) -> set[str]:
    """Return the differences of our answer from the real one that the docs do not list."""
    produce = to_script(exchange)
    status, response_body = await replay_request(exchange, produce)
    assert status == 200, (exchange.name, response_body)
    return set() if produce is None else differences(exchange, response_body)


@pytest.mark.parametrize("exchange", SAMPLES, ids=[each.name for each in SAMPLES])
async def test_sample_is_answered_with_the_recorded_shape(exchange: Exchange) -> None:
    assert await find_differences(exchange) == set()


def test_samples_cover_whole_and_streamed_answers_of_recorded_wires() -> None:
    kinds = {(each.wire, each.streamed) for each in SAMPLES}
    streamed = {wire for wire, stream in kinds if stream}
    assert {wire for wire, stream in kinds if not stream} >= streamed
    assert {"OpenAI chat", "OpenAI Responses", "OpenRouter", "Groq"} <= streamed


@needs_recordings
async def test_recorded_requests_are_answered_with_the_recorded_shape() -> None:
    differing_exchanges = {}
    for exchange in exchanges(SHARED):
        if exchange.real[0].get("id") not in INVENTED_IDS and (
            exchange_differences := await find_differences(exchange)
        ):
            differing_exchanges[exchange.name] = (exchange.day, sorted(exchange_differences))
    assert differing_exchanges == {}


@pytest.mark.parametrize("stream", [False, True])
async def test_missing_field_is_a_difference(stream: bool) -> None:
    exchange = next(e for e in SAMPLES if e.wire == "OpenAI chat" and e.streamed is stream)
    status, response_body = await replay_request(exchange, to_script(exchange))
    assert status == 200
    for field in (b'"finish_reason"', b'"created"'):
        difference_lines = differences(exchange, response_body.replace(field, b'"another"'))
        assert {line.partition(" ")[0] for line in difference_lines} == {"ours", "real"}


def rows_of_docs() -> list[list[str]]:
    section = DOCS.read_text().partition("\n## Where we differ and why\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_docs_have_every_difference_and_no_other() -> None:
    wires = {row.wire for row in DIFFERENCES}
    documented_rows = [row for row in rows_of_docs() if row[0] in wires]
    assert documented_rows == [
        [
            row.wire,
            ", ".join(f"`{path}`" for path in row.paths),
            f"{row.why} (answers before {row.before})" if row.before else row.why,
        ]
        for row in DIFFERENCES
    ]


def test_recordings_are_outside_this_repository() -> None:
    assert ROOT not in Path(SHARED).parents
