"""Traces over HTTP: the record, its owner, hidden profiles of comparisons, and the scenario."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chat_app.conversations import append_message, create
from chat_app.models import ABComparison, Conversation, Message, Sender
from tests.chat.api_client import UNKNOWN_ID, assert_documented, error_of
from tests.traces.rows import dead_owner
from traces_app.models import ModelCall, Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db

SECRET_MODEL = "the-model-that-nobody-may-know-yet"


def get(path: str, **query: str) -> Any:
    response = Client().get(f"/api/trace/{path}", query)
    assert_documented("GET", f"/api/trace/{path}", response)
    return response


def post(trace: object, body: Any = None, **query: str) -> Any:
    path = f"/api/trace/{trace}/scenario"
    url = path + "".join(f"?{key}={value}" for key, value in query.items())
    response = (
        Client().post(url, body, "application/json")
        if body is not None
        else _post_without_body(url)
    )
    assert_documented("POST", path, response)
    return response


def _post_without_body(url: str) -> Any:
    return Client().generic("POST", url, b"")


@pytest.fixture
def question() -> Message:
    return append_message(create("owner"), Sender.USER, content="2 + 2?")


def store_run(question: Message, *, branch: str = "", status: Status = Status.COMPLETED) -> Trace:
    """Store a run with one model call and a few events."""
    start = timezone.now()
    end = None if status == Status.RUNNING else start + timedelta(milliseconds=1500)
    answer = None
    if status == Status.COMPLETED:
        answer = append_message(question.conversation, Sender.ASSISTANT, content="4", branch=branch)
    trace = Trace.objects.create(
        conversation=question.conversation,
        user_message=question,
        message=answer,
        branch=branch,
        profile_name=f"profile {SECRET_MODEL}",
        provider_id=f"provider-{SECRET_MODEL}",
        model_id=SECRET_MODEL,
        status=status,
        started_at=start,
        first_token_at=start + timedelta(milliseconds=250),
        finished_at=end,
        lease_until=start + timedelta(seconds=60),
        model_calls=1,
        input_tokens=7,
        output_tokens=1,
    )
    ids = {"conversation_id": str(question.conversation_id)}
    events = [
        ("started", {**ids, "trace_id": str(trace.pk), "message_id": str(question.pk)}),
        ("chunk", {"content": "4", **ids}),
    ]
    if answer is not None:
        done_payload = {**ids, "message_id": str(answer.pk), "trace_id": str(trace.pk)}
        events.append(("done", done_payload))
    for seq, (type, payload) in enumerate(events, start=1):
        TraceEvent.objects.create(trace=trace, seq=seq, type=type, payload=payload)
    ModelCall.objects.create(
        trace=trace,
        number=1,
        provider_id=trace.provider_id,
        model_id=trace.model_id,
        request={"turns": 1, "estimated_tokens": 12},
        parts=[{"text": "4"}],
        finish_reason="stop",
        started_at=start,
        finished_at=end,
    )
    return trace


def test_record_has_all_fields(question: Message) -> None:
    trace = store_run(question)
    record = get(str(trace.pk)).json()
    assert record["trace_id"] == str(trace.pk)
    assert record["conversation_id"] == str(question.conversation_id)
    assert record["message_id"] == str(trace.message_id)
    assert record["user_message_id"] == str(question.pk)
    assert (record["status"], record["error"], record["branch"]) == ("completed", None, None)
    assert record["model"] == record["model_calls"][0]["model"] == SECRET_MODEL
    assert [(event["seq"], event["type"]) for event in record["events"]] == [
        (1, "started"),
        (2, "chunk"),
        (3, "done"),
    ]
    assert record["events"][1]["content"] == "4"
    assert record["totals"] == {
        "events": 3,
        "model_calls": 1,
        "tool_calls": 0,
        "input_tokens": 7,
        "output_tokens": 1,
        "tokens_estimated": False,
        "duration_ms": 1500,
        "first_token_ms": 250,
    }
    (call,) = record["model_calls"]
    assert (call["parts"], call["finish_reason"]) == ([{"text": "4"}], "stop")


REPORT = {
    "status": "failure",
    "report_format": "markdown",
    "report_content": "# No",
    "content_json": {"half": "\ud83d"},
}


def report_of_record(trace: Trace, *, purpose: str = "answer") -> Any:
    """Store a report in the run's call and return the report of its record."""
    call = {"id": "r", "name": "agent__final_report", "arguments": json.dumps(REPORT)}
    trace.calls.update(parts=[{"tool_call": call}], purpose=purpose)
    return get(str(trace.pk)).json()["report"]


def test_record_has_the_final_report(question: Message) -> None:
    assert report_of_record(store_run(question)) == {
        **REPORT,
        "content_json": {"half": ""},
        "messages": None,
    }


def test_report_is_shown_for_completed_answers_only(question: Message) -> None:
    assert get(str(store_run(question).pk)).json()["report"] is None
    assert report_of_record(store_run(question, status=Status.CANCELLED)) is None
    assert report_of_record(store_run(question), purpose="summary") is None


