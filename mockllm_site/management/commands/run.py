"""`run`: a server for the length of a command, and the verdict on what it asked."""

from argparse import Namespace
from functools import partial

from mockllm_site.management.programs import ProgramCommand
from scenarios_app.testing import run


def _run(options: Namespace) -> int:
    return run.run(options.scenario, options.fixture, options.command, strict=options.strict)


Command = partial(ProgramCommand, run.HELP, run.add_arguments, _run)
