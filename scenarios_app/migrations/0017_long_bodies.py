from django.db import migrations, models
from django.db.models import Q

from mockllm_site.kit.fields import JsonField


class Migration(migrations.Migration):
    """Long bodies of the journal go into blocks; rows that exist keep theirs as text."""

    dependencies = [
        ("scenarios_app", "0016_plain_labels"),
    ]

    operations = [
        migrations.CreateModel(
            name="BodyBlock",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RenameField("servedrequest", "request_body", "request_text"),
        migrations.RenameField("servedrequest", "response_body", "response_text"),
        migrations.AddField("servedrequest", "parts", JsonField(null=True)),
        migrations.AddIndex(
            "servedrequest",
            models.Index(fields=["id"], name="served_with_parts", condition=Q(parts__isnull=False)),
        ),
    ]
