"""The import page: takes documents as a file or as text, previews the changes, and loads all or
none."""

from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from unfold.widgets import UnfoldAdminFileFieldWidget

from mockllm_site.kit.admin.kept_forms import is_restoring, mark_saved
from mockllm_site.kit.permissions import require_permissions
from scenarios_app.admin.pages import render_page
from scenarios_app.admin.scenarios.actions import forget_on_commit
from scenarios_app.admin.site import IMPORT
from scenarios_app.catalog.lint import suspicions_once_loaded
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    load_text,
    merge_documents,
)
from scenarios_app.models import Scenario
from scenarios_app.recording.files import read_upload
from scenarios_app.store import are_rows_of, limits
from scenarios_app.store.documents import authored_names, copy_disabled, load
from scenarios_app.store.drafts import free_name

ADD, REPLACE, RENAME = "add", "replace", "rename"
MAX_WARNINGS = 20
# The file name of pasted text, without its suffix.
PASTED = "pasted"


@dataclass(frozen=True, slots=True)
class ImportChange:
    """The effect of loading one document. `was` is the number of steps before, None for a new
    scenario. `same` is true if a replacement changes nothing. `instead_of` is the name in the
    document if it is loaded under another one. `by_name` is true for a new scenario that is
    selected by its name."""

    name: str
    steps: int
    was: int | None = None
    same: bool = False
    instead_of: str = ""
    by_name: bool = False


