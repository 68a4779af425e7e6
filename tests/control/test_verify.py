"""Verifying what was asked: counts, near misses, and what the journal cannot tell any more."""

from typing import Any
from uuid import uuid4

import pytest

from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.control.control_client import KEY, Control, chat, error_of, says, scenario

ANYTHING = scenario("anything", says("Hi.", consume=False))
HELLO = {"messages": [{"role": "user", "contains": "Hello"}]}


@pytest.fixture
def asked(control: Control) -> Control:
    """Two greetings and a farewell of one session, a greeting of another."""
    control.post("scenarios", ANYTHING)
    for text in ("Hello you", "Bye", "Hello again"):
        chat(text, headers={"x-team": "qa"})
    chat("Hello from afar", key="sk-other")
    assert journal.flush()
    return control


def verify(control: Control, **body: Any) -> dict[str, Any]:
    response = control.post("verify", {"session": KEY, "match": HELLO, **body})
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize(
    ("count", "passed"),
    [
        ({"equals": 2}, True),
        ({"equals": 1}, False),
        ({"equals": 3}, False),
        ({"at_least": 2}, True),
        ({"at_least": 3}, False),
        ({"at_least": 0}, True),
        ({"at_most": 2}, True),
        ({"at_most": 1}, False),
        ({"at_most": 0}, False),
    ],
)
def test_the_count_is_held_against_what_is_wanted(
    asked: Control, count: dict[str, int], passed: bool
) -> None:
    found = verify(asked, count=count)
    assert (found["passed"], found["count"], found["unjudged"]) == (passed, 2, [])


def test_at_least_one_is_wanted_unless_told(asked: Control) -> None:
    assert verify(asked)["passed"] is True
    assert verify(asked, match={"model": "gpt-5"})["passed"] is False


@pytest.mark.parametrize("body", [{"session": None}, {}])
def test_without_a_session_all_requests_are_looked_at(
    asked: Control, body: dict[str, None]
) -> None:
    response = asked.post("verify", {"match": HELLO, **body})
    assert response.json()["count"] == 3


def test_the_match_is_that_of_a_step(asked: Control) -> None:
    chat(
        "sum",
        model="gpt-4o-mini",
        stream=True,
        metadata={"run": "7"},
        tools=[{"type": "function", "function": {"name": "add", "parameters": {}}}],
    )
    match = {
        "provider": ["openai", "gemini"],
        "path": "/v1/chat/completions",
        "model": {"regex": "^gpt-4o-"},
        "stream": True,
        "messages": ["sum"],
        "tools": ["add"],
        "metadata": {"run": "7"},
    }
    assert verify(asked, match=match, count={"equals": 1})["passed"] is True


def test_when_too_few_match_the_nearest_say_why(asked: Control) -> None:
    found = verify(asked, match={**HELLO, "headers": {"x-team": "dev"}})
    assert (found["passed"], found["count"]) == (False, 0)
    nearest = found["nearest"]
    assert len(nearest) == 3
    assert nearest[0]["mismatches"] == [
        {"field": "match.headers.x-team", "expected": 'equals "dev"', "actual": '"qa"'}
    ]
    assert [len(near["mismatches"]) for near in nearest] == [1, 1, 2]
    assert nearest[0]["session"] == key_session(KEY)
    assert nearest[0]["path"] == "/v1/chat/completions"
    assert ServedRequest.objects.filter(uid=nearest[0]["id"]).exists()


def test_nearest_is_empty_if_enough_requests_match(asked: Control) -> None:
    assert verify(asked)["nearest"] == []
    assert verify(asked, count={"at_most": 1})["nearest"] == []


def test_unmatched_requests_count_and_refused_ones_do_not(control: Control) -> None:
    chat("Hello")
    chat("Hello", temperature="hot")
    chat("Hello", key="")
    found = verify(control, session=None, match={"path": "/v1/chat/completions"})
    assert (found["count"], found["unjudged"]) == (1, [])


def test_verifying_changes_no_state(asked: Control) -> None:
    before = asked.get("state", session=KEY).json(), asked.get("requests").json()
    verify(asked)
    assert (asked.get("state", session=KEY).json(), asked.get("requests").json()) == before


