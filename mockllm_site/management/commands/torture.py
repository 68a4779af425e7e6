"""`torture`: repeats a command with one fault at one answer at a time."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.proof import command
from scenarios_app.proof.torture import TORTURE

Command = partial(
    ProgramCommand,
    TORTURE.help,
    partial(command.add_arguments, TORTURE),
    partial(command.run, TORTURE),
    takes_command=True,
)
