"""Lint of an unsaved form: the response of the check URL."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils.html import escape

from scenarios_app.engine.matching.near_misses import RULE_TEXTS
from scenarios_app.models import Scenario
from tests.admin.pages import ADD, LIST, create_scenario, fields_at, page_of
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

NEW = f"{LIST}add/check/"
CALL = '[{"name": "get_weather", "arguments": {}}]'


def check_url(scenario: Scenario) -> str:
    return f"{LIST}{scenario.pk}/check/"


def check_notes(client: Client, scenario: Scenario, **changes: str) -> list[tuple[str, str]]:
    """Return the link target and text of each lint note, for a page with changed fields."""
    form_data = fields_at(client, page_of(scenario)) | changes
    response = client.post(check_url(scenario), form_data)
    assert response.status_code == 200
    lines = re.findall(r'<li><a href="#([^"]*)">(.*?)</a>', response.content.decode())
    return [(target, re.sub(r"</?b>", "", text)) for target, text in lines]


@pytest.mark.parametrize(
    ("steps", "fixes"),
    [
        (
            [
                {
                    "match.messages(user)": "rain",
                    "produce.tool_calls": [{"name": "f"}],
                    "consume": False,
                },
                {"match.messages(user)": "rain", "match.messages(tool)": "8"},
            ],
            [("steps-0-turn", "1", ""), ("steps-1", "", "steps-0")],
        ),
        (
            [
                {"match.messages(user)": "rain", "consume": False},
                {"match.messages(user)": "rain in Oslo"},
            ],
            [("steps-1", "", "steps-0")],
        ),
        ([{"consume": False}], [("steps-0-consume", "once", ""), ("priority", "-1", "")]),
    ],
)
def test_warning_offers_its_fix(
    root: Client, steps: list[dict[str, object]], fixes: list[tuple[str, str, str]]
) -> None:
    scenario = create_scenario("pair", *steps)
    page = root.get(page_of(scenario)).content.decode()
    form_data = fields_at(root, page_of(scenario))
    check_html = root.post(check_url(scenario), form_data).content.decode()
    button = r'data-target="([^"]*)" data-value="([^"]*)" data-before="([^"]*)"'
    for html in (page, check_html):
        buttons = re.findall(button, html)
        assert buttons[: len(fixes)] == fixes


@pytest.fixture
def pair(db: None) -> Scenario:
    return create_scenario(
        "pair", {"match.messages(user)": "rain"}, {"match.messages(user)": "sun"}
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"steps-0-match.messages(user)": "s", "steps-0-consume": ""},
            [
                ("steps-0", '"s" is in nearly every message'),
                ("steps-1", f"step 1 always answers first: {RULE_TEXTS['order']}"),
            ],
        ),
        (
            {"steps-1-match.*": '{"messages": [{"role": "user", "equals": "rain"}]}'},
            [("steps-1", "cannot both hold")],
        ),
        (
            {"steps-1-consume": "", "steps-1-produce.tool_calls": CALL, "steps-1-produce.text": ""},
            [("steps-1", "endless loop: it calls get_weather again after its result")],
        ),
        (
            {"steps-1-consume": "", "steps-1-match.messages(user)": ""},
            [("steps-1", "it has no condition and is never used up")],
        ),
        (
            {"steps-1-match.messages(user)": r"Kö\w+", "steps-1-match.messages(user).how": "regex"},
            [("steps-1", r"for those of every script: [\pL\pN_]")],
        ),
        (
            {"steps-1-match.tools": "get_wether"},
            [("steps-1", "no request has offered get_wether")],
        ),
        (
            {"steps-1-produce.text": "{{ town }}"},
            [("id_steps-1-produce.text", "unknown name in {{ town }}")],
        ),
        (
            {"steps-1-produce.pacing.jitter": "7"},
            [("id_steps-1-produce.pacing.jitter", "expected a number from 0 to 1")],
        ),
        ({"name": ""}, [("id_name", "required")]),
    ],
    ids=[
        "shadowed",
        "unreachable",
        "looping",
        "broad",
        "narrow",
        "unoffered",
        "template",
        "number",
        "name",
    ],
)
def test_each_note_links_to_its_field(
    root: Client, pair: Scenario, changes: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    create_journal_row(request_body='{"tools": [{"name": "get_weather"}]}')
    lines = check_notes(root, pair, **changes)
    assert len(lines) == len(expected)
    for (target, message), (field, words) in zip(lines, expected, strict=True):
        assert target == field
        assert escape(words) in message


def test_check_saves_nothing_and_uses_up_no_step(root: Client, pair: Scenario) -> None:
    before = list(pair.steps.values())
    assert check_notes(root, pair, **{"steps-0-produce.text": "new", "name": "renamed"}) == []
    assert check_notes(root, pair, **{"steps-0-produce.text": "{{ x }}"}) != []
    pair.refresh_from_db()
    assert pair.name == "pair" and list(pair.steps.values()) == before
    response = root.post(NEW, fields_at(root, ADD) | {"name": "new"})
    assert response.status_code == 200
    assert Scenario.objects.count() == 1


def test_note_names_the_rows_position_and_links_to_its_id(root: Client, pair: Scenario) -> None:
    changes = {"steps-0-order": "2", "steps-1-order": "1", "steps-1-consume": ""}
    changes |= {"steps-1-match.messages(user)": "ra"}
    assert check_notes(root, pair, **changes) == [
        ("steps-0", f"Step 2: step 1 always answers first: {RULE_TEXTS['order']}")
    ]


def test_note_of_a_closed_row_links_to_its_field(root: Client) -> None:
    scenario = create_scenario(
        "long",
        *(
            {"match.messages(user)": f"question {n}", "produce.text": "{{ city }}"}
            for n in range(20)
        ),
        variables={"city": "Paris"},
    )
    lines = check_notes(root, scenario, variables="{}")
    assert [target for target, _ in lines] == [f"id_steps-{n}-produce.text" for n in range(20)]


def test_disabled_scenario_has_no_warnings(root: Client, pair: Scenario) -> None:
    changes = {"steps-0-consume": "", "steps-0-match.messages(user)": ""}
    assert check_notes(root, pair, **changes) != []
    assert check_notes(root, pair, **changes, enabled="") == []


def test_names_in_notes_are_escaped(root: Client, pair: Scenario) -> None:
    first_step = {"match.messages(user)": "rain", "consume": False}
    create_scenario("<img src=x onerror=alert(1)>", first_step, priority=5)
    (line,) = check_notes(root, pair, description="changed")
    assert line == (
        "steps-0",
        "Step 1: step 1 of &lt;img src=x onerror=alert(1)&gt; always answers first: "
        f"{RULE_TEXTS['priority']}",
    )


def test_check_needs_the_permission_to_change(
    root: Client, reader: Client, client: Client, pair: Scenario
) -> None:
    form_data = fields_at(root, page_of(pair))
    assert reader.post(check_url(pair), form_data).status_code == 403
    assert client.post(check_url(pair), form_data).status_code == 302
    assert root.get(check_url(pair)).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_check_runs_only_queries_that_read(admin_client: Client) -> None:
    scenario = create_scenario("weather", {"produce.text": "Sunny."})
    form_data = fields_at(admin_client, page_of(scenario)) | {"priority": "3"}
    statements: list[str] = []
    sqlite: Any = connection.connection
    sqlite.set_trace_callback(statements.append)
    try:
        response = admin_client.post(check_url(scenario), form_data)
    finally:
        sqlite.set_trace_callback(None)
    assert response.status_code == 200
    assert statements
    assert [sql for sql in statements if not sql.startswith("SELECT")] == []
