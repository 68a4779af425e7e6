"""The page that plays a conversation, and the examples for new scenarios."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from scenarios_app.journal import journal
from scenarios_app.models import Draft, Scenario, ServedRequest, TrialConversation
from tests.admin.drafting import draft_page, edit_as_draft, publish
from tests.admin.pages import (
    ADD,
    LIST,
    SESSION,
    create_scenario,
    edit_step,
    fields_at,
    new_step,
    page_of,
    save,
)
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

PLAY = f"{LIST}test/?tab=conversation"
NEW = f"{LIST}new/"
DRAFTS = "/admin/scenarios_app/draft/"
STEP = {
    "name": "sun",
    "match.messages(user)": "sun",
    "produce.text": "It is sunny.",
    "consume": False,
}

EXPECTED_ANSWER = {"scenario": "weather", "step": "sun", "response_preview": "It is sunny."}


def asking(text: str) -> str:
    return json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})


def play_conversation(client: Client, *turns: Any, **fields: str) -> Any:
    conversation = json.dumps({"turns": turns})
    return client.post(PLAY, {"conversation": conversation, "play": "1"} | fields)


def states(page: Any) -> list[bool]:
    return [turn.passed for turn in page.context["run"].turns]


def test_each_turn_passes_or_fails_beside_the_actual_answer(root: Client) -> None:
    create_scenario("weather", STEP)
    page = play_conversation(
        root,
        {"user": "sun?", "expect": {"text": "It is sunny."}},
        {"user": "sun again?", "expect": {"text": "It rains."}},
        scenario="weather",
    )
    assert states(page) == [True, False]
    text = page.content.decode()
    assert "equals &quot;It rains.&quot;" in text
    assert "1 of 2 turns failed." in text
    assert page.context["lines"] == [("sun", [1, 2])]


def test_dry_run_uses_up_no_step_and_is_not_journalled(root: Client) -> None:
    create_scenario("once", {"match.messages(user)": "hello"})
    for _ in range(2):
        assert states(play_conversation(root, {"user": "hello"})) == [True]
    journal.flush()
    assert not ServedRequest.objects.exists()


def test_unplayable_conversation_shows_errors_and_is_kept(root: Client) -> None:
    page = play_conversation(root, {"user": "a", "expect": {"status": 7}})
    text = page.content.decode()
    assert "turns[0].expect.status" in text
    assert page.context["conversation"]["turns"][0]["expect"] == {"status": 7}
    assert root.post(PLAY, {"conversation": "{"}).status_code == 200


def test_draft_and_unsaved_edits_are_played(root: Client) -> None:
    scenario = create_scenario("weather", STEP)
    draft = edit_as_draft(root, scenario)
    edit_step(draft.steps.get(), {"produce.text": "It rains."})
    turn = {"user": "sun?", "expect": {"text": "It rains."}}
    assert states(play_conversation(root, turn)) == [False]
    assert states(play_conversation(root, turn, draft=str(draft.pk))) == [True]
    url = page_of(scenario)
    edits = fields_at(root, url) | new_step(
        1, {"match.messages(user)": "moon", "produce.text": "It shines."}
    )
    edits["steps-TOTAL_FORMS"] = "2"
    page = root.post(url.replace("/change/", "/test/?tab=conversation"), edits)
    hidden_fields = dict(page.context["tried"].hidden)
    turn = {"user": "moon?", "expect": {"text": "It shines."}}
    assert states(play_conversation(root, turn, **hidden_fields)) == [True]
    assert Scenario.objects.get().steps.count() == 1


def test_edits_with_errors_list_the_errors(root: Client) -> None:
    url = page_of(create_scenario("weather", STEP))
    page = root.post(
        url.replace("/change/", "/test/?tab=conversation"), fields_at(root, url) | {"name": ""}
    )
    assert "Fix this first:" in page.content.decode()


def test_play_page_starts_with_a_request_for_the_first_step(root: Client) -> None:
    create_scenario("weather", STEP)
    page = root.get(PLAY, {"tab": "conversation", "scenario": "weather"})
    assert page.context["conversation"]["turns"] == [{"user": "sun"}]


def test_proposal_for_a_step_with_a_tool_result_condition_passes(root: Client) -> None:
    match = {"messages": [{"role": "tool", "which": "new"}]}
    create_scenario("loop", {"name": "answer", "produce.text": "Sunny.", "match.*": match})
    conversation = root.get(PLAY, {"tab": "conversation", "scenario": "loop"}).context[
        "conversation"
    ]
    assert states(play_conversation(root, *conversation["turns"], scenario="loop")) == [True]


def test_scenario_without_a_proposal_shows_the_reason(root: Client) -> None:
    create_scenario("red", {"produce.text": "Yes.", "match.*": {"headers": {"x-team": "red"}}})
    text = root.get(PLAY, {"tab": "conversation", "scenario": "red"}).content.decode()
    assert "No conversation was found that this scenario answers." in text
    assert "x-team" in text


def test_saved_conversation_stays_with_the_scenario(root: Client) -> None:
    scenario = create_scenario("weather", STEP)
    turn = {"user": "Is there sun in Rome?"}
    play_conversation(root, turn, scenario="weather", keep="1")
    assert root.get(PLAY, {"tab": "conversation", "scenario": "weather"}).context["conversation"][
        "turns"
    ] == [turn]
    save(root, scenario, name="forecast")
    assert root.get(PLAY, {"tab": "conversation", "scenario": "forecast"}).context["conversation"][
        "turns"
    ] == [turn]
    assert TrialConversation.objects.count() == 1


def test_reader_plays_and_cannot_save_conversations(reader: Client) -> None:
    create_scenario("weather", STEP)
    assert states(play_conversation(reader, {"user": "sun?"}, scenario="weather", keep="1")) == [
        True
    ]
    assert not TrialConversation.objects.exists()


def test_session_of_the_journal_is_played_again(root: Client) -> None:
    create_scenario("weather", STEP)
    session = "key-1"
    create_journal_row(request_body=asking("Is there sun?"), session=session, **EXPECTED_ANSWER)
    create_journal_row(request_body=asking("Is there rain?"), session=session, scenario="")
    create_journal_row(request_body="{", session=session, request_cut=True)
    create_journal_row(path="/v1/models", method="GET", session=session)
    assert (
        f"test/?tab=conversation&amp;session={session}"
        in root.get(SESSION, {"name": session}).content.decode()
    )
    conversation = root.get(PLAY, {"tab": "conversation", "session": session}).context[
        "conversation"
    ]
    assert root.get(PLAY, {"tab": "conversation", "session": session}).context["left_out"] == 1
    first, second = conversation["turns"]
    assert first["expect"]["text"] == {"startswith": "It is sunny."}
    assert second["expect"] == {}
    page = root.post(PLAY, {"conversation": json.dumps(conversation)})
    assert states(page) == [True, False]


@pytest.mark.parametrize(
    "body",
    ["[" * 100_000, '{"a": NaN}', '{"a": 1e999}', '"\\ud800"'],
    ids=["deep", "NaN", "infinite", "surrogate"],
)
def test_body_that_is_no_json_document_is_played_as_text(root: Client, body: str) -> None:
    create_journal_row(request_body=body, session="odd", matched=False, status=400)
    (turn,) = root.get(PLAY, {"tab": "conversation", "session": "odd"}).context["conversation"][
        "turns"
    ]
    assert turn["request"]["body"] == body


def test_query_of_a_journaled_request_keeps_its_escapes(root: Client) -> None:
    create_journal_row(request_body=asking("Hi"), session="odd", query={"a": "1&b=2", "c": "3 %"})
    (turn,) = root.get(PLAY, {"tab": "conversation", "session": "odd"}).context["conversation"][
        "turns"
    ]
    assert turn["request"]["path"] == "/v1/chat/completions?a=1%26b%3D2&c=3+%25"


def test_session_is_not_played_without_permission_for_the_journal(db: None) -> None:
    create_journal_row(request_body=asking("Is there sun?"), session="key-1", **EXPECTED_ANSWER)
    user = User.objects.create_user("half", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_scenario"))
    client = Client()
    client.force_login(user)
    page = client.get(PLAY, {"tab": "conversation", "session": "key-1"})
    assert "session" not in page.context
    assert page.context["conversation"]["turns"] == [{"user": ""}]


def test_downloaded_conversation_is_played_by_the_command(root: Client) -> None:
    create_scenario("weather", STEP)
    page = play_conversation(root, {"user": "sun?"}, scenario="weather", download="1")
    assert page["Content-Disposition"] == 'attachment; filename="weather.play.json"'
    document = json.loads(page.content)
    assert document["scenarios"][0]["name"] == "weather"
    assert document["conversations"][0]["turns"] == [{"user": "sun?"}]


def test_download_has_the_played_draft_in_place_of_the_published_scenario(root: Client) -> None:
    draft = edit_as_draft(root, create_scenario("weather", STEP))
    edit_step(draft.steps.get(), {"produce.text": "It rains."})
    page = play_conversation(
        root, {"user": "sun?"}, scenario="weather", draft=str(draft.pk), download="1"
    )
    (step,) = json.loads(page.content)["scenarios"][0]["steps"]
    assert step["produce"]["text"] == "It rains."


def test_invalid_scenario_is_left_out_of_the_download(root: Client) -> None:
    create_scenario("broken", {"match.*": {"nonsense": 1}})
    page = play_conversation(root, {"user": "sun?"}, scenario="broken", download="1")
    assert json.loads(page.content).keys() == {"conversations"}


def test_example_becomes_a_draft_with_its_conversation(editor: Client) -> None:
    assert f'href="{ADD}"' in editor.get(NEW).content.decode()
    for number in (1, 2):
        response = editor.post(NEW, {"example": "tool-loop"})
        draft = Draft.objects.order_by("pk").last()
        assert draft is not None
        assert response["Location"] == draft_page(draft)
        assert draft.steps.count() == 2
        assert Draft.objects.count() == number
    assert not Scenario.objects.exists()
    conversation = editor.get(PLAY, {"tab": "conversation", "draft": draft.pk}).context[
        "conversation"
    ]
    page = editor.post(PLAY, {"conversation": json.dumps(conversation), "draft": draft.pk})
    assert states(page) == [True, True, True]
    publish(editor, draft)
    assert (
        len(
            editor.get(PLAY, {"tab": "conversation", "scenario": draft.name}).context[
                "conversation"
            ]["turns"]
        )
        == 3
    )


def test_unknown_example_and_reader_are_refused(editor: Client, reader: Client) -> None:
    assert editor.post(NEW, {"example": "nonsense"}).status_code == 404
    assert reader.get(NEW).status_code == 403
    assert not Draft.objects.exists()


def test_links_open_an_empty_page_from_which_the_examples_are_one_click_away(
    root: Client, author: Client
) -> None:
    for page in (LIST, "/admin/", "/"):
        assert f'href="{ADD}"' in root.get(page).content.decode()
    for client, page in ((root, ADD), (author, f"{DRAFTS}add/")):
        assert f'href="{NEW}"' in client.get(page).content.decode()
    assert f'href="{DRAFTS}add/"' in author.get("/admin/").content.decode()
    assert 'id="begin"' in root.get(LIST).content.decode()
    create_scenario("weather", STEP)
    assert 'id="begin"' not in root.get(LIST).content.decode()
