"""What calls leave behind in a pipeline, without what differs between servers."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from scenarios_app.engine.journal_entry import CleanEntry, clean_entry
from scenarios_app.engine.state import SessionState
from tests.serving.pipelines import Harness
from tests.serving.short_path.traffic import SESSIONS

OPTIONS = {"words_per_second": 0}
# Headers of requests that clients and servers differ in.
_VARYING = {"host", "content-length", "connection"}


class Results(NamedTuple):
    """The sessions' state, the stored responses by session, and the rows of the journal."""

    states: list[SessionState]
    responses: dict[str, dict[str, bytes]]
    journal: list[CleanEntry]


async def results_of(harness: Harness) -> Results:
    """Return the results of all calls so far."""
    states = [await harness.state.read(name) for name in SESSIONS]
    responses = {name: state.responses for name, state in harness.state._states.items()}
    return Results(states, responses, list(map(comparable_row, harness.journal)))


def comparable_row(entry: Any) -> CleanEntry:
    """Return the journal's row without the fields that differ between servers."""
    row = clean_entry(entry, body_bytes=65_536)
    return replace(
        row,
        uid="",
        siblings=0,
        at=0,
        duration_ms=0,
        timings=dict.fromkeys(row.timings, 0),
        response_plain=False,
        response_headers=_without(row.response_headers, {"x-mockllm-request"}),
        request_headers=_without(row.request_headers, _VARYING),
    )


def _without(headers: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in headers.items() if name not in names}
