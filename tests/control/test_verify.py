"""`/control/verify`: counts, nearest requests, and requests that cannot be judged."""

from typing import Any
from uuid import uuid4

import pytest

from scenarios_app.engine.state import key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.control.control_client import KEY, Control, chat, error_of, scenario, text_step

ANYTHING = scenario("anything", text_step("Hi.", consume=False))
HELLO = {"messages": [{"role": "user", "contains": "Hello"}]}


@pytest.fixture
def greeting_requests(control: Control) -> Control:
    """Serve two greetings and a farewell in one session, and a greeting in another."""
    control.post("scenarios", ANYTHING)
    for text in ("Hello you", "Bye", "Hello again"):
        chat(text, headers={"x-team": "qa"})
    chat("Hello from afar", key="sk-other")
    assert journal.flush()
    return control


def verify(control: Control, **body: Any) -> dict[str, Any]:
    response = control.post("verify", {"session": KEY, "match": HELLO, **body})
    assert response.status_code == 200, response.content
    result: dict[str, Any] = response.json()
    return result


@pytest.mark.parametrize(
    ("count", "is_pass"),
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
def test_count_is_compared_with_the_expected_count(
    greeting_requests: Control, count: dict[str, int], is_pass: bool
) -> None:
    result = verify(greeting_requests, count=count)
    assert (result["passed"], result["count"], result["unjudged"]) == (is_pass, 2, [])


def test_default_count_is_at_least_one(greeting_requests: Control) -> None:
    assert verify(greeting_requests)["passed"] is True
    assert verify(greeting_requests, match={"model": "gpt-5"})["passed"] is False


@pytest.mark.parametrize("body", [{"session": None}, {}])
def test_verify_without_session_counts_all_sessions(
    greeting_requests: Control, body: dict[str, None]
) -> None:
    response = greeting_requests.post("verify", {"match": HELLO, **body})
    assert response.json()["count"] == 3


def test_match_accepts_the_conditions_of_a_step(greeting_requests: Control) -> None:
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
    assert verify(greeting_requests, match=match, count={"equals": 1})["passed"] is True


def test_nearest_requests_name_their_mismatches(greeting_requests: Control) -> None:
    result = verify(greeting_requests, match={**HELLO, "headers": {"x-team": "dev"}})
    assert (result["passed"], result["count"]) == (False, 0)
    nearest = result["nearest"]
    assert len(nearest) == 3
    assert nearest[0]["mismatches"] == [
        {"field": "match.headers.x-team", "expected": 'equals "dev"', "actual": '"qa"'}
    ]
    assert [len(request["mismatches"]) for request in nearest] == [1, 1, 2]
    assert nearest[0]["session"] == key_session(KEY)
    assert nearest[0]["path"] == "/v1/chat/completions"
    assert ServedRequest.objects.filter(uid=nearest[0]["id"]).exists()


def test_nearest_is_empty_if_enough_requests_match(greeting_requests: Control) -> None:
    assert verify(greeting_requests)["nearest"] == []
    assert verify(greeting_requests, count={"at_most": 1})["nearest"] == []


def test_unmatched_requests_count_and_refused_ones_do_not(control: Control) -> None:
    chat("Hello")
    chat("Hello", temperature="hot")
    chat("Hello", key="")
    result = verify(control, session=None, match={"path": "/v1/chat/completions"})
    assert (result["count"], result["unjudged"]) == (1, [])


def test_verifying_changes_no_state(greeting_requests: Control) -> None:
    before = (
        greeting_requests.get("state", session=KEY).json(),
        greeting_requests.get("requests").json(),
    )
    verify(greeting_requests)
    assert (
        greeting_requests.get("state", session=KEY).json(),
        greeting_requests.get("requests").json(),
    ) == before


def test_truncated_body_is_unjudged_and_counts_as_either(control: Control, settings: Any) -> None:
    settings.MOCKLLM_JOURNAL_BODY_BYTES = 60
    control.post("scenarios", ANYTHING)
    uid = chat("Hello " * 20).headers["x-mockllm-request"]
    unjudged = [{"id": uid, "reason": "the journal has not all of its body"}]
    for count, is_pass in (
        ({"at_least": 1}, False),
        ({"at_least": 0}, True),
        ({"at_most": 0}, False),
        ({"at_most": 1}, True),
        ({"equals": 0}, False),
        ({"equals": 1}, False),
    ):
        result = verify(control, count=count)
        assert (result["passed"], result["count"], result["unjudged"]) == (is_pass, 0, unjudged)


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
    result = verify(control, match=match)
    assert (result["count"], result["unjudged"]) == (count, [])


def test_masked_header_is_unjudged_if_all_else_matches(greeting_requests: Control) -> None:
    match = {"messages": ["Bye"], "headers": {"authorization": f"Bearer {KEY}"}}
    result = verify(greeting_requests, match=match)
    assert (result["passed"], result["count"]) == (False, 0)
    (unjudged,) = result["unjudged"]
    assert unjudged["reason"] == "the journal masks authorization"


def test_a_masked_header_that_was_not_sent_does_not_match(greeting_requests: Control) -> None:
    result = verify(greeting_requests, match={"headers": {"x-api-key": "sk"}}, count={"equals": 0})
    assert (result["passed"], result["unjudged"]) == (True, [])


def test_unparsable_stored_request_is_unjudged(greeting_requests: Control) -> None:
    ServedRequest.objects.update(request_text='{"model": "gpt-4o", "messages": "***"}')
    result = verify(greeting_requests, count={"equals": 0})
    assert (result["passed"], result["count"], len(result["unjudged"])) == (False, 0, 3)
    assert (
        verify(greeting_requests, match={"model": "gpt-5"}, count={"equals": 0})["passed"] is True
    )


def test_request_to_an_unknown_provider_is_unjudged(greeting_requests: Control) -> None:
    ServedRequest.objects.update(path="/v9/nobody")
    result = verify(greeting_requests, count={"equals": 0})
    assert (result["passed"], len(result["unjudged"])) == (False, 3)


def test_requests_beyond_one_batch_are_counted(greeting_requests: Control) -> None:
    row = ServedRequest.objects.first()
    assert row is not None
    names = [
        field.attname for field in row._meta.concrete_fields if field.name not in ("id", "uid")
    ]
    ServedRequest.objects.bulk_create(
        ServedRequest(uid=uuid4(), **{name: getattr(row, name) for name in names})
        for _ in range(250)
    )
    assert verify(greeting_requests, session=None, match=HELLO)["count"] == 253


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
def test_invalid_verify_body_is_rejected(
    control: Control, body: dict[str, Any], field: str
) -> None:
    assert error_of(control.post("verify", body)) == (400, "VALIDATION_ERROR", field)
