"""How often a step answers, when it fails, and which fields the browser shows for that."""

from collections.abc import Mapping
from typing import Any

from django import forms

from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultKind
from scenarios_app.models import Select, Step, StepColumns
from scenarios_app.models.columns import column_of
from scenarios_app.store.columns import empty_value

ALWAYS, ONCE = "always", "once"
FREQUENCIES = ((ALWAYS, "every time"), (ONCE, "once per session"))
# Not posted: the two failure types imply it. See `when` in `step_fields.html`.
FAILURE_SCHEDULES = (
    ("never", "never"),
    ("first", "the first requests, then it answers"),
    ("always", "always"),
    ("both", "the first requests, then always"),
)
# The failure type of `failures` without a `fault`.
DEFAULT_KIND = "model_error"
NO_FAILURE = "no failure"

_COLUMNS = tuple(field.name for field in Step._meta.local_fields)
FAILURES_COLUMNS = tuple(name for name in _COLUMNS if name.startswith("failures_"))
_FAULTS = tuple(name for name in _COLUMNS if name.startswith("fault_"))
# Fields that every failure type has.
_COMMON = ("failures_kind", "failures_times", "failures_extra", "fault_kind", "fault_extra")
_BY_TURN = "A scenario that is selected by its name answers every time."
_NO_KIND = "required, or leave the number of failing requests empty"


def frequency_of(row: StepColumns, *, by_turn: bool = False) -> str:
    """Return ALWAYS or ONCE for a stored step. With `by_turn` the scenario selects steps by turn;
    those are never used up."""
    return ONCE if row.consume and not by_turn else ALWAYS


def kind_choices() -> list[tuple[str, Any]]:
    """Return the choices of a failure type, in groups, after the empty choice."""
    groups: dict[str, list[tuple[str, str]]] = {"HTTP errors": [], "Broken streams": []}
    for kind in FAULT_KINDS.values():
        groups.setdefault(_fault_group(kind), []).append((kind.name, kind.label))
    return [("", NO_FAILURE), *groups.items()]


def kind_of_failures(row: StepColumns) -> str:
    """Return the failure type of the first requests, the default type included; "" if none fail."""
    return row.failures_kind or (DEFAULT_KIND if row.failures_times is not None else "")


def shown_when(column: str, form: forms.BaseForm) -> str:
    """Return the Alpine expression that shows a column's field, or "" for always.

    The expression reads the selected failure types: `failing` is that of the first requests,
    `fault` that of all others.
    """
    if column not in FAILURES_COLUMNS + _FAULTS:
        return ""
    is_fault = column in _FAULTS
    choice, kind_column = ("fault", "fault_kind") if is_fault else ("failing", "failures_kind")
    if column in _COMMON:
        return choice
    kinds = _fault_kinds_using(column)
    if form[column].value() not in (None, ""):
        # A stored value is shown even if it has no effect.
        kinds.add(str(form[kind_column].value()))
    return f"{sorted(kinds)}.includes({choice})"


def failures_summary(form: forms.BaseForm) -> str:
    """Return one line that says when and how a step fails; empty if it never fails."""

    def describe(section: str) -> str:
        """Return label and status of the failure type in a section: `failures` or `fault`."""
        kind, status = form[f"{section}_kind"].value(), form[f"{section}_status"].value()
        label = FAULT_KINDS[kind].label if kind in FAULT_KINDS else kind
        return f"{label} {status}" if status else label

    times = form["failures_times"].value() or 1
    first = "first request" if str(times) == "1" else f"first {times} requests"
    lines = ((first, "failures"), ("always", "fault"))
    return " · ".join(
        f"{when}: {describe(section)}" for when, section in lines if form[f"{section}_kind"].value()
    )


def store_choices(form: "forms.ModelForm[Any]", *, select: str) -> None:
    """Translate the choices of a posted row into columns, and add errors for those that conflict.
    Columns of fields that were not posted, because they were hidden, are emptied. A stored row
    that was not opened keeps its columns. `select` is that of the scenario."""
    sent: Mapping[str, Any] = form.data
    values = form.cleaned_data
    if form.instance.pk and form.add_prefix("consume") not in sent:
        values["consume"] = form.instance.consume
        return
    if "consume" in form.fields:
        often = values.get("consume") or ALWAYS
        by_turn = select == Select.FIRST_USER_MESSAGE
        if by_turn and often == ONCE:
            form.add_error("consume", _BY_TURN)
        # In such a scenario `consume` keeps its default, so that documents do not have the key.
        _set_value(form, "consume", often == ONCE or by_turn)
    for name in (*FAILURES_COLUMNS, *_FAULTS):
        if name in form.fields and form.add_prefix(name) not in sent:
            _set_value(form, name, empty_value(Step, name))
    if {"failures_kind", "failures_times"} <= form.fields.keys():
        _complete_first_failures(form)


def _complete_first_failures(form: "forms.ModelForm[Any]") -> None:
    """Set a missing number of first requests that fail, and report a number without a type."""
    values, row = form.cleaned_data, form.instance
    kind, times = values.get("failures_kind"), values.get("failures_times")
    without_kind = row.failures_times is not None and not row.failures_kind
    rest = set(FAILURES_COLUMNS) - {"failures_kind", "failures_times"}
    alone = all(values.get(name, getattr(row, name)) == empty_value(Step, name) for name in rest)
    if kind and times is None and "failures_times" not in form.errors:
        _set_value(form, "failures_times", 1)
    elif times is not None and not kind and "failures_kind" not in form.errors:
        form.add_error("failures_kind", _NO_KIND)
    if kind == DEFAULT_KIND and without_kind:
        # The type stays implicit as stored; other keys of `failures` need it explicitly.
        _set_value(form, "failures_kind", "" if alone else kind)


def _set_value(form: "forms.ModelForm[Any]", column: str, value: Any) -> None:
    """Set a column of the form's row, also if its field was not posted, so that it is saved."""
    if column in form.fields:
        form.cleaned_data[column] = value
    if getattr(form.instance, column) != value:
        # Django does not copy fields that were not posted, and saves only changed columns.
        setattr(form.instance, column, value)
        if column not in form.changed_data:
            form.changed_data.append(column)


def _fault_group(kind: FaultKind) -> str:
    """Return the heading under which a kind of fault is listed."""
    if kind.inside:
        return "Broken streams"
    return "HTTP errors" if kind.stream == "error" else "Network"


def _fault_kinds_using(column: str) -> set[str]:
    """Return the names of the fault kinds that use this column of a step."""
    key = (column_of(Step, column).place or ("",))[-1]
    kinds = FAULT_KINDS.values()
    return {kind.name for kind in kinds if key in kind.keys or key in kind.required}
