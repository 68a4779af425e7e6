"""The wires accept real requests and answer them with the keys, types and events of real answers,
except for the differences in the table of docs/differences.md."""

import json
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, scenario
from tests.serving.real_answers import (
    WIRES,
    Row,
    differences,
    find_explanation,
    own_rows,
    read_difference_table,
    recorded_rows,
    to_script,
)

TABLE = read_difference_table((Path(__file__).parents[2] / "docs" / "differences.md").read_text())
KEYS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "x-goog-api-key": "k"}
OURS = own_rows()
RECORDED = recorded_rows()
DEFAULT_PRODUCE = {"text": "Hello"}


async def send_request(row: Row) -> tuple[int, str]:
    """Return status and body of our answer to a row's request, scripted from the row's answer."""
    produce = to_script(row) or DEFAULT_PRODUCE
    harness = Harness(scenario("real", {"consume": False, "produce": produce}), words_per_second=0)
    headers = {key: KEYS[key] for key in KEYS if ("goog" in key) == (row["wire"] == "gemini")}
    body = json.dumps(row["request"]).encode()
    query = row["query"]
    call = Call("POST", row["path"], dict(parse_qsl(query)), headers, body, query)
    status, _, response_text = await harness.ask(call)
    return status, response_text.decode()


async def find_differences(row: Row) -> dict[str, str]:
    """Return the paths at which our answer differs from the row's."""
    status, response_text = await send_request(row)
    assert status == 200, response_text
    theirs = row["answer"]
    return differences(
        theirs, response_text if isinstance(theirs, str) else json.loads(response_text)
    )


def unexplained_differences(row: Row, answer_differences: dict[str, str]) -> dict[str, str]:
    return {
        path: side
        for path, side in answer_differences.items()
        if find_explanation(path, side, wire=row["wire"], table=TABLE) is None
    }


@pytest.mark.parametrize("row", OURS, ids=[f"{row['wire']}: {row['what']}" for row in OURS])
async def test_answer_differs_from_a_real_one_only_as_listed(row: Row) -> None:
    answer_differences = await find_differences(row)
    assert unexplained_differences(row, answer_differences) == {}
    fields = {
        find_explanation(p, w, wire=row["wire"], table=TABLE) for p, w in answer_differences.items()
    }
    assert fields == set(row["differs"])


def test_each_row_of_the_table_is_covered_by_an_answer() -> None:
    covered_rows = {(WIRES[row["wire"]], field) for row in OURS for field in row["differs"]}
    table_rows = {(wire, field) for wire, field, _ in TABLE if wire in WIRES.values()}
    assert table_rows == covered_rows


@pytest.mark.skipif(not RECORDED, reason="there are no recorded answers beside the checkout")
@pytest.mark.parametrize("row", RECORDED, ids=[f"{r['wire']}-{r['line']}" for r in RECORDED])
async def test_recorded_request_is_answered_as_recorded(row: Row) -> None:
    if to_script(row) is None:
        status, response_text = await send_request(row)
        assert status == 200, response_text
        return
    assert unexplained_differences(row, await find_differences(row)) == {}
