"""Every wire, every feature, streamed and whole: what was scripted is what the client hands back,
but for what the table of limits says."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.wire.openai.dialects.rows import PROVIDERS
from scenarios_app.wire.registry import wires
from tests.sdk.matrix.matrix_client import Asked
from tests.sdk.matrix.matrix_clients import CLIENTS
from tests.sdk.matrix.matrix_features import features
from tests.sdk.matrix.matrix_limits import (
    KINDS,
    LIMITS,
    OUT,
    Limits,
    counted,
    retry_of,
    table,
    told,
)
from tests.sdk.matrix.matrix_rows import Broken, Feature
from tests.sdk.matrix.matrix_said import Call, Failure, Outcome, Said, Text, by_kind
from tests.support.live_server import Live

DOCS = Path(__file__).resolve().parents[3] / "docs" / "wires.md"


@pytest.mark.parametrize("way", ["stream", "whole"])
@pytest.mark.parametrize("wire", CLIENTS)
def test_client_returns_the_scripted_response(live: Live, wire: str, way: str) -> None:
    client, limits, stream = CLIENTS[wire], LIMITS[wire], way == "stream"
    rows = features(client)
    documents = {d.get("name", d.get("id")): d for feature in rows for d in feature.loaded()}
    live.load(*documents.values())
    wrong = {}
    for feature in rows:
        heard = client.ask(live, Asked(feature.text, feature.history), stream=stream)
        wanted = expected(feature, limits, stream=stream)
        if (got := comparable(heard, wanted, limits)) != wanted:
            wrong[feature.name] = f"\nscripted {wanted}\ngot      {got}"
    assert not wrong, "".join(f"\n{name}: {cell}" for name, cell in wrong.items())


def expected(feature: Feature, limits: Limits, *, stream: bool) -> Outcome:
    """What a client of a wire with these limits should get."""
    broken = feature.streamed if stream else feature.whole
    if broken is not None:
        return _failing(broken, limits)
    if feature.history and limits.turns == OUT:
        return Outcome(failure=Failure("status", 404))
    messages = told(feature.messages, limits, stream=stream, alternatives=feature.alternatives)
    usage = counted(feature.usage, limits) if feature.usage else None
    pieces = feature.pieces if stream and feature.pieces else ()
    return Outcome(messages, usage, pieces)


def _failing(broken: Broken, limits: Limits) -> Outcome:
    said = (Said((Text(broken.said),), None),) if broken.said else ()
    failure = broken.failure
    if failure is not None and failure.retry_ms is not None:
        failure = replace(failure, retry_ms=retry_of(failure.retry_ms, limits))
    return Outcome(said, failure=failure)


def comparable(heard: Outcome, wanted: Outcome, limits: Limits) -> Outcome:
    """What was heard, without what nothing was said of, and without an order that there is none
    of."""
    failure = heard.failure
    if failure and wanted.failure and wanted.failure.message is None:
        failure = replace(failure, message=None)
    if failure and wanted.failure and wanted.failure.status is None:
        failure = replace(failure, status=None)
    messages = heard.messages
    if limits.order == KINDS:
        messages = tuple(replace(said, parts=by_kind(said.parts)) for said in messages)
    if any(call.id is None for said in wanted.messages for call in calls_of(said)):
        messages = tuple(map(_without_ids, messages))
    return Outcome(
        messages,
        heard.usage if wanted.usage else None,
        heard.pieces if wanted.pieces else (),
        failure,
    )


def calls_of(said: Said) -> list[Call]:
    return [part for part in said.parts if isinstance(part, Call)]


def _without_ids(said: Said) -> Said:
    """The same, where any id that there is will do."""
    anonymous = (replace(p, id=None) if isinstance(p, Call) and p.id else p for p in said.parts)
    return replace(said, parts=tuple(anonymous))


def test_every_wire_has_a_client() -> None:
    routes = {
        (wire.provider, endpoint.canonical)
        for wire in wires()
        for endpoint in wire.endpoints
        if endpoint.generates and wire.provider not in PROVIDERS
    }
    assert routes == {(client.provider, client.route) for client in CLIENTS.values()}
    assert list(CLIENTS) == list(LIMITS)


@pytest.mark.parametrize("wire", CLIENTS)
def test_every_feature_has_a_name_and_a_question_of_its_own(wire: str) -> None:
    rows = features(CLIENTS[wire])
    assert len({feature.name for feature in rows}) == len(rows)
    assert len({(feature.text, feature.history) for feature in rows}) == len(rows)


def test_every_kind_of_fault_is_a_feature() -> None:
    names = {feature.name for feature in features(CLIENTS["OpenAI chat"])}
    assert {f"fault {kind}" for kind in FAULT_KINDS} <= names


def test_the_docs_have_the_table_of_limits() -> None:
    text = DOCS.read_text()
    section = text.partition("\n## What an API cannot express\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|") and not re.fullmatch(r"[|\- ]+", line)
    ]
    assert rows == [["scripted", *LIMITS], *table()]
