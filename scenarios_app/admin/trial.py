"""What the page tries a request with in place of what is served: a draft, or edits that nobody has
saved."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
from scenarios_app.store.drafts import compiled_draft
from scenarios_app.store.rows import limits


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
