"""Two roles, as groups that every migrated database has: QA editor and QA read-only."""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission
from django.db.models.signals import post_migrate
from django.dispatch import receiver

EDITOR = "QA editor"
READER = "QA read-only"

_SEES = ("view_scenario", "view_step", "view_servedrequest")
_EDITS = tuple(
    f"{verb}_{what}" for verb in ("add", "change", "delete") for what in ("scenario", "step")
)
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
    # The permissions may come only after this.
    create_permissions(sender, verbosity=0, using=using)
    permissions = Permission.objects.using(using).filter(content_type__app_label=sender.label)
    for name in sorted(missing):
        group = groups.create(name=name)
        group.permissions.set(permissions.filter(codename__in=ROLES[name]))
