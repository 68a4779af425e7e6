"""Import with preview, all or nothing; export returns the same documents."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from scenarios_app.engine.state import StepRef
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from tests.admin.pages import IMPORT, LIST, create_scenario, edit_step, fields, texts

pytestmark = pytest.mark.django_db

DOCUMENT = {"name": "one", "steps": [{"produce": {"text": "new"}}, {"produce": {"text": "newer"}}]}
TWO = {"name": "two", "steps": [{"produce": {"text": "2"}}]}
DOCUMENTS = {"scenarios": [DOCUMENT, TWO]}
CASSETTES = Path(__file__).parents[1] / "data" / "cassettes"


def preview(client: Client, document: Any, existing: str = "replace") -> HttpResponse:
    text = document if isinstance(document, str) else json.dumps(document)
    return client.post(IMPORT, {"text": text, "existing": existing, "preview": "1"})


def load(client: Client, preview_page: HttpResponse) -> HttpResponse:
    """Submit the form of the preview page."""
    form_data = fields(preview_page.content.decode(), "load_form") | {"load": "1"}
    return client.post(IMPORT, form_data, follow=True)


def names() -> set[str]:
    return set(Scenario.objects.values_list("name", flat=True))


def problems(response: HttpResponse) -> list[str]:
    return [f"{problem.place}: {problem.message}" for problem in response.context["problems"]]


def test_import_preview_changes_nothing(root: Client) -> None:
    create_scenario("one", {})
    response = preview(root, DOCUMENTS)
    changes = [(c.name, c.was, c.steps, c.same) for c in response.context["changes"]]
    assert changes == [("one", 1, 2, False), ("two", None, 1, False)]
    html = response.content.decode()
    assert "replaces the one there" in html and "1 → 2" in html
    assert names() == {"one"}


def test_import_adds_and_replaces_scenarios(
    root: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    scenario = create_scenario("one", {})
    create_scenario("other", {})
    state = services().state
    async_to_sync(state.consume)("s", StepRef("one", scenario.steps.get().key, "1"))
    with django_capture_on_commit_callbacks(execute=True):
        response = load(root, preview(root, DOCUMENTS))
    assert "Scenarios imported: 1 added, 1 replaced." in unescape(response.content.decode())
    assert names() == {"one", "two", "other"} and texts(scenario) == ["new", "newer"]
    assert async_to_sync(state.read)("s").consumed == ()


def test_preview_marks_an_unchanged_scenario(root: Client) -> None:
    load(root, preview(root, DOCUMENTS))
    assert [change.same for change in preview(root, DOCUMENTS).context["changes"]] == [True, True]


def test_preview_marks_a_change_from_one_to_true(root: Client) -> None:
    def document(value: object) -> dict[str, Any]:
        call = {"name": "f", "arguments": {"a": value}}
        return {"name": "one", "steps": [{"produce": {"tool_calls": [call]}}]}

    load(root, preview(root, document(1)))
    (change,) = preview(root, document(True)).context["changes"]
    assert not change.same


def test_import_without_replace_refuses_taken_names(root: Client) -> None:
    create_scenario("one", {"produce.text": "old"})
    assert problems(preview(root, DOCUMENTS, "add")) == ["one: a scenario of this name exists"]
    response = preview(root, TWO, "add")
    load(root, response)
    assert names() == {"one", "two"}


def test_name_taken_after_the_preview_is_refused(root: Client) -> None:
    response = preview(root, DOCUMENTS, "add")
    create_scenario("two", {"produce.text": "mine"})
    assert problems(load(root, response)) == ["two: a scenario of this name exists"]
    assert names() == {"two"}


def test_uploaded_file_is_imported(root: Client) -> None:
    file = SimpleUploadedFile("a.json", json.dumps(DOCUMENT, ensure_ascii=False).encode())
    response = root.post(IMPORT, {"file": file, "existing": "replace"})
    load(root, response)
    assert names() == {"one"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", ": not valid JSON: Expecting property name"),
        ('{"name": "a", "steps": [{"produce": {"txt": ""}}]}', "steps[0].produce.txt: unknown key"),
        ("\ufeff{}", ": begins with a byte order mark"),
        ('{"name": "a", "name": "b"}', "name: this key is given twice"),
    ],
)
def test_import_errors_name_their_place(root: Client, text: str, line: str) -> None:
    response = preview(root, text)
    assert [problem.startswith(line) for problem in problems(response)] == [True]
    assert text.removeprefix("\ufeff") in unescape(response.content.decode())


def test_import_error_shows_line_and_column(root: Client) -> None:
    html = preview(root, '{"name": "a",\n "steps": [{"produce": {"txt": ""}}]}').content.decode()
    assert "Line 2, column 25: <b>Step 1:</b> <code>produce.txt</code>: unknown key" in html


def test_yaml_document_is_imported(root: Client) -> None:
    text = "name: one\nsteps:\n- produce: {text: Hi}\n"
    file = SimpleUploadedFile("a.yaml", text.encode())
    load(root, root.post(IMPORT, {"file": file, "existing": "replace"}))
    assert names() == {"one"}


def test_pasted_yaml_is_imported(root: Client) -> None:
    text = "# mine\r\nscenarios:\r\n- name: one\r\n  steps:\r\n  - produce: {text: Hi}\r\n"
    load(root, preview(root, text))
    assert texts(Scenario.objects.get()) == ["Hi"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name: one\nsteps:\n- produce: {txt: Hi}", "Line 3, column 13: <b>Step 1:</b>"),
        ("name: one\nsteps: [", "Line 3, column 1: not valid YAML:"),
        ("name: one\nname: two", "Line 2, column 1: not valid YAML: the key 'name' is given twice"),
        ("a: &a [1]\nb: *c", "Line 2, column 4: not valid YAML"),
        ("[" * 200, "Line 1, column 201: not valid JSON"),
        ("- " * 200, "nested deeper than 100 levels"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
        ("just words", "expected an object"),
    ],
)
def test_error_of_pasted_yaml_names_line_and_column(root: Client, text: str, line: str) -> None:
    assert line in unescape(preview(root, text).content.decode())
    assert not Scenario.objects.exists()


def test_preview_of_a_recording_above_a_limit_shows_the_limit(
    root: Client, settings: LazySettings
) -> None:
    settings.MOCKLLM_MAX_TEXT_BYTES = 10
    recording = SimpleUploadedFile("weather.yaml", (CASSETTES / "openai_weather.yaml").read_bytes())
    (problem, *_) = problems(root.post(IMPORT, {"file": recording, "existing": "replace"}))
    assert problem.startswith("scenarios[0].steps[0].produce: holds ")
    assert problem.endswith(" bytes of text, expected at most 10")


def test_one_invalid_scenario_prevents_the_import(root: Client) -> None:
    wrong = {"name": "three", "steps": [{"produce": {"text": "{{ x }}"}}, {"turn": 0}]}
    errors = problems(preview(root, {"scenarios": [DOCUMENT, wrong]}))
    assert {line.partition(":")[0] for line in errors} >= {"scenarios[1].steps[1].turn"}
    form_data = {
        "text": json.dumps({"scenarios": [DOCUMENT, wrong]}),
        "existing": "replace",
        "load": "1",
    }
    root.post(IMPORT, form_data)
    assert names() == set()


def test_empty_and_too_large_imports_are_refused(root: Client, settings: LazySettings) -> None:
    settings.MOCKLLM_MAX_UPLOAD_BYTES = 100
    empty = root.post(IMPORT, {"existing": "replace"})
    assert "Choose a file" in empty.content.decode()
    large = preview(root, json.dumps(DOCUMENTS))
    assert "is more than the 100" in unescape(large.content.decode()).replace("\xa0", " ")
    file = SimpleUploadedFile("a.json", b" " * 101)
    assert b"is more than" in root.post(IMPORT, {"file": file, "existing": "replace"}).content
    assert names() == set()


def test_upload_of_five_megabytes_is_accepted(root: Client) -> None:
    steps = [{"produce": {"text": "x" * 1_000_000}} for _ in range(4)]
    load(root, preview(root, {"name": "large", "steps": steps}))
    assert [len(text) for text in texts(Scenario.objects.get())] == [1_000_000] * 4


def test_exported_scenario_is_imported_unchanged(root: Client) -> None:
    scenario = create_scenario(
        "whole",
        {"match.*": {"headers": {"x-a": "1"}}, "produce.text": '</textarea>\r\n<b>"&amp;'},
        {"produce.tool_calls": [{"name": "f", "arguments": {"b": 1.0, "a": 10**20}}], "turn": 2},
        {"produce.tool_calls": [{"name": "exec", "input": "ls\n", "namespace": "functions"}]},
        {"match.*": {"tool_calls": [{"name": "exec", "input": {"contains": "ls"}}]}},
        {"match.*": {"tool_count": {"max": 0}, "response_format": {"schema": "Route"}}},
        variables={"z": 1, "a": "ü"},
    )
    edit_step(scenario.steps.get(order=1), {"produce.text": '</textarea>\n\n<b>"&amp;'})
    url = f"{LIST}{scenario.pk}/export/"
    exported = root.get(url)
    assert exported["Content-Disposition"] == 'attachment; filename="whole.json"'
    scenario.delete()
    load(root, preview(root, exported.content.decode()))
    imported_scenario = Scenario.objects.get(name="whole")
    assert root.get(f"{LIST}{imported_scenario.pk}/export/").content == exported.content


def test_invalid_scenario_is_not_exported_with_the_reason(root: Client) -> None:
    scenario = create_scenario("broken", {"produce.text": "{{ nobody }}"})
    response = root.get(f"{LIST}{scenario.pk}/export/", follow=True)
    assert "cannot be exported" in response.content.decode()


def test_scenario_is_duplicated_from_its_page(root: Client) -> None:
    scenario = create_scenario("one", {})
    url = f"{LIST}{scenario.pk}/duplicate/"
    assert root.get(url).status_code == 405
    response = root.post(url, follow=True)
    assert response.context["original"].name == "one copy"
    assert "disabled until you enable it" in response.content.decode()


def test_preview_counts_scenarios_and_steps_from_one(root: Client) -> None:
    steps = [{"produce": {"text": "fine"}}, {"produce": {"txt": ""}}]
    html = preview(
        root, {"scenarios": [DOCUMENT, {"name": "wrong", "steps": steps}]}
    ).content.decode()
    assert "<b>Scenario 2, step 2:</b> <code>produce.txt</code>: unknown key" in html
    html = preview(root, {"name": "wrong", "steps": steps}).content.decode()
    assert "<b>Step 2:</b> <code>produce.txt</code>: unknown key" in html


def test_taken_name_is_imported_under_another_name_and_switched_off(root: Client) -> None:
    existing_scenario = create_scenario("one", {"produce.text": "old"})
    create_scenario("one (2)", {})
    previewed = preview(root, DOCUMENTS, "rename")
    changes = [(c.name, c.was, c.instead_of) for c in previewed.context["changes"]]
    assert changes == [("one (3)", None, "one"), ("two", None, "")]
    assert names() == {"one", "one (2)"}
    html = unescape(load(root, previewed).content.decode())
    message = "Scenarios imported: 1 added, 1 under another name, switched off (“one (3)”)."
    assert message in html
    assert texts(existing_scenario) == ["old"]
    renamed = Scenario.objects.get(name="one (3)")
    assert (texts(renamed), renamed.enabled) == (["new", "newer"], False)
    assert Scenario.objects.get(name="two").enabled


def test_new_name_differs_from_names_in_the_same_file(root: Client) -> None:
    create_scenario("one", {"produce.text": "old"})
    second = {"name": "one (2)", "steps": [{"produce": {"text": "second"}}]}
    load(root, preview(root, {"scenarios": [DOCUMENT, second]}, "rename"))
    assert names() == {"one", "one (2)", "one (3)"}
    assert texts(Scenario.objects.get(name="one (2)")) == ["second"]


def test_preview_says_that_requests_need_the_new_name(root: Client) -> None:
    create_scenario("one", {})
    steps = [{"turn": 1, "produce": {"text": "by name"}}]
    by_name = {"name": "one", "select": "first_user_message", "steps": steps}
    html = preview(root, by_name, "rename").content.decode()
    assert "its requests must begin with the new name" in html


def test_preview_warns_of_a_broken_template(root: Client) -> None:
    create_scenario("one", {})
    document = {"name": "one", "steps": [{"produce": {"text": "Go to {{ city"}}]}
    warning = "one: step 1: “{{ city” is not filled in: placeholders look like {{ name }}"
    assert warning in map(str, preview(root, document).context["warnings"])
    # A scenario that the import will disable is checked too.
    warning = warning.replace("one", "one (2)", 1)
    assert warning in map(str, preview(root, document, "rename").context["warnings"])


def test_preview_of_a_scenario_without_findings_has_no_warning(root: Client) -> None:
    document = {"name": "fine", "steps": [{"match": {"model": "m"}, "produce": {"text": "{}"}}]}
    page = preview(root, document)
    assert page.context["warnings"] == [] and b'id="warnings"' not in page.content


def test_preview_shows_twenty_warnings_and_counts_the_rest(root: Client) -> None:
    step = {"match": {"model": "m"}, "produce": {"text": "{{}}"}}
    page = preview(root, {"name": "many", "steps": [step] * 25})
    assert len(page.context["warnings"]) == 20
    assert "and 5 more" in page.content.decode()
