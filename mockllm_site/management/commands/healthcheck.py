"""`healthcheck`: asks a server whether it is ready."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from mockllm_site.serve.healthcheck import HELP, add_arguments, healthcheck

Command = partial(ProgramCommand, HELP, add_arguments, healthcheck)
