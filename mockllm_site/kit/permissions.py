"""Checks of permissions whose refusals name the missing ones, and who can grant them."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.contrib.auth import get_permission_codename, get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

# Permissions of the admin's pages, by the last word of the route's name.
_ADMIN_PAGES = {
    "changelist": ("view", "change"),
    "history": ("view",),
    "change": ("view", "change"),
    "add": ("add",),
    "delete": ("delete",),
}


class MissingPermission(PermissionDenied):
    """The user lacks `permissions`, each written as `app_label.codename`."""

    def __init__(self, *permissions: str) -> None:
        super().__init__(f"missing: {', '.join(permissions)}")
        self.permissions = permissions


def require_permissions(request: HttpRequest, *permissions: str) -> None:
    """Raise MissingPermission unless the user has all of these permissions."""
    if missing := [name for name in permissions if not request.user.has_perm(name)]:
        raise MissingPermission(*missing)


def missing_permissions(request: HttpRequest, error: Exception) -> Sequence[str]:
    """Return the permissions whose lack caused a refusal, empty if unknown. For a refusal of
    Django's admin it is the first missing one of the route's page."""
    if isinstance(error, MissingPermission):
        return error.permissions
    match = request.resolver_match
    if match is None or match.namespaces != ["admin"]:
        return ()
    name, _, page = (match.url_name or "").rpartition("_")
    verbs = _ADMIN_PAGES.get(page, ())
    for model in apps.get_models():
        options = model._meta
        if f"{options.app_label}_{options.model_name}" == name:
            needed = [f"{options.app_label}.{get_permission_codename(v, options)}" for v in verbs]
            return [name for name in needed if not request.user.has_perm(name)][:1]
    return ()


MANAGERS_SHOWN = 3


def names_of_managers() -> list[str]:
    """Return the names of the first people who can give roles, superusers first."""
    users = get_user_model().objects.with_perm(
        "auth.change_user", backend="django.contrib.auth.backends.ModelBackend"
    )
    names = users.filter(is_staff=True).order_by("-is_superuser", "pk")
    return list(names.values_list("username", flat=True)[:MANAGERS_SHOWN])


def without_role(user: Any) -> str:
    """Return the notice for an account that may not use the admin or has no permission there, ""
    for other accounts."""
    if user.is_staff and (user.is_superuser or user.get_all_permissions()):
        return ""
    lacks = "no role yet" if user.is_staff or not user.groups.exists() else "no staff status"
    managers = " or ".join(names_of_managers()) or "an administrator"
    return (
        f"Your account “{user.get_username()}” has {lacks}, so there is nothing to see here. "
        f"Ask {managers} for it."
    )
