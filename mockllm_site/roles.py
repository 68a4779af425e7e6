"""The roles that every migrated database has as groups: QA editor, QA author and QA read-only."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.contrib.auth.management import create_permissions

EDITOR = "QA editor"
AUTHOR = "QA author"
READER = "QA read-only"

_READ = (
    *("scenarios_app.view_scenario", "scenarios_app.view_step", "scenarios_app.view_draft"),
    "scenarios_app.view_servedrequest",
    *("chat_app.view_modelprofile", "chat_app.view_conversation", "chat_app.view_message"),
    *("chat_app.view_contextstate", "chat_app.view_abcomparison"),
    *("traces_app.view_trace", "traces_app.view_traceevent", "traces_app.view_modelcall"),
)


def _write_permissions(app: str, model: str) -> tuple[str, ...]:
    return tuple(f"{app}.{verb}_{model}" for verb in ("add", "change", "delete"))


_WRITE_DRAFTS = _write_permissions("scenarios_app", "draft")
_PUBLISH = (
    "scenarios_app.publish_draft",
    *_write_permissions("scenarios_app", "scenario"),
    *_write_permissions("scenarios_app", "step"),
)
_EDIT_CHATS = (
    *_write_permissions("chat_app", "modelprofile"),
    *_write_permissions("chat_app", "conversation"),
    *_write_permissions("chat_app", "message"),
    *_write_permissions("chat_app", "abcomparison"),
    *_write_permissions("traces_app", "trace"),
    *_write_permissions("traces_app", "traceevent"),
)
# Permissions of each role, as `app_label.codename`.
ROLES = {
    EDITOR: (*_READ, *_WRITE_DRAFTS, *_PUBLISH, *_EDIT_CHATS),
    AUTHOR: (*_READ, *_WRITE_DRAFTS),
    READER: _READ,
}


def create_roles(sender: AppConfig, using: str, apps: Any = global_apps, **_: Any) -> None:
    """Create missing groups with their permissions; a handler of `post_migrate`. Existing groups
    stay unchanged. `apps` has the models migrated so far; nothing is created until all are."""
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
            # Django creates permissions in each app's signal; some come after this one.
            create_permissions(app, verbosity=0, using=using, apps=apps)
    rows = permissions.filter(content_type__app_label__in=labels).select_related("content_type")
    by_name = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    if not by_name.keys() >= set(ROLES[EDITOR]):
        return
    for role in sorted(missing):
        groups.create(name=role).permissions.set(by_name[name] for name in ROLES[role])
