"""`prune` deletes rows older than RETENTION_DAYS and nothing else."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat_app.conversations import append_message, create
from chat_app.models import Conversation, Message, Sender
from mockllm_site.management.commands import prune as pruning
from tests.traces.rows import dead_owner
from traces_app.models import ModelCall, Status, Trace, TraceEvent

pytestmark = pytest.mark.django_db


def create_conversation(
    days_ago: float, *, status: Status = Status.COMPLETED, **columns: Any
) -> Conversation:
    """Create a conversation with a question, an answer and its trace, all `days_ago` old."""
    conversation = create("c", f"{days_ago} days")
    question = append_message(conversation, Sender.USER, content="x")
    answer = append_message(conversation, Sender.ASSISTANT, content="y")
    add_trace(
        conversation, days_ago, user_message=question, message=answer, status=status, **columns
    )
    then = timezone.now() - timedelta(days=days_ago)
    Conversation.objects.filter(pk=conversation.pk).update(last_message_at=then)
    return conversation


def add_trace(conversation: Conversation, days_ago: float, **columns: Any) -> Trace:
    then = timezone.now() - timedelta(days=days_ago)
    trace = Trace.objects.create(
        conversation=conversation,
        started_at=then,
        **{"finished_at": then, "status": Status.COMPLETED} | columns,
    )
    TraceEvent.objects.create(trace=trace, seq=1, type="done")
    ModelCall.objects.create(trace=trace, number=1)
    return trace


def prune(**options: Any) -> str:
    out = io.StringIO()
    call_command("prune", stdout=out, **options)
    return out.getvalue().strip()


def test_old_conversations_are_deleted_with_their_rows(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    young = create_conversation(29)
    create_conversation(31)
    create_conversation(400)
    assert prune() == "deleted conversations: 2; traces of others: 0"
    assert list(Conversation.objects.all()) == [young]
    assert set(Message.objects.values_list("conversation", flat=True)) == {young.pk}
    for rows in (TraceEvent.objects, ModelCall.objects):
        assert set(rows.values_list("trace__conversation", flat=True)) == {young.pk}


def test_old_traces_of_active_conversations_are_deleted(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    conversation = create_conversation(1)
    add_trace(conversation, 31)
    assert prune() == "deleted conversations: 0; traces of others: 1"
    assert (Conversation.objects.count(), Message.objects.count()) == (1, 2)
    assert Trace.objects.count() == TraceEvent.objects.count() == ModelCall.objects.count() == 1


def test_prune_keeps_running_traces(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    lease = timezone.now() + timedelta(seconds=60)
    running = create_conversation(31, status=Status.RUNNING, finished_at=None, lease_until=lease)
    assert prune() == "deleted conversations: 0; traces of others: 0"
    assert list(Conversation.objects.all()) == [running]


def test_conversation_of_a_dead_run_is_deleted(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    lease = timezone.now() + timedelta(seconds=60)
    running = {"finished_at": None, "lease_until": lease, "owner": dead_owner()}
    create_conversation(31, status=Status.RUNNING, **running)
    assert prune() == "deleted conversations: 1; traces of others: 0"


def test_a_dry_run_counts_and_deletes_nothing(settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    add_trace(create_conversation(1), 31)
    create_conversation(31)
    assert prune(dry_run=True) == "would delete conversations: 1; traces of others: 1"
    assert (Conversation.objects.count(), Trace.objects.count()) == (2, 3)
    assert prune() == "deleted conversations: 1; traces of others: 1"


def test_many_conversations_are_deleted_in_batches(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RETENTION_DAYS = 30
    monkeypatch.setattr(pruning, "BATCH_ROWS", 3)
    for _ in range(10):
        create_conversation(31)
    assert prune() == "deleted conversations: 10; traces of others: 0"
    assert not Conversation.objects.exists()


def test_days_option_overrides_the_setting(settings: Any) -> None:
    settings.RETENTION_DAYS = None
    create_conversation(5)
    assert prune(days=6).startswith("deleted conversations: 0;")
    assert prune(days=4).startswith("deleted conversations: 1;")
    create_conversation(0)
    assert prune(days=0).startswith("deleted conversations: 1;")


def test_prune_without_days_is_refused(settings: Any) -> None:
    settings.RETENTION_DAYS = None
    create_conversation(1_000)
    with pytest.raises(CommandError, match="RETENTION_DAYS is not set"):
        prune()
    assert Conversation.objects.exists()


@pytest.mark.parametrize("days", [-1, 10**6])
def test_days_out_of_range_are_refused(days: int) -> None:
    create_conversation(1)
    with pytest.raises(CommandError, match="from 0 to 36,500"):
        prune(days=days)
    assert Conversation.objects.exists()
