"""What is tried: the form in which a request is described, and what the page tries it with in place
of what is served: a draft, or edits that nobody has saved."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse

from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_text,
)
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import Draft
from scenarios_app.store import limits
from scenarios_app.store.drafts import compiled_draft
from scenarios_app.wire.registry import owns, ways
from scenarios_app.wire.samples import Asked


@dataclass(frozen=True, slots=True)
class Tried:
    """A scenario that nothing serves as it is. `scenarios` are what requests would see, its own
    last; `hidden` are the fields by which the page's form names it. `url` is its page, where it
    has one. It is `off` where it is not enabled."""

    name: str
    scenarios: tuple[Scenario, ...]
    hidden: Mapping[str, str]
    url: str = ""
    off: bool = False
    unsaved: bool = False


def tried(given: Mapping[str, str]) -> Tried | None:
    """What fields of the page name: edits that nobody has saved, or a draft by its number. One with
    errors cannot be tried; its own page tells of them."""
    if "document" in given:
        return _tried_edits(given)
    number = number_in(given.get("draft", ""))
    row = None if number is None else Draft.objects.filter(pk=number).first()
    if row is None:
        return None
    try:
        scenarios = compiled_draft(row)
    except DocumentError:
        return None
    url = reverse("admin:scenarios_app_draft_change", args=(row.pk,))
    hidden = {"draft": str(row.pk)}
    return Tried(row.name, tuple(scenarios), hidden, url=url, off=not row.enabled)


def fields_of_edits(document: ScenarioDocument, keys: Iterable[str], *, of: str) -> dict[str, str]:
    """The hidden fields by which edits are named: what they come to, what sessions know its steps
    by, and the name of the published scenario that they are of."""
    return {"document": json.dumps(dump(document)), "keys": " ".join(keys), "of": of}


def _tried_edits(given: Mapping[str, str]) -> Tried | None:
    hidden = {name: given.get(name, "") for name in ("document", "keys", "of")}
    keys = hidden["keys"].split()
    try:
        (document,) = load_text(hidden["document"].encode("utf-8", "replace"), limits=limits())
        known = keys if len(keys) == len(document.steps) else None
        compiled = compile_scenario(document, step_keys=known)
    except (DocumentError, ValueError):
        return None
    own = compiled if document.enabled else Scenario(document.name)
    gone = hidden["of"] or own.name
    scenarios = (own,) if gone == own.name else (Scenario(gone), own)
    return Tried(own.name, scenarios, hidden, off=not document.enabled, unsaved=True)


def number_in(key: str) -> int | None:
    """The number of a row, as addresses hold it."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 19 else None


class TryForm(forms.Form):
    """A request in a few fields, or as it stands: then `path` and `body` are sent."""

    user = forms.CharField(
        label="User message", required=False, strip=False, widget=forms.Textarea({"rows": 3})
    )
    provider = forms.ChoiceField(
        label="Provider",
        choices=lambda: [(name, wire.title) for name, wire in ways().items()],
    )
    model = forms.CharField(label="Model", required=False, initial="gpt-4o")
    system = forms.CharField(
        label="System prompt", required=False, strip=False, widget=forms.Textarea({"rows": 2})
    )
    tools = forms.CharField(label="Tools offered", required=False)
    called = forms.CharField(label="Tool that was called", required=False)
    result = forms.CharField(
        label="Its result", required=False, strip=False, widget=forms.Textarea({"rows": 2})
    )
    turn = forms.IntegerField(label="Turn", min_value=1, max_value=1_000, initial=1)
    stream = forms.BooleanField(label="Streamed", required=False, initial=True)
    session = forms.CharField(label="Session", required=False, max_length=200)
    path = forms.CharField(label="Path", required=False)
    body = forms.CharField(
        label="Body", required=False, strip=False, widget=forms.Textarea({"rows": 8})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            widget = field.widget
            if not isinstance(widget, forms.CheckboxInput):
                area = " sc-area" if isinstance(widget, forms.Textarea) else ""
                widget.attrs["class"] = f"sc-input{area}"

    def clean_path(self) -> str:
        path: str = self.cleaned_data["path"].strip()
        if path and not owns(path.partition("?")[0]):
            raise forms.ValidationError("No provider answers there.")
        return path

    def asked(self) -> Asked:
        given = self.cleaned_data
        names = (name.strip() for name in given["tools"].split(","))
        return Asked(
            user=given["user"],
            model=given["model"] or "gpt-4o",
            system=given["system"],
            tools=tuple(name for name in names if name),
            called=given["called"].strip(),
            result=given["result"],
            turn=given["turn"],
            stream=given["stream"],
        )
