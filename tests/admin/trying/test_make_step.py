"""The page *Make a step* creates a step from a request of the journal."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from scenarios_app.admin.journal import make_step
from scenarios_app.control.steps import telling_words
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.store.history import versions_of
from tests.admin.pages import create_scenario, fields_at, texts
from tests.admin.traffic import create_journal_row
from tests.admin.trying.tries import TRY

pytestmark = pytest.mark.django_db

TOOL_MESSAGES = [
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "find_order", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "shipped"},
]


def create_unmatched_row(
    text: str = "Hello, please refund my order 4711", **columns: Any
) -> ServedRequest:
    more_messages = columns.pop("messages", [])
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}, *more_messages]}
    headers = {"authorization": "Bearer ***", "content-type": "application/json"}
    fields = {"matched": False, "way": "match", "request_preview": text, **columns}
    return create_journal_row(request_body=json.dumps(body), request_headers=headers, **fields)


def make_url(row: ServedRequest) -> str:
    return f"/admin/scenarios_app/servedrequest/{row.pk}/make-step/"


def post_make_step(client: Client, row: ServedRequest, **changes: str) -> Any:
    """Post the page's form with changed fields and its first button."""
    fields = fields_at(client, make_url(row), "make_form")
    button = {} if changes.keys() & {"draft", "preview"} else {"save": "1"}
    return client.post(make_url(row), fields | button | changes)


def winner(client: Client, row: ServedRequest) -> str:
    """Return the scenario that would answer the request."""
    fields = fields_at(client, f"{TRY}?request={row.pk}", "test_form")
    return str(client.post(f"{TRY}?request={row.pk}", fields).context["told"].scenario)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Hello, can you please refund my order 4711?", "refund my order"),
        ("What is the weather in Paris today?", "weather in Paris"),
        ("Please help me.\nBook a flight to Oslo", "Book a flight"),
        ("4711", ""),
        ("Hi!", ""),
        ("我想退款", "我想退款"),
    ],
)
def test_proposed_words_are_the_most_distinctive_phrase(text: str, phrase: str) -> None:
    assert telling_words(text) == phrase


def test_proposed_match_names_no_model_and_no_provider(root: Client) -> None:
    fields = fields_at(root, make_url(create_unmatched_row()), "make_form")
    assert (fields["mode"], fields["message"]) == ("contains", "refund my order")
    assert (fields["model"], fields["tool"], fields["answer"]) == ("", "", "")


def test_proposed_match_of_a_tool_result_names_the_tool(root: Client) -> None:
    fields = fields_at(root, make_url(create_unmatched_row(messages=TOOL_MESSAGES)), "make_form")
    assert (fields["message"], fields["tool"]) == ("refund my order", "find_order")


def test_new_scenario_is_enabled_and_answers_the_request(root: Client) -> None:
    row = create_unmatched_row()
    answer = post_make_step(root, row, answer="Refunded.")
    scenario = Scenario.objects.get()
    assert answer.headers["Location"].endswith(f"/scenario/{scenario.pk}/change/")
    assert (scenario.name, scenario.enabled) == ("refund my order", True)
    step = scenario.steps.get()
    assert (step.document["produce"], step.document["consume"]) == ({"text": "Refunded."}, False)
    assert winner(root, row) == "refund my order"
    other_words = create_unmatched_row("REFUND MY ORDER, now!", model="gpt-5")
    assert winner(root, other_words) == "refund my order"


@pytest.mark.parametrize(
    ("columns", "near"),
    [
        ({"match.messages(user)": "weather"}, False),
        ({"match.messages(user)": "weather", "match.provider": "openai"}, False),
        ({"match.messages(user)": "weather", "match.path": "/v1/chat/completions"}, False),
        ({"match.messages(user)": "weather", "match.stream": False}, False),
        ({"match.messages(user)": "weather", "turn": 1}, False),
        ({"match.messages(user)": "weather", "match.*": {"messages": [{"role": "user"}]}}, False),
        ({"match.messages(user)": "e", "match.tools": ["get_weather"]}, False),
        ({"match.messages(user)": "refund", "match.tools": ["get_weather"]}, True),
        ({"match.messages(user)": "weather", "match.model": "gpt-4o"}, True),
    ],
)
def test_scenario_is_near_if_a_condition_holds_that_says_what_it_is_about(
    root: Client, columns: dict[str, Any], near: bool
) -> None:
    create_scenario("some", columns)
    choices = root.get(make_url(create_unmatched_row())).context["form"].fields["target"].choices
    labels = [label for _, label in choices]
    assert labels == (["some (near)", "a new scenario"] if near else ["a new scenario", "some"])


