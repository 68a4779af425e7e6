"""`drift`: compares current requests or responses with cassettes."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import drift

Command = partial(ProgramCommand, drift.HELP, drift.add_arguments, drift.drift, takes_command=True)
