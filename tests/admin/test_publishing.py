"""A draft is published completely, or not at all with the reason."""

import pytest
from django.test import Client

from scenarios_app.models import Draft, DraftStep, Revision, Scenario, Step
from scenarios_app.store.drafts import plan_publication
from scenarios_app.store.history import PUBLISHED, versions_of
from tests.admin.drafting import (
    DRAFTS,
    edit_as_draft,
    message_text,
    publish,
    save_draft,
    served_step_keys,
)
from tests.admin.pages import (
    LIST,
    create_scenario,
    edit_step,
    fields_at,
    new_step,
    page_of,
    save,
    texts,
)

pytestmark = pytest.mark.django_db


def test_published_scenario_is_replaced_by_its_draft(editor: Client) -> None:
    scenario = create_scenario("weather", {}, {}, {})
    unchanged, edited_step, removed = scenario.steps.all()
    draft = edit_as_draft(editor, scenario)
    changes = {"priority": "4", "steps-1-produce.text": "edited", "steps-2-DELETE": "on"}
    changes |= {"steps-TOTAL_FORMS": "4", **new_step(3, {"produce.text": "new"})}
    assert save_draft(editor, draft, **changes).status_code == 302
    response = publish(editor, draft)
    scenario.refresh_from_db()
    assert (scenario.priority, texts(scenario)) == (4, ["answer 1", "edited", "new"])
    steps = list(scenario.steps.all())
    assert [(step.pk, step.key) for step in steps[:2]] == [
        (unchanged.pk, unchanged.key),
        (edited_step.pk, edited_step.key),
    ]
    assert steps[2].key not in (unchanged.key, edited_step.key, removed.key)
    assert served_step_keys() == {"weather": [step.key for step in steps]}
    assert response.redirect_chain[-1][0] == page_of(scenario)


def test_published_draft_is_deleted(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    publish(editor, draft)
    assert not Draft.objects.exists() and not DraftStep.objects.exists()
    assert not Revision.objects.of(draft).exists()


def test_history_names_who_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    save_draft(editor, draft, **{"steps-0-produce.text": "new"})
    publish(root, draft)
    newest, *_ = versions_of(Scenario.objects.get())
    assert (newest.who, newest.reason) == ("root", PUBLISHED)
    assert newest.changes == ('step 1: produce.text from "answer 1" to "new"',)


def test_draft_without_published_scenario_becomes_a_new_scenario(editor: Client) -> None:
    draft = Draft.objects.create(name="soon")
    draft.steps.create(order=1, document={"produce": {"text": "here"}})
    publish(editor, draft)
    scenario = Scenario.objects.get()
    assert (scenario.name, texts(scenario)) == ("soon", ["here"])
    assert list(served_step_keys()) == ["soon"]


def test_save_and_publish_opens_the_publish_page(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    response = save_draft(editor, draft, _publish="1", **{"steps-0-produce.text": "new"})
    assert response["Location"] == f"{DRAFTS}{draft.pk}/publish/"
    assert "to &quot;new&quot;" in editor.get(response["Location"]).content.decode()


def test_renamed_draft_renames_the_scenario_on_publishing(editor: Client) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, name="climate")
    publish(editor, draft)
    assert list(served_step_keys()) == ["climate"]
    assert Scenario.objects.get().pk == scenario.pk


def test_publishing_under_a_taken_name_is_refused(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    create_scenario("taken", {})
    save_draft(editor, draft, name="taken")
    response = publish(editor, draft)
    assert "has errors" in message_text(response)
    assert [(line.where, line.message) for line in response.context["wrong"]] == [
        ("Name", "another scenario has this name")
    ]
    assert list(served_step_keys()) == ["taken", "weather"]


def test_draft_with_errors_is_not_published_and_lists_them(editor: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}, {}))
    # A fixture can contain such a row.
    edit_step(draft.steps.get(order=2), {"produce.text": ""})
    response = publish(editor, draft)
    assert [f"{line.where}: {line.message}" for line in response.context["wrong"]] == [
        "Step 2, Answer text: enter an answer"
    ]
    assert texts(Scenario.objects.get()) == ["answer 1", "answer 2"]
    assert Draft.objects.exists()


def test_concurrent_change_of_the_published_scenario_stops_publishing(
    editor: Client, root: Client
) -> None:
    scenario = create_scenario("weather", {}, {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, **{"steps-0-produce.text": "mine"})
    save(root, scenario, **{"steps-1-produce.text": "theirs"})
    response = publish(editor, draft)
    assert "root changed the published scenario" in message_text(response)
    publication = response.context["publication"]
    assert publication.meanwhile == ('step 2: produce.text from "answer 2" to "theirs"',)
    assert texts(scenario) == ["answer 1", "theirs"]
    publish(editor, draft, over="1")
    assert texts(scenario) == ["mine", "answer 2"]


def test_draft_changed_after_the_preview_is_not_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    url = f"{DRAFTS}{draft.pk}/publish/"
    preview_fields = fields_at(editor, url, "publish_form")
    save_draft(root, draft, **{"steps-0-produce.text": "theirs"})
    assert "changed since you looked" in message_text(editor.post(url, preview_fields, follow=True))
    assert texts(Scenario.objects.get()) == ["answer 1"]


def test_deleted_draft_is_not_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, create_scenario("weather", {}))
    publish(root, draft)
    assert editor.post(f"{DRAFTS}{draft.pk}/publish/").status_code == 404


def test_draft_of_a_deleted_scenario_is_published_after_confirmation(
    editor: Client, root: Client
) -> None:
    scenario = create_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    root.post(f"{LIST}{scenario.pk}/delete/", {"post": "yes"})
    response = publish(editor, draft)
    publication = response.context["publication"]
    assert (publication.meanwhile, publication.who) == (
        ("the published scenario was deleted",),
        "root",
    )
    assert not Scenario.objects.exists()
    publish(editor, draft, over="1")
    assert texts(Scenario.objects.get()) == ["answer 1"]


def test_steps_keep_their_keys_after_a_reload_of_the_same_document(editor: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, **{"steps-1-produce.text": "new"})
    Step.objects.filter(scenario=scenario).renew_keys()
    keys = list(scenario.steps.values_list("pk", "key"))
    assert plan_publication(draft).meanwhile == ()
    publish(editor, draft)
    assert list(scenario.steps.values_list("pk", "key")) == keys
    assert texts(scenario) == ["answer 1", "new"]
