from django.db import migrations

# The group of editors as it was made before there was anything to write on records. One that
# somebody has changed since is somebody's own.
UNTOUCHED = {
    *(
        f"scenarios_app.{verb}_{model}"
        for verb in ("add", "change", "delete", "view")
        for model in ("scenario", "step")
    ),
    "scenarios_app.view_servedrequest",
    *(f"chat_app.{verb}_modelprofile" for verb in ("add", "change", "delete", "view")),
    *(f"chat_app.{verb}_conversation" for verb in ("change", "delete", "view")),
    *(f"chat_app.view_{model}" for model in ("message", "contextstate", "abcomparison")),
    *(f"traces_app.view_{model}" for model in ("trace", "traceevent", "modelcall")),
}
NEW = {
    "chat_app.change_message",
    "chat_app.change_abcomparison",
    "traces_app.change_trace",
    "traces_app.delete_trace",
}


def permit(apps, schema_editor):
    """Without the group there is nothing to do: it is made with these permissions."""
    database = schema_editor.connection.alias
    group = apps.get_model("auth", "Group").objects.using(database).filter(name="QA editor").first()
    # Those on drafts may have come before: scenarios_app's migrations have no order to these.
    if group is None or _names(group.permissions.exclude(content_type__model="draft")) != UNTOUCHED:
        return
    rows = apps.get_model("auth", "Permission").objects.using(database)
    group.permissions.add(
        *(row for row in rows.select_related("content_type") if _name(row) in NEW)
    )


def _names(rows):
    return {_name(row) for row in rows.select_related("content_type")}


def _name(permission):
    return f"{permission.content_type.app_label}.{permission.codename}"


class Migration(migrations.Migration):
    dependencies = [
        ("chat_app", "0003_archive_and_exclusion"),
        ("traces_app", "0002_note_and_tags"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(permit, migrations.RunPython.noop, elidable=True)]
