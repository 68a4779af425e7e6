"""`mutants`: repeats a command with one change of the script at a time."""

from mockllm_site.management.commands import torture
from scenarios_app.proof.mutants import MUTANTS


class Command(torture.Command):
    experiment = MUTANTS
    help = MUTANTS.help
