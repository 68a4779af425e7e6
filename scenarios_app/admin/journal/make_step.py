"""*Make a step*: turns a request of the journal into a step that answers it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from mockllm_site.kit.admin.kept_forms import is_restoring, mark_saved
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.effects import reports_effects
from scenarios_app.admin.pages import StyledForm, render_page
from scenarios_app.catalog import catalog
from scenarios_app.control.matches import iterate_newest_first, parse_row
from scenarios_app.control.steps import (
    CannotRead,
    match_document,
    name_for,
    proposed_match,
    request_of,
)
from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_documents,
)
from scenarios_app.engine.matching.index import Index, overlay
from scenarios_app.engine.matching.near_misses import near_misses, shares_topic
from scenarios_app.engine.scenario import Step as CompiledStep
from scenarios_app.models import Draft, Scenario, ServedRequest, one_save
from scenarios_app.models.fields import ScriptFormField
from scenarios_app.serving.services import services
from scenarios_app.store import document_of, limits, rows_of, save_document
from scenarios_app.store.drafts import append_step, create_draft, free_name, get_or_create_draft

NEW = "new"
# The preview tests this many of the latest requests, and lists this many of those that it catches.
PREVIEW_REQUESTS = 200
SHOWN_REQUESTS = 8
_MAX_NEAR = 20

# Permissions to publish a new scenario, and to add a step to a published one.
PUBLISH = ("scenarios_app.add_scenario", "scenarios_app.change_scenario")
# Both are needed: the step goes into a new draft or an existing one.
DRAFT = ("scenarios_app.add_draft", "scenarios_app.change_draft")


class MakeStepForm(StyledForm):
    """The new step's match and answer, and the scenario that it is added to. The fields are those
    of `proposed_match`; `without_answer` allows a blank answer."""

    mode = forms.ChoiceField(
        choices=[("contains", "contains"), ("equals", "equals"), ("startswith", "begins with")],
        widget=forms.Select({"aria-label": "How the user message is compared"}),
    )
    message = ScriptFormField(label="Text", required=False, strip=False)
    tool = forms.CharField(label="Tool result from", required=False)
    model = forms.CharField(label="Model", required=False)
    answer = ScriptFormField(
        label="Answer",
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 5, "autofocus": True}),
    )
    target = forms.ChoiceField(label="Add the step to")
    name = forms.CharField(label="Name of the new scenario", required=False, max_length=200)

    def __init__(
        self,
        *args: Any,
        targets: list[tuple[str, str]],
        without_answer: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["target"].choices = targets  # type: ignore[attr-defined]
        self.fields["target"].widget.attrs["x-model"] = "target"
        self.without_answer = without_answer

    @property
    def disabled_targets(self) -> list[str]:
        """The targets that are switched off, which *Save and enable* switches on."""
        rows = Scenario.objects.filter(select="match", enabled=False)
        return [str(key) for key in rows.values_list("pk", flat=True)]

    def clean_answer(self) -> str:
        """Return the answer; raise ValidationError for a blank one unless the form may lack it."""
        answer: str = self.cleaned_data["answer"]
        if not answer.strip() and not self.without_answer:
            raise forms.ValidationError("Enter the answer. A step without one cannot be enabled.")
        return answer

    def clean(self) -> dict[str, Any]:
        """Require a condition, and a free name for a new scenario."""
        values = self.cleaned_data
        if not (values.get("message") or values.get("tool") or values.get("model")):
            self.add_error("message", "Fill in a condition: this step would answer every request.")
        if values.get("target") == NEW:
            name = values.get("name", "").strip()
            if not name:
                self.add_error("name", "Enter a name.")
            elif free_name(name) != name:
                self.add_error("name", "A scenario or a draft has this name.")
        return values


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of the new step on the requests of the journal.

    `answers` is true if it answers the request that it is made from; `first` is the scenario that
    does, "" if none matches. Of the other requests that the step would answer, a scenario answered
    those in `answered_elsewhere`, and none matched those in `others`.
    """

    answers: bool
    first: str
    answered_elsewhere: list[ServedRequest]
    others: list[ServedRequest]

    @property
    def shown_requests(self) -> list[ServedRequest]:
        return [*self.answered_elsewhere, *self.others][:SHOWN_REQUESTS]

    @property
    def left_out(self) -> int:
        """The number of requests that are not shown."""
        return max(len(self.answered_elsewhere) + len(self.others) - SHOWN_REQUESTS, 0)


