"""Routes of our own APIs. A slash at the end is taken too: no redirect loses a body."""

from typing import Any

from django.urls import URLPattern, path

from mockllm_site.kit.api.view import JsonView


def either(route: str, view: type[JsonView], **names: Any) -> list[URLPattern]:
    """A path as it is documented, then its twin with a slash more or less at the end."""
    twin = route.removesuffix("/") if route.endswith("/") else f"{route}/"
    return [path(route, view.as_view(), **names), path(twin, view.as_view(schema=None))]
