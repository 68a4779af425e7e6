"""Publishing a draft: all that it says at once, or nothing and the reason."""

import pytest
from django.test import Client

from scenarios_app.models import Draft, DraftStep, Scenario, Step
from scenarios_app.store.drafts import publication_of
from scenarios_app.store.history import PUBLISHED, versions_of
from tests.admin.drafting import (
    DRAFTS,
    edit_as_draft,
    publish,
    said,
    save_draft,
    served,
)
from tests.admin.pages import (
    LIST,
    a_scenario,
    fields_at,
    new_step,
    page_of,
    save,
    texts,
)

pytestmark = pytest.mark.django_db


def test_the_published_scenario_becomes_what_the_draft_says(editor: Client) -> None:
    scenario = a_scenario("weather", {}, {}, {})
    kept, edited, removed = scenario.steps.all()
    draft = edit_as_draft(editor, scenario)
    changes = {"priority": "4", "steps-1-answer_text": "edited", "steps-2-DELETE": "on"}
    changes |= {"steps-TOTAL_FORMS": "4", **new_step(3, answer_text="new")}
    assert save_draft(editor, draft, **changes).status_code == 302
    response = publish(editor, draft)
    scenario.refresh_from_db()
    assert (scenario.priority, texts(scenario)) == (4, ["answer 1", "edited", "new"])
    steps = list(scenario.steps.all())
    assert [(step.pk, step.key) for step in steps[:2]] == [
        (kept.pk, kept.key),
        (edited.pk, edited.key),
    ]
    assert steps[2].key not in (kept.key, edited.key, removed.key)
    assert served() == {"weather": [step.key for step in steps]}
    assert response.redirect_chain[-1][0] == page_of(scenario)


def test_nothing_is_left_of_a_published_draft(editor: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    publish(editor, draft)
    for model in (Draft, DraftStep):
        assert not model.objects.exists()
        assert not model.history.exists()


def test_the_history_says_who_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    save_draft(editor, draft, **{"steps-0-answer_text": "new"})
    publish(root, draft)
    newest, *_ = versions_of(Scenario.objects.get())
    assert (newest.who, newest.why) == ("root", PUBLISHED)
    assert newest.changes == ('step 1: produce.text from "answer 1" to "new"',)


def test_a_draft_of_none_becomes_a_new_scenario(editor: Client) -> None:
    draft = Draft.objects.create(name="soon")
    draft.steps.create(order=1, answer_text="here")
    publish(editor, draft)
    scenario = Scenario.objects.get()
    assert (scenario.name, texts(scenario)) == ("soon", ["here"])
    assert list(served()) == ["soon"]


def test_saving_and_publishing_are_one_click_apart(editor: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    response = save_draft(editor, draft, _publish="1", **{"steps-0-answer_text": "new"})
    assert response["Location"] == f"{DRAFTS}{draft.pk}/publish/"
    assert "to &quot;new&quot;" in editor.get(response["Location"]).content.decode()


def test_renaming_a_draft_renames_on_publishing(editor: Client) -> None:
    scenario = a_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, name="climate")
    publish(editor, draft)
    assert list(served()) == ["climate"]
    assert Scenario.objects.get().pk == scenario.pk


def test_a_name_that_another_has_is_refused(editor: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    a_scenario("taken", {})
    save_draft(editor, draft, name="taken")
    response = publish(editor, draft)
    assert "has errors" in said(response)
    assert [(line.where, line.message) for line in response.context["wrong"]] == [
        ("Name", "another scenario has this name")
    ]
    assert list(served()) == ["taken", "weather"]


def test_errors_name_step_and_field_and_publish_nothing(editor: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}, {}))
    # As a fixture can hold it.
    draft.steps.filter(order=2).update(answer_text="")
    response = publish(editor, draft)
    assert [f"{line.where}: {line.message}" for line in response.context["wrong"]] == [
        "Step 2, Answer text: say what to answer with"
    ]
    assert texts(Scenario.objects.get()) == ["answer 1", "answer 2"]
    assert Draft.objects.exists()


def test_a_published_side_that_changed_meanwhile_is_not_published_over(
    editor: Client, root: Client
) -> None:
    scenario = a_scenario("weather", {}, {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, **{"steps-0-answer_text": "mine"})
    save(root, scenario, **{"steps-1-answer_text": "theirs"})
    response = publish(editor, draft)
    assert "root changed the published scenario" in said(response)
    found = response.context["publication"]
    assert found.meanwhile == ('step 2: produce.text from "answer 2" to "theirs"',)
    assert texts(scenario) == ["answer 1", "theirs"]
    publish(editor, draft, over="1")
    assert texts(scenario) == ["mine", "answer 2"]


def test_what_was_not_looked_at_is_not_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    url = f"{DRAFTS}{draft.pk}/publish/"
    seen = fields_at(editor, url, "publish_form")
    save_draft(root, draft, **{"steps-0-answer_text": "theirs"})
    assert "changed since you looked" in said(editor.post(url, seen, follow=True))
    assert texts(Scenario.objects.get()) == ["answer 1"]


def test_a_draft_that_is_gone_is_not_published(editor: Client, root: Client) -> None:
    draft = edit_as_draft(editor, a_scenario("weather", {}))
    publish(root, draft)
    assert editor.post(f"{DRAFTS}{draft.pk}/publish/").status_code == 404


def test_a_draft_outlives_the_scenario_and_asks_before_it_comes_back(
    editor: Client, root: Client
) -> None:
    scenario = a_scenario("weather", {})
    draft = edit_as_draft(editor, scenario)
    root.post(f"{LIST}{scenario.pk}/delete/", {"post": "yes"})
    response = publish(editor, draft)
    found = response.context["publication"]
    assert (found.meanwhile, found.who) == (("the published scenario was deleted",), "root")
    assert not Scenario.objects.exists()
    publish(editor, draft, over="1")
    assert texts(Scenario.objects.get()) == ["answer 1"]


def test_steps_whose_keys_a_load_renewed_are_known_again(editor: Client) -> None:
    scenario = a_scenario("weather", {}, {})
    draft = edit_as_draft(editor, scenario)
    save_draft(editor, draft, **{"steps-1-answer_text": "new"})
    Step.objects.filter(scenario=scenario).renew_keys()
    keys = list(scenario.steps.values_list("pk", "key"))
    assert publication_of(draft).meanwhile == ()
    publish(editor, draft)
    assert list(scenario.steps.values_list("pk", "key")) == keys
    assert texts(scenario) == ["answer 1", "new"]
