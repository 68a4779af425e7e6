"""Drafts are edited and discarded while the published scenario is served unchanged."""

import json

import pytest
from django.test import Client

from scenarios_app.models import Draft, Revision, Scenario
from scenarios_app.store.drafts import get_or_create_draft, plan_publication
from scenarios_app.store.history import versions_of
from tests.admin.drafting import (
    DRAFTS,
    draft_page,
    edit_as_draft,
    message_text,
    publish,
    save_draft,
    served_step_keys,
)
from tests.admin.pages import (
    ADD,
    LIST,
    create_scenario,
    error_lines,
    fields,
    fields_at,
    new_step,
    page_of,
    texts,
)

pytestmark = pytest.mark.django_db


# ── Editing ──


def test_published_scenario_is_served_while_its_draft_is_edited(editor: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    before = served_step_keys()
    draft = edit_as_draft(editor, scenario)
    response = save_draft(editor, draft, **{"steps-0-produce.text": "new", "name": "climate"})
    assert response.status_code == 302
    assert texts(draft) == ["new", "answer 2"]
    assert texts(scenario) == ["answer 1", "answer 2"]
    assert served_step_keys() == before


def test_scenario_has_one_draft(editor: Client, root: Client) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    response = root.post(f"{LIST}{scenario.pk}/draft/")
    assert response.url == draft_page(draft)
    assert draft.steps.count() == 1


def test_new_scenario_is_saved_as_a_draft_from_its_page(editor: Client) -> None:
    page = editor.get(ADD).content.decode()
    assert f'formaction="{DRAFTS}add/"' in page
    sent = fields(page) | {"name": "soon", "steps-TOTAL_FORMS": "1"}
    sent |= new_step(0, {"produce.text": "later"})
    response = editor.post(f"{DRAFTS}add/", sent)
    draft = Draft.objects.get()
    assert response.url == draft_page(draft)
    assert (draft.name, draft.published, texts(draft)) == ("soon", None, ["later"])
    assert not Scenario.objects.exists()
    assert served_step_keys() == {}


def test_refused_draft_shows_errors_at_their_fields(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    response = save_draft(editor, draft, **{"steps-0-produce.text": ""})
    assert error_lines(response) == ["Step 1, Answer text: enter an answer"]
    assert texts(draft) == ["answer 1"]


def test_lint_checks_a_draft_instead_of_its_published_scenario(editor: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain", "consume": False})
    draft = edit_as_draft(editor, scenario)
    sent = fields_at(editor, draft_page(draft), "draft_form")
    html_without_warning = editor.post(f"{DRAFTS}{draft.pk}/check/", sent).content.decode()
    broad_fields = sent | {"steps-0-match.messages(user)": ""}
    html_with_warning = editor.post(f"{DRAFTS}{draft.pk}/check/", broad_fields).content.decode()
    assert "sc-note" not in html_without_warning
    assert "Step 1" in html_with_warning


def test_rows_of_a_long_draft_are_loaded_when_opened(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", *({} for _ in range(12))))
    step = draft.steps.all()[3]
    url = f"{DRAFTS}{draft.pk}/steps/{step.pk}/?prefix=steps-3"
    assert url in editor.get(draft_page(draft)).content.decode()
    assert "answer 4" in editor.get(url).content.decode()
    assert save_draft(editor, draft, priority="3").status_code == 302
    assert draft.steps.count() == 12


def test_two_editors_of_a_draft_see_each_other(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    opened_form = fields_at(root, draft_page(draft), "draft_form")
    save_draft(editor, draft, **{"steps-0-produce.text": "theirs"})
    response = root.post(draft_page(draft), opened_form | {"steps-0-produce.text": "mine"})
    assert error_lines(response) == [
        "Step 1, Answer text: QA editor changed this since you opened the page, "
        "to “theirs”. You have “mine”."
    ]


def test_draft_has_a_history_and_versions_to_restore(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}, {}))
    save_draft(editor, draft, **{"steps-0-produce.text": "changed", "steps-1-DELETE": "on"})
    newest, oldest = versions_of(draft)
    assert 'step 1: produce.text from "answer 1" to "changed"' in newest.changes
    editor.post(f"{DRAFTS}{draft.pk}/history/", {"at": oldest.at.isoformat()})
    assert texts(draft) == ["answer 1", "answer 2"]
    assert plan_publication(draft).changes == ()


def test_draft_is_tried_instead_of_its_published_scenario(editor: Client) -> None:
    scenario = create_scenario("weather", {"match.messages(user)": "rain"})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, **{"steps-0-produce.text": "new answer", "name": "climate"})
    url = f"{LIST}test/?draft={draft.pk}"
    sent = fields_at(editor, url, "test_form")
    assert sent["user"] == "rain"
    page = editor.post(f"{LIST}test/", sent)
    assert [(card.step.scenario, card.state) for card in page.context["cards"]] == [
        ("climate", "wins")
    ]
    assert page.context["cards"][0].url == draft_page(draft)
    assert "new answer" in page.content.decode()
    published = editor.post(f"{LIST}test/", sent | {"draft": "", "scenario": "weather"})
    assert "new answer" not in published.content.decode()


# ── List and banner ──


def test_list_marks_and_filters_scenarios_with_a_draft(editor: Client) -> None:
    without_draft, with_draft = create_scenario("plain", {}), create_scenario("drafted", {})
    edit_as_draft(editor, with_draft)
    unpublished_draft = Draft.objects.create(name="new")

    def rows(url: str) -> list[str]:
        return [row.name for row in editor.get(url).context["cl"].result_list]

    assert rows(LIST) == ["drafted", "plain"]
    assert '<span class="sc-tag">draft</span>' in editor.get(LIST).content.decode()
    assert rows(f"{LIST}?draft=yes") == [with_draft.name]
    assert rows(f"{LIST}?draft=no") == [without_draft.name]
    assert f"{DRAFTS}?draft=only" in editor.get(LIST).content.decode()
    assert rows(f"{DRAFTS}?draft=only") == [unpublished_draft.name]
    assert rows(f"{DRAFTS}?draft=yes") == [with_draft.name]
    assert f"{LIST}?draft=no" in editor.get(DRAFTS).content.decode()


def test_banner_names_scenario_author_and_changes(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    save_draft(editor, draft, **{"steps-0-produce.text": "<b>new</b>"})
    page = editor.get(draft_page(draft))
    assert page.context["made_by"] == "QA editor"
    assert page.context["publication"].changes == (
        'step 1: produce.text from "answer 1" to "<b>new</b>"',
    )
    assert "<b>new</b>" not in page.content.decode()
    assert "Open the draft" in editor.get(page_of(Scenario.objects.get())).content.decode()


def test_reader_sees_drafts_and_cannot_change_them(editor: Client, reader: Client) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    page = reader.get(draft_page(draft)).content.decode()
    assert "answer 1" in page
    for button in ("Publish…", "Discard…", "Save and publish…"):
        assert button not in page
    assert reader.get(DRAFTS).status_code == 200
    assert "Edit as draft" not in reader.get(page_of(scenario)).content.decode()
    responses = [
        reader.post(f"{LIST}{scenario.pk}/draft/"),
        reader.post(f"{DRAFTS}add/", {"name": "new"}),
        reader.post(draft_page(draft), {"name": "new"}),
        reader.get(f"{DRAFTS}{draft.pk}/publish/"),
        reader.post(f"{DRAFTS}{draft.pk}/publish/"),
        reader.post(f"{DRAFTS}{draft.pk}/delete/", {"post": "yes"}),
        reader.post(f"{DRAFTS}{draft.pk}/history/", {"at": ""}),
    ]
    assert {response.status_code for response in responses} == {403}
    assert Draft.objects.get().name == "weather"


# ── Created from a document ──


FROM_DOCUMENT = f"{DRAFTS}from-document/"
RECORDED_DOCUMENT = {
    "name": "trace-1",
    "tags": ["trace"],
    "steps": [{"turn": 1, "produce": {"text": "Hi"}}],
}


def test_posted_document_becomes_an_unserved_draft(editor: Client) -> None:
    response = editor.post(FROM_DOCUMENT, {"document": json.dumps(RECORDED_DOCUMENT)})
    draft = Draft.objects.get()
    assert response["Location"] == draft_page(draft)
    assert (draft.name, draft.document["tags"], texts(draft)) == ("trace-1", ["trace"], ["Hi"])
    assert [version.who for version in versions_of(draft)] == ["QA editor"]
    assert served_step_keys() == {}
    publish(editor, draft)
    assert list(served_step_keys()) == ["trace-1"]


def test_second_draft_of_a_name_gets_a_number(editor: Client) -> None:
    create_scenario("trace-1", {})
    for _ in range(2):
        editor.post(FROM_DOCUMENT, {"document": json.dumps(RECORDED_DOCUMENT)})
    assert [draft.name for draft in Draft.objects.all()] == ["trace-1 (2)", "trace-1 (3)"]


def test_longest_name_is_cut_to_fit_its_number(editor: Client) -> None:
    for _ in range(2):
        editor.post(
            FROM_DOCUMENT, {"document": json.dumps(RECORDED_DOCUMENT | {"name": "x" * 200})}
        )
    assert [len(draft.name) for draft in Draft.objects.all()] == [200, 200]


@pytest.mark.parametrize(
    ("document", "error_message"),
    [
        ("{", "JSON"),
        ('{"name": "a", "stepz": []}', "stepz"),
        (
            json.dumps({"scenarios": [RECORDED_DOCUMENT, RECORDED_DOCUMENT | {"name": "b"}]}),
            "one scenario",
        ),
        ("", "JSON"),
    ],
)
def test_invalid_document_is_refused_and_no_draft_is_created(
    editor: Client, document: str, error_message: str
) -> None:
    page = editor.post(FROM_DOCUMENT, {"document": document}, follow=True)
    (message,) = message_text(page).splitlines()
    assert message.startswith("No draft was made: ") and error_message in message
    assert not Draft.objects.exists()


# ── Discarding ──


def test_discarding_asks_and_removes_only_the_draft(editor: Client) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    question = editor.get(f"{DRAFTS}{draft.pk}/delete/").content.decode()
    assert "The published scenario weather stays as it is." in question
    response = editor.post(f"{DRAFTS}{draft.pk}/delete/", {"post": "yes"})
    assert response["Location"] == page_of(scenario)
    assert not Draft.objects.exists()
    assert not Revision.objects.of(draft).exists()
    assert texts(scenario) == ["answer 1"]


def test_several_drafts_are_discarded_from_the_list(editor: Client) -> None:
    for name in ("one", "two"):
        get_or_create_draft(create_scenario(name, {}))
    draft_keys = [draft.pk for draft in Draft.objects.all()]
    sent = {"action": "delete_selected", "post": "yes", "_selected_action": draft_keys}
    editor.post(DRAFTS, sent)
    assert not Draft.objects.exists()
    assert Scenario.objects.count() == 2
