"""OpenAI's wires and the dialects of its API say what providers really said, key by key."""

from pathlib import Path

import pytest

from tests.serving.openai_record.differences import DIFFERENCES
from tests.serving.openai_record.record import (
    ROOT,
    SHARED,
    Exchange,
    answered,
    differences,
    exchanges,
    samples,
    scripted,
)

SAMPLES = samples()
# Written by hand in the clients' tests, although named like recordings.
MADE_UP = {"resp_1234"}
DOCS = ROOT / "docs" / "wires.md"

recorded = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the record of real answers is not at ../{SHARED.name}"
)


async def differ(exchange: Exchange) -> set[str]:
    """How our answer to a request differs from the real one, beyond what the docs tell."""
    produce = scripted(exchange)
    status, sent = await answered(exchange, produce)
    assert status == 200, (exchange.name, sent)
    return set() if produce is None else differences(exchange, sent)


@pytest.mark.parametrize("exchange", SAMPLES, ids=[each.name for each in SAMPLES])
async def test_a_sample_is_answered_as_it_was(exchange: Exchange) -> None:
    assert await differ(exchange) == set()


def test_samples_are_whole_and_streamed_of_every_wire_that_is_recorded() -> None:
    kinds = {(each.wire, each.streamed) for each in SAMPLES}
    streamed = {wire for wire, stream in kinds if stream}
    assert {wire for wire, stream in kinds if not stream} >= streamed
    assert {"OpenAI chat", "OpenAI Responses", "OpenRouter", "Groq"} <= streamed


@recorded
async def test_every_recorded_answer_is_as_it_was() -> None:
    found = {}
    for exchange in exchanges(SHARED):
        if exchange.real[0].get("id") not in MADE_UP and (found_here := await differ(exchange)):
            found[exchange.name] = (exchange.day, sorted(found_here))
    assert found == {}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_field_that_is_missing_is_found(stream: bool) -> None:
    exchange = next(e for e in SAMPLES if e.wire == "OpenAI chat" and e.streamed is stream)
    status, sent = await answered(exchange, scripted(exchange))
    assert status == 200
    for field in (b'"finish_reason"', b'"created"'):
        told = differences(exchange, sent.replace(field, b'"another"'))
        assert {line.partition(" ")[0] for line in told} == {"ours", "real"}


def rows_of_docs() -> list[list[str]]:
    section = DOCS.read_text().partition("\n## Where we differ and why\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_docs_have_every_difference_and_no_other() -> None:
    wires = {row.wire for row in DIFFERENCES}
    told = [row for row in rows_of_docs() if row[0] in wires]
    assert told == [
        [
            row.wire,
            ", ".join(f"`{path}`" for path in row.paths),
            f"{row.why} (answers before {row.before})" if row.before else row.why,
        ]
        for row in DIFFERENCES
    ]


def test_the_record_is_no_part_of_this_repository() -> None:
    assert ROOT not in Path(SHARED).parents
