"""`export_traces`: prints stored runs as OTLP/JSON, or sends them to a collector."""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mockllm_site import __version__
from traces_app.models import Status, Trace
from traces_app.otlp import CannotExport, push_spans, run_span, to_otlp


class Command(BaseCommand):
    help = "Prints traces as OTLP/JSON, or sends them to a collector."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("trace", nargs="*", type=UUID, help="trace ids (default: all ended)")
        parser.add_argument(
            "--to",
            metavar="URL",
            help="a collector's address, such as http://127.0.0.1:4318/v1/traces",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        traces = Trace.objects.order_by("started_at")
        if options["trace"]:
            traces = traces.filter(pk__in=options["trace"])
            missing = set(options["trace"]) - set(traces.values_list("pk", flat=True))
            if missing:
                raise CommandError(f"no trace {', '.join(sorted(map(str, missing)))}")
        else:
            traces = traces.exclude(status=Status.RUNNING)
        spans = [run_span(trace) for trace in traces]
        body = to_otlp(spans, version=__version__)
        if not options["to"]:
            self.stdout.write(json.dumps(body, indent=2))
            return
        try:
            push_spans(body, options["to"])
        except CannotExport as error:
            raise CommandError(str(error)) from None
        self.stderr.write(f"sent {len(spans)} traces to {options['to']}")
