"""Reads the form fields of admin pages, and posts them with changes."""

from collections.abc import Mapping
from html.parser import HTMLParser

from django.http import HttpResponse
from django.test import Client

from scenarios_app.models import Scenario, Step

ADD = "/admin/scenarios_app/scenario/add/"
LIST = "/admin/scenarios_app/scenario/"
IMPORT = "/admin/scenarios_app/scenario/import/"
JOURNAL = "/admin/scenarios_app/servedrequest/"
SESSIONS = "/admin/scenarios_app/servedrequest/sessions/"
SESSION = "/admin/scenarios_app/servedrequest/session/"
RESET = "/admin/scenarios_app/servedrequest/session/reset/"

_NEW_STEP_FIELDS = {"match_model_mode": "equals", "match_user_mode": "contains"}
_NEW_STEP_FIELDS |= {
    "match_system_mode": "contains",
    "match_tool_result_mode": "contains",
    "consume": "once",
}


def page_of(scenario: Scenario) -> str:
    return f"{LIST}{scenario.pk}/change/"


def create_scenario(name: str, *steps: Mapping[str, object], **columns: object) -> Scenario:
    """Store a scenario with steps; the default answer of a step is "answer NUMBER"."""
    scenario = Scenario.objects.create(name=name, **columns)
    for number, step in enumerate(steps, 1):
        values = {"answer_text": f"answer {number}", **step}
        Step.objects.create(scenario=scenario, order=number, **values)
    return scenario


def texts(scenario: Scenario) -> list[str]:
    """Return the answer texts of a scenario's steps, in order."""
    return list(scenario.steps.order_by("order", "pk").values_list("answer_text", flat=True))


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


def new_step(index: int, **columns: str) -> dict[str, str]:
    """Return the form fields of a step row that was added in the browser."""
    return {f"steps-{index}-{name}": value for name, value in (_NEW_STEP_FIELDS | columns).items()}


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
