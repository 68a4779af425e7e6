"""Which recorded step a request gets, where several hold the same conversation."""

import json
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, SentRequest, attach_sent
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.document.recorded import digest_of_answer
from scenarios_app.engine.matching.index import Index, build_index, overlay, replays_recording
from tests.engine.asking import CHAT, ask


def recorded(name: str, body: Any, **keys: Any) -> dict[str, Any]:
    answer = {"chunks": [name], "of": digest_of_answer({"text": name})}
    match = {"path": CHAT, "recorded": {"body": body}}
    return {
        "name": name,
        "match": match,
        "produce": {"text": name, "recorded": answer},
        **keys,
    }


def index(*steps: dict[str, Any], **keys: Any) -> Index:
    documents = load_documents({"name": "cassette", "steps": list(steps), **keys})
    return build_index(map(compile_scenario, documents))


def sent(body: Any) -> CanonicalRequest:
    return attach_sent(ask("x"), SentRequest("POST", {}, json.dumps(body).encode()))


def order(index: Index, body: Any, **keys: Any) -> list[str]:
    return [candidate.step.label for candidate in index.candidates(sent(body), **keys)]


SAME = {"model": "m", "messages": []}


def test_the_same_request_gets_its_first_then_its_second_answer() -> None:
    here = index(recorded("one", SAME), recorded("two", SAME))
    assert order(here, SAME) == ["one", "two"]
    assert order(here, SAME, consumed={("cassette", "1")}) == ["two"]


def test_the_very_request_goes_before_one_that_only_rules_make_the_same() -> None:
    monday, friday = ({**SAME, "input": f"on 2026-05-0{day}"} for day in (1, 5))
    here = index(recorded("monday", monday), recorded("friday", friday))
    assert order(here, friday) == ["friday", "monday"]
    assert order(here, monday) == ["monday", "friday"]
    assert order(here, {**SAME, "input": "on 2026-05-09"}) == ["monday", "friday"]
    gone = {("cassette", "2")}
    assert order(here, friday, consumed=gone) == ["monday"]


def test_each_scenario_has_its_own_recording_of_the_very_request() -> None:
    monday, friday = ({**SAME, "input": f"on 2026-05-0{day}"} for day in (1, 5))
    found = [
        *load_documents({"name": "a", "steps": [recorded("monday", monday)]}),
        *load_documents({"name": "b", "steps": [recorded("friday", friday)]}),
    ]
    here = build_index(map(compile_scenario, found))
    assert order(here, friday) == ["monday", "friday"]


def test_the_very_request_is_found_among_many() -> None:
    bodies = [{**SAME, "input": f"on 2026-05-{day:02}"} for day in range(1, 31)]
    steps = [recorded(f"day {day}", body) for day, body in enumerate([*bodies, *bodies])]
    assert order(index(*steps), bodies[20])[0] == "day 20"


def test_a_session_s_own_recording_goes_before_the_common_one() -> None:
    common = index(recorded("common", SAME))
    assert common.recorded and not index({"produce": {"text": "x"}}).recorded
    own = load_documents({"name": "cassette", "steps": [recorded("own", {**SAME, "user": "u"})]})
    both = overlay(common, map(compile_scenario, own))
    assert order(both, SAME) == ["own"]


def test_unread_request_matches_only_recorded_steps() -> None:
    edited = recorded("edited", SAME)
    edited["produce"]["text"] = "changed"
    raw = {"match": {"recorded": {"body": SAME}}, "produce": {"raw": {"body": "x"}}, "name": "raw"}
    plain = {"produce": {"text": "any"}, "name": "plain"}
    here = index(plain, edited, raw, recorded("whole", SAME))
    found = [one.step.label for one in here.candidates(sent(SAME), only=replays_recording)]
    assert found == ["raw", "whole"]
    assert not list(here.candidates(sent(SAME), scenario="other", only=replays_recording))