def test_new_scenario_is_preset_without_a_near_one(root: Client) -> None:
    create_scenario("alpha", {"match.messages(user)": "weather"})
    assert fields_at(root, make_url(create_unmatched_row()), "make_form")["target"] == "new"


def test_nearest_scenario_is_proposed_first_and_keeps_its_steps(root: Client) -> None:
    create_scenario("alpha", {"match.messages(user)": "weather"})
    nearest_scenario = create_scenario(
        "refunds", {"match.messages(user)": "refund my order", "match.model": "gpt-5"}
    )
    first_key = nearest_scenario.steps.get().key
    row = create_unmatched_row()
    page = root.get(make_url(row))
    names = [label for _, label in page.context["form"].fields["target"].choices]
    assert names == ["refunds (near)", "a new scenario", "alpha"]
    assert fields_at(root, make_url(row), "make_form")["target"] == str(nearest_scenario.pk)
    post_make_step(root, row, answer="Refunded.")
    keys = list(nearest_scenario.steps.values_list("key", flat=True))
    assert keys[0] == first_key
    assert len(keys) == 2
    assert winner(root, row) == "refunds"
    assert len(versions_of(nearest_scenario)) == 2


def test_disabled_scenario_is_enabled_by_its_new_step(root: Client) -> None:
    scenario = create_scenario("off", {"match.messages(user)": "x"}, enabled=False)
    post_make_step(root, create_unmatched_row(), target=str(scenario.pk), answer="Refunded.")
    scenario.refresh_from_db()
    assert scenario.enabled


def test_page_says_that_a_disabled_scenario_will_be_enabled(root: Client) -> None:
    scenario = create_scenario("off", {"match.messages(user)": "x"}, enabled=False)
    create_scenario("on", {"match.messages(user)": "x"})
    page = root.get(make_url(create_unmatched_row()))
    assert page.context["form"].disabled_targets == [str(scenario.pk)]
    assert "Saving will also switch it on." in page.content.decode()
    row = create_unmatched_row()
    fields = fields_at(root, make_url(row), "make_form")
    fields |= {"save": "1", "target": str(scenario.pk), "answer": "Refunded."}
    saved = root.post(make_url(row), fields, follow=True)
    assert "Saved and switched “off” on. “off” answers this request now." in saved.content.decode()


def test_answer_of_several_lines_has_plain_line_ends(root: Client) -> None:
    post_make_step(root, create_unmatched_row(), answer="Refunded.\r\nSoon.")
    assert texts(Scenario.objects.get()) == ["Refunded.\nSoon."]


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_step_without_an_answer_is_refused_at_the_field(root: Client, answer: str) -> None:
    page = post_make_step(root, create_unmatched_row(), answer=answer)
    assert page.status_code == 200
    assert page.context["form"].errors.keys() == {"answer"}
    assert "Enter the answer." in page.content.decode()
    assert not Scenario.objects.exists()


def test_step_without_a_condition_is_refused_at_the_field(root: Client) -> None:
    page = post_make_step(root, create_unmatched_row(), answer="x", message="")
    assert page.context["form"].errors.keys() == {"message"}
    assert not Scenario.objects.exists()


def test_answer_that_is_too_long_is_refused_at_the_field(root: Client, settings: Any) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 10
    page = post_make_step(root, create_unmatched_row(), answer="x" * 11)
    assert page.context["form"].errors.keys() == {"answer"}
    assert not Scenario.objects.exists()


