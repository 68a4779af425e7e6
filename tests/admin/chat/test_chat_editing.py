"""Conversations, messages, comparisons and votes that people add, change and delete."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.test import Client

from chat_app.comparisons import leaderboard
from chat_app.conversations import append_message, create
from chat_app.models import (
    ABComparison,
    ContextState,
    Conversation,
    Message,
    ModelProfile,
    Sender,
)
from chat_app.prompt.messages import rounds_to_turns
from mockllm_site.kit.admin.records import admin_url
from tests.admin.chat.chat_records import post
from tests.admin.chat.record_forms import (
    CONVERSATIONS,
    WEATHER,
    add,
    add_conversation,
    add_to,
    all_rows,
    errors_of,
    lines_above,
    prepared,
    start_run,
    texts,
)
from tests.admin.chat.talks import LISTS, create_conversation
from tests.admin.pages import fields_at
from traces_app.models import Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db


# ── Conversations and messages ──


def test_conversation_is_added_with_its_messages(editor: Client) -> None:
    response = add_conversation(
        editor,
        {"sender": "user", "content": "Is it raining?\r\nIn Oslo."},
        {"sender": "assistant", "content": "It is.", "tool_calls": WEATHER},
        client_id="qa",
    )
    assert response.status_code == 302
    conversation = Conversation.objects.get()
    assert (conversation.client_id, conversation.title) == ("qa", "Is it raining? In Oslo.")
    assert texts(conversation) == [
        (1, "user", "Is it raining?\nIn Oslo."),
        (2, "assistant", "It is."),
    ]
    answer = conversation.messages.get(number=2)
    call = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Oslo"}}
    assert answer.tool_calls == [call | {"result": "rain", "is_error": False}]
    turns = rounds_to_turns(answer.rounds, with_thinking=True)
    assert [type(turn).__name__ for turn in turns] == [
        "AssistantTurn",
        "ToolResults",
        "AssistantTurn",
    ]
    assert answer.client_id == "qa" and answer.edited_at and conversation.edited_at
    assert "Added." in LogEntry.objects.get().get_change_message()


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"sender": "user", "content": " "}, "content"),
        ({"sender": "user", "content": "x", "tool_calls": WEATHER}, "tool_calls"),
        ({"sender": "user", "content": "x", "branch": "a"}, "branch"),
        ({"sender": "assistant", "branch": "a"}, "content"),
        ({"sender": "assistant", "tool_calls": "[{]"}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": "{}"}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": '[{"arguments": {}}]'}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": '[{"name": "a", "arguments": 1}]'}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": '[{"name": "a", "ok": 1}]'}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": '[{"name": "a", "result": NaN}]'}, "tool_calls"),
        ({"sender": "assistant", "tool_calls": "[" * 100_000}, "tool_calls"),
        ({"sender": "assistant", "content": "a\0"}, "content"),
        ({"sender": "system", "content": "x"}, "sender"),
    ],
)
def test_wrong_message_is_an_error_at_its_field_and_nothing_is_stored(
    editor: Client, message: dict[str, str], field: str
) -> None:
    good = {"sender": "user", "content": "Good."}
    response = add_conversation(editor, good, message)
    assert list(errors_of(response)) == [field]
    ((target, line),) = lines_above(response).items()
    assert target == f"id_new-1-{field}" and line.startswith("New message 2, ")
    assert not Conversation.objects.exists() and not Message.objects.exists()


def test_message_is_added_at_its_place_and_others_move_on(editor: Client) -> None:
    conversation = create("c")
    for number in range(1, 4):
        append_message(conversation, Sender.USER, content=f"{number}")
    url = f"{LISTS['chat_app.message']}add/?conversation={conversation.pk}"
    assert fields_at(editor, url, "message_form")["conversation"] == str(conversation.pk)
    for before, content in (("2", "new"), ("", "last"), ("99", "very last")):
        row = {"conversation": str(conversation.pk), "sender": "user"}
        response = add(editor, Message, **row, content=content, before=before)
        assert response.status_code == 302, errors_of(response)
    assert [text for _, _, text in texts(conversation)] == [
        "1",
        "new",
        "2",
        "3",
        "last",
        "very last",
    ]
    assert [number for number, *_ in texts(conversation)] == [1, 2, 3, 4, 5, 6]
    (line, *_) = LogEntry.objects.filter(object_id=conversation.pk).order_by("pk")
    assert line.get_change_message() == "Added user 2: new."


def test_answers_of_a_comparison_stay_behind_their_question(editor: Client) -> None:
    conversation = create_conversation()
    row = {"conversation": str(conversation.pk), "sender": "user", "content": "x"}
    assert list(errors_of(add(editor, Message, **row, before="2"))) == ["before"]
    question = conversation.messages.get(number=1)
    assert list(errors_of(post(editor, question, sender="assistant"))) == ["sender"]


def test_changed_message_changes_the_next_prompt_and_says_so(editor: Client) -> None:
    conversation = prepared()
    message = Message.objects.get(branch="a")
    response = post(editor, message, content="Mended.", tool_calls="")
    assert response.status_code == 302, errors_of(response)
    message.refresh_from_db()
    assert message.rounds == [{"parts": [{"text": "Mended."}], "results": []}]
    assert message.edited_at and not ContextState.objects.exists()
    changes = LogEntry.objects.get(object_id=message.pk).get_change_message()
    assert 'Content: from "words" to "Mended."' in changes
    history = editor.get(admin_url(conversation).replace("/change/", "/history/"))
    assert "from &quot;words&quot; to &quot;Mended.&quot;" in history.content.decode()
    for page in (
        LISTS["chat_app.message"],
        LISTS["chat_app.conversation"],
        admin_url(conversation),
    ):
        assert '<span class="sc-tag">edited</span>' in editor.get(page).content.decode(), page
    url = f"/api/load_conversation?client_id=words&conversation_id={conversation.pk}"
    loaded = Client().get(url).json()["messages"]
    assert [bool(row["edited_at"]) for row in loaded] == [False, True, False]


def test_feedback_leaves_no_mark(editor: Client) -> None:
    prepared()
    message = Message.objects.get(branch="a")
    assert post(editor, message, feedback="dislike").status_code == 302
    message.refresh_from_db()
    assert message.edited_at is None and ContextState.objects.exists()


@pytest.mark.parametrize(
    "text", ["one\ntwo", "\nfirst line empty", "  spaces ", "tab\tand 'quotes'", "{{ braces }}"]
)
def test_second_save_changes_nothing(editor: Client, text: str) -> None:
    conversation = prepared(text, preference="b")
    for message in Message.objects.filter(branch=""):
        Message.objects.filter(pk=message.pk).update(content=f"{text}!")
    Conversation.objects.update(title="Talk", tags=["a", "b"])
    Trace.objects.update(tags=["a"])
    before = all_rows()
    comparison = conversation.comparisons.get()
    event = TraceEvent.objects.earliest("pk")
    conversation.refresh_from_db()
    for row in (conversation, *conversation.messages.all(), comparison, comparison.trace_a, event):
        assert row is not None
        url = admin_url(row)
        posted = {
            name: value.replace("\n", "\r\n")
            for name, value in fields_at(editor, url, f"{row._meta.model_name}_form").items()
        }
        response = editor.post(url, posted)
        assert response.status_code == 302, (row, errors_of(response))
    assert all_rows() == before


def test_message_is_deleted_and_the_others_stay_in_order(editor: Client) -> None:
    conversation = create("c", "Title")
    for number in range(1, 4):
        append_message(conversation, Sender.USER, content=f"{number}")
    page = f"{LISTS['chat_app.message']}{conversation.messages.get(number=2).pk}/delete/"
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert texts(conversation) == [(1, "user", "1"), (3, "user", "3")]
    line = LogEntry.objects.get(object_id=conversation.pk)
    assert line.get_change_message() == "Deleted user 2: 2."


def test_long_conversation_is_a_short_page(editor: Client) -> None:
    conversation = create("c")
    text = "long " * 2_000
    Message.objects.bulk_create(
        Message(conversation=conversation, client_id="c", number=n, sender="user", content=text)
        for n in range(1, 501)
    )
    page = editor.get(admin_url(conversation)).content
    assert len(page) < 500_000
    response = add_to(editor, conversation, content="the 501st")
    assert response.status_code == 302
    assert texts(conversation)[-1] == (501, "user", "the 501st")


# ── Comparisons ──


def test_comparison_and_its_vote_are_added_mended_and_counted(editor: Client) -> None:
    add_conversation(
        editor,
        {"sender": "user", "content": "Which?"},
        {"sender": "assistant", "branch": "a", "content": "A."},
        {"sender": "assistant", "branch": "b", "content": "B."},
    )
    one, two = (
        ModelProfile.objects.create(name=name, provider_id="openai", model_id="m")
        for name in ("one", "two")
    )
    question = Message.objects.get(number=1)
    values = {"user_message": str(question.pk), "profile_a": str(one.pk), "profile_b": str(two.pk)}
    assert b"The profiles are" not in editor.get(f"{LISTS['chat_app.abcomparison']}add/").content
    response = add(editor, ABComparison, **values, preference="a")
    assert response.status_code == 302, errors_of(response)
    comparison = ABComparison.objects.get()
    assert (comparison.profile_a_name, comparison.profile_b_name) == ("one", "two")
    assert comparison.preference_at and comparison.conversation == question.conversation
    assert [rank.profile for rank in leaderboard()] == ["one", "two"]
    assert post(editor, comparison, preference="b").status_code == 302
    assert [rank.profile for rank in leaderboard()] == ["two", "one"]
    comparison.refresh_from_db()
    assert comparison.edited_at and Client().get(f"/api/ab/{comparison.pk}").json()["edited_at"]
    line = LogEntry.objects.filter(object_id=comparison.pk).latest("pk")
    assert line.get_change_message() == 'Preference: from "a" to "b".'
    assert post(editor, comparison, preference="").status_code == 302
    assert leaderboard() == []
    page = admin_url(comparison).replace("/change/", "/delete/")
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert not ABComparison.objects.exists() and Message.objects.count() == 3


def test_wrong_comparison_is_an_error_at_its_field(editor: Client) -> None:
    conversation = create("c")
    question = append_message(conversation, Sender.USER, content="x")
    append_message(conversation, Sender.ASSISTANT, content="x", branch="a")
    assert set(errors_of(add(editor, ABComparison, user_message=str(question.pk)))) == {
        "user_message", "profile_a", "profile_b",
    }  # fmt: skip
    compared = create_conversation("other", preference="a").comparisons.get()
    Trace.objects.filter(pk=compared.trace_b_id).update(status=Status.FAILED)
    response = post(editor, compared, preference="b")
    assert list(errors_of(response)) == ["preference"]
    (line,) = lines_above(response).values()
    assert line.startswith("Preference: ")
    assert post(editor, compared, preference="tie").status_code == 302


# ── Runs under way ──


def test_rows_of_a_run_under_way_cannot_be_changed_and_the_page_says_why(editor: Client) -> None:
    conversation = prepared()
    comparison, message = conversation.comparisons.get(), Message.objects.get(branch="a")
    open_pages = {
        row: fields_at(editor, admin_url(row), f"{row._meta.model_name}_form")
        for row in (message, comparison)
    }
    run = start_run(conversation)
    before = all_rows()
    assert "is under way" in add_to(editor, conversation, content="more").content.decode()
    row = {"conversation": str(conversation.pk), "sender": "user", "content": "x"}
    assert list(errors_of(add(editor, Message, **row))) == ["conversation"]
    changes = {message: {"content": "typed"}, comparison: {"preference": "b"}}
    for row, change in changes.items():
        html = editor.get(admin_url(row)).content.decode()
        assert "is under way" in html
        assert not set(change) & set(
            fields_at(editor, admin_url(row), f"{row._meta.model_name}_form")
        )
        response = editor.post(admin_url(row), open_pages[row] | change)
        assert (
            "is under way" in str(errors_of(response)) and "typed" in response.content.decode()
        ) or row == comparison
        delete = admin_url(row).replace("/change/", "/delete/")
        assert "is under way" in editor.get(delete).content.decode()
        editor.post(delete, {"post": "yes"})
    assert "is under way" in str(errors_of(post(editor, run, status="completed")))
    assert all_rows() == before
    for row, change in ((run, {"note": "seen"}), (message, {"feedback": "like"})):
        assert post(editor, row, **change).status_code == 302
    Trace.objects.filter(pk=run.pk).update(status=Status.COMPLETED)
    assert post(editor, message, content="typed").status_code == 302


# ── Permissions ──

ADD_PAGES = [
    LISTS[name] + "add/"
    for name in LISTS
    if name not in ("chat_app.contextstate", "chat_app.modelprofile")
]


@pytest.mark.parametrize("role", ["reader", "author"])
def test_other_roles_see_the_records_and_change_nothing(
    request: pytest.FixtureRequest, role: str
) -> None:
    client: Client = request.getfixturevalue(role)
    conversation = prepared()
    before = all_rows()
    for page in ADD_PAGES:
        assert client.get(page).status_code == client.post(page, {}).status_code == 403, page
    rows = [conversation, *Message.objects.all(), *Trace.objects.all(), *TraceEvent.objects.all()]
    for row in (*rows, conversation.comparisons.get()):
        html = client.get(admin_url(row)).content.decode()
        assert 'name="_save"' not in html and "new-TOTAL_FORMS" not in html
        assert client.post(admin_url(row), {"content": "x", "status": "failed"}).status_code == 403
        delete = admin_url(row).replace("/change/", "/delete/")
        assert client.post(delete, {"post": "yes"}).status_code == 403
    assert all_rows() == before


# ── Fixtures ──


@pytest.mark.parametrize("way", ["export", "dumpdata"])
def test_prepared_records_are_loaded_as_they_were(editor: Client, tmp_path: Path, way: str) -> None:
    prepared()
    message = Message.objects.get(branch="b")
    post(editor, message, content="Mended.")
    before = all_rows()
    file = tmp_path / "prepared.json"
    if way == "export":
        rows = {
            "_selected_action": [
                str(pk) for pk in Conversation.objects.values_list("pk", flat=True)
            ]
        }
        file.write_bytes(editor.post(CONVERSATIONS, {"action": "export_fixture", **rows}).content)
    else:
        call_command("dumpdata", "chat_app", "traces_app", output=file)
    Conversation.objects.all().delete()
    call_command("loaddata", file, verbosity=0)
    for stored, loaded in zip(before, all_rows(), strict=True):
        assert sorted(without_keys(loaded), key=repr) == sorted(without_keys(stored), key=repr)


def without_keys(rows: list[Any]) -> list[Any]:
    """Return rows without the numbers that each database gives, and times in milliseconds."""
    return [
        {
            name: value.isoformat(timespec="milliseconds") if "_at" in name and value else value
            for name, value in row.items()
            if name != "at" and not (name == "id" and isinstance(value, int))
        }
        for row in rows
    ]


def test_fixture_does_not_reveal_profiles_before_the_vote(editor: Client) -> None:
    conversation = create_conversation()
    form = {"action": "export_fixture", "_selected_action": [str(conversation.pk)]}
    response = editor.post(CONVERSATIONS, form, follow=True)
    assert "A comparison has no vote yet" in response.content.decode()
