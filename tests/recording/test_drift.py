"""Drift between today's requests and recorded ones: new, removed or changed requests."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.recording.drift import (
    DriftReport,
    describe_drift,
    drift_json,
    find_drift,
    recorded_steps,
)

ANSWER = RecordedResponse(200, chunks=((1.0, b'{"choices": []}'),))


def make_request(*texts: str, path: str = "/v1/chat/completions", **fields: Any) -> RecordedRequest:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {"model": "gpt-4o", "messages": messages, **fields}
    return RecordedRequest("POST", path, body=json.dumps(body).encode())


def cassette(*requests: RecordedRequest, name: str = "c") -> dict[str, Any]:
    return to_document(name, [Interaction(request, ANSWER) for request in requests]).document


def compare(
    document: dict[str, Any], *missed: RecordedRequest, served: tuple[int, ...] = ()
) -> DriftReport:
    return find_drift([document], {(document["name"], str(n)) for n in served}, missed)


def describe(report: DriftReport) -> list[str]:
    return [line for drift in report.drifts for line in describe_drift(drift)]


def test_equal_requests_have_no_drift() -> None:
    assert compare(cassette(make_request("a"), make_request("b")), served=(1, 2)) == DriftReport()


def test_changed_prompt_is_reported_as_one_change() -> None:
    document = cassette(make_request("You are terse.", "The weather?"), make_request("Bye."))
    report = compare(document, make_request("You are kind.", "The weather?"), served=(2,))
    (drift,) = report.drifts
    assert (drift.kind, drift.step, drift.request) == ("changed", "1", "POST /v1/chat/completions")
    assert describe(report) == [
        "changed: POST /v1/chat/completions (step 1)",
        '  messages[0].content changed from "You are terse." to "You are kind."',
    ]
    assert report.unreached == ()


def test_steps_after_a_change_are_unreached() -> None:
    report = compare(
        cassette(make_request("a", "x"), make_request("a", "x", "b")), make_request("c", "x")
    )
    assert [drift.kind for drift in report.drifts] == ["changed"]
    assert [step.step for step in report.unreached] == ["2"]


def test_unrequested_step_is_removed() -> None:
    report = compare(cassette(make_request("a"), make_request("b")), served=(1,))
    assert describe(report) == [
        "removed: POST /v1/chat/completions (step 2) is no longer requested"
    ]


def test_request_of_another_endpoint_is_new() -> None:
    document = cassette(make_request("a"))
    embeddings = make_request("a", path="/v1/embeddings")
    report = compare(document, embeddings, embeddings)
    assert describe(report) == [
        "new: POST /v1/embeddings (2 times) is requested, but was not recorded"
    ]


def test_repeated_request_is_new() -> None:
    report = compare(cassette(make_request("a")), make_request("a"), served=(1,))
    assert [(drift.kind, drift.cassette) for drift in report.drifts] == [("new", "c")]


def test_change_is_compared_with_the_most_similar_step() -> None:
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    document = cassette(make_request("a"), make_request("a", tools=tools))
    report = compare(document, make_request("b", tools=tools))
    assert report.drifts[0].step == "2"


def test_repeated_changed_request_is_one_change() -> None:
    report = compare(
        cassette(make_request("a")), make_request("b"), make_request("b"), make_request("b")
    )
    (drift,) = report.drifts
    assert drift.times == 3 and "(3 times)" in describe(report)[0]


def test_every_request_is_new_without_a_cassette() -> None:
    assert [drift.kind for drift in find_drift([], set(), [make_request("a")]).drifts] == ["new"]


def test_steps_without_a_recorded_request_are_not_compared() -> None:
    assert list(recorded_steps({"name": "c", "steps": [{"match": {"model": "m"}}, {}]})) == []


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=6, unique=True))
def test_every_step_is_served_missed_or_reported(texts: list[str]) -> None:
    """Each report can also be encoded as JSON."""
    document = cassette(*map(make_request, texts))
    for number in range(len(texts) + 1):
        report = compare(document, served=tuple(range(1, number + 1)))
        assert len(report.drifts) + number == len(texts)
        json.dumps([drift_json(drift) for drift in report.drifts])
