"""Two people at one scenario: who else has its page open, which every open page says every few
seconds and is told; fields that only one of them changed come together, and where both changed one,
both values are told."""

from collections.abc import Iterator
from copy import copy
from datetime import timedelta
from typing import Any

from django import forms
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from scenarios_app.admin.editor.inputs import choice_label
from scenarios_app.models import AnyScenario, Presence
from scenarios_app.store.history import NOBODY

_SHOWN = 120
# So often a page says that it is open; after so long without a word somebody has left.
EVERY = timedelta(seconds=8)
GONE = timedelta(seconds=25)
# At this status htmx shows the answer and asks no more.
NO_MORE = 286


class MergingForm(forms.ModelForm):
    """`before` is the row as it was when the page was opened, where `who` has changed it since. A
    field that was sent as it was then keeps what it has now."""

    before: Model | None = None
    who: str = NOBODY
    # Fields about which two people cannot disagree.
    apart: frozenset[str] = frozenset()

    def full_clean(self) -> None:
        taken, both = self._merged() if self.is_bound and self.before else ([], {})
        # A column without a field keeps its value; what was sent for it does not count.
        whole = self.fields
        self.fields = {name: field for name, field in whole.items() if name not in taken}
        try:
            super().full_clean()
            for name, message in both.items():
                if name not in self.errors:
                    self.add_error(name, message)
            # Looked at, and kept, while these count as unchanged.
            assert self.changed_data is not None
        finally:
            self.fields = whole

    def _merged(self) -> tuple[list[str], dict[str, str]]:
        """The fields that keep what they have now, and what to say of those that both changed."""
        taken: list[str] = []
        both: dict[str, str] = {}
        for name, was, now in self._changed():
            field = self.fields[name]
            sent = field.widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
            if not field.has_changed(was, sent):
                taken.append(name)
            elif field.has_changed(now, sent):
                both[name] = (
                    f"{self.who} changed this since you opened the page, "
                    f"to {shown(field, now)}. You have {shown(field, sent)}."
                )
        return taken, both

    def _changed(self) -> Iterator[tuple[str, Any, Any]]:
        """The fields that have another value now than then."""
        assert self.before is not None
        was = self.as_of(copy(self.before))
        for name, field in self.fields.items():
            if name in self.apart:
                continue
            then = was.get_initial_for_field(field, name)
            now = self.get_initial_for_field(field, name)
            if then != now:
                yield name, then, now

    def as_of(self, row: Any) -> forms.ModelForm:
        """The form for the row as it was, not bound."""
        return type(self)(instance=row)


def shown(field: forms.Field, value: Any) -> str:
    """A value as the page would have it, cut where it is long."""
    if isinstance(field, forms.ChoiceField):
        value = choice_label(field, value)
    if value in (None, "", [], {}):
        return "nothing"
    text = str(field.prepare_value(value))
    return f"“{text}”" if len(text) <= _SHOWN else f"“{text[: _SHOWN - 1]}…”"


def here_page(request: HttpRequest, scenario: AnyScenario) -> HttpResponse:
    """Note that the user is here, and name the others, as a piece of the page."""
    page = f"{scenario._meta.model_name}/{scenario.pk}"
    if request.method == "POST":
        note(page, request.user)
    context = {"others": others_at(page, request.user)}
    return TemplateResponse(request, "scenarios_app/admin/here.html", context)


def gone_page(request: HttpRequest) -> HttpResponse:
    """Say that what the page shows is there no more, and that it need not ask again."""
    return TemplateResponse(
        request, "scenarios_app/admin/here.html", {"gone": True}, status=NO_MORE
    )


def note(page: str, user: Any) -> None:
    now = timezone.now()
    Presence.objects.filter(at__lt=now - GONE).delete()
    Presence.objects.update_or_create(page=page, user=user, defaults={"at": now})


def others_at(page: str, user: Any) -> list[str]:
    """Their names, without the user's own."""
    rows = Presence.objects.filter(page=page, at__gte=timezone.now() - GONE).exclude(user=user)
    return sorted(str(row.user) for row in rows.select_related("user"))
