"""`completion`: prints the script that completes commands and options in a shell."""

from typing import Any

from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandParser

from mockllm_site.command_line import UNUSABLE, CommandLine, is_available, is_ours, summary
from mockllm_site.completion import SHELLS, CompletedCommand, to_options


class Command(BaseCommand):
    help = (
        "Prints a script that completes commands in a shell. For bash, add "
        '`eval "$(mockllm completion bash)"` to ~/.bashrc.'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "shell",
            choices=SHELLS,
            metavar="|".join(SHELLS),
            help="the shell that reads the script",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the script with the options of our commands, and the names of Django's."""
        apps = get_commands()
        ours = sorted(name for name in apps if is_ours(apps[name]) and is_available(name))
        others = sorted(name for name in apps if not is_ours(apps[name]) and name not in UNUSABLE)
        commands = [_to_completed(name) for name in ours]
        commands += [CompletedCommand(name, f"Django's {name}.") for name in others]
        self.stdout.write(SHELLS[options["shell"]](commands))


def _to_completed(name: str) -> CompletedCommand:
    command = CommandLine(["mockllm"]).fetch_command(name)
    parser = command.create_parser("mockllm", name)
    return CompletedCommand(name, summary(command), tuple(to_options(parser._actions)))
