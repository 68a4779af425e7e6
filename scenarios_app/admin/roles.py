"""Users and groups in the looks of the rest of the admin, and the two roles that every migrated
database has as groups: QA editor and QA read-only."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, User
from django.db.models.signals import post_migrate
from django.dispatch import receiver
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

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
    *(f"chat_app.{verb}_conversation" for verb in ("add", "change", "delete")),
    *("chat_app.change_message", "chat_app.change_abcomparison"),
    *("traces_app.change_trace", "traces_app.delete_trace"),
)
# What each may do, as Django writes permissions: the label of an app, which need not be one of
# those that this one knows, and a name in it.
ROLES = {EDITOR: (*_SEES, *_EDITS), READER: _SEES}


@receiver(post_migrate)
def create_roles(sender: AppConfig, using: str, apps: Any = global_apps, **_: Any) -> None:
    """Make the groups that are missing; one that is there stays as its owner has made it.

    `apps` has the models as far as they are migrated, which a single app alone may be.
    """
    if sender.label != "scenarios_app":
        return
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
        permissions = apps.get_model("auth", "Permission").objects.using(using)
    except LookupError:
        return
    missing = set(ROLES) - set(groups.filter(name__in=ROLES).values_list("name", flat=True))
    if not missing:
        return
    labels = {name.partition(".")[0] for name in ROLES[EDITOR]}
    for app in global_apps.get_app_configs():
        if app.label in labels:
            # The permissions may come only after this.
            create_permissions(app, verbosity=0, using=using, apps=apps)
    there = permissions.filter(content_type__app_label__in=labels).select_related("content_type")
    found = {f"{one.content_type.app_label}.{one.codename}": one for one in there}
    if not found.keys() >= set(ROLES[EDITOR]):
        # Other apps are still to be migrated; the roles come with the last of them.
        return
    for name in sorted(missing):
        groups.create(name=name).permissions.set(found[one] for one in ROLES[name])


admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class Users(UserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class Groups(GroupAdmin, ModelAdmin):
    pass
