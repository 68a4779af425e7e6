"""What the page tries: a request of the form, or one as it stands, as a call to the pipeline; and
the draft that it is tried with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from django.urls import reverse

from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import Draft
from scenarios_app.serving.doors.calls import SAFE_IN_PATH, make_call
from scenarios_app.store.drafts import compiled_draft
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
class TriedDraft:
    """`scenarios` are what requests would see, the draft's own last."""

    pk: int
    name: str
    url: str
    scenarios: tuple[Scenario, ...]


def tried_draft(key: str) -> TriedDraft | None:
    """The draft of a number. One with errors cannot be tried; its own page tells of them."""
    number = number_in(key)
    row = None if number is None else Draft.objects.filter(pk=number).first()
    if row is None:
        return None
    try:
        scenarios = compiled_draft(row)
    except DocumentError:
        return None
    url = reverse("admin:scenarios_app_draft_change", args=(row.pk,))
    return TriedDraft(row.pk, row.name, url, tuple(scenarios))


def number_in(key: str) -> int | None:
    """The number of a row, as addresses hold it."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 19 else None
