"""The routes of all pages with example URLs, and clients that are logged in with each role."""

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
NON_PAGES = {"control", "api", "metrics"}

PASSWORD: Final = "the one before"
# Users with all permissions of one kind.
SINGLE_PERMISSION_ROLES: Final = ("add", "change", "view", "delete")


def make_client(role: str) -> Client:
    """Return a client that is logged in with a role.

    `anonymous` is not logged in, `staff` has no permissions, `root` has all. `add`, `change`,
    `view` and `delete` have all permissions of that kind; `reader` and `editor` those of a group.
    """
    client = Client()
    if role != "anonymous":
        user = User(username=role, is_staff=True, is_superuser=role == "root")
        user.set_password(PASSWORD)
        user.save()
        user.groups.set(Group.objects.filter(name={"reader": READER, "editor": EDITOR}.get(role)))
        if role in SINGLE_PERMISSION_ROLES:
            permissions = Permission.objects.filter(codename__startswith=f"{role}_")
            user.user_permissions.set(permissions)
        client.force_login(user)
    return client


def list_page_routes() -> list[str]:
    """Return every route of a page, as the URLconf writes it."""
    return sorted(_walk(get_resolver().url_patterns, "") - NON_PAGES)


def build_url(route: str, ids: dict[str, Any]) -> str:
    """Return the URL of a route with the keys of rows filled in.

    `ids` has keys of rows by `app/model`, those of steps by `app/model step`, and values of other
    variables by their names.
    """
    model = "/".join(route.split("/")[1:3])
    path = re.sub(r"\^?\(\?P<(\w+)>[^)]*\)(/?)\$", r"<\1>\2", route)
    row_key = dict.fromkeys(("object_id", "id", "pk"), ids.get(model))
    for name, value in {**ids, **row_key, "step_id": ids.get(f"{model} step")}.items():
        path = re.sub(rf"<(\w+:)?{name}>", str(value), path)
    return f"/{path}?prefix=steps-0" if "<int:step_id>" in route else f"/{path}"


def _walk(patterns: list[URLPattern | URLResolver], base: str) -> set[str]:
    page_routes: set[str] = set()
    for pattern in patterns:
        route = f"{base}{pattern.pattern}"
        match pattern:
            case URLResolver() if _module_of(pattern) not in APIS:
                page_routes |= _walk(pattern.url_patterns, route)
            case URLPattern() if pattern.callback is not provider:
                page_routes.add(route)
    return page_routes


def _module_of(resolver: URLResolver) -> str:
    """Return the name of the module with a resolver's routes; empty for a list of routes."""
    name = resolver.urlconf_name
    return name if isinstance(name, str) else getattr(name, "__name__", "")
