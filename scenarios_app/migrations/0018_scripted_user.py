from django.db import migrations

from mockllm_site.kit.fields import JsonField


class Migration(migrations.Migration):
    """A column for the scripted user of a scenario, published or a draft, and of their histories."""

    dependencies = [
        ("scenarios_app", "0017_long_bodies"),
    ]

    operations = [
        migrations.AddField(model, "user", JsonField("scripted user", blank=True, default=dict))
        for model in ("scenario", "historicalscenario", "draft", "historicaldraft")
    ]
