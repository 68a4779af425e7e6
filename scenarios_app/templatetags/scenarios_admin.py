"""Template tags and filters of the admin: times, links to scenarios, and labels for places in
documents.

Templates are loaded before the admin, so this module may not import it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.timesince import timesince

from scenarios_app.journal.today import traffic_of_today

register = template.Library()
# For the card on the overview.
register.simple_tag(traffic_of_today, name="traffic_today")
# Labels of places that several fields share, or that have no field; the editor adds its fields.
LABELS = {
    "match": "If the request matches",
    "match.messages": "Message",
    "match.model": "Model",
    "match.tool_results": "Tool result",
    "match.tool_calls": "Earlier tool call",
    "match.response_format": "Response format",
    "match.tool_count": "Number of tools",
    "match.max_tokens": "Token limit",
    "match.headers": "Header",
    "match.metadata": "Metadata",
    "produce": "Then reply",
    "failures": "Failures",
    "order": "Order of steps",
}
_INDEX = re.compile(r"\[\d+\]")


def label_of_place(place: str) -> str:
    """Return the label of the field at a place in a document: `Answer text`, `Tool calls ([0])`. A
    place without a field is returned unchanged."""
    if place == "name":
        # Both a scenario and a step have a name.
        return "Name"
    keys = place.split(".")
    for length in range(len(keys), 0, -1):
        outer = ".".join(keys[:length])
        label = LABELS.get(_INDEX.sub("", outer)) or LABELS.get(outer)
        if label:
            inner = ".".join(keys[length:])
            return f"{label} ({inner})" if inner else label
    return place


@register.filter
def ago(time: datetime | None) -> str:
    """Return how long ago a time is as HTML, with the time as a tooltip; a dash for None."""
    if time is None:
        return "–"
    passed = timesince(time, depth=1)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        time.isoformat(),
        f"{time:%Y-%m-%d %H:%M:%S %Z}",
        "just now" if passed.startswith("0") else f"{passed} ago",
    )


_PLACE_WITH_NUMBERS = re.compile(
    r"(?:(?:scenarios)?\[(?P<scenario>\d+)\]\.?)?"
    r"(?:(?P<list>step|turn)s\[(?P<number>\d+)\]\.?)?(?P<rest>.*)",
    re.DOTALL,
)


@register.filter
def numbered_place(place: str) -> str:
    """Return a place as HTML before a problem, with scenario and step counted from 1:
    `scenarios[1].steps[0].turn` becomes `Scenario 2, step 1: turn: `."""
    match = _PLACE_WITH_NUMBERS.fullmatch(place)
    if not match or not place:
        return ""
    numbers = (("scenario", match["scenario"]), (match["list"], match["number"]))
    words = ", ".join(f"{what} {int(index) + 1}" for what, index in numbers if index)
    return format_html(
        "{}{}",
        format_html("<b>{}:</b> ", words.capitalize()) if words else "",
        format_html("<code>{}</code>: ", match["rest"]) if match["rest"] else "",
    )


@register.filter
def time_and_age(time: datetime | None) -> str:
    """Return a time and how long ago it is; a dash for None."""
    return (
        "–" if time is None else format_html("{} ({})", f"{time:%Y-%m-%d %H:%M:%S %Z}", ago(time))
    )


_CHANGE = re.compile(r"(step \d+: |)(\S+) (removed|set to|from)\b(.*)", re.DOTALL)


@register.filter
def place_label(place: str) -> str:
    """Return the page's label for a place in a document, with the place as a tooltip."""
    return format_html('<span title="{}">{}</span>', place, label_of_place(place))


@register.filter
def change_label(change: str) -> str:
    """Return a line of the history as HTML with the page's label for its place."""
    if not (match := _CHANGE.fullmatch(change)):
        return format_html("{}", change)
    step, place, verb, rest = match.groups()
    return format_html("{}{} {}{}", step, place_label(place), verb, rest)


@register.simple_tag
def scenario_link(name: str, pages: Mapping[str, str]) -> str:
    """Return a scenario's name, linked to its page if it has one."""
    if url := pages.get(name):
        return format_html('<a class="sc-link" href="{}">{}</a>', url, name)
    return format_html("{}", name)


@register.filter
def alpine_state(groups: Iterable[Any]) -> str:
    """Return the values of the fields that show or hide others, as JSON for `x-data`. With an empty
    state Alpine would select the radio with the empty value and clear the stored one."""
    fields = (cell.field for group in groups for cell in group.cells)
    named = ((field.field.widget.attrs.get("x-model"), field) for field in fields)
    return json.dumps({name: field.value() or "" for name, field in named if name})
