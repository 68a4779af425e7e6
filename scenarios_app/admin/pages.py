"""Shared by the pages of the admin: rendering, addresses, downloads and the look of forms."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django import forms
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import content_disposition_header

from scenarios_app.models import AnyScenario, Draft, Scenario

M = TypeVar("M", bound=Model)


def render_page(
    request: HttpRequest, owner: Any, template: str, context: Mapping[str, object]
) -> TemplateResponse:
    """Return a page of the admin: the name of a template in `scenarios_app/admin/`, with its
    context. `owner` is the ModelAdmin of the page."""
    context = {**owner.admin_site.each_context(request), **context}
    return TemplateResponse(request, f"scenarios_app/admin/{template}", context)


def scenario_urls(names: Iterable[str]) -> dict[str, str]:
    """Return the addresses of scenarios' pages by name; names that are not stored are left out."""
    rows = Scenario.objects.filter(name__in=names).values_list("name", "pk")
    return {name: reverse("admin:scenarios_app_scenario_change", args=(pk,)) for name, pk in rows}


def published_name(row: AnyScenario | None) -> str:
    """Return the stored name of the published scenario that a row is or would replace; "" for
    none."""
    if isinstance(row, Draft):
        row = row.published
    if row is None:
        return ""
    # Read from the database: the row may hold posted values.
    return Scenario.objects.values_list("name", flat=True).get(pk=row.pk)


def json_download(document: object, name: str) -> HttpResponse:
    """Return indented JSON as a file of this name."""
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    disposition = content_disposition_header(True, name.replace("/", "_"))
    response["Content-Disposition"] = disposition or "attachment"
    return response


def find_row(model: type[M], key: str) -> M | None:
    """Return the row with this primary key, or None, also for a text that is no number."""
    is_key = key.isascii() and key.isdigit() and len(key) < 19
    return model._default_manager.filter(pk=int(key)).first() if is_key else None


class StyledForm(forms.Form):
    """A form with the CSS classes of the admin."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            match field.widget:
                case forms.CheckboxInput() | forms.RadioSelect():
                    continue
                case forms.Textarea():
                    more = " sc-area"
                case forms.Select():
                    more = " sc-select"
                case _:
                    more = ""
            field.widget.attrs["class"] = f"sc-input{more}"
