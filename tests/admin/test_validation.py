"""Errors of a scenario are shown at their field and above the page; nothing is saved."""

import re

import pytest
from django.test import Client

from scenarios_app.models import Scenario
from tests.admin.pages import (
    ADD,
    create_scenario,
    edit_step,
    error_lines,
    fields_at,
    page_of,
    save,
    texts,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None) -> Scenario:
    return create_scenario("pair", {"produce.text": "a"}, {"produce.text": "b"})


def test_name_fields_take_what_documents_allow(root: Client, pair: Scenario) -> None:
    page = root.get(page_of(pair)).content.decode()
    (name,) = re.findall(r'<input[^>]* name="name"[^>]*>', page)
    assert 'maxlength="200"' in name


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"produce.text": "{{ cty }}"},
            "Step 2, Answer text: unknown name in {{ cty }}",
        ),
        ({"produce.text": ""}, "Step 2, Answer text: enter an answer"),
        (
            {"match.model": "(", "match.model.how": "regex"},
            "Step 2, Model: this pattern cannot be used: missing ): (",
        ),
        (
            {"match.messages(user)": "[", "match.messages(user).how": "regex"},
            "Step 2, Last user message: this pattern cannot be used: missing ]: [",
        ),
        ({"turn": "0"}, "Step 2, Turn: expected a whole number from 1 to 2147483647"),
        ({"turn": "first"}, "Step 2, Turn: Enter a whole number."),
        (
            {"produce.tool_calls": '[{"arguments": {}}]'},
            "Step 2, Tool calls: [0].name: missing",
        ),
        (
            {"produce.tool_calls": '{"name": "f"}'},
            "Step 2, Tool calls: expected a JSON list: [...]",
        ),
        (
            {"match.*": '{"headers": {"x-a": {"contians": "1"}}}'},
            "Step 2, Other conditions (JSON): headers.x-a.contians: unknown key, did you mean "
            '"contains"?',
        ),
        (
            {
                "match.*": '{"messages": [{"contains": "x"}, {"regex": "("}]}',
                "match.messages(user)": "y",
            },
            "Step 2, Other conditions (JSON): messages[1].regex: not an RE2 pattern: missing ): (",
        ),
        (
            {"*": '{"a": 1, "a": 2}'},
            "Step 2, Other step settings (JSON): a: this key is given twice",
        ),
        (
            {"failures.times": "2"},
            "Step 2, Failure type: required, or leave the number of failing requests empty",
        ),
        (
            {"produce.fault.kind": "timeout"},
            "Step 2, Answer text: with “timeout (no answer)” no reply is sent: leave this empty, "
            "or choose another failure",
        ),
        (
            {"produce.fault.kind": "http", "produce.text": ""},
            "Step 2, Always fail: status: required",
        ),
        ({"produce.pacing.jitter": "2"}, "Step 2, Jitter: expected a number from 0 to 1"),
        (
            {"produce.pacing.words_per_second": "10", "produce.pacing.chunk_ms": "5"},
            "Step 2, Time between chunks (ms): not together with “Words per second”: leave one of "
            "them empty",
        ),
        (
            {"produce.latency_ms": "700000"},
            "Step 2, Latency (ms): at most 600000 ms",
        ),
        (
            {"side_effects.headers": '{"content-length": "1"}'},
            "Step 2, Headers of the answer: content-length: this header is the connection's own",
        ),
        (
            {"side_effects.echo_headers": "x-a, no good"},
            "Step 2, Headers to echo: [1]: expected the name of a header, not one of the "
            "connection's own",
        ),
    ],
)
def test_error_names_step_and_field(
    root: Client, pair: Scenario, changes: dict[str, str], line: str
) -> None:
    form_data = {f"steps-1-{name}": value for name, value in changes.items()}
    response = save(root, pair, name="renamed", **form_data)
    assert response.status_code == 200
    assert line in error_lines(response)
    assert [line for line in error_lines(response) if not line.startswith("Step 2, ")] == []
    assert Scenario.objects.get().name == "pair" and texts(pair) == ["a", "b"]


def test_all_errors_are_listed_together(root: Client, pair: Scenario) -> None:
    wrong = {
        "produce.tool_calls": "[",
        "match.messages(user)": "(?<=a)b",
        "match.messages(user).how": "regex",
    }
    wrong |= {"produce.text": "{{ city }}", "produce.latency_ms": "700000"}
    wrong |= {"produce.pacing.jitter": "7"}
    form_data = {f"steps-1-{name}": value for name, value in wrong.items()}
    response = save(root, pair, name="", **form_data, **{"steps-0-turn": "x"})
    lines = [line.split(":")[0] for line in error_lines(response)]
    fields = ("Last user message", "Answer text", "Tool calls", "Latency (ms)", "Jitter")
    assert lines == ["Name", "Step 1, Turn", *(f"Step 2, {field}" for field in fields)]
    assert any("look-behind is not supported ((?<=)" in line for line in error_lines(response))


def test_invalid_answer_is_not_also_reported_as_missing(root: Client) -> None:
    scenario = create_scenario("one", {})
    wrong = {"steps-0-produce.text": "", "steps-0-produce.tool_calls": "[{"}
    [line] = error_lines(save(root, scenario, **wrong))
    assert line.startswith("Step 1, Tool calls: line 1 column 3: not valid JSON")


def test_error_is_shown_at_its_field(root: Client, pair: Scenario) -> None:
    response = save(root, pair, **{"steps-1-produce.text": "{{ cty }}"})
    cells = {
        cell.cell.place: cell.errors
        for group in response.context["rows"][1].groups
        for cell in group.cells
        if cell.errors
    }
    assert cells == {"produce.text": ("unknown name in {{ cty }}",)}
    assert [row.open for row in response.context["rows"]] == [False, True]


