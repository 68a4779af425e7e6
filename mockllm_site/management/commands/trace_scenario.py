"""`trace_scenario`: prints the scenario that replays a recorded run or conversation."""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from traces_app.models import Trace
from traces_app.to_scenario import CannotReplay, scenario_of_conversation, scenario_of_trace


class Command(BaseCommand):
    help = "Prints the scenario that replays a trace or a conversation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=UUID, help="id of a trace or of a conversation")

    def handle(self, *args: Any, **options: Any) -> None:
        trace = Trace.objects.filter(pk=options["id"]).first()
        try:
            if trace is not None:
                document = scenario_of_trace(trace)
            elif Trace.objects.filter(conversation=options["id"]).exists():
                document = scenario_of_conversation(options["id"])
            else:
                raise CommandError(f"no trace and no conversation {options['id']}")
        except CannotReplay as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))
