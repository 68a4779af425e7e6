"""`/control/explain`: the matching step, its conditions, the exact bytes, no side effects."""

import base64
import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from tests.control.control_client import KEY, Control, chat, error_of, scenario, text_step

HEADERS = {"Authorization": f"Bearer {KEY}"}
CHAT = "/v1/chat/completions"


def question(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}
    return {"path": CHAT, "headers": HEADERS, "body": body}


def explain(control: Control, request_data: dict[str, Any]) -> dict[str, Any]:
    response = control.post("explain", request_data)
    assert response.status_code == 200, response.content
    explanation: dict[str, Any] = response.json()
    return explanation


TWO = [
    scenario(
        "tea",
        text_step(
            "Tea.", name="pour", match={"model": "gpt-4o", "messages": [{"contains": "tea"}]}
        ),
    ),
    scenario("rest", text_step("Whatever.", consume=False), priority=-1),
]


def test_explanation_has_the_winner_and_conditions_of_every_step(control: Control) -> None:
    control.post("scenarios", {"scenarios": TWO})
    explanation = explain(control, question("coffee"))
    assert (explanation["provider"], explanation["kind"]) == ("openai", "step")
    assert explanation["winner"] == {"scenario": "rest", "step": "1"}
    steps = {step["scenario"]: step for step in explanation["steps"]}
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
def test_explained_bytes_equal_the_next_response(control: Control, stream: bool) -> None:
    control.post("scenarios", {"scenarios": TWO})
    request_data = question("tea", stream=stream)
    explanation = explain(control, request_data)
    body = json.dumps(request_data["body"], separators=(",", ":"))
    response = Client().post(CHAT, body, "application/json", headers=HEADERS)
    assert explanation["sent"]["body"] == response.content.decode()
    assert explanation["sent"]["status"] == response.status_code
    assert explanation["sent"] == explanation["streamed" if stream else "whole"]
    explained_headers = {
        k: v for k, v in response.headers.items() if k.lower() in explanation["sent"]["headers"]
    }
    assert {k.lower(): v for k, v in explained_headers.items()} == explanation["sent"]["headers"]


def test_explanation_has_whole_and_streamed_answer(control: Control) -> None:
    control.post("scenarios", {"scenarios": TWO})
    explanation = explain(control, question("tea"))
    assert '"content":"Tea."' in explanation["whole"]["body"]
    assert explanation["streamed"]["body"].endswith("data: [DONE]\n\n")
    assert explanation["streamed"]["headers"]["content-type"].startswith("text/event-stream")


def test_explaining_changes_no_state(control: Control) -> None:
    state = services().state
    busy = scenario(
        "busy",
        text_step("x", side_effects={"counter": "calls", "assert": [{"model": "gpt-5"}]}),
        text_step("y", failures={"times": 1, "fault": {"kind": "model_error"}}),
        text_step("z", expect={"temperature": 0.1}),
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
    explanation = explain(control, question("tea"))
    assert explanation["winner"] == {"scenario": "rest", "step": "1"}
    other = {**question("tea"), "headers": {"authorization": "Bearer sk-other"}}
    assert explain(control, other)["winner"] == {"scenario": "tea", "step": "pour"}


def test_private_scenarios_are_explained(control: Control) -> None:
    control.post("scenarios", scenario("own", text_step("Mine.")), session=KEY)
    assert explain(control, question())["winner"] == {"scenario": "own", "step": "1"}


@pytest.mark.parametrize(
    ("document", "fields", "kind", "status"),
    [
        (scenario("x", text_step("x", match={"model": "gpt-5"})), {}, "unmatched", 404),
        (scenario("x", text_step("x", expect={"temperature": 1})), {}, "violation", 400),
        (
            scenario("Hello", text_step("x", turn=2), select="first_user_message"),
            {},
            "fallback_step",
            200,
        ),
        (
            scenario("x", text_step("x", failures={"times": 1, "fault": {"kind": "rate_limit"}})),
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
    explanation = explain(control, question(**fields))
    assert (explanation["kind"], explanation["sent"]["status"]) == (kind, status)


def test_explained_violation_is_not_stored(control: Control) -> None:
    control.post("scenarios", scenario("x", text_step("x", expect={"temperature": 1})))
    explanation = explain(control, question())
    assert explanation["violations"] == ["Expected temperature 1 but received undefined"]
    assert control.get("state", session=KEY).json()["violations"] == []


def test_computed_answer_is_explained(control: Control) -> None:
    explanation = explain(control, {"method": "GET", "path": "/v1/models", "headers": HEADERS})
    assert (explanation["kind"], explanation["winner"], explanation["whole"]) == (
        "computed",
        None,
        None,
    )
    assert '"object":"list"' in explanation["sent"]["body"]


def test_query_and_other_providers_are_explained(control: Control) -> None:
    control.post("scenarios", scenario("x"))
    request_data = {
        "path": "/v1/messages?beta=true",
        "headers": {"X-Api-Key": KEY, "anthropic-version": "2023-06-01"},
        "body": {
            "model": "claude-sonnet-4-5",
            "max_tokens": 5,
            "messages": [{"role": "user", "content": "Hi"}],
        },
    }
    explanation = explain(control, request_data)
    assert (explanation["provider"], explanation["kind"]) == ("anthropic", "step")
    assert "event: message_stop" in explanation["streamed"]["body"]


def test_request_without_a_key_is_explained_as_refused(control: Control) -> None:
    explanation = explain(control, {**question(), "headers": {}})
    assert (explanation["session"], explanation["kind"], explanation["sent"]["status"]) == (
        "default",
        "refused",
        401,
    )


def test_body_of_type_text_is_parsed_unchanged(control: Control) -> None:
    explanation = explain(control, {**question(), "body": '{"model": '})
    assert (explanation["kind"], explanation["sent"]["status"]) == ("refused", 400)


def test_fault_is_explained_with_its_bytes(control: Control) -> None:
    control.post("scenarios", scenario("dead", {"produce": {"fault": {"kind": "network_error"}}}))
    sent = explain(control, question())["sent"]
    assert (sent["status"], sent["ending"], sent["body"]) == (None, "cut", "")


def test_truncated_binary_body_is_base64(control: Control) -> None:
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
    explanation = explain(control, question(stream=True))
    assert explanation["sent"]["delay_ms"] == 60_000
    assert explanation["streamed"]["duration_ms"] >= 120_000
    assert explanation["whole"]["duration_ms"] == 0


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
def test_invalid_explain_body_is_rejected(control: Control, body: Any, field: str | None) -> None:
    assert error_of(control.post("explain", body)) == (400, "VALIDATION_ERROR", field)
