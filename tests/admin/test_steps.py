"""Steps on the scenario's page: added, moved, deleted, unchanged."""

from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scenarios_app.models import Scenario, Step
from scenarios_app.store.history import versions_of
from tests.admin.pages import (
    ADD,
    create_scenario,
    edit_step,
    error_lines,
    fields,
    fields_at,
    inputs_of,
    new_step,
    page_of,
    save,
    step_document,
    texts,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def scenario_with_three_steps(db: None) -> Scenario:
    return create_scenario(
        "three", {"produce.text": "a"}, {"produce.text": "b"}, {"produce.text": "c"}
    )


def keys_by_text(scenario: Scenario) -> dict[str, str]:
    return {inputs_of(step)["produce.text"]: step.key for step in scenario.steps.all()}


def test_scenario_is_saved_with_its_steps(root: Client) -> None:
    form_data = fields_at(root, ADD) | {"name": "fresh", "steps-TOTAL_FORMS": "2"}
    form_data |= new_step(
        0, {"produce.text": "one", "order": "1", "match.messages(user)": "hi\r\nthere"}
    )
    form_data |= new_step(1, {"produce.text": "two", "order": "2"})
    response = root.post(ADD, form_data)
    scenario = Scenario.objects.get()
    assert (response.status_code, scenario.name, texts(scenario)) == (302, "fresh", ["one", "two"])
    assert inputs_of(scenario.steps.get(order=1))["match.messages(user)"] == "hi\nthere"


def test_unchanged_page_saves_no_change(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=1)
    extras = {"match.*": {"headers": {"x-a": "1"}}, "produce.*": {"stop_sequence": "END"}}
    changes = {
        **extras,
        "produce.finish_reason": "stop_sequence",
        "expect.tools": ["f"],
        "match.stream": False,
        "produce.pacing.jitter": 0.25,
        "produce.pacing.words_per_second": 10.0,
        "produce.tool_calls": [{"name": "f", "arguments": {"b": 1, "a": 2}}],
    }
    edit_step(step, changes)
    before = list(Step.objects.order_by("pk").values())
    versions = versions_of(scenario_with_three_steps)
    assert save(root, scenario_with_three_steps).status_code == 302
    assert list(Step.objects.order_by("pk").values()) == before
    assert versions_of(scenario_with_three_steps) == versions


def test_step_without_an_order_is_appended(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    total = {"steps-TOTAL_FORMS": "4"}
    assert (
        save(
            root, scenario_with_three_steps, **total, **new_step(3, {"produce.text": "new"})
        ).status_code
        == 302
    )
    assert texts(scenario_with_three_steps) == ["a", "b", "c", "new"]


def test_new_step_is_inserted_between_others(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    order_fields = {"steps-0-order": "1", "steps-1-order": "3", "steps-2-order": "4"}
    added = new_step(3, {"produce.text": "new", "order": "2"})
    save(root, scenario_with_three_steps, **{"steps-TOTAL_FORMS": "4"}, **order_fields, **added)
    assert texts(scenario_with_three_steps) == ["a", "new", "b", "c"]


def test_order_of_the_rows_is_saved(root: Client, scenario_with_three_steps: Scenario) -> None:
    keys = keys_by_text(scenario_with_three_steps)
    save(
        root,
        scenario_with_three_steps,
        **{"steps-0-order": "3", "steps-1-order": "1", "steps-2-order": "2"},
    )
    assert texts(scenario_with_three_steps) == ["b", "c", "a"]
    assert keys_by_text(scenario_with_three_steps) == keys


def test_step_marked_for_deletion_is_deleted(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    save(root, scenario_with_three_steps, **{"steps-1-DELETE": "on"})
    assert texts(scenario_with_three_steps) == ["a", "c"]


def test_deleted_step_is_not_validated(root: Client, scenario_with_three_steps: Scenario) -> None:
    wrong = {"steps-1-DELETE": "on", "steps-1-produce.text": "{{ nobody }}"}
    assert save(root, scenario_with_three_steps, **wrong).status_code == 302
    assert texts(scenario_with_three_steps) == ["a", "c"]


def test_edit_keeps_the_key_of_a_step(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=2)
    save(root, scenario_with_three_steps, **{"steps-1-produce.text": "B"})
    assert scenario_with_three_steps.steps.get(order=2).key == step.key
    assert fields_at(root, page_of(scenario_with_three_steps))["steps-1-produce.text"] == "B"


def test_row_title_describes_its_step(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=1)
    edit_step(step, {"match.messages(user)": "weather", "name": "ask"})
    rows = root.get(page_of(scenario_with_three_steps)).context["rows"]
    assert str(rows[0].title) == "1 · ask · user contains “weather” → text “a”"
    assert [row.open for row in rows] == [False] * 3


def test_row_without_posted_fields_is_unchanged(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    form_data = fields_at(root, page_of(scenario_with_three_steps))
    kept_fields = ("order", "id", "scenario")
    posted_fields = {
        name: value
        for name, value in form_data.items()
        if not name.startswith("steps-1-") or name.rpartition("-")[2] in kept_fields
    }
    posted_fields |= {"steps-0-produce.text": "A", "steps-1-order": "9"}
    assert root.post(page_of(scenario_with_three_steps), posted_fields).status_code == 302
    assert texts(scenario_with_three_steps) == ["A", "c", "b"]


class TestManySteps:
    """The page of a scenario with 300 steps can be opened and saved."""

    @pytest.fixture
    def long_scenario(self, db: None) -> Scenario:
        scenario = create_scenario("many")
        documents = (
            step_document({"match.messages(user)": f"q{n}", "produce.text": f"a{n}"})
            for n in range(1, 301)
        )
        Step.objects.bulk_create(
            Step(scenario=scenario, order=n, document=document)
            for n, document in enumerate(documents, 1)
        )
        return scenario

    def test_fields_of_a_row_are_loaded_when_it_is_opened(
        self, root: Client, long_scenario: Scenario
    ) -> None:
        html = root.get(page_of(long_scenario)).content.decode()
        form_data = fields(html)
        assert len(form_data) < 300 * 5
        assert "steps-299-produce.text" not in form_data
        last = long_scenario.steps.get(order=300)
        row_page = root.get(
            f"/admin/scenarios_app/scenario/{long_scenario.pk}/steps/{last.pk}/?prefix=steps-299"
        )
        assert row_page.status_code == 200
        row_fields = fields(f'<form id="scenario_form">{row_page.content.decode()}</form>')
        assert row_fields["steps-299-produce.text"] == "a300"
        assert (
            root.post(
                page_of(long_scenario), form_data | row_fields | {"steps-299-produce.text": "last"}
            ).status_code
            == 302
        )
        assert texts(long_scenario)[-2:] == ["a299", "last"]

    def test_all_fields_of_many_steps_are_saved(
        self, root: Client, long_scenario: Scenario
    ) -> None:
        form_data = fields_at(root, page_of(long_scenario))
        form = root.get(page_of(long_scenario)).context["inline_admin_formsets"][0].formset.form
        for index, step in enumerate(long_scenario.steps.order_by("order")):
            step_form = form(instance=step, prefix=f"steps-{index}")
            form_data |= {field.html_name: field.value() for field in step_form if field.value()}
            form_data[f"steps-{index}-produce.text"] = f"new {index}"
        assert len(form_data) > 300 * 8
        assert root.post(page_of(long_scenario), form_data).status_code == 302
        assert texts(long_scenario) == [f"new {index}" for index in range(300)]

    def test_error_in_a_closed_row_opens_it(self, root: Client, long_scenario: Scenario) -> None:
        step = long_scenario.steps.get(order=200)
        edit_step(step, {"produce.text": "{{ city }}"})
        response = root.post(page_of(long_scenario), fields_at(root, page_of(long_scenario)))
        (line,) = response.context["told"]
        assert line.where == "Step 200, Answer text"
        row = response.context["rows"][199]
        assert row.open and row.errors == 1
        assert fields(response.content.decode())["steps-199-produce.text"] == "{{ city }}"

    @pytest.mark.parametrize("prefix", ["", "steps-x", 'steps-1" onload=', "steps-1-2"])
    def test_step_fields_need_a_row_prefix(
        self, root: Client, long_scenario: Scenario, prefix: str
    ) -> None:
        first_step = long_scenario.steps.earliest("order")
        url = f"/admin/scenarios_app/scenario/{long_scenario.pk}/steps/{first_step.pk}/"
        assert root.get(url, {"prefix": prefix}).status_code == 404

    def test_step_of_another_scenario_is_not_found(
        self, root: Client, long_scenario: Scenario
    ) -> None:
        other = create_scenario("other", {})
        url = f"/admin/scenarios_app/scenario/{long_scenario.pk}/steps/{other.steps.get().pk}/"
        assert root.get(url, {"prefix": "steps-1"}).status_code == 404


def test_step_deleted_by_another_editor_is_an_error(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    form_data = fields_at(root, page_of(scenario_with_three_steps))
    scenario_with_three_steps.steps.get(order=2).delete()
    response = root.post(page_of(scenario_with_three_steps), form_data)
    assert error_lines(response) == ["Step 2: somebody has deleted this step in the meantime"]
    assert (
        root.post(
            page_of(scenario_with_three_steps), form_data | {"steps-1-DELETE": "on"}
        ).status_code
        == 302
    )
    assert texts(scenario_with_three_steps) == ["a", "c"]


def test_save_of_more_steps_takes_no_more_queries(
    root: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    scenario = create_scenario("twenty", *({} for _ in range(20)))
    form_data = fields_at(root, page_of(scenario))
    with django_assert_max_num_queries(20):
        assert root.post(page_of(scenario), form_data).status_code == 302


def test_list_field_can_be_emptied(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=1)
    edit_step(step, {"match.tools": ["f"], "match.*": {"metadata": {"a": "1"}}})
    save(root, scenario_with_three_steps, **{"steps-0-match.tools": "", "steps-0-match.*": ""})
    step.refresh_from_db()
    assert step.document == {"produce": {"text": "a"}}


@pytest.mark.parametrize("order", [2**31 - 1, 2**63 - 1, 10**30])
def test_order_too_large_to_add_a_step_after_it_is_refused(
    root: Client, scenario_with_three_steps: Scenario, order: int
) -> None:
    total = {"steps-TOTAL_FORMS": "4", "steps-0-order": str(order)}
    page = save(root, scenario_with_three_steps, **total, **new_step(3, {"produce.text": "new"}))
    (line,) = error_lines(page)
    assert "less than or equal to" in line


def test_field_of_a_row_with_an_endless_number_is_ignored(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    form_data = fields_at(root, page_of(scenario_with_three_steps)) | {
        f"steps-{'9' * 5_000}-match.messages(user)": "x"
    }
    form = "application/x-www-form-urlencoded"
    assert (
        root.post(
            page_of(scenario_with_three_steps), urlencode(form_data), content_type=form
        ).status_code
        == 302
    )
