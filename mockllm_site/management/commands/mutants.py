"""`mutants`: repeats a command with one change of the script at a time."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.proof import command
from scenarios_app.proof.mutants import MUTANTS

Command = partial(
    ProgramCommand,
    MUTANTS.help,
    partial(command.add_arguments, MUTANTS),
    partial(command.run, MUTANTS),
    takes_command=True,
)
