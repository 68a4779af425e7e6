"""`run`: runs a command with a server, then prints the verdict on its requests."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import run

Command = partial(ProgramCommand, run.HELP, run.add_arguments, run.run)
