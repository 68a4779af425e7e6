import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import mockllm_site.kit.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("chat_app", "0001_chat"),
    ]

    operations = [
        migrations.CreateModel(
            name="Trace",
            fields=[
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("branch", models.CharField(blank=True, max_length=1)),
                (
                    "profile_name",
                    models.CharField(blank=True, max_length=100, verbose_name="profile"),
                ),
                (
                    "provider_id",
                    models.CharField(blank=True, max_length=50, verbose_name="provider"),
                ),
                ("model_id", models.CharField(blank=True, max_length=200, verbose_name="model")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=16,
                    ),
                ),
                ("code", models.CharField(blank=True, max_length=32)),
                ("error", models.TextField(blank=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("first_token_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("owner", models.CharField(blank=True, max_length=64)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("model_calls", models.PositiveIntegerField(default=0)),
                ("tool_calls", models.PositiveIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("tokens_estimated", models.BooleanField(default=False)),
                (
                    "note",
                    models.TextField(
                        blank=True, help_text="Internal note, not visible through the API."
                    ),
                ),
                (
                    "tags",
                    mockllm_site.kit.fields.NamesField(
                        blank=True, default=list, help_text="With commas between them."
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="traces",
                        to="chat_app.conversation",
                    ),
                ),
                (
                    "message",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="trace",
                        to="chat_app.message",
                    ),
                ),
                (
                    "user_message",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="traces",
                        to="chat_app.message",
                    ),
                ),
            ],
            options={
                "ordering": ("-started_at",),
            },
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("number", models.PositiveIntegerField()),
                ("purpose", models.CharField(default="answer", max_length=16)),
                (
                    "provider_id",
                    models.CharField(blank=True, max_length=50, verbose_name="provider"),
                ),
                ("model_id", models.CharField(blank=True, max_length=200, verbose_name="model")),
                ("request", mockllm_site.kit.fields.JsonField(default=dict)),
                ("tools", mockllm_site.kit.fields.JsonField(default=list)),
                ("parts", mockllm_site.kit.fields.JsonField(default=list)),
                ("answered_by", models.CharField(blank=True, default="", max_length=520)),
                ("finish_reason", models.CharField(blank=True, max_length=32)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("tokens_estimated", models.BooleanField(default=False)),
                ("code", models.CharField(blank=True, max_length=32)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("first_token_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "trace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="traces_app.trace",
                    ),
                ),
            ],
            options={
                "verbose_name": "model call",
                "ordering": ("trace", "number"),
            },
        ),
        migrations.CreateModel(
            name="TraceEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("seq", models.PositiveIntegerField()),
                ("type", models.CharField(max_length=16)),
                ("payload", mockllm_site.kit.fields.JsonField(default=dict)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "trace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="traces_app.trace",
                    ),
                ),
            ],
            options={
                "ordering": ("trace", "seq"),
            },
        ),
        migrations.AddIndex(
            model_name="trace",
            index=models.Index(fields=["status", "lease_until"], name="trace_lease"),
        ),
        migrations.AddIndex(
            model_name="trace",
            index=models.Index(fields=["conversation", "status"], name="trace_of_conversation"),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(fields=("trace", "number"), name="call_in_trace"),
        ),
        migrations.AddConstraint(
            model_name="traceevent",
            constraint=models.UniqueConstraint(fields=("trace", "seq"), name="seq_in_trace"),
        ),
    ]
