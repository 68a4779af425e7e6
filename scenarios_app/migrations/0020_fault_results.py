from django.db import migrations, models


class Migration(migrations.Migration):
    """Results of fault sweeps are kept with the version of their scenario."""

    dependencies = [
        ("scenarios_app", "0019_siblings"),
    ]

    operations = [
        migrations.CreateModel(
            "FaultResult",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scenario", models.CharField(max_length=255)),
                ("version", models.CharField(max_length=16)),
                ("step", models.CharField(max_length=255)),
                ("kind", models.CharField(max_length=64)),
                ("outcome", models.CharField(max_length=32)),
                ("at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("scenario", "step", "kind"), name="result_of_fault"
                    )
                ],
            },
        ),
    ]
