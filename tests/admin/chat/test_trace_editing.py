"""Traces and events that people add, change and delete."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from chat_app.conversations import append_message, create
from chat_app.models import (
    Message,
    Sender,
)
from mockllm_site.kit.admin.records import admin_url
from tests.admin.chat.chat_records import post
from tests.admin.chat.record_forms import (
    WEATHER,
    add,
    add_conversation,
    add_to,
    errors_of,
    prepared,
)
from traces_app.models import Status, Trace
from traces_app.to_scenario import scenario_of_trace

pytestmark = pytest.mark.django_db


def test_trace_of_an_answer_is_added_with_its_events(editor: Client) -> None:
    add_conversation(
        editor,
        {"sender": "user", "content": "Rain?"},
        {"sender": "assistant", "content": "Yes.", "tool_calls": WEATHER},
    )
    answer = Message.objects.get(number=2)
    response = add(editor, Trace, message=str(answer.pk), profile_name="demo", model_id="m")
    assert response.status_code == 302, errors_of(response)
    trace = Trace.objects.get()
    assert (trace.conversation, trace.user_message) == (
        answer.conversation,
        answer.conversation.messages.get(number=1),
    )
    types = ["started", "tool_start", "tool_output", "tool_end", "chunk", "done"]
    assert list(trace.events.order_by("seq").values_list("type", flat=True)) == types
    assert (trace.status, trace.model_calls, trace.tool_calls) == (Status.COMPLETED, 2, 1)
    html = editor.get(f"/traces/{trace.pk}/").content.decode()
    assert "get_weather" in html and "Yes." in html and "edited" in html
    record = Client().get(f"/api/trace/{trace.pk}").json()
    assert record["edited_at"] and [event["type"] for event in record["events"]] == types
    document = scenario_of_trace(trace)
    assert len(document["steps"]) == 2


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"message": ""}, {"message"}),
        ({"message": "user"}, {"message"}),
        ({"message": "", "user_message": "assistant"}, {"user_message"}),
        ({"status": "failed"}, {"code"}),
        ({"status": "failed", "code": "NONSENSE"}, {"code"}),
        ({"code": "CONFLICT", "error": "x"}, {"code", "error"}),
        ({"status": "running"}, {"status"}),
        ({"finished_at_0": "2000-01-01", "finished_at_1": "00:00:00"}, {"finished_at"}),
    ],
)
def test_wrong_trace_is_an_error_at_its_field(
    editor: Client, values: dict[str, str], fields: set[str]
) -> None:
    conversation = create("c")
    ids = {
        str(sender.value): str(append_message(conversation, sender, content="x").pk)
        for sender in (Sender.USER, Sender.ASSISTANT)
    }
    values = {"message": "assistant", "status": "completed", **values}
    response = add(editor, Trace, **{name: ids.get(value, value) for name, value in values.items()})
    assert set(errors_of(response)) == fields
    assert not Trace.objects.exists()


def test_events_are_added_before_the_last_changed_and_deleted(editor: Client) -> None:
    conversation = create("c")
    append_message(conversation, Sender.USER, content="x")
    answer = append_message(conversation, Sender.ASSISTANT, content="One.")
    add(editor, Trace, message=str(answer.pk))
    trace = Trace.objects.get()
    response = add_to(editor, trace, type="chunk", payload='{"content": " Two."}')
    assert response.status_code == 302, errors_of(response)
    assert events_of(trace) == [(1, "started"), (2, "chunk"), (3, "chunk"), (4, "done")]
    event = trace.events.get(seq=3)
    ids = {"conversation_id": str(conversation.pk)}
    assert event.payload == {"content": " Two.", **ids}
    response = post(editor, event, payload='{"content": " 2."}')
    assert response.status_code == 302, errors_of(response)
    event.refresh_from_db()
    assert event.payload == {"content": " 2.", **ids} and event.edited_at
    response = add_to(
        editor, trace, type="tool_start", payload='{"tool_call_id": "1", "tool_name": "a"}'
    )
    assert response.status_code == 302, errors_of(response)
    trace.refresh_from_db()
    assert trace.tool_calls == 1
    page = admin_url(event).replace("/change/", "/delete/")
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert events_of(trace) == [(1, "started"), (2, "chunk"), (4, "tool_start"), (5, "done")]
    lines = [line.get_change_message() for line in LogEntry.objects.filter(object_id=trace.pk)]
    assert any("3 chunk: Payload: from" in line for line in lines)


def events_of(trace: Trace) -> list[tuple[int, str]]:
    return list(trace.events.order_by("seq").values_list("seq", "type"))


@pytest.mark.parametrize(
    "payload",
    ["", "[]", "{", '{"contents": "x"}', '{"content": 1, "more": 2}', '{"content": {"a": NaN}}'],
)
def test_wrong_payload_is_an_error_at_its_field(editor: Client, payload: str) -> None:
    prepared()
    trace = Trace.objects.get(branch="a")
    response = add_to(editor, trace, type="chunk", payload=payload)
    assert list(errors_of(response)) == ["payload"]
    assert trace.events.count() == 1


def test_first_and_last_event_follow_from_the_trace(editor: Client) -> None:
    conversation = create("c")
    question = append_message(conversation, Sender.USER, content="x")
    response = add(editor, Trace, user_message=str(question.pk))
    assert response.status_code == 302, errors_of(response)
    trace = Trace.objects.get()
    assert events_of(trace) == [(1, "started"), (2, "done")]
    for event in trace.events.all():
        assert "follow from the trace" in editor.get(admin_url(event)).content.decode()
        delete = admin_url(event).replace("/change/", "/delete/")
        editor.post(delete, {"post": "yes"})
        assert editor.post(admin_url(event), {"payload": "{}"}).status_code == 200
    assert events_of(trace) == [(1, "started"), (2, "done")]
    response = post(editor, trace, status="failed", code="RATE_LIMITED", error="Too many.")
    assert response.status_code == 302, errors_of(response)
    last = trace.events.get(seq=2)
    assert (last.type, last.payload) == (
        "error", {"status": 429, "message": "Too many.", "code": "RATE_LIMITED"},
    )  # fmt: skip
