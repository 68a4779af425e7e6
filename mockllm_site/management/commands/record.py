"""`record`: what a command says to real providers and hears from them, kept in a cassette."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import record

Command = partial(ProgramCommand, record.HELP, record.add_arguments, record.record)
