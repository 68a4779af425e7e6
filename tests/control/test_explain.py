"""Explaining a request: who would win and why, the exact bytes, and nothing moved."""

import base64
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, chat, error_of, says, scenario

HEADERS = {"Authorization": f"Bearer {KEY}"}
CHAT = "/v1/chat/completions"


def question(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}
    return {"path": CHAT, "headers": HEADERS, "body": body}


def explain(control: Control, asked: dict[str, Any]) -> dict[str, Any]:
    response = control.post("explain", asked)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


TWO = [
    scenario(
        "tea",
        says("Tea.", name="pour", match={"model": "gpt-4o", "messages": [{"contains": "tea"}]}),
    ),
    scenario("rest", says("Whatever.", consume=False), priority=-1),
]


def test_explanation_has_the_winner_and_conditions_of_every_step(control: Control) -> None:
    control.post("scenarios", {"scenarios": TWO})
    found = explain(control, question("coffee"))
    assert (found["provider"], found["kind"]) == ("openai", "step")
    assert found["winner"] == {"scenario": "rest", "step": "1"}
    steps = {step["scenario"]: step for step in found["steps"]}
    assert (steps["rest"]["wins"], steps["tea"]["wins"]) == (True, False)
    assert steps["tea"]["conditions"] == [
        {
            "field": "consume",
            "expected": "not yet served in this session",
            "actual": "not yet served in this session",
            "ok": True,
        },
        {
            "field": "match.model",
            "expected": 'equals "gpt-4o"',
            "actual": '"gpt-4o"',
            "ok": True,
        },
        {
            "field": "match.messages[0]",
            "expected": 'last message contains "tea"',
            "actual": '"coffee"',
            "ok": False,
        },
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_the_bytes_are_those_that_the_next_request_gets(control: Control, stream: bool) -> None:
    control.post("scenarios", {"scenarios": TWO})
    asked = question("tea", stream=stream)
    found = explain(control, asked)
    body = json.dumps(asked["body"], separators=(",", ":"))
    whole = Client().post(CHAT, body, "application/json", headers=HEADERS)
    assert found["sent"]["body"] == whole.content.decode()
    assert found["sent"]["status"] == whole.status_code
    assert found["sent"] == found["streamed" if stream else "whole"]
    sent = {k: v for k, v in whole.headers.items() if k.lower() in found["sent"]["headers"]}
    assert {k.lower(): v for k, v in sent.items()} == found["sent"]["headers"]


def test_explanation_has_whole_and_streamed_answer(control: Control) -> None:
    control.post("scenarios", {"scenarios": TWO})
    found = explain(control, question("tea"))
    assert '"content":"Tea."' in found["whole"]["body"]
    assert found["streamed"]["body"].endswith("data: [DONE]\n\n")
    assert found["streamed"]["headers"]["content-type"].startswith("text/event-stream")


def test_explaining_changes_no_state(control: Control) -> None:
    state = services().state
    busy = scenario(
        "busy",
        says("x", side_effects={"counter": "calls", "assert": [{"model": "gpt-5"}]}),
        says("y", failures={"times": 1, "fault": {"kind": "model_error"}}),
        says("z", expect={"temperature": 0.1}),
    )
    control.post("scenarios", busy)
    chat()
    journal.flush()
    before = async_to_sync(state.read)(control.get("state", session=KEY).json()["session"])
    rows = list(ServedRequest.objects.values_list("uid", flat=True))
    for _ in range(3):
        explain(control, question())
        explain(control, question(stream=True))
    journal.flush()
    assert async_to_sync(state.read)(before.session) == before
    assert async_to_sync(state.sessions)() == (before.session,)
    assert list(ServedRequest.objects.values_list("uid", flat=True)) == rows
    assert services().pipeline.streams.take()
    services().pipeline.streams.free()


def test_consumed_steps_of_the_session_do_not_win(control: Control) -> None:
    control.post("scenarios", {"scenarios": TWO})
    chat("tea")
    found = explain(control, question("tea"))
    assert found["winner"] == {"scenario": "rest", "step": "1"}
    other = {**question("tea"), "headers": {"authorization": "Bearer sk-other"}}
    assert explain(control, other)["winner"] == {"scenario": "tea", "step": "pour"}


def test_a_sessions_own_scenarios_count(control: Control) -> None:
    control.post("scenarios", scenario("own", says("Mine.")), session=KEY)
    assert explain(control, question())["winner"] == {"scenario": "own", "step": "1"}


@pytest.mark.parametrize(
    ("document", "fields", "kind", "status"),
    [
        (scenario("x", says("x", match={"model": "gpt-5"})), {}, "unmatched", 404),
        (scenario("x", says("x", expect={"temperature": 1})), {}, "violation", 400),
        (
            scenario("Hello", says("x", turn=2), select="first_user_message"),
            {},
            "fallback_step",
            200,
        ),
        (
            scenario("x", says("x", failures={"times": 1, "fault": {"kind": "rate_limit"}})),
            {},
            "failure",
            429,
        ),
        (scenario("x"), {"temperature": "hot"}, "refused", 400),
    ],
)
def test_explanation_has_the_kind_of_answer(
    control: Control, document: Any, fields: dict[str, Any], kind: str, status: int
) -> None:
    control.post("scenarios", document)
    found = explain(control, question(**fields))
    assert (found["kind"], found["sent"]["status"]) == (kind, status)


def test_explained_violation_is_not_stored(control: Control) -> None:
    control.post("scenarios", scenario("x", says("x", expect={"temperature": 1})))
    found = explain(control, question())
    assert found["violations"] == ["Expected temperature 1 but received undefined"]
    assert control.get("state", session=KEY).json()["violations"] == []


def test_computed_answer_is_explained(control: Control) -> None:
    found = explain(control, {"method": "GET", "path": "/v1/models", "headers": HEADERS})
    assert (found["kind"], found["winner"], found["whole"]) == ("computed", None, None)
    assert '"object":"list"' in found["sent"]["body"]


def test_the_query_and_other_providers_are_understood(control: Control) -> None:
    control.post("scenarios", scenario("x"))
    asked = {
        "path": "/v1/messages?beta=true",
        "headers": {"X-Api-Key": KEY, "anthropic-version": "2023-06-01"},
        "body": {
            "model": "claude-sonnet-4-5",
            "max_tokens": 5,
            "messages": [{"role": "user", "content": "Hi"}],
        },
    }
    found = explain(control, asked)
    assert (found["provider"], found["kind"]) == ("anthropic", "step")
    assert "event: message_stop" in found["streamed"]["body"]


def test_request_without_a_key_is_explained_as_refused(control: Control) -> None:
    found = explain(control, {**question(), "headers": {}})
    assert (found["session"], found["kind"], found["sent"]["status"]) == ("default", "refused", 401)


def test_a_body_given_as_text_is_sent_as_it_stands(control: Control) -> None:
    found = explain(control, {**question(), "body": '{"model": '})
    assert (found["kind"], found["sent"]["status"]) == ("refused", 400)


def test_fault_is_explained_with_its_bytes(control: Control) -> None:
    control.post("scenarios", scenario("dead", {"produce": {"fault": {"kind": "network_error"}}}))
    sent = explain(control, question())["sent"]
    assert (sent["status"], sent["ending"], sent["body"]) == (None, "cut", "")


def test_a_cut_body_that_is_no_text_comes_in_base64(control: Control) -> None:
    # Half of the body ends within the character.
    raw = {"raw": {"body": "☃"}, "fault": {"kind": "truncate"}}
    control.post("scenarios", scenario("half", {"produce": raw}))
    sent = explain(control, question())["sent"]
    assert (sent["body"], base64.b64decode(sent["base64"])) == (None, "☃".encode()[:1])


def test_delays_are_explained_without_waiting(control: Control) -> None:
    produce = {"text": "a b c", "latency_ms": 60_000, "pacing": {"chunk_ms": 60_000}}
    control.post(
        "scenarios",
        scenario(
            "slow", {"produce": {**produce, "pacing": {"chunk_ms": 60_000, "words_per_chunk": 1}}}
        ),
    )
    found = explain(control, question(stream=True))
    assert found["sent"]["delay_ms"] == 60_000
    assert found["streamed"]["duration_ms"] >= 120_000
    assert found["whole"]["duration_ms"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"body": {}}, "path"),
        ({"path": ""}, "path"),
        ({"path": "/control/reset"}, "path"),
        ({"path": "v1/chat/completions"}, "path"),
        ({"path": CHAT, "headers": []}, "headers"),
        ({"path": CHAT, "headers": {"a": 1}}, "headers.a"),
        ({"path": CHAT, "boby": {}}, "boby"),
        ({"path": 5}, "path"),
        ([], None),
    ],
)
def test_a_question_that_is_not_understood_is_refused(
    control: Control, body: Any, field: str | None
) -> None:
    assert error_of(control.post("explain", body)) == (400, "VALIDATION_ERROR", field)