def test_name_that_is_taken_is_refused_at_the_field(root: Client) -> None:
    create_scenario("taken", {"match.messages(user)": "x"})
    page = post_make_step(root, create_unmatched_row(), target="new", name="taken", answer="x")
    assert page.context["form"].errors.keys() == {"name"}


def test_scenario_that_is_deleted_meanwhile_is_an_error_at_its_field(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = [("999", "gone")]
    monkeypatch.setattr(make_step, "_target_choices", lambda *_: choices)
    for button in ("save", "draft"):
        page = post_make_step(
            root, create_unmatched_row(), target="999", answer="Done.", **{button: "1"}
        )
        assert page.context["form"].errors == {"target": ["This scenario has been deleted."]}


def test_preview_separates_answered_from_unmatched_requests(root: Client) -> None:
    create_scenario("low", {"match.messages(user)": "refund"}, priority=-5)
    answered_row = create_unmatched_row("Refund my order!", matched=True, scenario="low", step="1")
    unmatched_row = create_unmatched_row("now refund my order")
    create_unmatched_row("something else")
    page = post_make_step(root, create_unmatched_row(), target="new", preview="1")
    preview = page.context["preview"]
    assert preview.answers
    assert [row.pk for row in preview.answered_elsewhere] == [answered_row.pk]
    assert [row.pk for row in preview.others] == [unmatched_row.pk]
    assert "answered by low" in page.content.decode()
    assert not Scenario.objects.filter(name__contains="refund").exists()


def test_preview_names_the_scenario_with_precedence(root: Client) -> None:
    create_scenario("high", {"match.messages(user)": "refund"}, priority=5)
    page = post_make_step(root, create_unmatched_row(), target="new", preview="1")
    assert (page.context["preview"].answers, page.context["preview"].first) == (False, "high")


def test_draft_may_have_no_answer_yet(root: Client) -> None:
    scenario = create_scenario("refunds", {"match.messages(user)": "refunds"})
    post_make_step(root, create_unmatched_row(), target=str(scenario.pk), draft="1")
    draft = Draft.objects.get()
    assert (draft.published, draft.steps.count(), scenario.steps.count()) == (scenario, 2, 1)
    post_make_step(root, create_unmatched_row(), target="new", draft="1")
    step = Draft.objects.filter(published=None).get().steps.get()
    assert step.document["produce"] == {"text": ""}


def test_cut_body_makes_no_step(root: Client) -> None:
    page = root.get(make_url(create_unmatched_row(request_cut=True)), follow=True).content.decode()
    assert "kept only the beginning" in page


def test_author_saves_the_step_as_a_draft_and_cannot_enable_it(author: Client) -> None:
    scenario, row = (
        create_scenario("refunds", {"match.messages(user)": "refunds"}),
        create_unmatched_row(),
    )
    response = post_make_step(author, row, target=str(scenario.pk), answer="Refunded.")
    assert response.status_code == 403 and scenario.steps.count() == 1
    assert "Can change scenario" in unescape(response.content.decode())
    assert post_make_step(author, row, target="new", answer="Refunded.").status_code == 403
    assert post_make_step(author, row, target=str(scenario.pk), answer="Refunded.", draft="1").url
    draft = Draft.objects.get()
    assert (draft.published, texts(draft)[-1]) == (scenario, "Refunded.")
    page = author.get(make_url(row)).content.decode()
    assert "Save and enable" not in page and "Save as a draft" in page


def test_reader_cannot_make_steps(reader: Client) -> None:
    row = create_unmatched_row()
    assert reader.get(make_url(row)).status_code == 403
    assert reader.post(make_url(row)).status_code == 403
    page = reader.get(f"/admin/scenarios_app/servedrequest/{row.pk}/change/").content
    assert b"Make a step" not in page


def test_latest_unmatched_request_of_a_session_leads_to_the_page(root: Client) -> None:
    row = create_unmatched_row(session="chat-1")
    create_journal_row(session="chat-1")
    answer = root.get("/admin/scenarios_app/servedrequest/make-step/", {"session": "chat-1"})
    assert answer.headers["Location"] == make_url(row)
