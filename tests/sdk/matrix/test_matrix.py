"""Every feature on every wire, streamed and not: clients return what was scripted.

The table of limits lists the exceptions.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.wire.openai.dialects.rows import PROVIDERS
from scenarios_app.wire.registry import wires
from tests.sdk.matrix.matrix_client import Prompt
from tests.sdk.matrix.matrix_clients import CLIENTS
from tests.sdk.matrix.matrix_features import features
from tests.sdk.matrix.matrix_limits import (
    LEFT_OUT,
    LIMITS,
    SORTED_BY_KIND,
    Limits,
    expected_messages,
    expected_retry_ms,
    expected_usage,
    limit_rows,
)
from tests.sdk.matrix.matrix_messages import Call, Failure, Message, Outcome, Text, sort_by_kind
from tests.sdk.matrix.matrix_rows import BrokenResponse, Feature
from tests.support.live_server import Live

DOCS = Path(__file__).resolve().parents[3] / "docs" / "wires.md"


@pytest.mark.parametrize("mode", ["stream", "whole"])
@pytest.mark.parametrize("wire", CLIENTS)
def test_client_returns_the_scripted_response(live: Live, wire: str, mode: str) -> None:
    client, limits, stream = CLIENTS[wire], LIMITS[wire], mode == "stream"
    rows = features(client)
    documents = {d.get("name", d.get("id")): d for feature in rows for d in feature.scenarios()}
    live.load(*documents.values())
    wrong = {}
    for feature in rows:
        outcome = client.ask(live, Prompt(feature.prompt, feature.history), stream=stream)
        expected = expected_outcome(feature, limits, stream=stream)
        if (got := normalize_outcome(outcome, expected, limits)) != expected:
            wrong[feature.name] = f"\nscripted {expected}\ngot      {got}"
    assert not wrong, "".join(f"\n{name}: {cell}" for name, cell in wrong.items())


def expected_outcome(feature: Feature, limits: Limits, *, stream: bool) -> Outcome:
    """Return the outcome that a client of a wire with these limits should get."""
    broken = feature.broken_stream if stream else feature.broken_response
    if broken is not None:
        return _broken_outcome(broken, limits)
    if feature.history and limits.turns == LEFT_OUT:
        return Outcome(failure=Failure("status", 404))
    messages = expected_messages(
        feature.messages, limits, stream=stream, alternatives=feature.alternatives
    )
    usage = expected_usage(feature.usage, limits) if feature.usage else None
    pieces = feature.pieces if stream and feature.pieces else ()
    return Outcome(messages, usage, pieces)


def _broken_outcome(broken: BrokenResponse, limits: Limits) -> Outcome:
    messages = (Message((Text(broken.text),), None),) if broken.text else ()
    failure = broken.failure
    if failure is not None and failure.retry_ms is not None:
        failure = replace(failure, retry_ms=expected_retry_ms(failure.retry_ms, limits))
    return Outcome(messages, failure=failure)


def normalize_outcome(outcome: Outcome, expected: Outcome, limits: Limits) -> Outcome:
    """Drop the values that are not expected, and an order of parts that the wire does not keep."""
    failure = outcome.failure
    if failure and expected.failure and expected.failure.message is None:
        failure = replace(failure, message=None)
    if failure and expected.failure and expected.failure.status is None:
        failure = replace(failure, status=None)
    messages = outcome.messages
    if limits.order == SORTED_BY_KIND:
        messages = tuple(
            replace(message, parts=sort_by_kind(message.parts)) for message in messages
        )
    if any(call.id is None for message in expected.messages for call in calls_of(message)):
        messages = tuple(map(_without_ids, messages))
    return Outcome(
        messages,
        outcome.usage if expected.usage else None,
        outcome.pieces if expected.pieces else (),
        failure,
    )


def calls_of(message: Message) -> list[Call]:
    return [part for part in message.parts if isinstance(part, Call)]


def _without_ids(message: Message) -> Message:
    """Replace the ids of calls by None, which stands for any id."""
    anonymous = (replace(p, id=None) if isinstance(p, Call) and p.id else p for p in message.parts)
    return replace(message, parts=tuple(anonymous))


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
def test_names_and_prompts_of_features_are_unique(wire: str) -> None:
    rows = features(CLIENTS[wire])
    assert len({feature.name for feature in rows}) == len(rows)
    assert len({(feature.prompt, feature.history) for feature in rows}) == len(rows)


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
    assert rows == [["scripted", *LIMITS], *limit_rows()]
