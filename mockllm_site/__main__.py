"""The program `mockllm`, also `python -m mockllm_site`: runs our commands and Django's."""

import gc
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from mockllm_site import __version__
from mockllm_site.kit import env
from mockllm_site.serve.freed_memory import limit_kept_memory

# Modules of commands that need no Django settings.
WITHOUT_SETTINGS = {
    "run": "scenarios_app.testing.run",
    "record": "scenarios_app.testing.record",
    "drift": "scenarios_app.testing.drift",
    "mcp": "scenarios_app.testing.mcp",
    "control-mcp": "scenarios_app.testing.control_mcp",
    "mutants": "scenarios_app.proof.mutants",
    "simulate": "scenarios_app.testing.simulate.command",
    "torture": "scenarios_app.proof.torture",
    "env": "mockllm_site.sdk_environment",
    "healthcheck": "mockllm_site.serve.healthcheck",
}
# Commands about scenarios, which work with the settings of a light server.
LIGHT_COMMANDS = (
    *("check_scenarios", "coverage", "export_scenarios", "import", "load_scenarios", "play"),
    *("schema", "skill", "verdict"),
)


def main() -> None:
    """Run the command that `sys.argv` names; exit with 130, as shells do, after Ctrl-C."""
    try:
        run_command(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)


def run_command(arguments: Sequence[str]) -> None:
    """Run a command; load the settings unless it is in WITHOUT_SETTINGS."""
    if arguments in (["--version"], ["version"]):
        print(f"mockllm {__version__}")
        return
    if arguments[:1] and arguments[0] in WITHOUT_SETTINGS:
        # Before settings are read: a `.env` in the directory belongs to the given command.
        module = import_module(WITHOUT_SETTINGS[arguments[0]])
        warnings.formatwarning = lambda message, *_, **__: f"mockllm: {message}\n"
        sys.exit(module.main(arguments[1:]))
    limit_kept_memory()
    # Imported modules stay, so collecting garbage here would only take a sixth of the start.
    gc.disable()
    light = is_light(arguments)
    # A plain install knows all commands, and refuses one once its arguments are right.
    lacks_server = not env.has_server()
    try:
        light = light or env.is_light_site()
        env.configure(light=light or lacks_server)
    except SystemExit:
        if not wants_help(arguments):
            raise
        # Help must also work with a wrong setting.
        env.use_default_settings()
        env.configure(light=lacks_server)
    # Imported late: Django's commands read the settings when they are imported.
    from mockllm_site.command_line import CommandLine

    CommandLine(["mockllm", *arguments], lacks_server=lacks_server and not light).execute()


def is_light(arguments: Sequence[str]) -> bool:
    """Return True if a command runs with the settings of a light server: no chat, admin, pages."""
    command = arguments[0] if arguments else ""
    return "--light" in arguments if command == "serve" else command in LIGHT_COMMANDS


def wants_help(arguments: Sequence[str]) -> bool:
    """Return True if these arguments print help and do nothing else."""
    match arguments:
        case [] | ["help" | "--help" | "-h", *_] | [_, "--help" | "-h"]:
            return True
        case _:
            return False


if __name__ == "__main__":
    main()
