"""How often a step answers, when it fails, and which fields the browser shows for that."""

from collections.abc import Callable
from typing import Any

from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultKind

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
# The places of the types of a step's two failures: of the first requests, and of all.
FIRST_KIND, ALL_KIND = "failures.fault.kind", "produce.fault.kind"
TIMES = "failures.times"
# Fields that every failure type has.
_COMMON = (FIRST_KIND, TIMES, "failures.fault.*", ALL_KIND, "produce.fault.*")


def is_failure(place: str) -> bool:
    """Return whether a place belongs to one of a step's two failures."""
    return place.startswith(("failures.", "produce.fault."))


def kind_choices() -> list[tuple[str, Any]]:
    """Return the choices of a failure type, in groups, after the empty choice."""
    groups: dict[str, list[tuple[str, str]]] = {"HTTP errors": [], "Broken streams": []}
    for kind in FAULT_KINDS.values():
        groups.setdefault(_fault_group(kind), []).append((kind.name, kind.label))
    return [("", NO_FAILURE), *groups.items()]


def shown_when(place: str, value_of: Callable[[str], Any]) -> str:
    """Return the Alpine expression that shows the field of a place, or "" for always. `value_of`
    returns the value of a field by its place.

    The expression reads the selected failure types: `failing` is that of the first requests,
    `fault` that of all others.
    """
    if not is_failure(place):
        return ""
    first = place.startswith("failures.")
    choice, kind_place = ("failing", FIRST_KIND) if first else ("fault", ALL_KIND)
    if place in _COMMON:
        # What is stored without a type is always shown, because hidden fields are emptied.
        is_alone = place.endswith("*") and value_of(place) and not value_of(kind_place)
        return "" if is_alone else choice
    key = place.rpartition(".")[2]
    kinds = {k.name for k in FAULT_KINDS.values() if key in k.keys or key in k.required}
    if value_of(place) not in (None, ""):
        # A stored value is shown even if it has no effect.
        kinds.add(str(value_of(kind_place)))
    return f"{sorted(kinds)}.includes({choice})"


def failures_summary(value_of: Callable[[str], Any]) -> str:
    """Return one line that says when and how a step fails; empty if it never fails. `value_of`
    returns the value of a field by its place."""
    times = value_of(TIMES) or 1
    first = "first request" if str(times) == "1" else f"first {times} requests"
    lines = []
    for when, fault in ((first, "failures.fault"), ("always", "produce.fault")):
        if kind := value_of(f"{fault}.kind"):
            label = FAULT_KINDS[kind].label if kind in FAULT_KINDS else kind
            status = value_of(f"{fault}.status")
            lines.append(f"{when}: {label} {status}" if status else f"{when}: {label}")
    return " · ".join(lines)


def _fault_group(kind: FaultKind) -> str:
    """Return the heading under which a kind of fault is listed."""
    if kind.inside:
        return "Broken streams"
    return "HTTP errors" if kind.stream == "error" else "Network"
