"""Django's command line, with our commands first and a one-line message for each user error."""

import gc
import os
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from textwrap import fill
from typing import Any, NoReturn

from django.conf import settings
from django.core.management import (
    BaseCommand,
    CommandError,
    ManagementUtility,
    get_commands,
    load_command_class,
)
from django.core.management.base import SystemCheckError
from django.core.serializers.base import DeserializationError
from django.db import Error as DatabaseProblem

from mockllm_site import __version__
from mockllm_site.kit import env
from mockllm_site.kit.keywords import did_you_mean
from mockllm_site.kit.parsers import exit_with_usage
from mockllm_site.kit.setting_kinds import MISSING_PACKAGE
from mockllm_site.serve import database

# Our commands whose models are missing in a light server.
FULL_SERVER_COMMANDS = frozenset({"chat", "export_traces", "prune", "trace_scenario"})
# Our command that works on each kind of site, with the commands that the site has.
ANYWHERE = "completion"
NOT_LIGHT = "not with MOCKLLM_LIGHT"
PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
FIRST_COMMAND = "serve"
DJANGO_COMMANDS = (
    "Also {} commands of Django, such as migrate, createsuperuser, loaddata and dumpdata: "
    "`mockllm help --commands` lists all names."
)
LINE_CHARS = 79
# Options of every command of Django's, which help leaves out of ours.
DJANGO_OPTIONS = {
    *("--settings", "--pythonpath", "--no-color", "--force-color", "--verbosity"),
    *("--version", "--traceback"),
}
# Commands of Django and its apps that cannot work here, with the reason.
UNUSABLE = {
    "collectstatic": "nothing to collect: the server sends static files from its packages",
    "generateschema": "use `mockllm spectacular`, which writes the API's OpenAPI document",
    "sendtestemail": "mockllm sends no mail",
}


class CommandLine(ManagementUtility):
    """Runs the command that its arguments name; the first argument is the program's name. With
    `lacks_server`, commands are only parsed, and then refused: the extra `server` is missing."""

    def __init__(self, argv: list[str], *, lacks_server: bool = False) -> None:
        super().__init__(argv)
        self._lacks_server = lacks_server

    def main_help_text(self, commands_only: bool = False) -> str:
        """Return the overview of all commands; with `commands_only`, their names alone."""
        return super().main_help_text(commands_only=True) if commands_only else overview()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command that reports errors in one line; exit for an unknown or unusable one."""
        commands = get_commands()
        if subcommand not in commands:
            near = "" if subcommand.startswith("-") else did_you_mean(subcommand, commands)
            suggestion = f", {near}" if near else ";"
            sys.exit(f"mockllm: no command {subcommand!r}{suggestion} `mockllm help` lists them")
        if not is_available(subcommand) and self._lacks_server:
            _refuse()
        if not is_available(subcommand):
            sys.exit(f"mockllm: {subcommand}: {NOT_LIGHT}")
        if subcommand in UNUSABLE:
            sys.exit(f"mockllm: {subcommand}: {UNUSABLE[subcommand]}")
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        ours = is_ours(commands[subcommand])
        refused = self._lacks_server and subcommand != ANYWHERE
        execute = _refuse if refused else partial(_execute, command, command.execute)
        vars(command).update(
            # From Django 6.1 on, checks open every database by default, which would leave an empty
            # file if a command then fails; `migrate` chooses its databases itself.
            check=_skip_checks if ours else partial(command.check, databases=()),
            create_parser=partial(_create_parser, command.create_parser, hides_checks=ours),
            execute=execute,
            suppressed_base_arguments=DJANGO_OPTIONS if ours else set(),
            get_version=lambda: f"mockllm {__version__}",
        )
        return command


def overview() -> str:
    """Return the help text: our commands with a summary each, and the names of Django's."""
    apps = get_commands()
    ours = sorted(
        (name for name in apps if is_ours(apps[name])), key=lambda n: (n != FIRST_COMMAND, n)
    )
    others = sorted(set(apps) - set(ours) - set(UNUSABLE))
    lines = [f"  {name:<17} {_summary_of(name, apps[name])}" for name in ours]
    return "\n".join(
        [
            f"mockllm {__version__}: a deterministic LLM server.",
            "",
            "  mockllm COMMAND …          `mockllm help COMMAND` says more of one",
            "",
            "Commands:",
            *lines,
            "",
            fill(DJANGO_COMMANDS.format(len(others)), LINE_CHARS),
        ]
    )


def _summary_of(name: str, app: str | BaseCommand) -> str:
    """Return a command's summary, or the reason why a light server does not have it."""
    if not is_available(name):
        hint = NOT_LIGHT if env.has_server() else MISSING_PACKAGE.format("server")
        return f"{hint.capitalize()}."
    return summary(load_command_class(str(app), name))


def is_available(name: str) -> bool:
    """Return False for a command whose models a light server does not have."""
    return not (settings.MOCKLLM_LIGHT and name in FULL_SERVER_COMMANDS)


def summary(command: BaseCommand) -> str:
    """Return the first sentence of a command's help."""
    return command.help.partition(". ")[0].rstrip(".") + "."


def is_ours(app: str | BaseCommand) -> bool:
    """Return True if the app that has a command is a package of this project."""
    return isinstance(app, str) and app.startswith(PACKAGES)


def _skip_checks(**_: Any) -> None:
    """Do nothing, in place of Django's system checks."""


def _refuse(*_: Any, **options: Any) -> NoReturn:
    """Exit because the extra `server` is missing; `serve` has a light form without it."""
    serves = "workers" in options
    sys.exit(f"mockllm: {env.MISSING_SERVER}" + (f", or {env.LIGHT_INSTEAD}" if serves else ""))


def _create_parser(
    create: Callable[..., ArgumentParser], /, *args: Any, hides_checks: bool, **options: Any
) -> Any:
    """Return the command's parser, whose errors are one line."""
    parser = create(*args, **options)
    for action in parser._actions:
        # The one option of Django's that a command cannot hide itself.
        if hides_checks and "--skip-checks" in action.option_strings:
            action.help = SUPPRESS
    vars(parser).update(error=partial(exit_with_usage, parser))
    return parser


def _execute(
    command: BaseCommand, execute: Callable[..., str | None], /, *args: Any, **options: Any
) -> str | None:
    """Run a command. Print errors of the user, the database or a file as one line and exit; with
    `--traceback` raise them. `shell` has an option `command`, so ours are positional only."""
    try:
        result = execute(*args, **options)
        # Flushed here, so that a full disk gives an error of one line.
        sys.stdout.flush()
        return result
    except SystemCheckError:
        # Django has formatted this list of problems.
        raise
    except (CommandError, DeserializationError, DatabaseProblem) as error:
        if options["traceback"]:
            raise
        command.stderr.write(f"mockllm: {_error_line(error)}")
        sys.exit(error.returncode if isinstance(error, CommandError) else 1)
    except OSError as error:
        if options["traceback"]:
            raise
        _discard_output()
        file = f"{error.filename}: " if error.filename else ""
        command.stderr.write(f"mockllm: {file}{error.strerror or error}")
        sys.exit(1)


def _discard_output() -> None:
    """Redirect standard output to the null device: Python flushes it again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error_line(error: Exception) -> str:
    """Return the database's problem if it caused the error, else the error's message."""
    if any(isinstance(cause, DatabaseProblem) for cause in _causes(error)):
        if problem := database.find_problem():
            return problem
        if isinstance(error, DatabaseProblem):
            return f"database: {database.error_line(error)}"
    return str(error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and the errors that caused it or that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
