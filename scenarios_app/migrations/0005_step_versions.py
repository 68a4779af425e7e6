from django.db import migrations, models

import scenarios_app.models.changes


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios_app", "0004_fault_kinds"),
    ]

    operations = [
        migrations.AddField(
            model_name="step",
            name="version",
            field=models.CharField(
                default=scenarios_app.models.changes.new_key, editable=False, max_length=16
            ),
        ),
    ]
