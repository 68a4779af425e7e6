"""How the admin's pages show times and scenarios. Templates are loaded before the admin is."""

import re
from collections.abc import Mapping
from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.timesince import timesince

from scenarios_app.store.words import in_words

register = template.Library()


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
def scenario_link(name: str, pages: Mapping[str, str]) -> str:
    """A scenario's name, and the way to its page if it has one."""
    if url := pages.get(name):
        return format_html('<a class="sc-link" href="{}">{}</a>', url, name)
    return format_html("{}", name)
