"""State, names and reset of sessions."""

import pytest

from scenarios_app.engine.state import key_session
from tests.control.control_client import (
    KEY,
    Control,
    chat,
    error_of,
    reply_text,
    scenario,
    text_step,
)

COMPLETE_JOURNAL = {"complete": True, "lost": 0}
EMPTY = {
    **{"consumed": [], "attempts": [], "counters": {}, "violations": [], "passed": True},
    **COMPLETE_JOURNAL,
}
SCENARIO_WITH_STATE = scenario(
    "all",
    text_step("one", side_effects={"counter": "calls"}, match={"messages": ["go"]}),
    text_step("two", name="named", side_effects={"counter": "calls"}),
    text_step("strict", expect={"temperature": 0.5}, match={"messages": ["strict"]}),
    text_step("three", failures={"times": 2, "fault": {"kind": "rate_limit"}}, consume=False),
)


def test_state_has_consumed_attempts_counters_and_violations(control: Control) -> None:
    control.post("scenarios", SCENARIO_WITH_STATE)
    texts = [chat(text) for text in ("go", "go", "go", "go", "go")]
    assert [reply_text(r) for r in (texts[0], texts[1], texts[4])] == ["one", "two", "three"]
    assert [r.status_code for r in texts[2:4]] == [429, 429]
    chat("strict")
    assert control.get("state", session=KEY).json() == {
        "session": key_session(KEY),
        "consumed": [{"scenario": "all", "step": "1"}, {"scenario": "all", "step": "named"}],
        "attempts": [{"scenario": "all", "step": "4", "provider": "openai", "count": 2}],
        "counters": {"calls": 2},
        "violations": ["Expected temperature 0.5 but received undefined"],
        "passed": False,
        **COMPLETE_JOURNAL,
    }


def test_state_of_an_unknown_session_is_empty(control: Control) -> None:
    assert control.get("state", session="nobody").json() == {"session": "nobody", **EMPTY}


@pytest.mark.parametrize("query", [{}, {"session": ""}])
def test_state_requires_a_session(control: Control, query: dict[str, str]) -> None:
    assert error_of(control.get("state", **query)) == (400, "VALIDATION_ERROR", "session")


def test_session_is_found_by_its_key_and_by_its_listed_name(control: Control) -> None:
    control.post("scenarios", scenario("once"))
    chat(key="sk-one")
    session_name = key_session("sk-one")
    for session in ("sk-one", session_name):
        state = control.get("state", session=session).json()
        assert (state["session"], len(state["consumed"])) == (session_name, 1)


def test_session_name_wins_over_an_equal_key(control: Control) -> None:
    control.post("scenarios", scenario("once", text_step("hi", consume=False)))
    chat(key="alpha")
    chat(key="sk-other", headers={"x-mockllm-session": "alpha"})
    assert control.get("state", session="alpha").json()["session"] == "alpha"
    (request,) = control.get("requests", session="alpha").json()["requests"]
    assert request["session"] == "alpha"


def test_a_header_that_repeats_the_key_names_the_keys_session(control: Control) -> None:
    chat(key="sk-one-and-the-same", headers={"x-mockllm-session": "sk-one-and-the-same"})
    (request,) = control.get("requests", session="sk-one-and-the-same").json()["requests"]
    assert request["session"] == key_session("sk-one-and-the-same")


def test_session_that_is_only_in_the_journal_has_a_state(control: Control) -> None:
    control.request("GET", "state", query={"session": "sk-refused"})
    chat(key="sk-refused", messages="no list")
    assert control.get("state", session="sk-refused").json()["session"] == key_session("sk-refused")


def test_reset_clears_one_session_only(control: Control) -> None:
    control.post("scenarios", SCENARIO_WITH_STATE)
    for key in ("sk-one", "sk-two"):
        chat("go", key=key)
    response = control.post("reset", {"session": "sk-one", "scenarios": False})
    assert (response.status_code, response.json()) == (
        200,
        {"session": key_session("sk-one"), "scenarios": False},
    )
    assert control.get("state", session="sk-one").json() == {"session": "sk-one", **EMPTY}
    assert control.get("requests", session="sk-one").json()["requests"] == []
    assert control.get("state", session="sk-two").json()["counters"] == {"calls": 1}
    assert len(control.get("requests").json()["requests"]) == 1
    assert reply_text(chat("go", key="sk-one")) == "one"


