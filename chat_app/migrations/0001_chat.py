import uuid

import django.core.validators
import django.utils.timezone
from django.db import migrations, models

import mockllm_site.kit.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ABComparison",
            fields=[
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("seed", models.BigIntegerField()),
                ("profile_a_name", models.CharField(max_length=100)),
                ("profile_b_name", models.CharField(max_length=100)),
                (
                    "preference",
                    models.CharField(
                        blank=True, choices=[("a", "A"), ("b", "B"), ("tie", "Tie")], max_length=3
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("preference_at", models.DateTimeField(blank=True, null=True)),
                (
                    "comment",
                    models.TextField(
                        blank=True, help_text="Internal note, not visible through the API."
                    ),
                ),
                (
                    "excluded",
                    models.BooleanField(
                        default=False,
                        help_text="Its vote counts in no score.",
                        verbose_name="excluded from the ranking",
                    ),
                ),
            ],
            options={
                "verbose_name": "A/B comparison",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="ContextState",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("strategy", models.CharField(max_length=16)),
                ("summary", models.TextField()),
                ("first", models.PositiveIntegerField()),
                ("last", models.PositiveIntegerField()),
                ("message_count", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name": "context state",
            },
        ),
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("client_id", models.CharField(max_length=200)),
                ("title", models.CharField(blank=True, max_length=200)),
                (
                    "tags",
                    mockllm_site.kit.fields.NamesField(
                        blank=True, default=list, help_text="With commas between them."
                    ),
                ),
                (
                    "archived",
                    models.BooleanField(
                        default=False,
                        help_text="Hidden from the user's list until they write again.",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_message_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ("-last_message_at", "-created_at"),
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "sender",
                    models.CharField(
                        choices=[("user", "User"), ("assistant", "Assistant")], max_length=16
                    ),
                ),
                ("content", models.TextField(blank=True)),
                ("thinking", models.TextField(blank=True)),
                ("rounds", mockllm_site.kit.fields.JsonField(blank=True, default=list)),
                ("tool_calls", mockllm_site.kit.fields.JsonField(blank=True, default=list)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("complete", "Complete"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="complete",
                        max_length=16,
                    ),
                ),
                (
                    "provider_id",
                    models.CharField(blank=True, max_length=50, verbose_name="provider"),
                ),
                ("model_id", models.CharField(blank=True, max_length=200, verbose_name="model")),
                ("branch", models.CharField(blank=True, max_length=1)),
                ("client_id", models.CharField(max_length=200)),
                ("client_message_id", models.CharField(blank=True, max_length=200, null=True)),
                (
                    "feedback",
                    models.CharField(
                        blank=True, choices=[("like", "Like"), ("dislike", "Dislike")], max_length=8
                    ),
                ),
                ("feedback_comment", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ("conversation", "number"),
            },
        ),
        migrations.CreateModel(
            name="ModelProfile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("provider_id", models.CharField(max_length=50, verbose_name="provider")),
                ("model_id", models.CharField(max_length=200, verbose_name="model")),
                ("base_url", models.CharField(blank=True, max_length=500, verbose_name="base URL")),
                (
                    "api_key_env",
                    models.CharField(blank=True, max_length=100, verbose_name="API key's variable"),
                ),
                ("system_prompt", models.TextField(blank=True)),
                (
                    "temperature",
                    models.FloatField(
                        blank=True,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0.0),
                            django.core.validators.MaxValueValidator(2.0),
                        ],
                    ),
                ),
                (
                    "max_tokens",
                    models.PositiveIntegerField(
                        blank=True,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                ("enable_thinking", models.BooleanField(default=False)),
                (
                    "thinking_budget",
                    models.PositiveIntegerField(
                        blank=True,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "context_limit",
                    models.PositiveIntegerField(
                        default=128000,
                        help_text="in tokens",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "context_strategy",
                    models.CharField(
                        choices=[
                            ("sandwich", "Sandwich: the first five, a summary, the last five"),
                            ("full", "Full: every message, always"),
                        ],
                        default="sandwich",
                        max_length=16,
                    ),
                ),
                (
                    "mcp_servers",
                    mockllm_site.kit.fields.JsonField(
                        blank=True, default=list, verbose_name="MCP servers"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "model profile",
                "ordering": ("name",),
            },
        ),
    ]
