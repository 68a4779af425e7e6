"""`prune`: delete conversations and traces that are older than RETENTION_DAYS."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from chat_app.prune import prune


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