def test_folded_group_with_an_error_is_open(root: Client, pair: Scenario) -> None:
    response = save(root, pair, **{"steps-1-produce.pacing.jitter": "7"})
    groups = response.context["rows"][1].groups
    assert [view.group.title for view in groups if view.group.folded and view.wrong] == ["Timing"]
    assert b'<details class="sc-group" open>' in response.content


def test_errors_of_several_steps_are_listed_together(root: Client, pair: Scenario) -> None:
    response = save(
        root, pair, **{"steps-0-produce.text": "{{ x }}", "steps-1-produce.text": "{{ y }}"}
    )
    assert [line.partition(":")[0] for line in error_lines(response)] == [
        "Step 1, Answer text",
        "Step 2, Answer text",
    ]


def test_one_kind_of_error_hides_no_other(root: Client, pair: Scenario) -> None:
    wrong = {"steps-0-match.messages(user)": "(", "steps-0-match.messages(user).how": "regex"}
    response = save(root, pair, **wrong, **{"steps-1-produce.text": "{{ y }}"})
    assert [line.partition(":")[0] for line in error_lines(response)] == [
        "Step 1, Last user message",
        "Step 2, Answer text",
    ]


def test_error_names_the_current_position_of_the_step(root: Client, pair: Scenario) -> None:
    order_fields = {"steps-0-order": "2", "steps-1-order": "1"}
    response = save(root, pair, **order_fields, **{"steps-1-produce.text": ""})
    assert error_lines(response) == ["Step 1, Answer text: enter an answer"]
    assert [row.step.pk for row in response.context["rows"]] == [
        pair.steps.get(order=2).pk,
        pair.steps.get(order=1).pk,
    ]


def test_step_numbers_skip_deleted_steps(root: Client, pair: Scenario) -> None:
    response = save(root, pair, **{"steps-0-DELETE": "on", "steps-1-produce.text": ""})
    assert error_lines(response) == ["Step 1, Answer text: enter an answer"]


def test_refused_save_keeps_the_typed_values(root: Client, pair: Scenario) -> None:
    changes = {"steps-1-produce.tool_calls": "[{", "steps-1-name": "mine", "description": "d"}
    url = page_of(pair)
    response = root.post(url, fields_at(root, url) | changes)
    html = response.content.decode()
    assert "[{</textarea>" in html and 'value="mine"' in html and ">\nd</textarea>" in html


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"name": ""}, "Name: This field is required."),
        ({"name": "taken"}, "Name: Scenario with this Name already exists."),
        ({"variables": "[]"}, 'Variables: expected a JSON object: {"key": "value"}'),
        ({"variables": '{"a": }'}, "Variables: line 1 column 7: not valid JSON: Expecting value"),
        (
            {"variables": '{"request": {"a": 1}}'},
            "Variables: request: an object of this name would never be seen in an answer",
        ),
        ({"*": '{"colour": 1}'}, "Other settings (JSON): colour: unknown key"),
        ({"priority": "high"}, "Priority: Enter a whole number."),
        ({"name": "x" * 201}, "Name: expected 1 to 200 printable characters"),
    ],
)
def test_error_of_the_scenario_names_its_field(
    root: Client, pair: Scenario, changes: dict[str, str], line: str
) -> None:
    create_scenario("taken", {})
    response = save(root, pair, **changes)
    assert error_lines(response)[0].startswith(line)
    pair.refresh_from_db()
    assert pair.document == {"name": "pair"}


def test_step_may_use_variables_of_the_same_post(root: Client, pair: Scenario) -> None:
    changes = {"variables": '{"city": "Paris"}', "steps-0-produce.text": "{{ city }}"}
    assert save(root, pair, **changes).status_code == 302
    response = save(root, pair, variables="")
    assert error_lines(response) == ["Step 1, Answer text: unknown name in {{ city }}"]


def test_scenario_selected_by_name_needs_turns(root: Client, pair: Scenario) -> None:
    response = save(
        root, pair, select="first_user_message", **{"steps-0-turn": "1", "steps-1-turn": "1"}
    )
    assert error_lines(response) == ["Step 2, Turn: another step has turn 1"]
    response = save(
        root, pair, select="first_user_message", **{"steps-0-match.messages(user)": "x"}
    )
    lines = error_lines(response)
    assert any(line.startswith("Step 1, Last user message: leave this empty") for line in lines)
    assert any(line.startswith("Step 2, Turn: required") for line in lines)


def test_new_scenario_is_validated(root: Client) -> None:
    form_data = fields_at(root, ADD) | {"name": "new", "steps-TOTAL_FORMS": "1"}
    modes = (
        "match.model.how",
        "match.messages(user).how",
        "match.messages(system).how",
        "match.messages(tool).how",
    )
    form_data |= {f"steps-0-{mode}": "contains" for mode in modes} | {"steps-0-order": "1"}
    response = root.post(ADD, form_data)
    assert error_lines(response) == ["Step 1, Answer text: enter an answer"]
    assert not Scenario.objects.exists()


def test_unreadable_column_is_an_error_at_its_field(root: Client, pair: Scenario) -> None:
    # A fixture can load any value into a JSON column.
    step = pair.steps.get(order=2)
    step.document = [1]
    step.save()
    assert error_lines(save(root, pair)) == [
        'Step 2, Other step settings (JSON): expected a JSON object: {"key": "value"}'
    ]


def test_stored_error_is_shown_when_the_page_opens(root: Client, pair: Scenario) -> None:
    edit_step(pair.steps.get(order=2), {"produce.text": "{{ nobody }}"})
    html = root.get(page_of(pair)).content.decode()
    assert "This scenario is not served" in html and "unknown name in {{ nobody }}" in html
