"""The links at the top of every page."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import is_valid_path

register = template.Library()

PAGES = (
    ("Playground", "/chat/"),
    ("Leaderboard", "/chat/leaderboard/"),
    ("Journal", "/journal/"),
    ("Admin", "/admin/"),
)


@dataclass(frozen=True, slots=True)
class Link:
    name: str
    path: str
    here: bool


@register.simple_tag(takes_context=True)
def page_links(context: dict[str, Any]) -> list[Link]:
    """The pages that this installation has; `here` is the one that is shown."""
    request = context.get("request")
    path = request.path if request else ""
    # Of a page and one below it, the one below.
    here = max((url for _, url in PAGES if path.startswith(url)), key=len, default="")
    return [Link(name, url, url == here) for name, url in PAGES if is_valid_path(url)]
