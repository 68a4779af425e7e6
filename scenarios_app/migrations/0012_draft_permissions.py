from django.apps import apps as installed
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations

# The new permissions on drafts, and the permissions on scenarios that allowed the same until now.
UNTIL_NOW = {
    "view_draft": ("view_scenario", "change_scenario"),
    "add_draft": ("add_scenario",),
    "change_draft": ("change_scenario",),
    "delete_draft": ("change_scenario",),
    "publish_draft": ("change_scenario",),
}


def grant(apps, schema_editor):
    """Give groups and users the permissions on drafts for what they can do already."""
    database = schema_editor.connection.alias
    rows = apps.get_model("auth", "Permission").objects.using(database)
    rows = rows.filter(content_type__app_label="scenarios_app")
    if not rows.filter(codename="change_scenario").exists():
        # A new database, without groups and users.
        return
    app = installed.get_app_config("scenarios_app")
    create_permissions(app, verbosity=0, using=database, apps=apps)
    for codename, sources in UNTIL_NOW.items():
        new, old = rows.get(codename=codename), rows.filter(codename__in=sources)
        groups = apps.get_model("auth", "Group").objects.using(database)
        for group in groups.filter(permissions__in=old).distinct():
            group.permissions.add(new)
        users = apps.get_model(settings.AUTH_USER_MODEL).objects.using(database)
        for user in users.filter(user_permissions__in=old).distinct():
            user.user_permissions.add(new)


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios_app", "0011_processes"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="draft",
            options={
                "ordering": ("name", "pk"),
                "permissions": (("publish_draft", "Can publish draft"),),
            },
        ),
        migrations.RunPython(grant, migrations.RunPython.noop, elidable=True),
    ]
