"""`prune`: delete conversations and traces that are older than RETENTION_DAYS."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from chat_app.models import Conversation
from traces_app.leases import end_dead_runs
from traces_app.models import Status, Trace

# Transactions are small, so that other writers wait for one of these at most.
BATCH_ROWS = 100


@dataclass(frozen=True, slots=True)
class Pruned:
    """The numbers of deleted conversations, and of deleted traces outside of them."""

    conversations: int
    traces: int


def prune(before: datetime, *, dry_run: bool = False) -> Pruned:
    """Delete conversations and other traces that ended before a time, no running ones, and return
    their numbers. With `dry_run` only count them."""
    end_dead_runs()
    running = Trace.objects.filter(conversation=OuterRef("pk"), status=Status.RUNNING)
    conversations = Conversation.objects.filter(last_message_at__lt=before).exclude(Exists(running))
    old = Trace.objects.exclude(status=Status.RUNNING).filter(finished_at__lt=before)
    traces = old.exclude(conversation__in=conversations)
    if dry_run:
        return Pruned(conversations.count(), traces.count())
    # Traces first: their query needs the conversations, whose traces are deleted with them.
    gone = _delete(traces)
    return Pruned(_delete(conversations), gone)


def _delete(rows: QuerySet[Any]) -> int:
    """Delete rows in batches; return their number."""
    label = rows.model._meta.label
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    gone = 0
    for start in range(0, len(keys), BATCH_ROWS):
        with transaction.atomic():
            # Queried again, because a row may be newer now; from here on it is locked.
            batch = rows.filter(pk__in=keys[start : start + BATCH_ROWS]).order_by("pk")
            old = list(batch.select_for_update(of=("self",)).values_list("pk", flat=True))
            _, counts = rows.model.objects.filter(pk__in=old).delete()
        gone += counts.get(label, 0)
    return gone


class Command(BaseCommand):
    help = (
        "Deletes conversations and traces older than RETENTION_DAYS. "
        "A conversation is as old as its last message; traces go with their events."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, help="in place of RETENTION_DAYS")
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        days = settings.RETENTION_DAYS if options["days"] is None else options["days"]
        if days is None:
            raise CommandError("RETENTION_DAYS is not set, so everything is kept; or give --days")
        if not 0 <= days <= 36_500:
            raise CommandError("expected a number of days from 0 to 36,500")
        dry_run: bool = options["dry_run"]
        pruned = prune(timezone.now() - timedelta(days=days), dry_run=dry_run)
        verb = "would delete" if dry_run else "deleted"
        self.stdout.write(
            f"{verb} conversations: {pruned.conversations}; traces of others: {pruned.traces}"
        )
