"""Two roles, as groups that every migrated database has: QA editor and QA read-only."""

from typing import Any

from django.apps import AppConfig, apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db.models.signals import post_migrate
from django.dispatch import receiver

EDITOR = "QA editor"
READER = "QA read-only"

_SEES = (
    *("scenarios_app.view_scenario", "scenarios_app.view_step", "scenarios_app.view_servedrequest"),
    *("chat_app.view_modelprofile", "chat_app.view_conversation", "chat_app.view_message"),
    *("chat_app.view_contextstate", "chat_app.view_abcomparison"),
    *("traces_app.view_trace", "traces_app.view_traceevent", "traces_app.view_modelcall"),
)
_EDITS = (
    *(f"scenarios_app.{verb}_scenario" for verb in ("add", "change", "delete")),
    *(f"scenarios_app.{verb}_step" for verb in ("add", "change", "delete")),
    *(f"chat_app.{verb}_modelprofile" for verb in ("add", "change", "delete")),
    *("chat_app.change_conversation", "chat_app.delete_conversation"),
)
# What each may do, as Django writes permissions: the label of an app, which need not be one of
# those that this one knows, and a name in it.
ROLES = {EDITOR: (*_SEES, *_EDITS), READER: _SEES}


@receiver(post_migrate)
def create_roles(sender: AppConfig, using: str, **_: Any) -> None:
    """Make the groups that are missing; one that is there stays as its owner has made it."""
    if sender.label != "scenarios_app":
        return
    groups = Group.objects.using(using)
    missing = set(ROLES) - set(groups.filter(name__in=ROLES).values_list("name", flat=True))
    if not missing:
        return
    labels = {name.partition(".")[0] for name in ROLES[EDITOR]}
    for app in apps.get_app_configs():
        if app.label in labels:
            # The permissions may come only after this.
            create_permissions(app, verbosity=0, using=using)
    permissions = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in Permission.objects.using(using)
        .filter(content_type__app_label__in=labels)
        .select_related("content_type")
    }
    for name in sorted(missing):
        group = groups.create(name=name)
        group.permissions.set(permissions[one] for one in ROLES[name] if one in permissions)
