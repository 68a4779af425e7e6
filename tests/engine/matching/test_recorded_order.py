"""The order of recorded steps that match the same request."""

import json
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, SentRequest, attach_sent
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.document.recorded import digest_of_answer
from scenarios_app.engine.matching.index import Index, build_index, overlay, replays_recording
from tests.engine.match_builders import CHAT, chat_request


def recorded_step(name: str, body: Any, **keys: Any) -> dict[str, Any]:
    answer = {"chunks": [name], "of": digest_of_answer({"text": name})}
    match = {"path": CHAT, "recorded": {"body": body}}
    return {
        "name": name,
        "match": match,
        "produce": {"text": name, "recorded": answer},
        **keys,
    }


def build_recorded_index(*steps: dict[str, Any], **keys: Any) -> Index:
    documents = load_documents({"name": "cassette", "steps": list(steps), **keys})
    return build_index(map(compile_scenario, documents))


def received_request(body: Any) -> CanonicalRequest:
    return attach_sent(chat_request("x"), SentRequest("POST", {}, json.dumps(body).encode()))


def candidate_labels(index: Index, body: Any, **keys: Any) -> list[str]:
    return [candidate.step.label for candidate in index.candidates(received_request(body), **keys)]


BODY = {"model": "m", "messages": []}


def test_the_same_request_gets_its_first_then_its_second_answer() -> None:
    index = build_recorded_index(recorded_step("one", BODY), recorded_step("two", BODY))
    assert candidate_labels(index, BODY) == ["one", "two"]
    assert candidate_labels(index, BODY, consumed={("cassette", "1")}) == ["two"]


def test_identical_request_is_preferred_to_one_that_is_equal_by_rules() -> None:
    monday, friday = ({**BODY, "input": f"on 2026-05-0{day}"} for day in (1, 5))
    index = build_recorded_index(recorded_step("monday", monday), recorded_step("friday", friday))
    assert candidate_labels(index, friday) == ["friday", "monday"]
    assert candidate_labels(index, monday) == ["monday", "friday"]
    assert candidate_labels(index, {**BODY, "input": "on 2026-05-09"}) == ["monday", "friday"]
    consumed = {("cassette", "2")}
    assert candidate_labels(index, friday, consumed=consumed) == ["monday"]


def test_identical_request_of_another_scenario_is_not_preferred() -> None:
    monday, friday = ({**BODY, "input": f"on 2026-05-0{day}"} for day in (1, 5))
    documents = [
        *load_documents({"name": "a", "steps": [recorded_step("monday", monday)]}),
        *load_documents({"name": "b", "steps": [recorded_step("friday", friday)]}),
    ]
    index = build_index(map(compile_scenario, documents))
    assert candidate_labels(index, friday) == ["monday", "friday"]


def test_identical_request_is_found_among_many() -> None:
    bodies = [{**BODY, "input": f"on 2026-05-{day:02}"} for day in range(1, 31)]
    steps = [recorded_step(f"day {day}", body) for day, body in enumerate([*bodies, *bodies])]
    assert candidate_labels(build_recorded_index(*steps), bodies[20])[0] == "day 20"


def test_recording_of_a_session_replaces_the_common_one() -> None:
    common_index = build_recorded_index(recorded_step("common", BODY))
    assert common_index.recorded and not build_recorded_index({"produce": {"text": "x"}}).recorded
    session_documents = load_documents(
        {"name": "cassette", "steps": [recorded_step("own", {**BODY, "user": "u"})]}
    )
    index = overlay(common_index, map(compile_scenario, session_documents))
    assert candidate_labels(index, BODY) == ["own"]


def test_unread_request_matches_only_recorded_steps() -> None:
    edited = recorded_step("edited", BODY)
    edited["produce"]["text"] = "changed"
    raw = {"match": {"recorded": {"body": BODY}}, "produce": {"raw": {"body": "x"}}, "name": "raw"}
    plain = {"produce": {"text": "any"}, "name": "plain"}
    index = build_recorded_index(plain, edited, raw, recorded_step("whole", BODY))
    labels = [
        candidate.step.label
        for candidate in index.candidates(received_request(BODY), only=replays_recording)
    ]
    assert labels == ["raw", "whole"]
    assert not list(
        index.candidates(received_request(BODY), scenario="other", only=replays_recording)
    )
