"""Reads the form fields of admin pages, and posts them with changes."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from django.http import HttpResponse
from django.test import Client

from scenarios_app.admin.editor.inputs import input_values, value_of_inputs
from scenarios_app.admin.editor.layout import STEP
from scenarios_app.admin.editor.places import IGNORE_CASE, REST
from scenarios_app.models import Scenario, Step, one_save
from scenarios_app.store import set_own_document

ADD = "/admin/scenarios_app/scenario/add/"
LIST = "/admin/scenarios_app/scenario/"
IMPORT = "/admin/scenarios_app/scenario/import/"
JOURNAL = "/admin/scenarios_app/servedrequest/"
SESSIONS = "/admin/scenarios_app/servedrequest/sessions/"
SESSION = "/admin/scenarios_app/servedrequest/session/"
RESET = "/admin/scenarios_app/servedrequest/session/reset/"


def page_of(scenario: Scenario) -> str:
    return f"{LIST}{scenario.pk}/change/"


def create_scenario(name: str, *steps: Mapping[str, Any], **own: Any) -> Scenario:
    """Store a scenario with steps, each as for `step_document`; the default answer of a step is
    "answer NUMBER"."""
    scenario = Scenario()
    set_own_document(scenario, {"name": name, **own})
    with one_save():
        scenario.save()
        for number, step in enumerate(steps, 1):
            document = step_document({"produce.text": f"answer {number}", **step})
            Step.objects.create(scenario=scenario, order=number, document=document)
    return scenario


def step_document(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a step from values of the page's inputs, by their names."""
    all_inputs = input_values(STEP, {}, {})
    assert inputs.keys() <= all_inputs.keys(), inputs
    all_inputs |= inputs
    values, rest = dict[str, Any](), dict[str, Any]()
    for field in STEP.fields.values():
        target = rest if field.kind == REST else values
        if field.kind != IGNORE_CASE:
            target[field.place] = value_of_inputs(field, all_inputs.__getitem__, None)
    document: dict[str, Any] = STEP.join(
        *(
            {place: value for place, value in part.items() if value is not None}
            for part in (values, rest)
        )
    )
    return document


def inputs_of(step: Any) -> dict[str, Any]:
    """Return the values of the page's inputs for a stored step, by their names."""
    return input_values(STEP, *STEP.split(step.document))


def edit_step(step: Any, changes: Mapping[str, Any]) -> None:
    """Store a step with other values of the page's inputs, by their names."""
    step.document = step_document(inputs_of(step) | changes)
    step.save()


def texts(scenario: Scenario) -> list[str]:
    """Return the answer texts of a scenario's steps, in order."""
    return [
        inputs_of(step)["produce.text"] or "" for step in scenario.steps.order_by("order", "pk")
    ]


def fields(html: str, form: str = "scenario_form") -> dict[str, str]:
    """Return the fields that a browser would post for a form, without those of its buttons."""
    parser = _FormParser(form)
    parser.feed(html)
    return parser.values


def fields_at(client: Client, url: str, form: str = "scenario_form") -> dict[str, str]:
    return fields(client.get(url).content.decode(), form)


def save(client: Client, scenario: Scenario, **changes: str) -> HttpResponse:
    """Post the scenario's page with changed fields."""
    url = page_of(scenario)
    return client.post(url, fields_at(client, url) | changes)


def new_step(index: int, values: Mapping[str, str]) -> dict[str, str]:
    """Return the form fields of a step row that was added in the browser."""
    return {f"steps-{index}-{name}": value for name, value in {"consume": "once", **values}.items()}


def error_lines(response: HttpResponse) -> list[str]:
    """Return the lines of the error summary."""
    return [f"{line.where}: {line.message}" for line in response.context["told"]]


class _FormParser(HTMLParser):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._form = form
        self._in_form = self._in_template = False
        self._disabled_fieldsets = 0
        self._select_name = self._textarea_name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("name") or ""
        if tag == "form":
            self._in_form = attributes.get("id") == self._form
        elif tag == "template":
            self._in_template = True
        elif tag == "fieldset" and (self._disabled_fieldsets or "disabled" in attributes):
            self._disabled_fieldsets += 1
        elif not self._in_form or self._in_template or self._disabled_fieldsets:
            return
        elif tag == "input" and name:
            self._input(name, attributes)
        elif tag == "select":
            self._select_name = name
        elif tag == "option" and (self._select_name not in self.values or "selected" in attributes):
            self.values[self._select_name] = attributes.get("value") or ""
        elif tag == "textarea":
            self._textarea_name = name
            self.values[name] = ""

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "form":
                self._in_form = False
            case "template":
                self._in_template = False
            case "fieldset":
                self._disabled_fieldsets = max(self._disabled_fieldsets - 1, 0)
            case "textarea" if self._textarea_name:
                # Browsers ignore the line break after the tag.
                self.values[self._textarea_name] = self.values[self._textarea_name].removeprefix(
                    "\n"
                )
                self._textarea_name = ""

    def handle_data(self, data: str) -> None:
        if self._textarea_name:
            self.values[self._textarea_name] += data

    def _input(self, name: str, attributes: dict[str, str | None]) -> None:
        input_type = attributes.get("type", "text")
        if input_type in ("checkbox", "radio"):
            if "checked" in attributes:
                self.values[name] = (attributes["value"] or "") if "value" in attributes else "on"
        elif input_type not in ("submit", "button", "file"):
            self.values[name] = attributes.get("value") or ""
