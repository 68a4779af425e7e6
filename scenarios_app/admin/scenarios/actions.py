"""Actions on several scenarios: enable, duplicate, export, set latency and failures; and the page
that asks for values."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from scenarios_app.admin.pages import StyledForm, json_download, render_page
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import DocumentError, ScenarioDocument, compile_scenario
from scenarios_app.engine.producing.faults import FAULT_KINDS
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import Scenario, Step
from scenarios_app.serving.services import services
from scenarios_app.store import document_of, limits, save_documents, save_steps
from scenarios_app.store.documents import copy_disabled, documents_json
from scenarios_app.store.drafts import NAME_LENGTH

log = logging.getLogger(__name__)

_MAX_PROBLEMS = 5
UNCHANGED, NO_FAILURES = "", "none"


@transaction.atomic
def set_column(
    scenarios: Iterable[Scenario], column: str, value_for: Callable[[Scenario], Any]
) -> list[Scenario]:
    """Set a column of each scenario to the value for it; return the scenarios that changed."""
    changed = []
    for scenario in scenarios:
        if (value := value_for(scenario)) != getattr(scenario, column):
            # Not `update`: the values differ.
            setattr(scenario, column, value)
            scenario.save(update_fields=[column, "updated_at"])
            changed.append(scenario)
    return changed


def duplicate(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Copy scenarios under new names, disabled, because a copy would answer the same requests.
    Raises DocumentError for an invalid scenario."""
    names = set(Scenario.objects.values_list("name", flat=True))
    copies: list[ScenarioDocument] = []
    for scenario in scenarios:
        names.add(name := _free_copy_name(scenario.name, names))
        copies.append(copy_disabled(document_of(scenario), name))
    return save_documents(copies)


def export(scenarios: Iterable[Scenario]) -> HttpResponse:
    """Return the scenarios' documents as a JSON download. Raises DocumentError for an invalid
    scenario."""
    documents = [document_of(scenario) for scenario in scenarios]
    name = documents[0].name if len(documents) == 1 else "scenarios"
    return json_download(documents_json(documents), f"{name}.json")


def forget_on_commit(names: Iterable[str]) -> None:
    """After the commit, clear what sessions remember of deleted or replaced scenarios."""

    def clear() -> None:
        """Clear the state of the scenarios in all sessions; if it is unavailable, log that."""
        try:
            for name in names:
                async_to_sync(services().state.clear_scenario)(name)
        except StateUnavailable as error:
            log.error("sessions still know steps of scenarios that were replaced: %s", error)

    transaction.on_commit(clear)


def report_document_error(request: HttpRequest, error: DocumentError, before: str) -> None:
    """Show the first problems of a document as an error message that begins with `before`."""
    problems = "; ".join(str(problem) for problem in error.problems[:_MAX_PROBLEMS])
    messages.error(request, f"{before}: {problems}")


def _free_copy_name(name: str, names: set[str]) -> str:
    """Return a name for a copy, such as "a copy 2", that is not among `names`."""
    suffixes = (" copy" if number == 1 else f" copy {number}" for number in count(1))
    candidates = (f"{name[: NAME_LENGTH - len(suffix)]}{suffix}" for suffix in suffixes)
    return next(free for free in candidates if free not in names)


def _failure_choices() -> list[tuple[str, str]]:
    """Return the choices of a failure: unchanged, none, and the types that need neither an answer
    nor other values."""
    kinds = FAULT_KINDS.values()
    simple = [(kind.name, kind.label) for kind in kinds if not kind.inside and not kind.required]
    return [(UNCHANGED, "leave as they are"), (NO_FAILURES, "none"), *simple]


@dataclass(frozen=True, slots=True)
class BulkChange:
    """The scenarios that an action changed, the entry for the log of each, and a summary."""

    scenarios: Sequence[Scenario]
    entry: str
    summary: str


