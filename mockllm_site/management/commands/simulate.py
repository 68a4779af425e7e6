"""`simulate`: lets the scripted users of a file talk to an agent."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing.simulate import command

Command = partial(ProgramCommand, command.HELP, command.add_arguments, command.run)
