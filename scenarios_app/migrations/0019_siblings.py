from django.db import migrations, models


class Migration(migrations.Migration):
    """The journal says how many other connections asked the same path in the same session."""

    dependencies = [
        ("scenarios_app", "0018_scripted_user"),
    ]

    operations = [
        migrations.AddField(
            "servedrequest", "siblings", models.PositiveIntegerField(default=0, db_default=0)
        ),
    ]
