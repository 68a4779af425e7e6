"""The routes of the pages, each with an address where there is something to see; and who asks."""

import re
from typing import Any, Final

from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from mockllm_site.roles import EDITOR, READER
from scenarios_app.serving.transports.django import provider

# Route modules with their own matrices: tests/control/test_access.py, and
# tests/chat/api/test_api_access.py with test_api_owners.py.
APIS = {"scenarios_app.control.urls", "chat_app.api.urls"}
# Routes that are not pages: missing paths below these, and metrics.
NO_PAGES = {"control", "api", "metrics"}

PASSWORD: Final = "the one before"
# Users with all permissions of one kind.
HALVES: Final = ("add", "change", "view", "delete")


def somebody(who: str) -> Client:
    """`anonymous`; `staff` without rights; one with the rights of a half; `reader`, `editor` or
    `root`, who may do everything."""
    client = Client()
    if who != "anonymous":
        user = User(username=who, is_staff=True, is_superuser=who == "root")
        user.set_password(PASSWORD)
        user.save()
        user.groups.set(Group.objects.filter(name={"reader": READER, "editor": EDITOR}.get(who)))
        if who in HALVES:
            rights = Permission.objects.filter(codename__startswith=f"{who}_")
            user.user_permissions.set(rights)
        client.force_login(user)
    return client


def routes() -> list[str]:
    """Every route of a page, as the URLconf writes it."""
    return sorted(_walk(get_resolver().url_patterns, "") - NO_PAGES)


def address(route: str, ids: dict[str, Any]) -> str:
    """A route with the key of a row in it: `ids` has them by `app/model`, those of steps by `step`
    after it, and what other variables stand for by their names."""
    model = "/".join(route.split("/")[1:3])
    path = re.sub(r"\^?\(\?P<(\w+)>[^)]*\)(/?)\$", r"<\1>\2", route)
    own = dict.fromkeys(("object_id", "id", "pk"), ids.get(model))
    for name, value in {**ids, **own, "step_id": ids.get(f"{model} step")}.items():
        path = re.sub(rf"<(\w+:)?{name}>", str(value), path)
    return f"/{path}?prefix=steps-0" if "<int:step_id>" in route else f"/{path}"


def _walk(patterns: list[URLPattern | URLResolver], base: str) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        route = f"{base}{pattern.pattern}"
        match pattern:
            case URLResolver() if getattr(pattern.urlconf_name, "__name__", "") not in APIS:
                found |= _walk(pattern.url_patterns, route)
            case URLPattern() if pattern.callback is not provider:
                found.add(route)
    return found
