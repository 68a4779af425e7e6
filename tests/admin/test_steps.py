"""Steps on the scenario's page: added, moved, deleted, unchanged."""

from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from scenarios_app.models import Scenario, Step
from tests.admin.pages import (
    ADD,
    create_scenario,
    error_lines,
    fields,
    fields_at,
    new_step,
    page_of,
    save,
    texts,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def scenario_with_three_steps(db: None) -> Scenario:
    return create_scenario(
        "three", {"answer_text": "a"}, {"answer_text": "b"}, {"answer_text": "c"}
    )


def test_scenario_is_saved_with_its_steps(root: Client) -> None:
    form_data = fields_at(root, ADD) | {"name": "fresh", "steps-TOTAL_FORMS": "2"}
    form_data |= new_step(0, answer_text="one", order="1", match_user="hi\r\nthere")
    form_data |= new_step(1, answer_text="two", order="2")
    response = root.post(ADD, form_data)
    scenario = Scenario.objects.get()
    assert (response.status_code, scenario.name, texts(scenario)) == (302, "fresh", ["one", "two"])
    assert scenario.steps.get(order=1).match_user == "hi\nthere"


def test_unchanged_page_saves_no_change(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=1)
    extras = {"match_extra": {"headers": {"x-a": "1"}}, "answer_extra": {"stop_sequence": "END"}}
    for column, value in {**extras, "answer_finish_reason": "stop_sequence"}.items():
        setattr(step, column, value)
    step.expect_tools, step.match_stream, step.jitter = ["f"], False, 0.25
    step.answer_tool_calls = [{"name": "f", "arguments": {"b": 1, "a": 2}}]
    step.words_per_second = 10.0
    step.save()
    before = list(Step.objects.order_by("pk").values())
    counts = Step.history.count(), Scenario.history.count()
    assert save(root, scenario_with_three_steps).status_code == 302
    assert list(Step.objects.order_by("pk").values()) == before
    assert (Step.history.count(), Scenario.history.count()) == counts


def test_step_without_an_order_is_appended(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    total = {"steps-TOTAL_FORMS": "4"}
    assert (
        save(root, scenario_with_three_steps, **total, **new_step(3, answer_text="new")).status_code
        == 302
    )
    assert texts(scenario_with_three_steps) == ["a", "b", "c", "new"]


def test_new_step_is_inserted_between_others(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    order_fields = {"steps-0-order": "1", "steps-1-order": "3", "steps-2-order": "4"}
    added = new_step(3, answer_text="new", order="2")
    save(root, scenario_with_three_steps, **{"steps-TOTAL_FORMS": "4"}, **order_fields, **added)
    assert texts(scenario_with_three_steps) == ["a", "new", "b", "c"]


def test_order_of_the_rows_is_saved(root: Client, scenario_with_three_steps: Scenario) -> None:
    keys = dict(scenario_with_three_steps.steps.values_list("answer_text", "key"))
    save(
        root,
        scenario_with_three_steps,
        **{"steps-0-order": "3", "steps-1-order": "1", "steps-2-order": "2"},
    )
    assert texts(scenario_with_three_steps) == ["b", "c", "a"]
    assert dict(scenario_with_three_steps.steps.values_list("answer_text", "key")) == keys


def test_step_marked_for_deletion_is_deleted(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    save(root, scenario_with_three_steps, **{"steps-1-DELETE": "on"})
    assert texts(scenario_with_three_steps) == ["a", "c"]


def test_deleted_step_is_not_validated(root: Client, scenario_with_three_steps: Scenario) -> None:
    wrong = {"steps-1-DELETE": "on", "steps-1-answer_text": "{{ nobody }}"}
    assert save(root, scenario_with_three_steps, **wrong).status_code == 302
    assert texts(scenario_with_three_steps) == ["a", "c"]


def test_edit_keeps_the_key_of_a_step(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=2)
    save(root, scenario_with_three_steps, **{"steps-1-answer_text": "B"})
    assert scenario_with_three_steps.steps.get(order=2).key == step.key
    assert fields_at(root, page_of(scenario_with_three_steps))["steps-1-answer_text"] == "B"


def test_row_title_describes_its_step(root: Client, scenario_with_three_steps: Scenario) -> None:
    step = scenario_with_three_steps.steps.get(order=1)
    step.match_user, step.name = "weather", "ask"
    step.save()
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
    posted_fields |= {"steps-0-answer_text": "A", "steps-1-order": "9"}
    assert root.post(page_of(scenario_with_three_steps), posted_fields).status_code == 302
    assert texts(scenario_with_three_steps) == ["A", "c", "b"]


class TestManySteps:
    """The page of a scenario with 300 steps can be opened and saved."""

    @pytest.fixture
    def long_scenario(self, db: None) -> Scenario:
        scenario = Scenario.objects.create(name="many")
        steps = (
            Step(scenario=scenario, order=n, match_user=f"q{n}", answer_text=f"a{n}")
            for n in range(1, 301)
        )
        Step.objects.bulk_create(steps)
        return scenario

    def test_fields_of_a_row_are_loaded_when_it_is_opened(
        self, root: Client, long_scenario: Scenario
    ) -> None:
        html = root.get(page_of(long_scenario)).content.decode()
        form_data = fields(html)
        assert len(form_data) < 300 * 5
        assert "steps-299-answer_text" not in form_data
        last = long_scenario.steps.get(order=300)
        row_page = root.get(
            f"/admin/scenarios_app/scenario/{long_scenario.pk}/steps/{last.pk}/?prefix=steps-299"
        )
        assert row_page.status_code == 200
        row_fields = fields(f'<form id="scenario_form">{row_page.content.decode()}</form>')
        assert row_fields["steps-299-answer_text"] == "a300"
        assert (
            root.post(
                page_of(long_scenario), form_data | row_fields | {"steps-299-answer_text": "last"}
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
            form_data[f"steps-{index}-answer_text"] = f"new {index}"
        assert len(form_data) > 300 * 8
        assert root.post(page_of(long_scenario), form_data).status_code == 302
        assert texts(long_scenario) == [f"new {index}" for index in range(300)]

    def test_error_in_a_closed_row_opens_it(self, root: Client, long_scenario: Scenario) -> None:
        step = long_scenario.steps.get(order=200)
        step.answer_text = "{{ city }}"
        step.save()
        response = root.post(page_of(long_scenario), fields_at(root, page_of(long_scenario)))
        (line,) = response.context["told"]
        assert line.where == "Step 200, Answer text"
        row = response.context["rows"][199]
        assert row.open and row.errors == 1
        assert fields(response.content.decode())["steps-199-answer_text"] == "{{ city }}"

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
    step.match_tools, step.match_extra = ["f"], {"metadata": {"a": "1"}}
    step.save()
    save(root, scenario_with_three_steps, **{"steps-0-match_tools": "", "steps-0-match_extra": ""})
    step.refresh_from_db()
    assert (step.match_tools, step.match_extra) == ([], {})


@pytest.mark.parametrize("order", [2**31 - 1, 2**63 - 1, 10**30])
def test_order_too_large_to_add_a_step_after_it_is_refused(
    root: Client, scenario_with_three_steps: Scenario, order: int
) -> None:
    total = {"steps-TOTAL_FORMS": "4", "steps-0-order": str(order)}
    page = save(root, scenario_with_three_steps, **total, **new_step(3, answer_text="new"))
    (line,) = error_lines(page)
    assert "less than or equal to" in line


def test_field_of_a_row_with_an_endless_number_is_ignored(
    root: Client, scenario_with_three_steps: Scenario
) -> None:
    form_data = fields_at(root, page_of(scenario_with_three_steps)) | {
        f"steps-{'9' * 5_000}-match_user": "x"
    }
    form = "application/x-www-form-urlencoded"
    assert (
        root.post(
            page_of(scenario_with_three_steps), urlencode(form_data), content_type=form
        ).status_code
        == 302
    )
