"""`serve`: migrates, loads what is configured, and serves until a signal."""

import os
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable
from functools import partial
from socket import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from mockllm_site.serve import chat, database, lease, server, standby
from mockllm_site.serve import first_start as starting
from mockllm_site.serve.workers import Workers
from scenarios_app.recording.files import scenario_files
from scenarios_app.store import limits

MAX_PORT = 65_535
MAX_WORKERS = 64


class Command(BaseCommand):
    help = (
        "Migrates, loads what is configured, and serves. SIGTERM or SIGINT ends it when all "
        "running answers are complete, or after MOCKLLM_DRAIN_SECONDS."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument(
            "--port",
            type=partial(_number_between, minimum=0, maximum=MAX_PORT),
            default=settings.MOCKLLM_PORT,
            help="port to listen on; 0 picks a free one (default: %(default)s)",
        )
        parser.add_argument(
            "--workers",
            type=partial(_number_between, minimum=1, maximum=MAX_WORKERS),
            default=1,
            metavar="N",
            help="processes that answer on the port; more than one need REDIS_URL (default: 1)",
        )
        parser.add_argument(
            "--fixture",
            action="append",
            default=[],
            metavar="NAME",
            help="fixture to load first; repeatable",
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
            "--watch",
            action=BooleanOptionalAction,
            help="load the files of MOCKLLM_SCENARIOS again when they change (default: in dev)",
        )
        parser.add_argument(
            "--light",
            action="store_true",
            help="serve providers and the control API alone, as servers of tests do: no chat, no "
            "admin, no pages",
        )
        parser.add_argument(
            "--no-fast",
            action="store_true",
            help="answer all requests through Django, as MOCKLLM_FAST=0 does: the same bytes at a "
            "higher cost",
        )
        parser.add_argument(
            "--parent",
            type=int,
            metavar="PID",
            help="end when this process has ended",
        )
        parser.add_argument(
            "--standby",
            action="store_true",
            help="import all code, then read fixture, no_catch_all and watch from a line of JSON",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the options, prepare the database and serve in one or several processes."""
        if options["light"] and not settings.MOCKLLM_LIGHT:
            raise CommandError("write --light in full: it is read before the other options")
        stop = server.Stop()
        count = options["workers"]
        if count > 1 and not settings.REDIS_URL:
            raise CommandError(
                f"--workers {count}: more than one process needs a shared state: set REDIS_URL"
            )
        parent = None if options["parent"] is None else server.Parent(options["parent"])
        if options["standby"]:
            options |= standby.read_options(parent)
        try:
            server.write_ready_file("")
            bound = server.bind(options["host"], options["port"])
            with bound:
                _check_and_load(
                    options["fixture"],
                    demo=not options["no_demo"],
                    catch_all=not options["no_catch_all"],
                    watch=options["watch"],
                )
                server.store_bound_address(bound)
                ready = partial(server.announce_ready, options["host"], bound)
                fast = settings.MOCKLLM_FAST and not options["no_fast"]
                if count == 1:
                    server.run(bound, stop=stop, ready=ready, parent=parent, fast=fast)
                else:
                    _serve_in_workers(count, bound, ready=ready, parent=parent, fast=fast)
        except (starting.CannotLoad, server.StartFailed, lease.LeaseRefused) as error:
            raise CommandError(str(error)) from error
        finally:
            # A failed start is not an unclean end.
            lease.release()


def _serve_in_workers(
    count: int,
    bound: socket,
    *,
    ready: Callable[[], None],
    parent: server.Parent | None,
    fast: bool,
) -> None:
    """Serve in `count` forked processes; `ready` is called once all are ready."""

    def serve_in_worker(ready: Callable[[], None]) -> None:
        own_parent = server.Parent(os.getppid())
        server.run(
            bound,
            stop=server.Stop(),
            ready=ready,
            parent=own_parent,
            one_per_turn=True,
            fast=fast,
        )

    # Child processes must inherit no thread and no connection.
    lease.release()
    connections.close_all()
    Workers(
        count,
        serve_in_worker,
        bound=bound,
        ready=ready,
        drain_seconds=settings.MOCKLLM_DRAIN_SECONDS,
        parent=parent,
    ).run()


def _check_and_load(
    fixtures: list[str], *, demo: bool = True, catch_all: bool = True, watch: bool | None = False
) -> None:
    """Migrate, take the lease and load all scenarios; raise CannotLoad or LeaseRefused. With
    `watch` None, files are watched in dev only."""
    files = scenario_files(settings.MOCKLLM_SCENARIOS, limits=limits())
    if watch and not files.paths:
        raise starting.CannotLoad("--watch: MOCKLLM_SCENARIOS names no file or directory to watch")
    documents = starting.read_scenarios(files)
    starting.check_outbound_settings()
    database.prepare()
    starting.check_redis()
    lease.acquire()
    if catch_all:
        starting.load_test_mode()
    starting.load_demo(demo=demo, catch_all=catch_all)
    starting.load_fixtures(fixtures)
    starting.load_scenarios(documents)
    if watch or (watch is None and files.paths and settings.MOCKLLM_ENV == "dev"):
        starting.watch_files(files, documents)
    starting.create_admin()
    chat.create_default_profile()


def _number_between(text: str, *, minimum: int, maximum: int) -> int:
    """Return the parsed number; raise ArgumentTypeError if it is outside the limits."""
    if not (text.isdecimal() and minimum <= int(text) <= maximum):
        raise ArgumentTypeError(f"expected a number from {minimum} to {maximum}, got {text!r}")
    return int(text)
