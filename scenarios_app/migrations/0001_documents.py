import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import mockllm_site.kit.fields
import scenarios_app.models.changes


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BodyBlock",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="CatalogVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Installation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=32)),
                ("unclean_end_at", models.DateTimeField(editable=False, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Scenario",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("document", mockllm_site.kit.fields.JsonField(blank=True, default=dict)),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                (
                    "updated_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                ("name", models.CharField(max_length=255, unique=True)),
                ("enabled", models.BooleanField(default=True)),
                (
                    "priority",
                    models.IntegerField(default=0, help_text="The highest is tried first."),
                ),
                (
                    "select",
                    models.CharField(
                        choices=[
                            ("match", "request content"),
                            ("first_user_message", "scenario name in the first user message"),
                        ],
                        default="match",
                        max_length=32,
                        verbose_name="selected by",
                    ),
                ),
                ("tags", mockllm_site.kit.fields.NamesField(blank=True, default=list)),
                (
                    "key",
                    models.CharField(
                        db_index=True,
                        default=scenarios_app.models.changes.new_key,
                        editable=False,
                        max_length=16,
                    ),
                ),
                (
                    "version",
                    models.CharField(
                        default=scenarios_app.models.changes.new_key, editable=False, max_length=16
                    ),
                ),
            ],
            options={
                "ordering": ("-priority", "name"),
            },
        ),
        migrations.CreateModel(
            name="ServerProcess",
            fields=[
                ("owner", models.CharField(max_length=32, primary_key=True, serialize=False)),
                ("machine", models.CharField(blank=True, max_length=120)),
                ("pid", models.BigIntegerField()),
                ("birth", models.BigIntegerField(default=0)),
                ("shares", models.CharField(blank=True, max_length=80)),
                ("beat", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="SessionName",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session", models.CharField(max_length=255, unique=True)),
                ("name", models.CharField(max_length=100)),
            ],
        ),
        migrations.CreateModel(
            name="TrialConversation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scenario", models.CharField(max_length=255, unique=True)),
                ("content", mockllm_site.kit.fields.JsonField(default=dict)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="FaultResult",
            fields=[
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
        migrations.CreateModel(
            name="PastAnswers",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("scenario", models.CharField(max_length=255)),
                ("step_key", models.CharField(max_length=64)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("last", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("scenario", "step_key"), name="past_answers_of_step"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=16)),
                ("key", models.CharField(max_length=16)),
                ("at", models.DateTimeField()),
                ("user", models.CharField(blank=True, default="", max_length=255)),
                ("reason", models.CharField(blank=True, default="", max_length=255)),
                ("deleted", models.BooleanField(default=False)),
                ("document", mockllm_site.kit.fields.JsonField(default=dict)),
                ("step_keys", mockllm_site.kit.fields.JsonField(blank=True, default=list)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["kind", "key", "at"], name="revision_in_order")],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("document", mockllm_site.kit.fields.JsonField(blank=True, default=dict)),
                (
                    "created_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                (
                    "updated_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False),
                ),
                (
                    "key",
                    models.CharField(
                        default=scenarios_app.models.changes.new_key,
                        editable=False,
                        max_length=16,
                        unique=True,
                    ),
                ),
                (
                    "base",
                    mockllm_site.kit.fields.JsonField(blank=True, default=dict, editable=False),
                ),
                (
                    "published",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="draft",
                        to="scenarios_app.scenario",
                    ),
                ),
            ],
            options={
                "ordering": ("name", "pk"),
                "permissions": (("publish_draft", "Can publish draft"),),
            },
        ),
        migrations.CreateModel(
            name="ServedRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(editable=False, unique=True)),
                ("at", models.DateTimeField()),
                ("session", models.CharField(max_length=255)),
                ("provider", models.CharField(blank=True, max_length=32)),
                ("method", models.CharField(max_length=16)),
                ("path", models.TextField()),
                ("query", mockllm_site.kit.fields.JsonField(default=dict)),
                ("model", models.TextField(blank=True)),
                ("streamed", models.BooleanField(default=False)),
                ("scenario", models.CharField(blank=True, max_length=255)),
                ("step", models.CharField(blank=True, max_length=255)),
                ("step_key", models.CharField(blank=True, max_length=64)),
                ("way", models.CharField(blank=True, max_length=16)),
                ("matched", models.BooleanField()),
                ("fallback", models.BooleanField(default=False)),
                ("attempt", models.PositiveIntegerField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("complete", "complete"),
                            ("client_gone", "client disconnected"),
                            ("fault", "fault"),
                            ("unmatched", "unmatched"),
                        ],
                        max_length=16,
                    ),
                ),
                ("fault", models.CharField(blank=True, max_length=32)),
                ("status", models.PositiveSmallIntegerField()),
                ("violations", mockllm_site.kit.fields.JsonField(default=list)),
                ("near_misses", mockllm_site.kit.fields.JsonField(default=list)),
                ("request_preview", models.TextField(blank=True, db_column="asked", default="")),
                (
                    "response_preview",
                    models.TextField(blank=True, db_column="answered", default=""),
                ),
                ("duration_ms", models.FloatField()),
                ("timings", mockllm_site.kit.fields.JsonField(default=dict)),
                ("siblings", models.PositiveIntegerField(db_default=0, default=0)),
                ("request_headers", mockllm_site.kit.fields.JsonField(default=dict)),
                ("request_text", models.TextField(blank=True)),
                ("request_bytes", models.PositiveBigIntegerField(default=0)),
                ("request_cut", models.BooleanField(default=False)),
                ("response_headers", mockllm_site.kit.fields.JsonField(default=dict)),
                ("response_text", models.TextField(blank=True)),
                ("response_bytes", models.PositiveBigIntegerField(default=0)),
                ("response_cut", models.BooleanField(default=False)),
                ("parts", mockllm_site.kit.fields.JsonField(null=True)),
            ],
            options={
                "verbose_name": "journal entry",
                "verbose_name_plural": "journal",
                "ordering": ("-pk",),
                "permissions": (("set_up_recording", "Can set up recording"),),
                "indexes": [
                    models.Index(fields=["session", "id"], name="served_in_session"),
                    models.Index(fields=["scenario", "id"], name="served_by_scenario"),
                    models.Index(fields=["provider", "id"], name="served_by_provider"),
                    models.Index(fields=["matched", "id"], name="served_matched"),
                    models.Index(
                        condition=models.Q(("parts__isnull", False)),
                        fields=["id"],
                        name="served_with_parts",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("order", models.PositiveIntegerField(default=0)),
                ("document", mockllm_site.kit.fields.JsonField(blank=True, default=dict)),
                (
                    "key",
                    models.CharField(
                        default=scenarios_app.models.changes.new_key, editable=False, max_length=16
                    ),
                ),
                (
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="scenarios_app.draft",
                    ),
                ),
            ],
            options={
                "verbose_name": "step of a draft",
                "verbose_name_plural": "steps of drafts",
                "ordering": ("order", "pk"),
                "default_permissions": (),
                "indexes": [models.Index(fields=["scenario", "order"], name="draft_step_in_order")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("scenario", "key"), name="draft_step_of_one_step"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Presence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("page", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("page", "user"), name="presence_of_user")
                ],
            },
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("order", models.PositiveIntegerField(default=0)),
                ("document", mockllm_site.kit.fields.JsonField(blank=True, default=dict)),
                (
                    "key",
                    models.CharField(
                        default=scenarios_app.models.changes.new_key,
                        editable=False,
                        max_length=16,
                        unique=True,
                    ),
                ),
                (
                    "version",
                    models.CharField(
                        default=scenarios_app.models.changes.new_key, editable=False, max_length=16
                    ),
                ),
                (
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="scenarios_app.scenario",
                    ),
                ),
            ],
            options={
                "ordering": ("order", "pk"),
                "indexes": [models.Index(fields=["scenario", "order"], name="step_in_order")],
            },
        ),
    ]