@reports_effects
def make_step_page(request: HttpRequest, owner: Any, served: ServedRequest) -> HttpResponse:
    """Show the form; a post saves the step, or returns the preview as an HTML fragment. If no step
    can be made of the request, redirect to its page. Raises PermissionDenied if the user may save
    no step."""
    entry_page = "admin:scenarios_app_servedrequest_change"
    try:
        parsed = request_of(served)
    except CannotRead as error:
        messages.error(request, f"No step can be made of it: {error}")
        return redirect(entry_page, served.pk)
    targets = list(_target_choices(request, parsed))
    if not targets:
        raise PermissionDenied
    initial = proposed_match(parsed)
    initial |= {"target": targets[0][0], "name": free_name(name_for(parsed))}
    posted = request.POST if request.method == "POST" else None
    without_answer = posted is None or "preview" in posted or "draft" in posted
    data = initial if posted is None else posted
    # The proposed step or the posted one, for the preview.
    filled = MakeStepForm(data, targets=targets, without_answer=without_answer)
    is_valid = filled.is_valid()
    if posted is not None and "preview" in posted:
        preview = {"preview": _preview_step(filled, served, parsed), "looked_at": PREVIEW_REQUESTS}
        return TemplateResponse(request, "scenarios_app/admin/make_step_preview.html", preview)
    if posted is not None and is_valid and not is_restoring(request):
        try:
            saved = _save_step(request, owner, filled, served, parsed)
            return mark_saved(request, saved, page=saved.headers["Location"])
        except DocumentError as error:
            _add_errors(filled, error)
        except Scenario.DoesNotExist:
            filled.add_error("target", "This scenario has been deleted.")
    context = {
        "media": owner.media,
        "title": "Make a step",
        "form": filled if posted is not None else MakeStepForm(initial=initial, targets=targets),
        "served": served,
        "said": parsed.last_user_text,
        "preview": _preview_step(filled, served, parsed),
        "looked_at": PREVIEW_REQUESTS,
        "may_publish": any(map(request.user.has_perm, PUBLISH)),
        "may_draft": request.user.has_perms(DRAFT),
    }
    return render_page(request, owner, "make_step.html", context)


def may_make_step(request: HttpRequest) -> bool:
    """Return whether the user may save a step, in a published scenario or in a draft."""
    user = request.user
    return user.has_perms(DRAFT) or any(map(user.has_perm, PUBLISH))


def _target_choices(request: HttpRequest, parsed: CanonicalRequest) -> Iterator[tuple[str, str]]:
    """Yield primary key and label of what this user may add a step to: the near scenarios, closest
    first, then NEW with its label, then the other scenarios."""
    user, drafts = request.user, request.user.has_perms(DRAFT)
    keys: dict[str, str] = {}
    near: dict[str, None] = {}
    if drafts or user.has_perm("scenarios_app.change_scenario"):
        index = catalog.snapshot().index
        catch_all = {name for name, scenario in index.by_name.items() if scenario.catch_all}
        rows = Scenario.objects.filter(select="match").exclude(name__in=catch_all)
        keys = {name: str(pk) for name, pk in rows.values_list("name", "pk")}
        misses = near_misses(index, parsed, limit=_MAX_NEAR)
        names = (miss.scenario.name for miss in misses if shares_topic(miss, parsed))
        near = dict.fromkeys(name for name in names if name in keys)
        yield from ((keys[name], f"{name} (near)") for name in near)
    if drafts or user.has_perm("scenarios_app.add_scenario"):
        yield NEW, "a new scenario"
    yield from ((keys[name], name) for name in sorted(keys, key=str.casefold) if name not in near)


def _document_with_step(form: MakeStepForm, served: ServedRequest) -> ScenarioDocument:
    """Return the form's scenario, enabled, with the new step as its last. Raises DocumentError, and
    Scenario.DoesNotExist if it was deleted."""
    values = form.cleaned_data
    step: dict[str, Json] = {"consume": False, "match": match_document(values)}
    step["produce"] = {"text": values.get("answer") or ""}
    if values["target"] == NEW:
        about = f"Made from the request {served.uid}."
        data: Any = {"name": values["name"].strip(), "description": about, "steps": []}
    else:
        data = dump(document_of(Scenario.objects.get(pk=values["target"])))
    data |= {"enabled": True, "steps": [*data.get("steps", ()), step]}
    (document,) = load_documents(data, limits=limits())
    return document


