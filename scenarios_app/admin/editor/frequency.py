"""How often a step answers and what goes wrong with it: one choice each over several columns, and
the fields that such a choice brings into sight."""

from collections.abc import Mapping
from typing import Any

from django import forms

from scenarios_app.engine.producing.faults import fault_kinds
from scenarios_app.models import Select, Step, StepColumns
from scenarios_app.models.columns import column_of
from scenarios_app.store.columns import empty_value

ALWAYS, ONCE, FAILING, FAILING_ONCE = "always", "once", "failing", "failing_once"
OFTEN = (
    (ALWAYS, "every time"),
    (ONCE, "once per session"),
    (FAILING, "fails first, then every time"),
    (FAILING_ONCE, "fails first, then once per session"),
)

_FAILURES: tuple[str, ...] = (
    "failures_times",
    "failures_kind",
    "failures_status",
    "failures_message",
)
_FAILURES += ("failures_retry_after_ms",)
_FAULTS: tuple[str, ...] = ("fault_after_chunks", "fault_hold_ms", "fault_status", "fault_message")
_FAULTS += ("fault_retry_after_ms",)
# What a failure is that says nothing of its kind.
PLAIN = "model_error"
_BY_TURN = "A scenario that is chosen by the first user message answers every time."


def often_of(row: StepColumns, *, by_turn: bool = False) -> str:
    """The choice that a stored step stands for. `by_turn`: its scenario knows turns alone, which
    are never used up."""
    fails = any(getattr(row, name) != empty_value(Step, name) for name in _FAILURES)
    once = row.consume and not by_turn
    if fails:
        return FAILING_ONCE if once else FAILING
    return ONCE if once else ALWAYS


def shown_when(column: str) -> str:
    """When the field of a column is in sight, an expression of the page's scripts over the choices
    `often`, `failing` and `fault`; empty for always."""
    if column in ("failures_times", "failures_kind"):
        return "often.startsWith('failing')"
    if column in _FAILURES:
        return f"often.startsWith('failing') && {_kinds_with(column, 'failing')}"
    return _kinds_with(column, "fault") if column in _FAULTS else ""


def settle(form: "forms.ModelForm[Any]", *, select: str) -> None:
    """Turn the choices that were posted into columns. A field that is out of sight is not posted,
    and is empty then."""
    posted: Mapping[str, Any] = form.data
    given = form.cleaned_data
    if "consume" in form.fields and (form.add_prefix("consume") in posted or not form.instance.pk):
        often = given.get("consume") or ALWAYS
        if select == Select.FIRST_USER_MESSAGE and often in (ONCE, FAILING_ONCE):
            form.add_error("consume", _BY_TURN)
        # There the document does not have the key.
        consume = often in (ONCE, FAILING_ONCE) or select == Select.FIRST_USER_MESSAGE
        _set(form, "consume", consume)
        _leave_out(form, _FAILURES)
        # What somebody else has changed meanwhile has no field, and stays on the row.
        now = {name: given.get(name, getattr(form.instance, name)) for name in _FAILURES}
        filled = any(now[name] != empty_value(Step, name) for name in _FAILURES)
        if often in (FAILING, FAILING_ONCE) and now["failures_times"] is None:
            if "failures_times" not in form.errors:
                _set(form, "failures_times", 1)
        elif not filled and "failures_extra" not in form.changed_data:
            _empty(form, "failures_extra")
    elif "consume" in form.fields:
        given["consume"] = form.instance.consume
    if "fault_kind" in form.fields and form.add_prefix("fault_kind") in posted:
        _leave_out(form, _FAULTS)


def _leave_out(form: "forms.ModelForm[Any]", columns: tuple[str, ...]) -> None:
    for name in columns:
        if name in form.fields and form.add_prefix(name) not in form.data:
            _empty(form, name)


def _empty(form: "forms.ModelForm[Any]", column: str) -> None:
    _set(form, column, empty_value(Step, column))


def _set(form: "forms.ModelForm[Any]", column: str, value: Any) -> None:
    if column in form.fields:
        form.cleaned_data[column] = value
    if getattr(form.instance, column) != value:
        # On the row too: Django leaves columns as they are whose fields were not sent, and only
        # what has changed is stored.
        setattr(form.instance, column, value)
        if column not in form.changed_data:
            form.changed_data.append(column)


def _kinds_with(column: str, choice: str) -> str:
    key = (column_of(Step, column).place or ("",))[-1]
    names = {
        kind.name
        for kind in fault_kinds().values()
        if key in kind.keys or (key == "status" and key in kind.required)
    }
    if choice == "failing" and PLAIN in names:
        names.add("")
    return f"{sorted(names)}.includes({choice})"
