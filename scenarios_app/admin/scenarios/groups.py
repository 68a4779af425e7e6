"""Groups and tags of scenarios: the first tag of a scenario is its group. The list is filtered and
sorted by group, and many scenarios are moved to one or tagged together."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, Left, Lower, Replace, StrIndex, Substr
from django.db.models.lookups import Exact
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html

from mockllm_site.kit.admin.records import tags_html
from mockllm_site.kit.fields import NamesFormField
from scenarios_app.admin.scenarios.actions import BulkChange, BulkForm, set_column
from scenarios_app.engine.document import DocumentError, load_documents
from scenarios_app.models import Scenario
from scenarios_app.recording.document import TAG as RECORDING

PARAMETER = "group"
_KEEP_AS_TAG = {RECORDING}
_STORED = Cast("tags", TextField())


def group_of(tags: Sequence[str]) -> str:
    """Return the group of a scenario with these tags; empty if it has no tags."""
    return tags[0] if tags else ""


def all_groups() -> list[str]:
    """Return the names of all groups, sorted."""
    tags = Scenario.objects.order_by().values_list("tags", flat=True)
    return sorted(set(map(group_of, tags)) - {""}, key=lambda name: (name.casefold(), name))


def group_order() -> Concat:
    """Return the SQL expression that sorts scenarios by group, ignoring case.

    Lists of names are stored as JSON text, so it is the text up to the end of the first name.
    """
    end = StrIndex(Replace(_STORED, Value('"]'), Value('",')), Value('",'))
    first = Substr(_STORED, 1, end)
    # The exact text comes second: groups that differ only in case are not mixed.
    return Concat(Lower(first), Value(" "), first)


def _is_in_group(group: str) -> Exact:
    """Return the condition on rows whose first tag is this group."""
    # No `startswith`: in SQLite that ignores case.
    begin = json.dumps([group]).removesuffix("]")
    return Exact(Left(_STORED, len(begin)), Value(begin))


class GroupFilter(admin.SimpleListFilter):
    """Filters by group. Its choices have counts and stand above the list, not in the sheet."""

    title = "group"
    parameter_name = PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        groups = all_groups()
        return [*((name, name) for name in groups), ("", "No group")] if groups else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case None:
                return queryset
            case "":
                return queryset.filter(tags=[])
            case group:
                return queryset.filter(_is_in_group(group))

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield the choice of all and the groups, each with its number of scenarios among those
        that search and other filters leave. An empty group is left out unless it is chosen."""
        others = changelist.get_queryset(self.request, exclude_parameters=[PARAMETER])
        tags = dict(others.order_by().values_list("pk", "tags")).values()
        counts = Counter(map(group_of, tags))
        chosen = self.value()
        everything = (None, "All", counts.total())
        groups = [(name, label, counts[name]) for name, label in self.lookup_choices]
        for name, label, count in [everything, *groups]:
            if count or name in (None, chosen):
                parameters = {} if name is None else {PARAMETER: name}
                yield {
                    "selected": chosen == name,
                    "query_string": changelist.get_query_string(parameters, [PARAMETER]),
                    "display": label,
                    "count": count,
                }


def pop_group_choices(changelist: ChangeList) -> list[Any]:
    """Return the choices of the group filter and take it out of the sheet of filters; [] if the
    list has no such filter."""
    for spec in changelist.filter_specs:
        if isinstance(spec, GroupFilter):
            changelist.filter_specs.remove(spec)
            return list(spec.choices(changelist))
    return []


def tag_chips(tags: Sequence[str]) -> str:
    """Return a scenario's group and its other tags as HTML."""
    if not tags:
        return ""
    group = '<span class="sc-tag sc-tag-group" title="Group">{}</span> {}'
    return format_html(group, tags[0], tags_html(tags[1:]))


def tags_in_group(tags: Sequence[str], group: str) -> list[str]:
    """Return the tags of a scenario after its move to a group. The old group's name goes; the tag
    that marks recordings stays, because imports go by it."""
    old = group_of(tags)
    others = (tag for tag in tags if tag != group and (tag != old or tag in _KEEP_AS_TAG))
    return [group, *others]


class GroupForm(BulkForm):
    action, title = "move_to_group", "Move to a group"
    heading = button = "Move"

    group = forms.CharField(
        label="Group",
        help_text="Choose an existing group or type a new name.",
        widget=forms.TextInput({"list": "groups", "autocomplete": "off", "autofocus": True}),
    )

    @cached_property
    def groups(self) -> list[str]:
        """The groups to choose from."""
        return all_groups()

    def clean_group(self) -> str:
        """Return a valid name for a group."""
        (group,) = _valid_tags([self.cleaned_data["group"]])
        return group

    def apply(self) -> BulkChange:
        """Move the scenarios into the group; return what changed."""
        group: str = self.cleaned_data["group"]
        changed = set_column(self.scenarios, "tags", lambda row: tags_in_group(row.tags, group))
        summary = f"Moved {len(changed)} of {len(self.scenarios)} to “{group}”."
        return BulkChange(changed, f"Moved to the group “{group}”.", summary)


class TagsForm(BulkForm):
    action, title = "set_tags", "Add or remove tags"
    heading, button = "Tags of", "Save tags"

    add = forms.CharField(
        label="Add tags",
        required=False,
        help_text="Separate tags with commas. The first tag of a scenario is its group.",
        widget=forms.TextInput({"autofocus": True}),
    )
    remove = forms.MultipleChoiceField(
        label="Remove tags", required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        counts = Counter(tag for scenario in self.scenarios for tag in scenario.tags)
        names = sorted(counts, key=str.casefold)
        remove = self.fields["remove"]
        assert isinstance(remove, forms.MultipleChoiceField)
        remove.choices = [(name, f"{name} ({counts[name]})") for name in names]
        if not names:
            del self.fields["remove"]

    def clean_add(self) -> list[str]:
        return _valid_tags(NamesFormField().to_python(self.cleaned_data["add"]))

    def clean(self) -> dict[str, Any]:
        """Require a tag to add or to remove."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not (self.errors or cleaned["add"] or cleaned.get("remove")):
            self.add_error("add", "Type a tag to add, or choose one to remove.")
        return cleaned

    def changed_tags(self, scenario: Scenario) -> list[str]:
        """Return the tags of a scenario as this form changes them."""
        removed = self.cleaned_data.get("remove", ())
        remaining = [tag for tag in scenario.tags if tag not in removed]
        return list(dict.fromkeys([*remaining, *self.cleaned_data["add"]]))

    def apply(self) -> BulkChange:
        """Add and remove tags; return what changed."""
        changed = set_column(self.scenarios, "tags", self.changed_tags)
        summary = f"Changed the tags of {len(changed)} of {len(self.scenarios)}."
        return BulkChange(changed, "Tags changed.", summary)


def _valid_tags(names: list[str]) -> list[str]:
    """Return the names if a document may have them as tags; else raise ValidationError."""
    if any("," in name for name in names):
        raise forms.ValidationError("A name cannot contain a comma.")
    try:
        load_documents({"name": "tags", "tags": names})
    except DocumentError as error:
        raise forms.ValidationError(error.message) from None
    return names
