"""`chat`: talk to a profile's model in the terminal, or from a script, one message a line."""

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console

from chat_app.errors import ChatError
from chat_app.terminal import Screen, open_conversation, read_lines, run_interruptibly
from mockllm_site.serve import database, lifespan
from mockllm_site.serve import first_start as starting
from mockllm_site.serve.lease import LeaseRefused


class Command(BaseCommand):
    help = (
        "Talks to a profile's model. Ctrl-C cancels an answer, Ctrl-D ends the program. "
        "Piped, each line is a message, and standard output has the answers alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "profile", nargs="?", metavar="PROFILE", help="profile to talk to (default: demo)"
        )
        parser.add_argument("--conversation", metavar="ID", help="conversation to continue")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start the services as `serve` does, send the lines as messages and print the answers."""
        answers = Console(file=sys.stdout)
        asides = answers if answers.is_terminal else Console(file=sys.stderr)
        try:
            # Like the start of a server.
            database.prepare()
            starting.load_test_mode()
            starting.load_demo()
            with asyncio.Runner() as runner:
                runner.run(lifespan.start())
                talk = runner.run(
                    open_conversation(
                        options["profile"], options["conversation"], screen=Screen(answers, asides)
                    )
                )
                for line in _input_lines():
                    # The first Ctrl-C cancels the answer, a second one the wait for its end.
                    run_interruptibly(runner, talk.send_and_print(line))
                talk.print_id()
        except (ChatError, LeaseRefused, starting.CannotLoad) as error:
            raise CommandError(getattr(error, "message", str(error))) from None
        finally:
            lifespan.stop(0.0)
        if talk.failed and not sys.stdin.isatty():
            sys.exit(1)


def _input_lines() -> Iterator[str]:
    """Return the messages to send: typed lines or those of a pipe, without blank ones."""
    if sys.stdin.isatty():
        lines = read_lines()
    else:
        # Invalid UTF-8 becomes a message that is refused, instead of a traceback.
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
        lines = (line.rstrip("\n") for line in sys.stdin)
    return (line for line in lines if line.strip())
