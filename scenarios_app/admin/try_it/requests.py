"""What the page tries: a request of the form, or one as it stands, as a call to the pipeline; and
the draft that it is tried with."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

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
from scenarios_app.serving.doors.calls import SAFE_IN_PATH, make_call
from scenarios_app.store.drafts import compiled_draft
from scenarios_app.store.rows import limits
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import ways
from scenarios_app.wire.samples import Asked, Sent


def call_of(sent: Sent, *, session: str) -> Call:
    """What a provider's client sends, in this session if it has a name."""
    path, _, query = sent.path.partition("?")
    named = {**sent.headers, "content-type": "application/json"}
    if session:
        named["x-mockllm-session"] = session
    return make_call(
        "POST",
        path,
        query=query.encode(),
        headers=[(name.encode(), value.encode()) for name, value in named.items()],
        body=json.dumps(sent.body).encode(),
    )


def raw(path: str, body: str, *, headers: Mapping[str, str], session: str) -> Call:
    """A request as it stands, such as one of the journal; keys that are masked there will do."""
    path, _, query = path.partition("?")
    named = {name.lower(): value for name, value in headers.items()}
    named |= {"x-mockllm-session": session} if session else {}
    if not headers:
        # It may be meant for any provider.
        for wire in ways().values():
            named = {**wire.sample(Asked("")).headers, **named}
    return make_call(
        "POST",
        quote(path, safe=SAFE_IN_PATH + "%"),
        query=query.encode(),
        headers=[(n.encode(), v.encode("utf-8", "replace")) for n, v in named.items()],
        body=body.encode("utf-8", "replace"),
    )


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