def test_a_body_that_was_cut_is_unjudged_and_proves_nothing(
    control: Control, settings: Any
) -> None:
    settings.MOCKLLM_JOURNAL_BODY_BYTES = 60
    control.post("scenarios", ANYTHING)
    uid = chat("Hello " * 20).headers["x-mockllm-request"]
    unjudged = [{"id": uid, "reason": "the journal has not all of its body"}]
    for count, passed in (
        ({"at_least": 1}, False),
        ({"at_least": 0}, True),
        ({"at_most": 0}, False),
        ({"at_most": 1}, True),
        ({"equals": 0}, False),
        ({"equals": 1}, False),
    ):
        found = verify(control, count=count)
        assert (found["passed"], found["count"], found["unjudged"]) == (passed, 0, unjudged)


@pytest.mark.parametrize(
    ("match", "count"),
    [
        ({"model": "gpt-4o"}, 1),
        ({"path": "/v1/chat/completions", "provider": "openai"}, 1),
        ({"headers": {"x-team": "qa"}}, 1),
        ({**HELLO, "model": "gpt-5"}, 0),
        ({**HELLO, "provider": "anthropic"}, 0),
        ({**HELLO, "headers": {"x-team": "dev"}}, 0),
    ],
)
def test_conditions_without_a_body_are_judged_for_cut_requests(
    control: Control, settings: Any, match: dict[str, Any], count: int
) -> None:
    settings.MOCKLLM_JOURNAL_BODY_BYTES = 60
    control.post("scenarios", ANYTHING)
    chat("Hello " * 20, headers={"x-team": "qa"})
    found = verify(control, match=match)
    assert (found["count"], found["unjudged"]) == (count, [])


def test_a_masked_header_is_unjudged_where_it_is_all_that_is_left(asked: Control) -> None:
    match = {"messages": ["Bye"], "headers": {"authorization": f"Bearer {KEY}"}}
    found = verify(asked, match=match)
    assert (found["passed"], found["count"]) == (False, 0)
    (unjudged,) = found["unjudged"]
    assert unjudged["reason"] == "the journal masks authorization"


def test_a_masked_header_that_was_not_sent_does_not_match(asked: Control) -> None:
    found = verify(asked, match={"headers": {"x-api-key": "sk"}}, count={"equals": 0})
    assert (found["passed"], found["unjudged"]) == (True, [])


def test_a_request_that_cannot_be_read_again_is_unjudged(asked: Control) -> None:
    ServedRequest.objects.update(request_text='{"model": "gpt-4o", "messages": "***"}')
    found = verify(asked, count={"equals": 0})
    assert (found["passed"], found["count"], len(found["unjudged"])) == (False, 0, 3)
    assert verify(asked, match={"model": "gpt-5"}, count={"equals": 0})["passed"] is True


def test_a_request_to_a_provider_that_is_gone_is_unjudged(asked: Control) -> None:
    ServedRequest.objects.update(path="/v9/nobody")
    found = verify(asked, count={"equals": 0})
    assert (found["passed"], len(found["unjudged"])) == (False, 3)


def test_more_requests_than_are_read_at_once_are_all_counted(asked: Control) -> None:
    row = ServedRequest.objects.first()
    assert row is not None
    names = [
        field.attname for field in row._meta.concrete_fields if field.name not in ("id", "uid")
    ]
    ServedRequest.objects.bulk_create(
        ServedRequest(uid=uuid4(), **{name: getattr(row, name) for name in names})
        for _ in range(250)
    )
    assert verify(asked, session=None, match=HELLO)["count"] == 253


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "match"),
        ({"match": None}, "match"),
        ({"match": []}, "match"),
        ({"match": {"modle": "x"}}, "match.modle"),
        ({"match": {"model": {"regex": "("}}}, "match.model.regex"),
        ({"match": HELLO, "count": 1}, "count"),
        ({"match": HELLO, "count": {}}, "count"),
        ({"match": HELLO, "count": {"equals": 1, "at_least": 1}}, "count"),
        ({"match": HELLO, "count": {"equals": "1"}}, "count.equals"),
        ({"match": HELLO, "count": {"equals": True}}, "count.equals"),
        ({"match": HELLO, "count": {"at_most": -1}}, "count.at_most"),
        ({"match": HELLO, "count": {"exactly": 1}}, "count.exactly"),
        ({"match": HELLO, "sesion": KEY}, "sesion"),
        ({"match": HELLO, "session": 7}, "session"),
    ],
)
def test_a_question_that_is_not_understood_is_refused(
    control: Control, body: dict[str, Any], field: str
) -> None:
    assert error_of(control.post("verify", body)) == (400, "VALIDATION_ERROR", field)
