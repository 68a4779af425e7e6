"""Counts of answers by scenario and step, from the journal."""

import json

import pytest
from django.test import Client

from scenarios_app.admin.journal.requests import answered_by_scenario
from scenarios_app.journal.coverage import answer_counts
from tests.admin.pages import LIST, create_scenario, page_of
from tests.admin.traffic import NOON, create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db


def test_answers_are_counted_by_scenario_and_step() -> None:
    scenario = create_scenario("one", {}, {})
    first, second = scenario.steps.all()
    for step in (first, first, second):
        create_journal_row(scenario="one", step_key=step.key)
    create_journal_row(scenario="other", step_key="k")
    last = create_unmatched_row()
    hits_by_scenario = answered_by_scenario(["one", "other", "never"])
    assert {name: hit_count.count for name, hit_count in hits_by_scenario.items()} == {
        "one": 3,
        "other": 1,
    }
    assert NOON < hits_by_scenario["one"].last < hits_by_scenario["other"].last < last.at
    assert answer_counts(["one"])["one"] == {first.key: 2, second.key: 1}


def test_list_and_page_show_the_number_of_answers(root: Client) -> None:
    scenario = create_scenario("one", {}, {})
    for _ in range(7):
        create_journal_row(scenario="one", step_key=scenario.steps.first().key)
    (row,) = root.get(LIST).context["cl"].result_list
    assert row.hits.count == 7
    response = root.get(page_of(scenario))
    assert [row.hits for row in response.context["rows"]] == [7, 0]
    html = response.content.decode()
    assert "7 answers in the journal" in html and " 7×</span>" in html


def test_answer_is_counted_immediately(root: Client) -> None:
    scenario = create_scenario("one", {"produce.text": "Hi!"})
    response = Client().post(
        "/v1/chat/completions",
        json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}),
        content_type="application/json",
        headers={"authorization": "Bearer sk-test"},
    )
    assert response.json()["choices"][0]["message"]["content"] == "Hi!"
    rows = root.get(page_of(scenario)).context["rows"]
    assert [row.hits for row in rows] == [1]