def test_reset_restarts_ordinals(control: Control) -> None:
    control.post("scenarios", scenario("hi", text_step("hi", consume=False)))
    first = chat().json()["id"]
    assert chat().json()["id"] != first
    control.post("reset", {"session": KEY})
    assert chat().json()["id"] == first


@pytest.mark.parametrize("body", [{"session": None, "scenarios": False}, {"session": None}, {}])
def test_reset_without_a_session_resets_all(control: Control, body: dict[str, object]) -> None:
    control.post("scenarios", SCENARIO_WITH_STATE)
    for key in ("sk-one", "sk-two"):
        chat("go", key=key)
    assert control.post("reset", body).json() == {"session": None, "scenarios": False}
    for key in ("sk-one", "sk-two"):
        assert control.get("state", session=key).json() == {"session": key, **EMPTY}
    assert control.get("requests").json() == {"requests": [], "next": None, **COMPLETE_JOURNAL}
    assert control.get("scenarios").json()["scenarios"] == [SCENARIO_WITH_STATE]


def test_several_sessions_are_reset_in_one_request(control: Control) -> None:
    control.post("scenarios", SCENARIO_WITH_STATE)
    control.post("scenarios", scenario("own"), session="sk-one")
    for key in ("sk-one", "sk-two", "sk-three"):
        chat("go", key=key)
    sessions = ["sk-one", key_session("sk-two"), "nobody"]
    response = control.post("reset", {"sessions": sessions, "scenarios": True})
    names = [key_session("sk-one"), key_session("sk-two"), "nobody"]
    assert response.json() == {"session": None, "sessions": names, "scenarios": True}
    for key in ("sk-one", "sk-two"):
        assert control.get("state", session=key).json() == {"session": key, **EMPTY}
        assert control.get("requests", session=key).json()["requests"] == []
    assert control.get("scenarios/own", session="sk-one").status_code == 404
    assert control.get("state", session="sk-three").json()["counters"] == {"calls": 1}
    assert len(control.get("requests").json()["requests"]) == 1


@pytest.mark.parametrize("session", ["sk-one", None])
def test_reset_drops_private_scenarios_only_on_request(
    control: Control, session: str | None
) -> None:
    control.post("scenarios", scenario("common"))
    control.post("scenarios", scenario("own"), session="sk-one")
    control.post("reset", {"session": session, "scenarios": False})
    assert control.get("scenarios/own", session="sk-one").status_code == 200
    control.post("reset", {"session": session, "scenarios": True})
    assert control.get("scenarios/own", session="sk-one").status_code == 404
    assert control.get("scenarios/common").status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"sesion": "sk-one"}, "sesion"),
        ({"session": 5}, "session"),
        ({"session": ""}, "session"),
        ({"session": "a\0b"}, "session"),
        ({"session": ["sk-one"]}, "session"),
        ({"session": None, "scenarios": "true"}, "scenarios"),
        ({"session": None, "scenarios": None}, "scenarios"),
        ({"sessions": []}, "sessions"),
        ({"sessions": None}, "sessions"),
        ({"sessions": "sk-one"}, "sessions"),
        ({"sessions": ["sk-one", 5]}, "sessions.1"),
        ({"sessions": ["sk-one"] * 101}, "sessions"),
        ({"session": "sk-one", "sessions": ["sk-one"]}, "session"),
        ([], None),
        ("sk-one", None),
    ],
)
def test_invalid_reset_resets_nothing(control: Control, body: object, field: str | None) -> None:
    control.post("scenarios", SCENARIO_WITH_STATE)
    chat("go", key="sk-one")
    assert error_of(control.post("reset", body)) == (400, "VALIDATION_ERROR", field)
    assert control.get("state", session="sk-one").json()["counters"] == {"calls": 1}
    assert len(control.get("requests").json()["requests"]) == 1