class ImportForm(forms.Form):
    """Documents as a file or as text; a file wins. `cleaned_data["data"]` has their bytes."""

    # The theme's widget, because its script expects that widget's parts beside each file field.
    file = forms.FileField(
        required=False, label="A file, chosen or dropped here", widget=UnfoldAdminFileFieldWidget
    )
    # The name of a previewed file, whose content is posted as text the second time.
    filename = forms.CharField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(
        required=False,
        strip=False,
        label="or pasted",
        widget=forms.Textarea(
            {"class": "sc-input sc-area sc-code", "rows": 8, "spellcheck": "false"}
        ),
    )
    existing = forms.ChoiceField(
        label="If a scenario of that name exists",
        choices=[
            (REPLACE, "replace it (session progress is reset)"),
            (RENAME, "keep both: import under another name, switched off"),
            (ADD, "stop: import nothing"),
        ],
        initial=REPLACE,
        widget=forms.RadioSelect,
    )

    def clean(self) -> dict[str, Any]:
        """Set `data` to the bytes of the file or the text; none or too many bytes are an error."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        file, text = cleaned.get("file"), cleaned.get("text", "")
        max_bytes: int = settings.MOCKLLM_MAX_UPLOAD_BYTES
        try:
            size = file.size if file else len(text.encode())
        except UnicodeEncodeError:
            self.add_error("text", "This is not text.")
            return cleaned
        if size > max_bytes:
            message = (
                f"{filesizeformat(size)} is more than the {filesizeformat(max_bytes)} allowed."
            )
            self.add_error("file" if file else "text", message)
        elif not size and not self.errors:
            self.add_error("file", "Choose a file, or paste a document below.")
        else:
            cleaned["data"] = file.read() if file else text.encode()
            cleaned["filename"] = file.name if file else cleaned.get("filename", "")
        return cleaned


def import_page(request: HttpRequest, owner: "ModelAdmin[Scenario]") -> HttpResponse:
    """Show the form; a post returns the preview of the import or its errors, a post with `load`
    loads the documents and redirects to the list. Raises MissingPermission."""
    require_permissions(request, *IMPORT)
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "problems": (), "changes": (), "notes": ()}
    if request.method == "POST" and form.is_valid() and not is_restoring(request):
        data: bytes = form.cleaned_data["data"]
        existing: str = form.cleaned_data["existing"]
        filename: str = form.cleaned_data["filename"]
        try:
            documents, context["notes"] = _parse_upload(data, filename)
            documents, names = _rename_taken(documents) if existing == RENAME else (documents, {})
            changes = changes_of(documents, replace=existing != ADD, names=names)
            if "load" in request.POST:
                loaded = load(documents, replace=existing == REPLACE)
                forget_on_commit(loaded.replaced)
                messages.success(request, _import_summary(changes))
                response = redirect("admin:scenarios_app_scenario_changelist")
                return mark_saved(request, response)
            warnings = suspicions_once_loaded(documents)
            context |= {"text": data.decode(), "filename": filename, "changes": changes}
            context |= {"warnings": warnings[:MAX_WARNINGS], "more": warnings[MAX_WARNINGS:]}
        except DocumentError as error:
            context["problems"] = error.problems
    context |= {
        "title": "Import scenarios",
        "existing": request.POST.get("existing", REPLACE),
        "most": settings.MOCKLLM_MAX_UPLOAD_BYTES,
    }
    return render_page(request, owner, "import.html", context)


def _parse_upload(data: bytes, filename: str) -> tuple[list[ScenarioDocument], tuple[Problem, ...]]:
    """Parse scenario documents, or convert a recording; also return notes on what could not be
    converted. Raises DocumentError."""
    # JSON is told from YAML by the suffix, which pasted text has not.
    is_json = data.lstrip(BOM_UTF8 + b" \t\r\n")[:1] in (b"{", b"[")
    source = filename or f"{PASTED}.{'json' if is_json else 'yaml'}"
    files = read_upload(data, source=source, used_names=authored_names())
    if files is None:
        return load_text(data, source=source, limits=limits()), ()
    if not files.documents:
        raise DocumentError.of(files.notes)
    return merge_documents(files.documents, limits=limits()), files.notes


def _rename_taken(
    documents: Sequence[ScenarioDocument],
) -> tuple[list[ScenarioDocument], dict[str, str]]:
    """Return the documents, those with taken names renamed and disabled, and their old names by
    new name. They are disabled because the scenarios with those names answer the same requests."""
    imported_names = {document.name for document in documents}
    existing = Scenario.objects.filter(name__in=imported_names)
    taken_names = set(existing.values_list("name", flat=True))
    names: dict[str, str] = {}
    renamed = list(documents)
    for index, document in enumerate(documents):
        if document.name in taken_names:
            name = free_name(document.name, names={*imported_names, *names})
            names[name] = document.name
            renamed[index] = copy_disabled(document, name)
    return renamed, names


def changes_of(
    documents: Sequence[ScenarioDocument], *, replace: bool, names: Mapping[str, str]
) -> list[ImportChange]:
    """Return what loading would change; `names` are the documents' old names by new name. Raises
    DocumentError if a name is taken and `replace` is false."""
    imported_names = [document.name for document in documents]
    rows = Scenario.objects.filter(name__in=imported_names).prefetch_related("steps")
    stored = {row.name: row for row in rows}
    if stored and not replace:
        raise DocumentError.of(
            Problem(name, "a scenario of this name exists")
            for name in imported_names
            if name in stored
        )
    return [_describe_change(document, stored.get(document.name), names) for document in documents]


def _describe_change(
    document: ScenarioDocument, stored: Scenario | None, names: Mapping[str, str]
) -> ImportChange:
    """Return what the import of a document would change in the stored scenario; None if there is
    none."""
    if stored is None:
        return ImportChange(
            document.name,
            len(document.steps),
            instead_of=names.get(document.name, ""),
            by_name=document.select == "first_user_message",
        )
    steps = stored.steps.all()
    same = are_rows_of(document, stored, steps)
    return ImportChange(document.name, len(document.steps), was=len(steps), same=same)


def _import_summary(changes: Sequence[ImportChange]) -> str:
    """Return a sentence with the numbers of added, replaced and renamed scenarios."""
    renamed = [f"“{change.name}”" for change in changes if change.instead_of]
    new = sum(change.was is None for change in changes) - len(renamed)
    replaced = len(changes) - new - len(renamed)
    parts = [f"{new} added" if new else "", f"{replaced} replaced" if replaced else ""]
    if renamed:
        parts.append(f"{len(renamed)} under another name, switched off ({', '.join(renamed)})")
    return f"Scenarios imported: {', '.join(part for part in parts if part) or 'none'}."
