"""The command line: Django's, with our commands first, and one line for each error of its user."""

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
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
from mockllm_site.kit.setting_kinds import EXTRA
from mockllm_site.serve import database

# Our commands whose models are missing in a light server.
NOT_LIGHT = frozenset({"chat", "export_traces", "prune", "trace_scenario"})
PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
FIRST = "serve"
WIDTH = 79
# Commands of Django and its apps that cannot work here, with the reason.
REPLACED = {
    "collectstatic": "nothing to collect: the server sends static files from its packages",
    "generateschema": "use `mockllm spectacular`, which writes the API's OpenAPI document",
    "sendtestemail": "mockllm sends no mail",
}


class CommandLine(ManagementUtility):
    """Runs the command that its arguments name; the first of them is the program's own name."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Return the overview of all commands; with `commands_only`, their names alone."""
        return super().main_help_text(commands_only=True) if commands_only else overview()

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command that reports errors in one line; exit if the name is unknown."""
        commands = get_commands()
        if subcommand not in commands:
            option = subcommand.startswith("-")
            near = [] if option else get_close_matches(subcommand, commands, n=1)
            suggestion = f", did you mean {near[0]}?" if near else ";"
            sys.exit(f"mockllm: no command {subcommand!r}{suggestion} `mockllm help` lists them")
        if settings.MOCKLLM_LIGHT and subcommand in NOT_LIGHT:
            sys.exit(f"mockllm: {subcommand}: {_light_hint()}")
        if subcommand in REPLACED:
            sys.exit(f"mockllm: {subcommand}: {REPLACED[subcommand]}")
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.enable()
        # Our commands skip Django's checks, which test the code; `check` runs them.
        ours = _is_ours(commands[subcommand])
        vars(command).update(
            # From Django 6.1 on, checks open every database by default, which would leave an empty
            # file if a command then fails; `migrate` chooses its databases itself.
            check=_skip_checks if ours else partial(command.check, databases=()),
            create_parser=partial(_create_parser, command.create_parser),
            execute=partial(_execute, command, command.execute),
            get_version=lambda: f"mockllm {__version__}",
        )
        return command


def overview() -> str:
    """Return the help text: our commands with a summary each, and the names of Django's."""
    apps = get_commands()
    ours = sorted((name for name in apps if _is_ours(apps[name])), key=lambda n: (n != FIRST, n))
    others = sorted(set(apps) - set(ours) - set(REPLACED))
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
            "Django's:",
            fill(", ".join(others), WIDTH, initial_indent="  ", subsequent_indent="  "),
        ]
    )


def _summary_of(name: str, app: str | BaseCommand) -> str:
    """Return a command's summary; on a light server without this command, the reason for that."""
    if settings.MOCKLLM_LIGHT and name in NOT_LIGHT:
        return f"{_light_hint().capitalize()}."
    return summary(load_command_class(str(app), name))


def _light_hint() -> str:
    """Return why a command is missing: MOCKLLM_LIGHT is set, or the extra `server` is missing."""
    return "not with MOCKLLM_LIGHT" if env.has_server() else EXTRA.format("server")


def summary(command: BaseCommand) -> str:
    """Return the first sentence of a command's help."""
    return command.help.partition(". ")[0].rstrip(".") + "."


def _is_ours(app: str | BaseCommand) -> bool:
    """Return True if the app that has a command is a package of this project."""
    return isinstance(app, str) and app.startswith(PACKAGES)


def _skip_checks(**_: Any) -> None:
    """Take the place of Django's system checks, which are left out."""
    pass


def _create_parser(create: Callable[..., ArgumentParser], /, *args: Any, **options: Any) -> Any:
    """Return the command's parser, whose errors are one line."""
    parser = create(*args, **options)
    vars(parser).update(error=partial(_exit_with_usage, parser))
    return parser


def _exit_with_usage(parser: ArgumentParser, message: str) -> NoReturn:
    """Exit with code 2 and one line: the message, and that `--help` says more."""
    parser.exit(2, f"{parser.prog}: {message}; `{parser.prog} --help` says more\n")


def _execute(
    command: BaseCommand, execute: Callable[..., str | None], /, *args: Any, **options: Any
) -> str | None:
    """Run a command; print errors that its user can mend as one line, and exit; with `--traceback`
    raise them. The first two arguments are positional only: `shell` has an option `command`."""
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
    """Redirect standard output to nowhere, since Python would fail on it again at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error_line(error: Exception) -> str:
    """Return the problem of the database if it caused the error, else the error's message."""
    if any(isinstance(behind, DatabaseProblem) for behind in _causes(error)):
        if problem := database.problem():
            return problem
        if isinstance(error, DatabaseProblem):
            return f"database: {database.error_line(error)}"
    return str(error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
