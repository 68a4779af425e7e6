"""What is asked today beside what was recorded: new, removed or changed, and nothing else."""

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


def asked(*texts: str, path: str = "/v1/chat/completions", **fields: Any) -> RecordedRequest:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {"model": "gpt-4o", "messages": messages, **fields}
    return RecordedRequest("POST", path, body=json.dumps(body).encode())


def cassette(*requests: RecordedRequest, name: str = "c") -> dict[str, Any]:
    return to_document(name, [Interaction(one, ANSWER) for one in requests]).document


def drifted(
    document: dict[str, Any], *missed: RecordedRequest, served: tuple[int, ...] = ()
) -> DriftReport:
    return find_drift([document], {(document["name"], str(n)) for n in served}, missed)


def told(found: DriftReport) -> list[str]:
    return [line for one in found.drifts for line in describe_drift(one)]


def test_equal_requests_have_no_drift() -> None:
    assert drifted(cassette(asked("a"), asked("b")), served=(1, 2)) == DriftReport()


def test_a_changed_prompt_is_that_change_and_nothing_else() -> None:
    document = cassette(asked("You are terse.", "The weather?"), asked("Bye."))
    found = drifted(document, asked("You are kind.", "The weather?"), served=(2,))
    (one,) = found.drifts
    assert (one.kind, one.step, one.request) == ("changed", "1", "POST /v1/chat/completions")
    assert told(found) == [
        "changed: POST /v1/chat/completions (step 1)",
        '  messages[0].content changed from "You are terse." to "You are kind."',
    ]
    assert found.unreached == ()


def test_steps_after_a_change_are_unreached() -> None:
    found = drifted(cassette(asked("a", "x"), asked("a", "x", "b")), asked("c", "x"))
    assert [one.kind for one in found.drifts] == ["changed"]
    assert [step.step for step in found.unreached] == ["2"]


def test_unrequested_step_is_removed() -> None:
    found = drifted(cassette(asked("a"), asked("b")), served=(1,))
    assert told(found) == ["removed: POST /v1/chat/completions (step 2) is no longer requested"]


def test_another_endpoint_is_new_and_no_change() -> None:
    document = cassette(asked("a"))
    embeddings = asked("a", path="/v1/embeddings")
    found = drifted(document, embeddings, embeddings)
    assert told(found) == ["new: POST /v1/embeddings (2 times) is requested, but was not recorded"]


def test_the_same_once_more_is_new() -> None:
    found = drifted(cassette(asked("a")), asked("a"), served=(1,))
    assert [(one.kind, one.cassette) for one in found.drifts] == [("new", "c")]


def test_a_change_is_of_the_one_most_like_it() -> None:
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    document = cassette(asked("a"), asked("a", tools=tools))
    found = drifted(document, asked("b", tools=tools))
    assert found.drifts[0].step == "2"


def test_a_try_that_is_repeated_is_one_change() -> None:
    found = drifted(cassette(asked("a")), asked("b"), asked("b"), asked("b"))
    (one,) = found.drifts
    assert one.times == 3 and "(3 times)" in told(found)[0]


def test_without_a_cassette_all_is_new() -> None:
    assert [one.kind for one in find_drift([], set(), [asked("a")]).drifts] == ["new"]


def test_steps_without_a_recorded_request_are_not_compared() -> None:
    assert list(recorded_steps({"name": "c", "steps": [{"match": {"model": "m"}}, {}]})) == []


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=6, unique=True))
def test_every_step_is_served_missed_or_told_of(texts: list[str]) -> None:
    """And a report is JSON."""
    document = cassette(*map(asked, texts))
    for number in range(len(texts) + 1):
        found = drifted(document, served=tuple(range(1, number + 1)))
        assert len(found.drifts) + number == len(texts)
        json.dumps([drift_json(one) for one in found.drifts])
