"""The wires take what the providers took, and answer in keys, types and events as they did, but for
what stands in the table of docs/wires.md."""

import json
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Playing, scenario
from tests.serving.recorded import (
    WIRES,
    Row,
    differences,
    explained,
    explanation,
    own_rows,
    recorded_rows,
    script_of,
)

TABLE = explained((Path(__file__).parents[2] / "docs" / "wires.md").read_text())
KEYS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "x-goog-api-key": "k"}
OURS = own_rows()
RECORDED = recorded_rows()
SILENT = {"text": "Hello"}


async def answered(row: Row) -> tuple[int, str]:
    """Status and body of our answer to a row's request, scripted with what its own answer says."""
    produce = script_of(row) or SILENT
    playing = Playing(scenario("real", {"consume": False, "produce": produce}), words_per_second=0)
    headers = {key: KEYS[key] for key in KEYS if ("goog" in key) == (row["wire"] == "gemini")}
    body = json.dumps(row["request"]).encode()
    query = row["query"]
    call = Call("POST", row["path"], dict(parse_qsl(query)), headers, body, query)
    status, _, sent = await playing.ask(call)
    return status, sent.decode()


async def differing(row: Row) -> dict[str, str]:
    """The paths at which ours differs from a row's answer."""
    status, sent = await answered(row)
    assert status == 200, sent
    theirs = row["answer"]
    return differences(theirs, sent if isinstance(theirs, str) else json.loads(sent))


def unexplained(row: Row, found: dict[str, str]) -> dict[str, str]:
    return {
        path: who
        for path, who in found.items()
        if explanation(path, who, wire=row["wire"], table=TABLE) is None
    }


@pytest.mark.parametrize("row", OURS, ids=[f"{row['wire']}: {row['what']}" for row in OURS])
async def test_an_answer_is_as_real_but_for_what_it_is_known_to_differ_in(row: Row) -> None:
    found = await differing(row)
    assert unexplained(row, found) == {}
    fields = {explanation(p, w, wire=row["wire"], table=TABLE) for p, w in found.items()}
    assert fields == set(row["differs"])


def test_every_row_of_the_table_is_shown_by_an_answer() -> None:
    shown = {(WIRES[row["wire"]], field) for row in OURS for field in row["differs"]}
    ours = {(wire, field) for wire, field, _ in TABLE if wire in WIRES.values()}
    assert ours == shown


@pytest.mark.skipif(not RECORDED, reason="there are no recorded answers beside the checkout")
@pytest.mark.parametrize("row", RECORDED, ids=[f"{r['wire']}-{r['line']}" for r in RECORDED])
async def test_a_recorded_request_is_taken_and_answered_as_it_was(row: Row) -> None:
    if script_of(row) is None:
        status, sent = await answered(row)
        assert status == 200, sent
        return
    assert unexplained(row, await differing(row)) == {}