def _save_step(
    request: HttpRequest,
    owner: Any,
    form: MakeStepForm,
    served: ServedRequest,
    parsed: CanonicalRequest,
) -> HttpResponse:
    """Save the step in a draft, or in a published scenario and enable it; redirect to the page.
    Raises DocumentError, MissingPermission, and Scenario.DoesNotExist if it was deleted."""
    new = form.cleaned_data["target"] == NEW
    if "draft" in request.POST:
        require_permissions(request, *DRAFT)
        draft = _save_draft(form, served, new=new)
        messages.success(request, "Draft step created. Enter the answer, then save and publish.")
        return redirect("admin:scenarios_app_draft_change", draft.pk)
    require_permissions(request, PUBLISH[0] if new else PUBLISH[1])
    switched_on = False
    with one_save():
        if not new:
            # A step saved concurrently waits, and is appended after this one.
            scenario = Scenario.objects.select_for_update().get(pk=form.cleaned_data["target"])
        document = _document_with_step(form, served)
        compile_scenario(document)
        if new:
            scenario = save_document(document)
        else:
            switched_on = not scenario.enabled
            scenario.enabled = True
            scenario.save()
            append_step(scenario, rows_of(document)[1][-1])
    log = owner.log_addition if new else owner.log_change
    log(request, scenario, f"Made a step from the request {served.uid}.")
    match = next(catalog.snapshot().index.candidates(parsed), None)
    saved = f"Saved and switched “{scenario}” on" if switched_on else "Saved"
    if match is None:
        messages.warning(request, f"{saved}, but the step does not match this request.")
    elif (first := match.scenario.name) == scenario.name:
        messages.success(request, f"{saved}. “{scenario}” answers this request now.")
    else:
        messages.warning(request, f"{saved}, but “{first}” answers this request first.")
    return redirect("admin:scenarios_app_scenario_change", scenario.pk)


def _save_draft(form: MakeStepForm, served: ServedRequest, *, new: bool) -> Draft:
    """Save the step in a new draft or in that of the form's scenario, where its answer may still
    be empty. Raises DocumentError, and Scenario.DoesNotExist if the scenario was deleted."""
    document = _document_with_step(form, served)
    if new:
        return create_draft(document)
    with one_save():
        draft, _ = get_or_create_draft(Scenario.objects.get(pk=form.cleaned_data["target"]))
        append_step(draft, rows_of(document)[1][-1])
    return draft


def _add_errors(form: MakeStepForm, error: DocumentError) -> None:
    """Add the problems of a document to the form's fields."""
    for problem in error.problems:
        fields = {"produce": "answer", "match": "message", "name": "name"}
        field = next((name for word, name in fields.items() if word in problem.place), None)
        form.add_error(field, f"{problem.place}: {problem.message}")


def _preview_step(
    form: MakeStepForm, served: ServedRequest, parsed: CanonicalRequest
) -> Preview | None:
    """Return the preview of the step, or None while the form is incomplete or the step is
    invalid."""
    if {"message", "target", "name"} & form.errors.keys():
        return None
    try:
        compiled = compile_scenario(_document_with_step(form, served))
    except (DocumentError, Scenario.DoesNotExist):
        return None
    index, step = overlay(catalog.snapshot().index, [compiled]), compiled.steps[-1]
    first = next(index.candidates(parsed), None)
    caught = ServedRequest.objects.filter(pk__in=list(_answered_requests(index, step, served)))
    rows = list(caught.only("at", "request_preview", "scenario", "fallback", "way", "matched"))
    return Preview(
        answers=first is not None and first.step is step,
        first=first.scenario.name if first else "",
        answered_elsewhere=[row for row in rows if not row.is_unmatched],
        others=[row for row in rows if row.is_unmatched],
    )


def _answered_requests(index: Index, step: CompiledStep, served: ServedRequest) -> Iterator[int]:
    """Yield the primary keys of the recent requests, other than `served`, that the step would
    answer in an unused session."""
    options = services().pipeline.options
    rows = ServedRequest.objects.exclude(pk=served.pk).exclude(way__in=("", "in_band", "by_id"))
    for row in islice(iterate_newest_first(rows), PREVIEW_REQUESTS):
        request = None if row.request_cut else parse_row(row, options)
        first = None if request is None else next(index.candidates(request), None)
        if first is not None and first.step is step:
            yield row.pk
