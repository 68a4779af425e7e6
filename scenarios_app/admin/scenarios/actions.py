"""What one does with many scenarios from their list: switch on and off, duplicate, export, and set
latency and failures; and the page between the list and such a change, which asks for values."""

import json
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.http import content_disposition_header

from scenarios_app.engine.document import DocumentError, ScenarioDocument, compile_scenario
from scenarios_app.engine.producing.faults import fault_kinds
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import Scenario, Step
from scenarios_app.serving.services import services
from scenarios_app.store import document_of, limits, save_documents, save_steps
from scenarios_app.store.documents import documents_json

log = logging.getLogger(__name__)

_SHOWN = 5
LEAVE, NONE = "", "none"


def switch(scenarios: Iterable[Scenario], *, enabled: bool) -> list[Scenario]:
    """Enable or disable; gives back those that were not so already."""
    changed = [scenario for scenario in scenarios if scenario.enabled != enabled]
    with transaction.atomic():
        for scenario in changed:
            # One by one, so that the history knows each.
            scenario.enabled = enabled
            scenario.save(update_fields=["enabled", "updated_at"])
    return changed


def duplicate(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Copies under new names, switched off: two of a kind would answer for one another."""
    taken = set(Scenario.objects.values_list("name", flat=True))
    copies: list[ScenarioDocument] = []
    for scenario in scenarios:
        name = _free(scenario.name, taken)
        taken.add(name)
        document = document_of(scenario)
        copies.append(document.model_copy(update={"name": name, "enabled": False}))
    return save_documents(copies)


def export(scenarios: Iterable[Scenario]) -> HttpResponse:
    """Their documents as a file to download."""
    documents = [document_of(scenario) for scenario in scenarios]
    name = documents[0].name if len(documents) == 1 else "scenarios"
    text = json.dumps(documents_json(documents), ensure_ascii=False, indent=2)
    response = HttpResponse(text + "\n", content_type="application/json; charset=utf-8")
    disposition = content_disposition_header(True, f"{name.replace('/', '_')}.json")
    response["Content-Disposition"] = disposition or "attachment"
    return response


def forget(names: Iterable[str]) -> None:
    """Once it is committed that these are gone or replaced, sessions know nothing of them."""

    def clear() -> None:
        try:
            for name in names:
                async_to_sync(services().state.clear_scenario)(name)
        except StateUnavailable as error:
            log.error("sessions still know steps of scenarios that were replaced: %s", error)

    transaction.on_commit(clear)


def tell(request: HttpRequest, error: DocumentError, before: str) -> None:
    """Show what a document's rows are wrong in."""
    shown = "; ".join(str(problem) for problem in error.problems[:_SHOWN])
    messages.error(request, f"{before}: {shown}")


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while True:
        suffix = " copy" if number == 1 else f" copy {number}"
        # A document's name has 200 characters at most.
        free = f"{name[: 200 - len(suffix)]}{suffix}"
        if free not in taken:
            return free
        number += 1


def _failures() -> list[tuple[str, str]]:
    """Faults that need no answer and nothing more said of them."""
    kinds = fault_kinds().values()
    alone = [(one.name, one.label) for one in kinds if not one.inside and not one.required]
    return [(LEAVE, "leave as they are"), (NONE, "none"), *alone]


class StyledForm(forms.Form):
    """A form of a page of our own, in the look of the admin."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            match field.widget:
                case forms.CheckboxSelectMultiple():
                    pass
                case forms.Select():
                    field.widget.attrs["class"] = "sc-input sc-select"
                case _:
                    field.widget.attrs["class"] = "sc-input"


class BulkForm(StyledForm):
    """What is left empty stays as it is."""

    note = "Empty fields are not changed."

    latency_ms = forms.IntegerField(
        label="Latency (ms)", required=False, min_value=0, help_text="Before anything is sent."
    )
    failure = forms.ChoiceField(label="Failures", required=False, choices=_failures)
    times = forms.IntegerField(
        label="Number of failing requests",
        required=False,
        min_value=1,
        max_value=1_000_000,
        initial=1,
    )

    def clean_latency_ms(self) -> int | None:
        latency: int | None = self.cleaned_data["latency_ms"]
        most = limits().latency_ms
        if latency is not None and latency > most:
            raise forms.ValidationError(f"The most is {most} ms.")
        return latency

    def columns(self) -> dict[str, Any]:
        """The columns of a step that are to be set."""
        given = self.cleaned_data
        columns: dict[str, Any] = {}
        if given["latency_ms"] is not None:
            columns["latency_ms"] = given["latency_ms"] or None
        if given["failure"] == NONE:
            columns |= {"failures_times": None, "failures_kind": "", "failures_extra": {}}
        elif given["failure"]:
            times = given["times"] or 1
            columns |= {
                "failures_times": times,
                "failures_kind": given["failure"],
                "failures_extra": {},
            }
        return columns


def bulk_page(
    admin: "ModelAdmin[Scenario]", request: HttpRequest, scenarios: Sequence[Scenario]
) -> HttpResponse | None:
    """The page between; gives nothing once all is done, so that the list is shown again."""
    asked = "apply" in request.POST
    form = BulkForm(request.POST if asked else None)
    if asked and form.is_valid():
        try:
            changed = set_on_steps(scenarios, form.columns())
        except DocumentError as error:
            tell(request, error, "Nothing was changed")
            return None
        for scenario in scenarios:
            admin.log_change(request, scenario, "Latency or failures set on every step.")
        messages.success(request, f"Set on {changed} steps of {len(scenarios)} scenarios.")
        return None
    return bulk_response(
        admin,
        request,
        scenarios,
        form=form,
        action="set_on_steps",
        title="Set latency or failures",
        heading="On every step of",
        button="Set",
    )


def bulk_response(
    admin: "ModelAdmin[Scenario]",
    request: HttpRequest,
    scenarios: Sequence[Scenario],
    *,
    form: StyledForm,
    action: str,
    title: str,
    heading: str,
    button: str,
) -> HttpResponse:
    """The page with the form of an action on the list. It posts the same choice to the list."""
    across = request.POST.get("select_across") == "1"
    context = {
        **admin.admin_site.each_context(request),
        "title": title,
        "heading": heading,
        "action": action,
        "button": button,
        "form": form,
        "scenarios": scenarios,
        "across": across,
        # Of all rows of all pages, more than a form may have fields, one stands for the others.
        "chosen": scenarios[:1] if across else scenarios,
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "scenarios_app/admin/bulk.html", context)


def set_on_steps(scenarios: Sequence[Scenario], columns: dict[str, Any]) -> int:
    """Set columns on every step; raises DocumentError where a scenario would be wrong by it, and
    changes none then."""
    changed = 0
    with transaction.atomic():
        for scenario in scenarios if columns else ():
            steps = list(Step.objects.filter(scenario=scenario).order_by("order", "pk"))
            for step in steps:
                for name, value in columns.items():
                    setattr(step, name, value)
            compile_scenario(document_of(scenario, steps))
            save_steps(changed=steps, columns=columns)
            changed += len(steps)
    return changed