class BulkForm(StyledForm):
    """The values that an action asks for. `action` is its name in the admin, `title` its label;
    `heading` comes before the number of scenarios, `button` is the label of the form's button."""

    action: str
    title: str
    heading: str
    button: str

    def __init__(self, *args: Any, scenarios: Sequence[Scenario] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scenarios = scenarios

    def apply(self) -> BulkChange:
        """Change the scenarios. Raises DocumentError, and changes nothing, if one refuses it."""
        raise NotImplementedError


class StepsForm(BulkForm):
    """Latency and failures for every step; empty fields are not changed."""

    action, title = "set_on_steps", "Set latency or failures"
    heading, button = "On every step of", "Set"
    note = "Empty fields are not changed."

    latency_ms = forms.IntegerField(
        label="Latency (ms)", required=False, min_value=0, help_text="Before anything is sent."
    )
    failure = forms.ChoiceField(label="Failures", required=False, choices=_failure_choices)
    times = forms.IntegerField(
        label="Number of failing requests",
        required=False,
        min_value=1,
        max_value=1_000_000,
        initial=1,
    )

    def clean_latency_ms(self) -> int | None:
        """Return the latency; raise ValidationError above the limit."""
        latency: int | None = self.cleaned_data["latency_ms"]
        max_ms = limits().latency_ms
        if latency is not None and latency > max_ms:
            raise forms.ValidationError(f"The most is {max_ms} ms.")
        return latency

    def values(self) -> dict[str, Json]:
        """Return the values to set by their places in a step, None to remove one. A failure
        replaces all of an earlier one."""
        cleaned = self.cleaned_data
        values: dict[str, Json] = {}
        if cleaned["latency_ms"] is not None:
            values["produce.latency_ms"] = cleaned["latency_ms"] or None
        if cleaned["failure"] == NO_FAILURES:
            values["failures"] = None
        elif cleaned["failure"] != UNCHANGED:
            fault: Json = {"kind": cleaned["failure"]}
            values["failures"] = {"times": cleaned["times"] or 1, "fault": fault}
        return values

    def apply(self) -> BulkChange:
        """Set the filled-in values on all steps of all scenarios; see `BulkForm.apply`."""
        steps = set_on_steps(self.scenarios, self.values())
        summary = f"Set on {steps} steps of {len(self.scenarios)} scenarios."
        return BulkChange(self.scenarios, "Latency or failures set on every step.", summary)


def bulk_action(form_class: type[BulkForm]) -> Any:
    """Return the admin's action that asks for the values of a form and applies them."""
    action = admin.action(description=form_class.title, permissions=["change"])
    return action(lambda owner, request, rows: _bulk_page(owner, request, rows, form_class))


def _bulk_page(
    owner: "ModelAdmin[Scenario]",
    request: HttpRequest,
    selected: Iterable[Scenario],
    form_class: type[BulkForm],
) -> HttpResponse | None:
    """Return the page that asks for the values of an action, or apply posted values and return
    None, as for refused ones. The page posts the same selection to the list."""
    scenarios = list(selected)
    form = form_class(request.POST if "apply" in request.POST else None, scenarios=scenarios)
    if form.is_valid():
        try:
            change = form.apply()
        except DocumentError as error:
            report_document_error(request, error, "Nothing was changed")
            return None
        for scenario in change.scenarios:
            owner.log_change(request, scenario, change.entry)
        messages.success(request, change.summary)
        return None
    across = request.POST.get("select_across") == "1"
    context = {
        "title": form.title,
        "form": form,
        "scenarios": scenarios,
        "across": across,
        # A form may not have a field for each row of all pages, so one row stands for all.
        "chosen": scenarios[:1] if across else scenarios,
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return render_page(request, owner, "bulk.html", context)


@transaction.atomic
def set_on_steps(scenarios: Sequence[Scenario], values: Mapping[str, Json]) -> int:
    """Set values by place on every step, and remove those that are None; return the number of
    steps, 0 without values. Raises DocumentError, and changes nothing, if a scenario is invalid."""
    changed = 0
    for scenario in scenarios if values else ():
        steps = list(Step.objects.filter(scenario=scenario).order_by("order", "pk"))
        document_of(scenario, steps)
        for step in steps:
            for place, value in values.items():
                step.document = _with_value(step.document, place.split("."), value)
        compile_scenario(document_of(scenario, steps))
        save_steps(changed=steps)
        changed += len(steps)
    return changed


def _with_value(document: Mapping[str, Any], keys: Sequence[str], value: Json) -> dict[str, Any]:
    """Return a valid document with another value at a path of keys, or without it if it is None."""
    key, *inner_keys = keys
    if inner_keys:
        value = _with_value(document.get(key) or {}, inner_keys, value) or None
    if value is None:
        return {name: other for name, other in document.items() if name != key}
    return {**document, key: value}
