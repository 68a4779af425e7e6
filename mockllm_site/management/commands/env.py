"""`env`: prints the variables that point SDKs at a server."""

from functools import partial

from mockllm_site.management.programs import ProgramCommand
from mockllm_site.sdk_environment import HELP, add_arguments, print_variables

Command = partial(ProgramCommand, HELP, add_arguments, print_variables)
