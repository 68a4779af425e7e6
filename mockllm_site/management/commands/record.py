"""`record`: runs a command and records its calls of real providers in a cassette."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import record

Command = partial(ProgramCommand, record.HELP, record.add_arguments, record.record)
