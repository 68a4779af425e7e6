"""Conversations, messages, traces and comparisons in the admin: pages and read permissions."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from chat_app.conversations import append_message, create
from chat_app.models import (
    ContextState,
    Conversation,
    Message,
    Sender,
)
from tests.admin.chat.talks import LISTS, MODEL, create_conversation, page_urls
from tests.admin.test_safety import PAYLOADS, read
from traces_app.models import Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db

READ_ONLY_MODELS = [name for name in LISTS if name != "chat_app.modelprofile"]


@pytest.mark.parametrize("role", ["editor", "reader"])
def test_both_roles_see_everything(request: pytest.FixtureRequest, role: str) -> None:
    create_conversation()
    client: Client = request.getfixturevalue(role)
    assert {page: client.get(page).status_code for page in page_urls()} == dict.fromkeys(
        page_urls(), 200
    )


def test_staff_without_a_role_see_no_chat_page() -> None:
    create_conversation()
    client = Client()
    client.force_login(User.objects.create_user("bare", is_staff=True))
    assert {client.get(page).status_code for page in page_urls()} == {403}
    assert all(url not in client.get("/admin/").content.decode() for url in LISTS.values())


@pytest.mark.parametrize(
    ("permission", "link"),
    [
        ("view_modelprofile", "chat_app.modelprofile"),
        ("view_conversation", "chat_app.conversation"),
        ("view_trace", "traces_app.trace"),
        ("view_abcomparison", "chat_app.abcomparison"),
    ],
)
def test_sidebar_lists_only_permitted_pages(permission: str, link: str) -> None:
    user = User.objects.create_user("some", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename=permission))
    client = Client()
    client.force_login(user)
    html = client.get("/admin/").content.decode()
    assert {name for name, url in LISTS.items() if f'href="{url}"' in html} == {link}


def test_markup_in_messages_is_text_on_every_page(root: Client) -> None:
    text = " ".join(PAYLOADS)
    create_conversation(text, preference="a")
    for page in page_urls():
        response = root.get(page)
        assert response.status_code == 200, page
        markup = read(response.content.decode())
        assert markup.injected == [], page
        assert not [url for url in markup.urls if url.strip().lower().startswith("javascript:")]


@pytest.mark.parametrize("text", ["half \ud800 of a pair"])
def test_lone_surrogates_are_displayed_without_an_error(root: Client, text: str) -> None:
    conversation = create("c")
    message = append_message(
        conversation, Sender.ASSISTANT, content="x", tool_calls=[{"result": text}]
    )
    page = root.get(f"{LISTS['chat_app.message']}{message.pk}/change/").content.decode()
    assert "\\ud800" in page


@pytest.mark.parametrize("preference", ["", "a", "tie"])
def test_profiles_of_a_comparison_are_hidden_until_the_vote(root: Client, preference: str) -> None:
    create_conversation(preference=preference)
    pages_with_model = [page for page in page_urls() if MODEL in root.get(page).content.decode()]
    assert bool(pages_with_model) == bool(preference)


@pytest.mark.parametrize(("preference", "vote"), [("b", "B is better"), ("tie", "tie")])
def test_comparison_shows_both_answers_and_the_vote(
    root: Client, preference: str, vote: str
) -> None:
    comparison = create_conversation("What is it?", preference=preference).comparisons.get()
    Message.objects.filter(branch="a").update(content="It is A.")
    Message.objects.filter(branch="b").update(content="It is B.")
    assert comparison.trace_b is not None
    Trace.objects.filter(pk=comparison.trace_b.pk).update(status=Status.FAILED, code="TIMED_OUT")
    html = root.get(f"{LISTS['chat_app.abcomparison']}{comparison.pk}/change/").content.decode()
    assert html.index("Answer A") < html.index("It is A.") < html.index("Answer B")
    assert html.index("Answer B") < html.index("It is B.")
    assert f"Vote: {vote}" in html and html.count("preferred") == (preference == "b")
    assert f"a {MODEL}" in html and f"b {MODEL}" in html
    assert ">completed<" in html and ">failed<" in html
    for trace in (comparison.trace_a_id, comparison.trace_b_id):
        assert f'href="/traces/{trace}/"' in html


@pytest.mark.parametrize(("code", "text"), [("", "Too slow"), ("TIMED_OUT", "TIMED_OUT: Too slow")])
def test_error_of_a_trace_begins_with_its_code_if_it_has_one(
    root: Client, code: str, text: str
) -> None:
    comparison = create_conversation().comparisons.get()
    Trace.objects.filter(pk=comparison.trace_b_id).update(code=code, error="Too slow")
    for path in (
        f"{LISTS['chat_app.abcomparison']}{comparison.pk}/change/",
        f"/traces/{comparison.trace_b_id}/",
    ):
        assert f">{text}<" in root.get(path).content.decode(), path


def test_comparison_shows_the_answers_of_deleted_traces(root: Client) -> None:
    comparison = create_conversation().comparisons.get()
    Message.objects.filter(branch="a").update(content="It is A.")
    append_message(comparison.conversation, Sender.USER, content="And now?")
    append_message(comparison.conversation, Sender.ASSISTANT, content="Later.", branch="a")
    Trace.objects.all().delete()
    html = root.get(f"{LISTS['chat_app.abcomparison']}{comparison.pk}/change/").content.decode()
    assert "No vote yet" in html and "It is A." in html and "Later." not in html


def test_conversation_names_each_message_once_with_a_link(root: Client) -> None:
    conversation = create("c")
    message = append_message(conversation, Sender.USER, content="Only once, please")
    Conversation.objects.update(title="Talk")
    page = f"{LISTS['chat_app.conversation']}{conversation.pk}/change/"
    html = root.get(page).content.decode()
    assert html.count("Only once, please") == 1
    assert f'href="{LISTS["chat_app.message"]}{message.pk}/change/"' in html


def test_feedback_is_in_the_menu_and_filtered(reader: Client) -> None:
    messages = [
        append_message(create(mark or "none"), Sender.ASSISTANT, content="x", feedback=mark)
        for mark in ("like", "dislike", "")
    ]
    Message.objects.filter(feedback="dislike").update(feedback_comment="Too long.")
    url = f"{LISTS['chat_app.message']}?feedback=given"
    assert f'href="{url}"' in reader.get("/admin/").content.decode()

    def filtered_positions(feedback: str) -> list[int]:
        page = reader.get(LISTS["chat_app.message"], {"feedback": feedback})
        return [messages.index(row) for row in page.context["cl"].result_list]

    assert filtered_positions("given") == [1, 0]
    assert (
        filtered_positions("like"),
        filtered_positions("dislike"),
        filtered_positions("none"),
    ) == ([0], [1], [2])
    assert "Too long." in reader.get(url).content.decode()


def test_trace_list_shows_and_finds_the_question(root: Client) -> None:
    trace = Trace.objects.create(
        conversation=create("c", "Renamed"),
        user_message=append_message(create("d"), Sender.USER, content="Where is it?"),
        status=Status.COMPLETED,
        input_tokens=1_234, output_tokens=5, tokens_estimated=True,
    )  # fmt: skip
    Trace.objects.create(conversation=create("e"))
    html = root.get(LISTS["traces_app.trace"]).content.decode()
    assert "Where is it?" in html and "1,234 / 5 (estimated)" in html
    result_rows = root.get(LISTS["traces_app.trace"], {"q": "where is"}).context["cl"].result_list
    assert list(result_rows) == [trace]


@pytest.mark.parametrize("name", READ_ONLY_MODELS)
def test_search_and_filters_do_not_reveal_profiles_before_the_vote(root: Client, name: str) -> None:
    create_conversation()
    assert root.get(LISTS[name], {"q": MODEL}).context["cl"].result_count == 0
    for column in ("model_id", "profile_name", "profile_a_name", "trace__model_id"):
        response = root.get(LISTS[name], {f"{column}__exact": MODEL})
        assert response.status_code in (302, 400), column


def test_summary_is_neither_added_nor_deleted_alone(root: Client) -> None:
    create_conversation()
    url = LISTS["chat_app.contextstate"]
    page = f"{url}{ContextState.objects.get().pk}/delete/"
    for response in (root.get(f"{url}add/"), root.post(page, {"post": "yes"})):
        assert response.status_code == 403
    assert ContextState.objects.count() == 1


def test_editor_deletes_conversations_with_their_records(editor: Client) -> None:
    conversation = create_conversation()
    page = f"{LISTS['chat_app.conversation']}{conversation.pk}/delete/"
    assert editor.get(page).status_code == 200
    assert editor.post(page, {"post": "yes"}).status_code == 302
    assert not Conversation.objects.exists() and not Trace.objects.exists()


def test_a_long_run_is_shown_a_page_at_a_time(root: Client) -> None:
    conversation = create("c")
    trace = Trace.objects.create(conversation=conversation, status=Status.COMPLETED)
    TraceEvent.objects.bulk_create(
        TraceEvent(trace=trace, seq=seq, type="chunk", payload={"content": f"piece {seq}."})
        for seq in range(1, 301)
    )
    html = root.get(f"{LISTS['traces_app.trace']}{trace.pk}/change/").content.decode()
    assert "piece 1." in html and "piece 300." not in html


def test_message_page_names_the_model(root: Client) -> None:
    message = append_message(
        create("c"), Sender.ASSISTANT, content="x", provider_id="openai", model_id="gpt-4o"
    )
    page = root.get(f"{LISTS['chat_app.message']}{message.pk}/change/").content.decode()
    assert "openai gpt-4o" in page


def test_conversation_links_to_its_traces(root: Client) -> None:
    first, _ = create_conversation(), create_conversation("other")
    url = f"{LISTS['traces_app.trace']}?conversation__id__exact={first.pk}"
    page = root.get(f"{LISTS['chat_app.conversation']}{first.pk}/change/").content.decode()
    assert f'href="{url}"' in page
    list_page = root.get(url).content.decode()
    assert {str(trace.pk) in list_page for trace in first.traces.all()} == {True}
    assert Trace.objects.exclude(conversation=first).count() == 2
    assert not any(
        str(trace.pk) in list_page for trace in Trace.objects.exclude(conversation=first)
    )
