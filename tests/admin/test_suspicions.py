"""Lint on a scenario's page."""

import pytest
from django.test import Client

from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from tests.admin.drafting import edit_as_draft, save_draft
from tests.admin.pages import create_scenario, error_lines, page_of, save

pytestmark = pytest.mark.django_db


def test_page_warns_of_a_step_that_never_answers(root: Client) -> None:
    scenario = create_scenario(
        "weather",
        {
            "match.messages(user)": "weather",
            "match.messages(user).how": "contains",
            "consume": False,
        },
        {"match.messages(user)": "weather in Paris", "match.messages(user).how": "contains"},
    )
    page = root.get(page_of(scenario))
    [suspicion] = page.context["suspicions"]
    warning = f"step 1 always answers first: {RULE_TEXTS['order']}"
    assert str(suspicion) == f"weather: step 2: {warning}"
    assert f'<a href="#steps-1"><b>Step 2:</b> {warning}</a>' in page.content.decode()


def test_page_without_suspicions_shows_no_warning(root: Client) -> None:
    scenario = create_scenario(
        "weather", {"match.messages(user)": "weather", "match.messages(user).how": "contains"}
    )
    assert b'id="suspicions"' not in root.get(page_of(scenario)).content


def test_suspicions_are_shown_escaped(root: Client) -> None:
    create_scenario(
        "<b>first</b>",
        {
            "match.messages(user)": "weather",
            "match.messages(user).how": "contains",
            "consume": False,
        },
        priority=5,
    )
    below = create_scenario(
        "below", {"match.messages(user)": "weather", "match.messages(user).how": "equals"}
    )
    page = root.get(page_of(below)).content
    assert b"step 1 of &lt;b&gt;first&lt;/b&gt; always answers first" in page


def test_warning_of_a_broken_template_links_to_its_field(root: Client) -> None:
    step = {
        "match.messages(user)": "weather",
        "match.messages(user).how": "contains",
        "produce.text": "To {{ city",
    }
    html = root.get(page_of(create_scenario("weather", step))).content.decode()
    assert "“{{ city” is not filled in: placeholders look like {{ name }}" in html
    assert 'data-target="steps-0-produce.text"' in html


@pytest.mark.parametrize("in_draft", [False, True])
def test_refused_deletion_of_a_step_with_a_warning_shows_the_error(
    root: Client, in_draft: bool
) -> None:
    step = {"match.messages(user)": "weather", "consume": False}
    scenario = create_scenario("weather", step, step)
    deletion = {"name": "", "steps-0-DELETE": "on"}
    if in_draft:
        page = save_draft(root, edit_as_draft(root, scenario), **deletion)
    else:
        page = save(root, scenario, **deletion)
    assert error_lines(page) == ["Name: This field is required."]
    assert page.context["doubts"] == []
