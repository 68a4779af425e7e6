"""Pages as a browser has them: the fields of their forms, to be posted back with changes."""

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

_NEW = {"match_model_mode": "equals", "match_user_mode": "contains"}
_NEW |= {"match_system_mode": "contains", "match_tool_result_mode": "contains", "consume": "once"}


def page_of(scenario: Scenario) -> str:
    return f"{LIST}{scenario.pk}/change/"


def a_scenario(name: str, *steps: Mapping[str, object], **columns: object) -> Scenario:
    """A stored scenario; a step without an answer says its number."""
    scenario = Scenario.objects.create(name=name, **columns)
    for number, step in enumerate(steps, 1):
        values = {"answer_text": f"answer {number}", **step}
        Step.objects.create(scenario=scenario, order=number, **values)
    return scenario


def texts(scenario: Scenario) -> list[str]:
    """The answers of its steps, in order."""
    return list(scenario.steps.order_by("order", "pk").values_list("answer_text", flat=True))


def fields(html: str, form: str = "scenario_form") -> dict[str, str]:
    """What a browser would post of a form, without what its buttons add."""
    reader = _Reader(form)
    reader.feed(html)
    return reader.values


def fields_at(client: Client, url: str, form: str = "scenario_form") -> dict[str, str]:
    return fields(client.get(url).content.decode(), form)


def save(client: Client, scenario: Scenario, **changes: str) -> HttpResponse:
    """Post the scenario's page with some fields changed."""
    url = page_of(scenario)
    return client.post(url, fields_at(client, url) | changes)


def new_step(index: int, **columns: str) -> dict[str, str]:
    """What a row posts that was added in the browser."""
    return {f"steps-{index}-{name}": value for name, value in (_NEW | columns).items()}


def error_lines(response: HttpResponse) -> list[str]:
    """The lines of the summary of errors."""
    return [f"{line.where}: {line.message}" for line in response.context["told"]]


class _Reader(HTMLParser):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._form = form
        self._inside = self._template = False
        self._disabled = 0
        self._select = self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("name") or ""
        if tag == "form":
            self._inside = attributes.get("id") == self._form
        elif tag == "template":
            self._template = True
        elif tag == "fieldset" and (self._disabled or "disabled" in attributes):
            self._disabled += 1
        elif not self._inside or self._template or self._disabled:
            return
        elif tag == "input" and name:
            self._input(name, attributes)
        elif tag == "select":
            self._select = name
        elif tag == "option" and (self._select not in self.values or "selected" in attributes):
            self.values[self._select] = attributes.get("value") or ""
        elif tag == "textarea":
            self._area = name
            self.values[name] = ""

    def handle_endtag(self, tag: str) -> None:
        match tag:
            case "form":
                self._inside = False
            case "template":
                self._template = False
            case "fieldset":
                self._disabled = max(self._disabled - 1, 0)
            case "textarea" if self._area:
                # Browsers ignore the line break after the tag.
                self.values[self._area] = self.values[self._area].removeprefix("\n")
                self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.values[self._area] += data

    def _input(self, name: str, attributes: dict[str, str | None]) -> None:
        kind = attributes.get("type", "text")
        if kind in ("checkbox", "radio"):
            if "checked" in attributes:
                self.values[name] = (attributes["value"] or "") if "value" in attributes else "on"
        elif kind not in ("submit", "button", "file"):
            self.values[name] = attributes.get("value") or ""
