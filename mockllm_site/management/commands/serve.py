"""`serve`: migrate, load what is configured, warm up and answer, until a signal ends it."""

from argparse import ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat_app.profiles import ensure_default_profile
from mockllm_site.serve import database, server
from mockllm_site.serve import first_start as starting

HIGHEST_PORT = 65_535


class Command(BaseCommand):
    help = (
        "Migrates, loads what is configured, and serves. SIGTERM or SIGINT ends it once the "
        "answers that are running are through, MOCKLLM_DRAIN_SECONDS later at most."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port",
            type=_port,
            default=settings.MOCKLLM_PORT,
            help="port to listen on; 0 picks a free one (default: %(default)s)",
        )
        parser.add_argument(
            "--workers", type=int, default=1, help="processes that answer (default: %(default)s)"
        )
        parser.add_argument(
            "--fixture",
            action="append",
            default=[],
            metavar="NAME",
            help="fixture to load first; may be given again",
        )
        parser.add_argument(
            "--no-demo", action="store_true", help="do not load the demo into a new database"
        )
        parser.add_argument(
            "--no-catch-all",
            action="store_true",
            help="do not load the scenario that answers everything",
        )
        parser.add_argument(
            "--parent",
            type=int,
            metavar="PID",
            help="end once this process is gone, however it ended",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        stop = server.Stop()
        if options["workers"] != 1:
            raise CommandError(
                f"--workers {options['workers']}: more than one process needs a shared state, "
                "which this version does not have; serve with one"
            )
        try:
            bound = server.bind(options["host"], options["port"])
            with bound:
                _prepare(
                    options["fixture"],
                    demo=not options["no_demo"],
                    catch_all=not options["no_catch_all"],
                )
                server.run(
                    options["host"],
                    bound,
                    stop=stop,
                    drain_seconds=settings.MOCKLLM_DRAIN_SECONDS,
                    then=starting.warm_up,
                    parent=None if options["parent"] is None else server.Parent(options["parent"]),
                )
        except (starting.CannotLoad, server.StartFailed) as error:
            raise CommandError(str(error)) from error


def _prepare(fixtures: list[str], *, demo: bool = True, catch_all: bool = True) -> None:
    documents = starting.read_scenarios()
    starting.check_tools()
    starting.check_upstreams()
    database.prepare()
    if catch_all:
        starting.load_test_mode()
    starting.load_demo(demo=demo, catch_all=catch_all)
    starting.load_fixtures(fixtures)
    starting.load_scenarios(documents)
    starting.create_admin()
    ensure_default_profile()


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= HIGHEST_PORT):
        raise ArgumentTypeError(f"expected a number from 0 to {HIGHEST_PORT}, got {text!r}")
    return int(text)
