"""Warnings of several steps are one line with one fix, and a save says what it did to others."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from scenarios_app.admin.editor.warnings import WarningGroup
from tests.admin.drafting import edit_as_draft
from tests.admin.pages import IMPORT, LIST, create_scenario, page_of, save
from tests.admin.trying.test_make_step import create_unmatched_row, post_make_step

pytestmark = pytest.mark.django_db

BROAD = {"match.messages(user)": "rain", "consume": False}


def groups_of(client: Client, *steps: dict[str, Any]) -> list[WarningGroup]:
    page = client.get(page_of(create_scenario("rain", *steps)))
    groups: list[WarningGroup] = page.context["doubts"]
    return groups


def effects(response: Any) -> list[str]:
    """Return the messages of a response about other scenarios."""
    texts = (str(message) for message in get_messages(response.wsgi_request))
    return [text for text in texts if "other scenarios" in text]


@pytest.mark.parametrize(
    ("hidden_steps", "where"),
    [
        (2, "Steps 2 and 3"),
        (4, "Steps 2, 3, 4 and 5"),
        (5, "Steps 2, 3, 4 and 2 more"),
    ],
)
def test_steps_with_the_same_warning_are_one_line(
    root: Client, hidden_steps: int, where: str
) -> None:
    (group,) = groups_of(
        root, BROAD, *({"match.messages(user)": f"rain {n}"} for n in range(hidden_steps))
    )
    assert group.where == where
    assert group.message.startswith("step 1 always answers first")


def test_one_fix_moves_all_hidden_steps(root: Client) -> None:
    (group,) = groups_of(
        root, BROAD, {"match.messages(user)": "rain 1"}, {"match.messages(user)": "rain 2"}
    )
    (fix,) = group.mends
    assert (fix.label, fix.target, fix.before) == (
        "Move all before step 1",
        "steps-1 steps-2",
        "steps-0",
    )


def test_fix_of_the_whole_scenario_keeps_its_label(root: Client) -> None:
    create_scenario("first", BROAD, priority=3)
    (group,) = groups_of(
        root, {"match.messages(user)": "rain 1"}, {"match.messages(user)": "rain 2"}
    )
    assert [(fix.label, fix.target) for fix in group.mends] == [
        ("Before all of first: priority 4", "priority")
    ]


def test_values_are_set_in_all_steps_by_one_fix(root: Client) -> None:
    groups = groups_of(root, *({"match.messages(user)": "", "consume": False} for _ in range(2)))
    assert [fix.label for fix in groups[0].mends][:1] == ["Only once per session (all 2)"]
    assert groups[0].mends[0].target == "steps-0-consume steps-1-consume"


def test_fourth_warning_is_folded(root: Client) -> None:
    steps = (
        {"match.messages(user)": f"question {n}", "produce.text": f"{{{{ x{n}"} for n in range(4)
    )
    scenario = create_scenario("rain", *steps)
    html = root.get(page_of(scenario)).content.decode()
    assert "<details><summary>1 more</summary>" in html
    assert html.count("is not filled in") == 4


def test_opened_page_does_not_say_that_it_was_saved(root: Client) -> None:
    scenario = create_scenario("rain", BROAD, {"match.messages(user)": "rain 1"})
    for page in (root.get(page_of(scenario)), root.get(edit_as_draft_page(root, scenario))):
        html = page.content.decode()
        assert "always answers first" in html
        assert "Saved" not in html


def edit_as_draft_page(client: Client, scenario: Any) -> str:
    return f"/admin/scenarios_app/draft/{edit_as_draft(client, scenario).pk}/change/"


@pytest.mark.django_db(transaction=True)
def test_save_shows_three_warnings_and_the_number_of_the_others(admin_client: Client) -> None:
    steps = [
        {"match.messages(user)": f"question {n}", "produce.text": f"{{{{ x{n}"} for n in range(5)
    ]
    response = save(admin_client, create_scenario("rain", *steps), description="changed")
    (text,) = (str(one) for one in get_messages(response.wsgi_request) if "Saved" in str(one))
    assert "5 warnings</a>:" in text
    assert text.count("is not filled in") == 3
    assert ">and 2 more</a>" in text


def test_save_names_the_steps_of_others_that_it_hides(root: Client) -> None:
    create_scenario(
        "story", {"match.messages(user)": "rain in Paris"}, {"match.messages(user)": "sun"}
    )
    scenario = create_scenario(
        "broad", {"match.messages(user)": "snow", "consume": False}, priority=5
    )
    (text,) = effects(save(root, scenario, **{"steps-0-match.messages(user)": "rain"}))
    assert "story</a>, step 1 is now never reached: step 1 of broad answers first" in text
    assert effects(save(root, scenario, description="changed")) == []
    (text,) = effects(save(root, scenario, priority="-1"))
    assert "story</a>, step 1 can be reached again" in text


def test_own_steps_are_no_effects_on_others(root: Client) -> None:
    scenario = create_scenario("rain", BROAD, {"match.messages(user)": "sun"})
    assert effects(save(root, scenario, **{"steps-1-match.messages(user)": "rain 1"})) == []


def test_other_ways_to_save_name_the_steps_that_they_hide(root: Client) -> None:
    create_scenario("story", {"match.messages(user)": "rain in Paris"})
    scenario = create_scenario("broad", BROAD, priority=5, enabled=False)
    enable = {"action": "enable", "_selected_action": str(scenario.pk), "index": "0"}
    hidden = "step 1 is now never reached"
    assert hidden in effects(root.post(LIST, enable))[0]
    assert "reached again" in effects(root.post(LIST, enable | {"action": "disable"}))[-1]

    document = '{"name": "imported", "priority": 6, "steps": [{"consume": false, "match": '
    document += '{"messages": [{"role": "user", "contains": "in"}]}, "produce": {"text": "x"}}]}'
    loaded = root.post(IMPORT, {"text": document, "existing": "replace", "load": "1"})
    assert hidden in effects(loaded)[-1]


def test_step_made_from_a_request_names_the_steps_that_it_hides(root: Client) -> None:
    create_scenario("story", {"match.messages(user)": "refund"})
    row = create_unmatched_row("refund")
    changes = {"target": "new", "name": "a first", "answer": "x", "message": "refund"}
    (text,) = effects(post_make_step(root, row, **changes))
    assert "story</a>, step 1 is now never reached" in text
