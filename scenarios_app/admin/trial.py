"""What is tried: the form in which a request is described, and what the page tries it with in place
of what is served: a draft, or edits that nobody has saved."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse
from msgspec import to_builtins

from scenarios_app.control.matches import parse_row
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_text,
)
from scenarios_app.engine.matching.select import scenario_header_of
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import Draft, ServedRequest
from scenarios_app.play.conversation import sample_call
from scenarios_app.serving.read import admit
from scenarios_app.serving.services import services
from scenarios_app.store import limits
from scenarios_app.store.drafts import compiled_draft
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target, is_provider_path, wires_by_name
from scenarios_app.wire.samples import SampleRequest

# Headers by which clients name themselves, their key and their session.
_CLIENT_HEADERS = ("x-api-key", "x-goog-api-", "x-stainless-", "x-mockllm-session")


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


FORM, RAW = "form", "raw"


class TryForm(forms.Form):
    """A request in a few fields; with the mode `raw` only its path and body."""

    mode = forms.ChoiceField(
        label="Describe it as",
        required=False,
        choices=[(FORM, "Form"), (RAW, "Raw request (JSON)")],
        widget=forms.RadioSelect({"x-model": "mode"}),
    )
    user = forms.CharField(
        label="User message", required=False, strip=False, widget=forms.Textarea({"rows": 3})
    )
    provider = forms.ChoiceField(
        label="Provider",
        choices=lambda: [(name, wire.title) for name, wire in wires_by_name().items()],
    )
    model = forms.CharField(label="Model", required=False, initial="gpt-4o")
    system = forms.CharField(
        label="System prompt", required=False, strip=False, widget=forms.Textarea({"rows": 2})
    )
    tools = forms.CharField(label="Tools in the request", required=False)
    called = forms.CharField(label="Tool name", required=False)
    result = forms.CharField(
        label="Tool result", required=False, strip=False, widget=forms.Textarea({"rows": 2})
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
        for name in ("provider", "turn"):
            self.fields[name].required = not self.is_raw
        for field in self.fields.values():
            widget = field.widget
            if not isinstance(widget, forms.CheckboxInput | forms.RadioSelect):
                area = " sc-area" if isinstance(widget, forms.Textarea) else ""
                widget.attrs["class"] = f"sc-input{area}"

    def clean_path(self) -> str:
        path: str = self.cleaned_data["path"].strip()
        if self.cleaned_data.get("mode") == RAW and not is_provider_path(path.partition("?")[0]):
            raise forms.ValidationError("No provider answers there.")
        return path

    def asked(self) -> SampleRequest:
        given = self.cleaned_data
        names = (name.strip() for name in given["tools"].split(","))
        return SampleRequest(
            user=given["user"],
            model=given["model"] or "gpt-4o",
            system=given["system"],
            tools=tuple(name for name in names if name),
            tool_name=given["called"].strip(),
            tool_result=given["result"],
            turn=given["turn"],
            stream=given["stream"],
        )

    @property
    def is_raw(self) -> bool:
        return bool(self["mode"].value() == RAW)


@dataclass(frozen=True, slots=True)
class FormOfRequest:
    """A journal entry in the fields of the form, and what of it these leave out."""

    fields: Mapping[str, Any]
    left_out: tuple[str, ...]


def form_of(served: ServedRequest) -> FormOfRequest | None:
    """Return the form's fields for a journal entry; None if the form cannot describe it.

    The form describes a request if a client's request made of these fields says the same: the same
    path, model, messages, tool calls and names of tools.
    """
    options = services().pipeline.options
    request = None if served.request_cut else parse_row(served, options)
    if request is None or scenario_header_of(request):
        return None
    after_tool = bool(request.messages) and request.messages[-1].role == "tool"
    result = request.tool_results[-1] if after_tool and request.tool_results else None
    asked = SampleRequest(
        user=request.last_user_text,
        model=request.model,
        system=request.system_text,
        tools=tuple(tool.name for tool in request.tools),
        tool_name=result.name if result else "",
        tool_result=result.content if result else "",
        turn=request.turn,
        stream=request.stream,
    )
    for name, wire in wires_by_name().items():
        call = sample_call(wire.sample(asked), session=served.session)
        target = find_target(call)
        if target is None or target.wire.provider != request.provider or call.path != request.path:
            continue
        try:
            made = admit(call, target, options)
        except WireError:
            continue
        if _essence(made) == _essence(request):
            fields = to_builtins(asked) | {"tools": ", ".join(asked.tools), "provider": name}
            return FormOfRequest(fields, tuple(_differences(made, request)))
    return None


def _essence(request: CanonicalRequest) -> tuple[object, ...]:
    """What has to be the same for the form to be a description of the request."""
    return (
        *(request.also, request.model, request.stream, [tool.name for tool in request.tools]),
        [(message.role, message.text) for message in request.messages],
        [(call.name, call.arguments) for call in request.tool_calls],
        [(result.name, result.is_error) for result in request.tool_results],
    )


_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "the token limit",
    "stop": "stop sequences",
    "reasoning": "reasoning",
    "tool_choice": "the tool choice",
    "response_format": "the response format",
    "n": "the number of choices",
    "metadata": "metadata",
}


def _differences(made: CanonicalRequest, request: CanonicalRequest) -> Iterator[str]:
    yield from (
        words for key, words in _SETTINGS.items() if getattr(made, key) != getattr(request, key)
    )
    if made.tools != request.tools:
        yield "the definitions of tools"
    own = (*_CLIENT_HEADERS, *made.headers)
    if any(name.startswith("x-") and not name.startswith(own) for name in request.headers):
        yield "headers"
