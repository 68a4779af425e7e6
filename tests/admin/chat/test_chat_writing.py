"""What staff write on conversations, messages, traces and comparisons, and nothing else."""

from typing import Any, TypeAlias

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from chat_app.comparisons import leaderboard
from chat_app.conversations import append_message, create
from chat_app.models import (
    ABComparison,
    ContextState,
    Conversation,
    Feedback,
    Message,
    Sender,
)
from mockllm_site.kit.read_only_admin import page_of
from tests.admin.chat.talks import LISTS, talk
from tests.admin.pages import fields_at
from traces_app.admin import TraceAdmin
from traces_app.models import ModelCall, Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db

Rows: TypeAlias = dict[str, list[dict[str, Any]]]

# What is posted, and what is stored of it.
WRITTEN: dict[type[Model], tuple[dict[str, str], dict[str, object]]] = {
    Conversation: (
        {"title": "Trip", "tags": "smoke, Köln ,", "archived": "on"},
        {"title": "Trip", "tags": ["smoke", "Köln"], "archived": True},
    ),
    Message: (
        {"feedback": "dislike", "feedback_comment": "Wrong city."},
        {"feedback": "dislike", "feedback_comment": "Wrong city."},
    ),
    Trace: (
        {"note": "Slow. Look at it.", "tags": "slow"},
        {"note": "Slow. Look at it.", "tags": ["slow"]},
    ),
    ABComparison: (
        {"comment": "Both are wrong.", "excluded": "on"},
        {"comment": "Both are wrong.", "excluded": True},
    ),
}
EDITABLE = {model._meta.label: set(stored) for model, (_, stored) in WRITTEN.items()}


def url_of(row: Model) -> str:
    return reverse(page_of(row), args=(row.pk,))


def post(client: Client, row: Model, **changes: str) -> Any:
    url = url_of(row)
    return client.post(url, fields_at(client, url, f"{row._meta.model_name}_form") | changes)


def records() -> Rows:
    """Every row of the chat and its traces, without the columns that staff may write."""
    models = [*apps.get_app_config("chat_app").get_models()]
    models += apps.get_app_config("traces_app").get_models()
    found: Rows = {}
    for model in models:
        hidden = EDITABLE.get(model._meta.label, set())
        names = [field.attname for field in model._meta.concrete_fields if field.name not in hidden]
        found[model._meta.label] = list(model._default_manager.order_by("pk").values(*names))
    return found


@pytest.mark.parametrize("model", WRITTEN)
def test_an_editor_writes_it(editor: Client, model: type[Model]) -> None:
    talk()
    posted, stored = WRITTEN[model]
    row = model._default_manager.earliest("pk")
    assert post(editor, row, **posted).status_code == 302
    assert model._default_manager.values(*stored).get(pk=row.pk) == stored
    (line,) = LogEntry.objects.all()
    assert line.object_id == str(row.pk)
    assert posted.keys() <= fields_at(editor, url_of(row), f"{row._meta.model_name}_form").keys()


@pytest.mark.parametrize("model", WRITTEN)
def test_whatever_is_posted_the_record_stays(root: Client, model: type[Model]) -> None:
    """Votes, events, answers, owners: a page has no such field, and takes none."""
    talk()
    row = model._default_manager.earliest("pk")
    other = create("another client")
    forged = {
        field.name: str(other.pk) if field.is_relation else "b"
        for field in row._meta.concrete_fields
    }
    event, call = TraceEvent.objects.earliest("pk"), ModelCall.objects.earliest("pk")
    for prefix, inner in (
        ("events", event),
        ("calls", call),
        ("messages", Message.objects.first()),
    ):
        assert inner is not None
        forged |= {f"{prefix}-TOTAL_FORMS": "1", f"{prefix}-INITIAL_FORMS": "1"}
        forged |= {f"{prefix}-0-{field.name}": "7" for field in inner._meta.concrete_fields}
        forged |= {f"{prefix}-0-id": str(inner.pk), f"{prefix}-0-DELETE": "on"}
    before = records()
    assert post(root, row, **forged | WRITTEN[model][0]).status_code == 302
    assert records() == before
    stored = WRITTEN[model][1]
    assert model._default_manager.values(*stored).get(pk=row.pk) == stored


def test_a_summary_is_nobodys_to_write(root: Client) -> None:
    talk()
    before = records()
    assert root.post(url_of(ContextState.objects.get()), {"summary": "x"}).status_code == 403
    assert records() == before


