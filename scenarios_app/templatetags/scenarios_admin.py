"""How the admin's pages show times and scenarios, and what they call a place in a document, for
people who have never seen one. Templates are loaded before the admin is."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.timesince import timesince

from scenarios_app.journal.today import Today, traffic_of_today
from scenarios_app.models import Scenario, Step
from scenarios_app.models.columns import column_of, places_of

register = template.Library()
# Places that several fields share, or none has alone.
_OTHERS = {
    "match": "If the request matches",
    "match.messages": "Message",
    "match.model": "Model",
    "match.tool_results": "Tool result",
    "match.tool_calls": "Earlier tool call",
    "match.headers": "Header",
    "match.metadata": "Metadata",
    "produce": "Then reply",
    "failures": "Failures",
    "order": "Order of steps",
}
_INDEX = re.compile(r"\[\d+\]")


@cache
def _labels() -> dict[str, str]:
    found = dict(_OTHERS)
    for model in (Scenario, Step):
        for name, place in places_of(model).items():
            found[".".join(place)] = column_of(model, name).label
    return found


def in_words(place: str) -> str:
    """The label of the field at a place, with what is inside it: `Answer text`, `Tool calls [0]`.
    The place itself, where no field is known."""
    if place == "name":
        # A scenario and a step have one.
        return "Name"
    keys = place.split(".")
    for length in range(len(keys), 0, -1):
        outer = ".".join(keys[:length])
        label = _labels().get(_INDEX.sub("", outer)) or _labels().get(outer)
        if label:
            inner = ".".join(keys[length:])
            return f"{label} ({inner})" if inner else label
    return place


@register.filter
def ago(time: datetime | None) -> str:
    """How long ago a time is, with the time itself behind it; a dash for none."""
    if time is None:
        return "–"
    passed = timesince(time, depth=1)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        time.isoformat(),
        f"{time:%Y-%m-%d %H:%M:%S %Z}",
        "just now" if passed.startswith("0") else f"{passed} ago",
    )


_COUNTED = re.compile(
    r"(?:(?:scenarios)?\[(?P<scenario>\d+)\]\.?)?"
    r"(?:(?P<list>step|turn)s\[(?P<number>\d+)\]\.?)?(?P<rest>.*)",
    re.DOTALL,
)


@register.filter
def counted(place: str) -> str:
    """A place in a document with its scenario and step counted from 1, before what is wrong there:
    `scenarios[1].steps[0].turn` is `Scenario 2, step 1: turn: `."""
    found = _COUNTED.fullmatch(place)
    if not found or not place:
        return ""
    numbers = (("scenario", found["scenario"]), (found["list"], found["number"]))
    words = ", ".join(f"{what} {int(index) + 1}" for what, index in numbers if index)
    return format_html(
        "{}{}",
        format_html("<b>{}:</b> ", words.capitalize()) if words else "",
        format_html("<code>{}</code>: ", found["rest"]) if found["rest"] else "",
    )


@register.filter
def moment(time: datetime | None) -> str:
    """A time, and how long ago it is; a dash for none."""
    return (
        "–" if time is None else format_html("{} ({})", f"{time:%Y-%m-%d %H:%M:%S %Z}", ago(time))
    )


_CHANGE = re.compile(r"(step \d+: |)(\S+) (removed|set to|from)\b(.*)", re.DOTALL)


@register.filter
def worded(place: str) -> str:
    """A place in a document in the words of the page, the place itself in a tooltip."""
    return format_html('<span title="{}">{}</span>', place, in_words(place))


@register.filter
def change_worded(change: str) -> str:
    """A line of the history in the words of the page."""
    if not (found := _CHANGE.fullmatch(change)):
        return format_html("{}", change)
    step, place, verb, rest = found.groups()
    return format_html("{}{} {}{}", step, worded(place), verb, rest)


@register.simple_tag
def traffic_today() -> Today:
    """Today's requests by the hour, for the card on the overview."""
    return traffic_of_today()


@register.simple_tag
def scenario_link(name: str, pages: Mapping[str, str]) -> str:
    """A scenario's name, and the way to its page if it has one."""
    if url := pages.get(name):
        return format_html('<a class="sc-link" href="{}">{}</a>', url, name)
    return format_html("{}", name)


@register.filter
def alpine_state(groups: Iterable[Any]) -> str:
    """The starting values of the fields that show or hide others, as JSON for `x-data`.

    A state that starts empty would select the radio with the empty value and clear the stored one.
    """
    fields = (cell.field for group in groups for cell in group.cells)
    named = ((field.field.widget.attrs.get("x-model"), field) for field in fields)
    return json.dumps({name: field.value() or "" for name, field in named if name})