def test_page_shows_the_reports_status(question: Message) -> None:
    trace = store_run(question)
    report_of_record(trace)
    page = Client().get(f"/traces/{trace.pk}/").content.decode()
    assert '<dt>Final report</dt><dd><span class="tag bad">failure</span> markdown</dd>' in page
    assert "report: failure" in page
    assert "Final report" not in Client().get(f"/traces/{store_run(question).pk}/").content.decode()


def test_running_run_has_no_answer_and_no_end(question: Message) -> None:
    record = get(str(store_run(question, status=Status.RUNNING).pk)).json()
    assert (record["status"], record["message_id"]) == ("running", None)
    assert (record["finished_at"], record["totals"]["duration_ms"]) == (None, None)


def test_run_of_a_dead_process_is_failed(question: Message) -> None:
    trace = store_run(question, status=Status.RUNNING)
    Trace.objects.update(owner=dead_owner())
    record = get(str(trace.pk)).json()
    assert record["status"] == "failed"
    assert record["error"] == {"code": "SERVICE_UNAVAILABLE", "message": "interrupted"}
    assert record["events"][-1]["type"] == "error"
    by_message = get(f"by_message/{question.pk}").json()
    assert by_message["status"] == "failed"


def test_latest_trace_of_a_message_is_found(question: Message) -> None:
    store_run(question, status=Status.FAILED)
    latest = store_run(question)
    assert get(f"by_message/{question.pk}").json()["trace_id"] == str(latest.pk)
    assert get(f"by_message/{latest.message_id}").json()["trace_id"] == str(latest.pk)


@pytest.mark.parametrize("trace_id", [UNKNOWN_ID, "nonsense", "1", "%00"])
def test_unknown_trace_is_not_found(question: Message, trace_id: str) -> None:
    assert error_of(get(trace_id)) == (404, "NOT_FOUND", "trace_id")
    assert error_of(get(f"by_message/{trace_id}")) == (404, "NOT_FOUND", "message_id")
    assert error_of(post(trace_id)) == (404, "NOT_FOUND", "trace_id")


def test_a_message_without_a_run_has_no_trace(question: Message) -> None:
    assert error_of(get(f"by_message/{question.pk}")) == (404, "NOT_FOUND", "message_id")


def test_another_client_id_does_not_find_the_trace(question: Message) -> None:
    trace = store_run(question)
    paths = (str(trace.pk), f"by_message/{trace.message_id}")
    for path in paths:
        assert get(path, client_id="owner").json() == get(path).json()
        assert get(path, client_id="other").status_code == 404
    assert post(trace.pk, client_id="other").status_code == 404
    assert post(trace.pk, {"client_id": "other"}).status_code == 404
    assert post(trace.pk, {"client_id": "owner"}).status_code == 200
    assert post(trace.pk, client_id="owner").status_code == 200


@pytest.mark.parametrize("preference", ["", "a", "b", "tie"])
def test_trace_names_the_profile_after_the_vote_only(question: Message, preference: str) -> None:
    first, second = store_run(question, branch="a"), store_run(question, branch="b")
    ABComparison.objects.create(
        conversation=question.conversation,
        user_message=question,
        seed=1,
        profile_a_name="x",
        profile_b_name="y",
        trace_a=first,
        trace_b=second,
        preference=preference,
    )
    for trace in (first, second):
        for path in (str(trace.pk), f"by_message/{trace.message_id}"):
            response = get(path)
            assert (SECRET_MODEL in response.content.decode()) == bool(preference)
            assert response.json()["branch"] == trace.branch
            assert (response.json()["profile"] is None) == (not preference)


def test_branch_without_a_comparison_hides_its_profile(question: Message) -> None:
    """This is the state while both branches are being started."""
    assert SECRET_MODEL not in get(str(store_run(question, branch="a").pk)).content.decode()


def test_run_is_exported_as_a_scenario(question: Message) -> None:
    trace = store_run(question)
    document = post(trace.pk).json()
    (step,) = document["steps"]
    assert step["match"]["messages"][0]["equals"] == "2 + 2?"
    assert step["produce"]["parts"] == [{"text": "4"}]


@pytest.mark.parametrize(
    ("status", "reason"), [(Status.RUNNING, "still going on"), (Status.CANCELLED, "cancelled")]
)
def test_conflict_of_an_unreplayable_run_has_its_reason(
    question: Message, status: Status, reason: str
) -> None:
    response = post(store_run(question, status=status).pk)
    assert error_of(response) == (409, "CONFLICT", "trace_id")
    assert reason in response.json()["message"]


@pytest.mark.parametrize("body", [b"x", b'{"a": 1}', b"[]"])
def test_invalid_body_is_refused(question: Message, body: bytes) -> None:
    trace = store_run(question)
    url = f"/api/trace/{trace.pk}/scenario"
    assert error_of(Client().generic("POST", url, body, "application/json"))[0] == 400
    assert error_of(Client().generic("POST", url, body, "text/plain"))[0] == 415


def test_trace_is_deleted_with_its_conversation(question: Message) -> None:
    trace = store_run(question)
    Conversation.objects.all().delete()
    assert get(str(trace.pk)).status_code == 404