def test_what_a_program_writes_meanwhile_stays(
    editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on between the reading of its row and the saving of the note."""
    trace = Trace.objects.create(conversation=create("c"), owner="somebody")
    saved = TraceAdmin.save_model

    def save_model(self: TraceAdmin, request: Any, obj: Trace, form: Any, change: bool) -> None:
        Trace.objects.update(status=Status.COMPLETED, model_calls=3)
        saved(self, request, obj, form, change)

    monkeypatch.setattr(TraceAdmin, "save_model", save_model)
    assert post(editor, trace, note="seen").status_code == 302
    trace.refresh_from_db()
    assert (trace.note, trace.status, trace.model_calls) == ("seen", Status.COMPLETED, 3)


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
    talk()
    for model, name in ((Trace, "note"), (Trace, "tags"), (Conversation, "title")):
        row = model._default_manager.earliest("pk")
        response = post(editor, row, **{name: "a\0"})
        assert set(response.context["adminform"].form.errors) == {name}


# ── Deleting ──


def test_a_trace_goes_with_its_events_and_leaves_the_answer_and_the_vote(editor: Client) -> None:
    conversation = talk(preference="a")
    trace = conversation.comparisons.get().trace_a
    assert trace is not None
    page = f"{LISTS['traces_app.trace']}{trace.pk}/delete/"
    assert editor.get(page).status_code == 200
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert Trace.objects.count() == TraceEvent.objects.count() == ModelCall.objects.count() == 1
    assert Message.objects.count() == 3
    assert conversation.comparisons.get().preference == "a"
    answer = Message.objects.get(branch="a")
    assert "the-model-that-nobody" in editor.get(url_of(answer)).content.decode()


@pytest.mark.parametrize("model", [Trace, Conversation])
def test_what_goes_along_is_counted_and_not_listed(root: Client, model: type[Model]) -> None:
    talk()
    page = f"{LISTS[model._meta.label_lower]}{model._default_manager.earliest('pk').pk}/delete/"
    context = root.get(page).context
    assert len(context["deleted_objects"]) == 1
    assert dict(context["model_count"])["trace events"] == (1 if model is Trace else 2)


def test_an_answer_whose_trace_is_gone_stays_blind_until_the_vote(editor: Client) -> None:
    talk()
    Trace.objects.all().delete()
    answer = Message.objects.get(branch="a")
    assert "the-model-that-nobody" not in editor.get(url_of(answer)).content.decode()


def test_what_still_runs_is_not_deleted(root: Client) -> None:
    conversation = talk()
    running, ended = conversation.traces.order_by("branch")
    later = "2999-01-01T00:00:00Z"
    Trace.objects.filter(pk=running.pk).update(status=Status.RUNNING, lease_until=later)
    page = f"{LISTS['traces_app.trace']}{running.pk}/delete/"
    assert "still running" in root.get(page).content.decode()
    root.post(page, {"post": "yes"})
    both = {"_selected_action": [running.pk, ended.pk], "action": "delete_selected", "post": "yes"}
    root.post(LISTS["traces_app.trace"], both)
    assert Trace.objects.count() == 2
    root.post(LISTS["traces_app.trace"], both | {"_selected_action": [ended.pk]})
    assert Trace.objects.get() == running


# ── On the lists ──


@pytest.mark.parametrize(
    ("model", "actions", "column"),
    [
        (Conversation, ("archive", "unarchive"), "archived"),
        (ABComparison, ("leave_out", "take_back"), "excluded"),
    ],
)
def test_an_action_sets_a_column_and_says_so(
    editor: Client, model: type[Model], actions: tuple[str, str], column: str
) -> None:
    talk()
    talk("other")
    before = records()
    url = LISTS[model._meta.label_lower]
    first, second = model._default_manager.order_by("pk")
    for action, chosen, wanted in (
        (actions[0], [first], {first.pk: True, second.pk: False}),
        (actions[0], [first, second], {first.pk: True, second.pk: True}),
        (actions[1], [second], {first.pk: True, second.pk: False}),
    ):
        posted = {"action": action, "_selected_action": [row.pk for row in chosen]}
        assert editor.post(url, posted).status_code == 302
        assert dict(model._default_manager.values_list("pk", column)) == wanted
    assert records() == before
    logged = LogEntry.objects.filter(object_id=first.pk)
    assert logged.count() == 1, "it was so already the second time"
    assert LogEntry.objects.count() == 3
    page = editor.get(url, {f"{column}__exact": "1"})
    assert [row.pk for row in page.context["cl"].result_list] == [first.pk]


def test_an_excluded_comparison_is_out_of_the_ranking_at_once_and_back(
    editor: Client, client: Client
) -> None:
    talk(preference="a")
    two = talk("other", preference="b").comparisons.get()
    ABComparison.objects.filter(pk=two.pk).update(profile_b_name="winner")

    def scores() -> dict[str, tuple[int, float]]:
        return {rank.profile: (rank.wins, rank.score) for rank in leaderboard()}

    everything = scores()
    shown = client.get("/api/ab/leaderboard").json()
    assert "winner" in everything
    post(editor, two, excluded="on")
    without = scores()
    assert set(everything) - set(without) == {"winner"}
    assert all(without[name] != everything[name] for name in without)
    for path in ("/api/ab/leaderboard", "/chat/leaderboard/"):
        assert "winner" not in client.get(path).content.decode()
    posted = {"action": "take_back", "_selected_action": [two.pk]}
    editor.post(LISTS["chat_app.abcomparison"], posted)
    assert scores() == everything
    assert client.get("/api/ab/leaderboard").json() == shown


@pytest.mark.parametrize("name", ["chat_app.conversation", "traces_app.trace"])
def test_tags_are_filtered_and_searched_by(root: Client, name: str) -> None:
    first, second, third = (create(client) for client in "xyz")
    rows: list[Any] = [first, second, third]
    if name == "traces_app.trace":
        rows = [Trace.objects.create(conversation=row, status="failed") for row in rows]
    for row, tags in zip(rows, (["smoke", "Köln"], ["smoke test"], []), strict=True):
        row.tags = tags
        row.save()

    def found(**asked: str) -> list[int]:
        listed = root.get(LISTS[name], asked).context["cl"].queryset
        return sorted(rows.index(row) for row in listed)

    assert found(tag="smoke") == [0]
    assert found(tag="nobody's") == []
    assert found(q="smoke") == [0, 1]
    assert found(q="SMOKE") == [0, 1]
    assert found(q="Köln") == [0]
    # What a list is stored with is no part of its names.
    for mark in ("[", "]", ",", "[]"):
        assert found(q=mark) == [], mark
    html = root.get(LISTS[name]).content.decode()
    assert 'class="sc-tag">Köln</span>' in html and "?tag=smoke+test" in html


# ── What is for staff alone ──


def test_notes_and_comments_are_told_by_no_api_and_no_other_page(root: Client) -> None:
    conversation = talk(preference="a")
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
