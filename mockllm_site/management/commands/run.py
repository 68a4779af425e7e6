"""`run`: a server for the length of a command, and the verdict on what it asked."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import run

Command = partial(ProgramCommand, run.HELP, run.add_arguments, run.run)
