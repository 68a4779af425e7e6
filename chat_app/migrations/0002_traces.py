import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("chat_app", "0001_chat"),
        ("traces_app", "0001_traces"),
    ]

    operations = [
        migrations.AddField(
            model_name="abcomparison",
            name="trace_a",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="comparison_as_a",
                to="traces_app.trace",
            ),
        ),
        migrations.AddField(
            model_name="abcomparison",
            name="trace_b",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="comparison_as_b",
                to="traces_app.trace",
            ),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(fields=["client_id", "-last_message_at"], name="chat_of_client"),
        ),
        migrations.AddField(
            model_name="contextstate",
            name="conversation",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="context_state",
                to="chat_app.conversation",
            ),
        ),
        migrations.AddField(
            model_name="abcomparison",
            name="conversation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comparisons",
                to="chat_app.conversation",
            ),
        ),
        migrations.AddField(
            model_name="message",
            name="conversation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="chat_app.conversation",
            ),
        ),
        migrations.AddField(
            model_name="abcomparison",
            name="user_message",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="comparison",
                to="chat_app.message",
            ),
        ),
        migrations.AddField(
            model_name="abcomparison",
            name="profile_a",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat_app.modelprofile",
            ),
        ),
        migrations.AddField(
            model_name="abcomparison",
            name="profile_b",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat_app.modelprofile",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                fields=("conversation", "number"), name="message_number_in_conversation"
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                fields=("client_id", "client_message_id"), name="client_message_id_of_client"
            ),
        ),
    ]
