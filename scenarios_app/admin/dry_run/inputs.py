"""The form of a dry run of one request, and the draft or unsaved edits that it runs against."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from msgspec import to_builtins

from mockllm_site.kit.admin.records import admin_url
from scenarios_app.admin.pages import StyledForm, find_row
from scenarios_app.catalog import catalog
from scenarios_app.control.matches import parse_row
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_text,
)
from scenarios_app.engine.matching.index import Index, overlay
from scenarios_app.engine.matching.select import scenario_header_of
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.models import AnyScenario, Draft, Scenario, ServedRequest
from scenarios_app.play.conversation import sample_call
from scenarios_app.serving.read import read_call
from scenarios_app.serving.services import services
from scenarios_app.store import document_of, limits, own_document
from scenarios_app.store.drafts import compiled_draft
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target, is_provider_path, wires_by_name
from scenarios_app.wire.samples import SampleRequest

# Headers with the client's name, its key or its session; they say nothing about matching.
_CLIENT_HEADERS = ("x-api-key", "x-goog-api-", "x-stainless-", "x-mockllm-session")


@dataclass(frozen=True, slots=True)
class DryRunScenario:
    """The scenario of a dry run: unsaved edits, a draft, or the published scenario `name`.

    `scenarios` replace the stored scenarios of their names; the last is the scenario itself. There
    are none if it is published. `hidden` are the form fields that identify it in the next request.
    `url` is the page of a draft, "" for others. `off` is true for disabled edits or drafts, never
    for a published scenario. `unsaved` is true for edits.
    """

    name: str
    scenarios: tuple[Compiled, ...] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    off: bool = False
    unsaved: bool = False

    @property
    def compiled(self) -> Compiled | None:
        """The compiled scenario; None for a published one that is disabled or does not exist."""
        if self.scenarios:
            return self.scenarios[-1]
        return catalog.snapshot().index.by_name.get(self.name)

    @property
    def index(self) -> Index:
        """The index of all scenarios, with this one in place of the stored one."""
        return overlay(catalog.index(), self.scenarios) if self.scenarios else catalog.index()


def dry_run_scenario(fields: Mapping[str, str]) -> DryRunScenario:
    """Return the edits (`document`), the draft or the published scenario that the form fields name.
    For edits and drafts with errors, return the published scenario that the field `scenario` names,
    which need not exist; their page lists the errors."""
    try:
        if "document" in fields:
            return _edited_scenario(fields)
        if draft := find_row(Draft, fields.get("draft", "")):
            scenarios, hidden = tuple(compiled_draft(draft)), {"draft": str(draft.pk)}
            url, off = admin_url(draft), not own_document(draft).get("enabled", True)
            return DryRunScenario(draft.name, scenarios, hidden, url=url, off=off)
    except (DocumentError, ValueError):
        pass
    return DryRunScenario(fields.get("scenario", ""))


def document_from_fields(fields: Mapping[str, str]) -> ScenarioDocument | None:
    """Return the document of the edits, the draft or the published scenario that the form fields
    name, or None if there is none or it has errors."""
    try:
        if "document" in fields:
            return _posted_document(fields)
        row: AnyScenario | None = find_row(Draft, fields.get("draft", ""))
        row = row or Scenario.objects.filter(name=fields.get("scenario", "")).first()
        return document_of(row) if row else None
    except (DocumentError, ValueError):
        return None


def _posted_document(fields: Mapping[str, str]) -> ScenarioDocument:
    """Return the document of posted edits. Raises DocumentError, or ValueError unless there is
    exactly one."""
    text = fields.get("document", "").encode("utf-8", "replace")
    (document,) = load_text(text, limits=limits())
    return document


def fields_for_edits(document: ScenarioDocument, keys: Iterable[str], *, of: str) -> dict[str, str]:
    """Return the hidden fields for unsaved edits: the document, the keys of its steps, and the name
    of the published scenario that they edit."""
    return {"document": json.dumps(dump(document)), "keys": " ".join(keys), "of": of}


def _edited_scenario(fields: Mapping[str, str]) -> DryRunScenario:
    """Return the posted edits, compiled. Raises DocumentError, or ValueError as
    `_posted_document` does."""
    hidden = {name: fields.get(name, "") for name in ("document", "keys", "of")}
    keys = hidden["keys"].split()
    document = _posted_document(hidden)
    step_keys = keys if len(keys) == len(document.steps) else None
    compiled = compile_scenario(document, step_keys=step_keys)
    edited = compiled if document.enabled else Compiled(document.name)
    replaced = hidden["of"] or edited.name
    scenarios = (edited,) if replaced == edited.name else (Compiled(replaced), edited)
    return DryRunScenario(edited.name, scenarios, hidden, off=not document.enabled, unsaved=True)


FORM, RAW = "form", "raw"


class TryForm(StyledForm):
    """The request of a dry run, described in fields; in the mode `raw` only by path and body."""

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
    tool_name = forms.CharField(label="Tool name", required=False)
    tool_result = forms.CharField(
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

    def clean_path(self) -> str:
        """Return the path; in the mode `raw` refuse one that no provider answers."""
        path: str = self.cleaned_data["path"].strip()
        if self.cleaned_data.get("mode") == RAW and not is_provider_path(path.partition("?")[0]):
            raise forms.ValidationError("No provider answers there.")
        return path

    def to_sample(self) -> SampleRequest:
        """Return the request of a valid form in the mode `form`."""
        values = self.cleaned_data
        names = (name.strip() for name in values["tools"].split(","))
        return SampleRequest(
            user=values["user"],
            model=values["model"] or "gpt-4o",
            system=values["system"],
            tools=tuple(name for name in names if name),
            tool_name=values["tool_name"].strip(),
            tool_result=values["tool_result"],
            turn=values["turn"],
            stream=values["stream"],
        )

    @property
    def is_raw(self) -> bool:
        """True if the request is given as path and body instead of fields."""
        return bool(self["mode"].value() == RAW)


@dataclass(frozen=True, slots=True)
class PrefilledForm:
    """Form fields for a journal entry, and the names of request settings that they leave out."""

    fields: Mapping[str, Any]
    left_out: tuple[str, ...]


def prefilled_form(served: ServedRequest) -> PrefilledForm | None:
    """Return the form's fields for a journal entry, or None if the form cannot describe it. It can
    if a request built from the fields has the same path, model, messages, tool calls and tool
    names."""
    options = services().pipeline.options
    request = None if served.request_cut else parse_row(served, options)
    if request is None or scenario_header_of(request):
        return None
    after_tool = bool(request.messages) and request.messages[-1].role == "tool"
    result = request.tool_results[-1] if after_tool and request.tool_results else None
    sample = SampleRequest(
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
        call = sample_call(wire.sample(sample), session=served.session)
        target = find_target(call)
        if target is None or target.wire.provider != request.provider or call.path != request.path:
            continue
        try:
            rebuilt = read_call(call, target, options)
        except WireError:
            continue
        if _comparable_parts(rebuilt) == _comparable_parts(request):
            fields = to_builtins(sample) | {"tools": ", ".join(sample.tools), "provider": name}
            return PrefilledForm(fields, tuple(_describe_differences(rebuilt, request)))
    return None


def _comparable_parts(request: CanonicalRequest) -> tuple[object, ...]:
    """Return the parts in which a request built from the form must equal the original."""
    return (
        *(request.also, request.model, request.stream, [tool.name for tool in request.tools]),
        [(message.role, message.text) for message in request.messages],
        [(call.name, call.namespace, call.arguments) for call in request.tool_calls],
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


def _describe_differences(rebuilt: CanonicalRequest, request: CanonicalRequest) -> Iterator[str]:
    """Yield labels of the settings, tools and headers of the request that differ in the rebuilt
    one."""
    yield from (
        label for key, label in _SETTINGS.items() if getattr(rebuilt, key) != getattr(request, key)
    )
    if rebuilt.tools != request.tools:
        yield "the definitions of tools"
    client_headers = (*_CLIENT_HEADERS, *rebuilt.headers)
    if any(
        name.startswith("x-") and not name.startswith(client_headers) for name in request.headers
    ):
        yield "headers"
