"""Fields of conversations, messages, traces and comparisons that staff can edit."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client

from chat_app.conversations import append_message, create
from chat_app.models import (
    ABComparison,
    ContextState,
    Conversation,
    Feedback,
    Message,
    Sender,
)
from mockllm_site.kit.admin.records import admin_url
from tests.admin.chat.chat_records import EDITED_FIELDS, post, read_records
from tests.admin.chat.talks import LISTS, create_conversation
from tests.admin.pages import fields_at
from traces_app.admin import TraceAdmin
from traces_app.models import ModelCall, Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", EDITED_FIELDS)
def test_editor_changes_the_editable_fields(editor: Client, model: type[Model]) -> None:
    create_conversation()
    form_data, column_values = EDITED_FIELDS[model]
    row = model._default_manager.earliest("pk")
    assert post(editor, row, **form_data).status_code == 302
    assert model._default_manager.values(*column_values).get(pk=row.pk) == column_values
    assert LogEntry.objects.filter(object_id=str(row.pk)).count() == 1
    assert (
        form_data.keys() <= fields_at(editor, admin_url(row), f"{row._meta.model_name}_form").keys()
    )


@pytest.mark.parametrize("model", EDITED_FIELDS)
def test_posted_read_only_fields_are_ignored(root: Client, model: type[Model]) -> None:
    # Owners, ids and numbers have no form fields; events are changed on their own pages.
    create_conversation()
    row = model._default_manager.earliest("pk")
    other = create("another client")
    read_only_fields = {
        field.name: str(other.pk) if field.is_relation else "b"
        for field in row._meta.concrete_fields
        if field.name not in admin.site.get_model_admin(model).recorded
    }
    event, call = TraceEvent.objects.earliest("pk"), ModelCall.objects.earliest("pk")
    for prefix, inner in (
        ("events", event),
        ("calls", call),
        ("messages", Message.objects.first()),
    ):
        assert inner is not None
        read_only_fields |= {f"{prefix}-TOTAL_FORMS": "1", f"{prefix}-INITIAL_FORMS": "1"}
        read_only_fields |= {
            f"{prefix}-0-{field.name}": "7" for field in inner._meta.concrete_fields
        }
        read_only_fields |= {f"{prefix}-0-id": str(inner.pk), f"{prefix}-0-DELETE": "on"}
    before = read_records()
    assert post(root, row, **read_only_fields | EDITED_FIELDS[model][0]).status_code == 302
    assert read_records() == before
    column_values = EDITED_FIELDS[model][1]
    assert model._default_manager.values(*column_values).get(pk=row.pk) == column_values


def test_summary_cannot_be_edited(root: Client) -> None:
    create_conversation()
    before = read_records()
    assert root.post(admin_url(ContextState.objects.get()), {"summary": "x"}).status_code == 403
    assert read_records() == before


def test_columns_written_by_a_program_meanwhile_are_not_overwritten(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The run changes its row between the read and the save of the note.
    trace = Trace.objects.create(conversation=create("c"), owner="somebody")
    original_save = TraceAdmin.save_model

    def save_model(self: TraceAdmin, request: Any, obj: Trace, form: Any, change: bool) -> None:
        Trace.objects.update(status=Status.COMPLETED, model_calls=3)
        original_save(self, request, obj, form, change)

    monkeypatch.setattr(TraceAdmin, "save_model", save_model)
    assert post(editor, trace, note="seen").status_code == 302
    trace.refresh_from_db()
    assert (trace.note, trace.status, trace.model_calls) == ("seen", Status.COMPLETED, 3)


def test_stored_comment_without_feedback_is_saved_unchanged(editor: Client) -> None:
    message = append_message(create("c"), Sender.ASSISTANT, content="x", feedback_comment="Why?")
    assert post(editor, message).status_code == 302
    message.refresh_from_db()
    assert (message.feedback, message.feedback_comment) == ("", "Why?")


def test_a_comment_needs_a_feedback(editor: Client) -> None:
    message = append_message(create("c"), Sender.ASSISTANT, content="x")
    response = post(editor, message, feedback="", feedback_comment="Why?")
    errors = response.context["adminform"].form.errors
    assert errors == {"feedback_comment": ["A comment needs a feedback that it explains."]}
    assert post(editor, message, feedback="like", feedback_comment="Why?").status_code == 302
    message.refresh_from_db()
    assert (message.feedback, message.feedback_comment) == (Feedback.LIKE, "Why?")
    assert post(editor, message, feedback="", feedback_comment="").status_code == 302
    message.refresh_from_db()
    assert (message.feedback, message.feedback_comment) == ("", "")


def test_nul_is_refused_at_its_field(editor: Client) -> None:
    create_conversation()
    for model, name in ((Trace, "note"), (Trace, "tags"), (Conversation, "title")):
        row = model._default_manager.earliest("pk")
        response = post(editor, row, **{name: "a\0"})
        assert set(response.context["adminform"].form.errors) == {name}


# ── Deleting ──


def test_deleting_a_trace_deletes_its_events_and_keeps_answer_and_vote(editor: Client) -> None:
    conversation = create_conversation(preference="a")
    trace = conversation.comparisons.get().trace_a
    assert trace is not None
    page = f"{LISTS['traces_app.trace']}{trace.pk}/delete/"
    assert editor.get(page).status_code == 200
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert Trace.objects.count() == TraceEvent.objects.count() == ModelCall.objects.count() == 1
    assert Message.objects.count() == 3
    assert conversation.comparisons.get().preference == "a"
    answer = Message.objects.get(branch="a")
    assert "the-model-that-nobody" in editor.get(admin_url(answer)).content.decode()


@pytest.mark.parametrize("model", [Trace, Conversation])
def test_deletion_counts_related_rows_without_listing_them(
    root: Client, model: type[Model]
) -> None:
    create_conversation()
    page = f"{LISTS[model._meta.label_lower]}{model._default_manager.earliest('pk').pk}/delete/"
    context = root.get(page).context
    assert len(context["deleted_objects"]) == 1
    assert dict(context["model_count"])["trace events"] == (1 if model is Trace else 2)


def test_answer_of_a_deleted_trace_stays_blind_until_the_vote(editor: Client) -> None:
    create_conversation()
    Trace.objects.all().delete()
    answer = Message.objects.get(branch="a")
    assert "the-model-that-nobody" not in editor.get(admin_url(answer)).content.decode()


def test_running_traces_cannot_be_deleted(root: Client) -> None:
    conversation = create_conversation()
    running, completed = conversation.traces.order_by("branch")
    later = "2999-01-01T00:00:00Z"
    Trace.objects.filter(pk=running.pk).update(status=Status.RUNNING, lease_until=later)
    page = f"{LISTS['traces_app.trace']}{running.pk}/delete/"
    assert "is under way" in root.get(page).content.decode()
    root.post(page, {"post": "yes"})
    form_data = {
        "_selected_action": [running.pk, completed.pk],
        "action": "delete_selected",
        "post": "yes",
    }
    root.post(LISTS["traces_app.trace"], form_data)
    assert Trace.objects.count() == 2
    root.post(LISTS["traces_app.trace"], form_data | {"_selected_action": [completed.pk]})
    assert Trace.objects.get() == running


# ── Fields for staff only ──


def test_notes_and_comments_are_in_no_api_and_no_other_page(root: Client) -> None:
    conversation = create_conversation(preference="a")
    secret = "between-us"
    Conversation.objects.update(tags=[secret])
    Trace.objects.update(note=secret, tags=[secret])
    ABComparison.objects.update(comment=secret)
    comparison = conversation.comparisons.get()
    client_id = conversation.client_id
    for path in (
        f"/api/list_conversations?client_id={client_id}",
        f"/api/load_conversation?client_id={client_id}&conversation_id={conversation.pk}",
        f"/api/trace/{comparison.trace_a_id}",
        f"/traces/{comparison.trace_a_id}/",
        f"/api/ab/{comparison.pk}",
        "/chat/leaderboard/",
    ):
        response = root.get(path)
        assert response.status_code == 200, path
        assert secret not in response.content.decode(), path
