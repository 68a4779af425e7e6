"""Runs many command lines, each in a fork of one process that has loaded Django.

A fork takes milliseconds where a new process takes seconds.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SECONDS = 60


@dataclass(frozen=True)
class CommandLine:
    """The arguments of `mockllm` in a directory, and those of commands that run before it."""

    arguments: Sequence[str]
    directory: str
    database_url: str = ""
    before: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str


def run(lines: Mapping[str, CommandLine], *, mode: str) -> dict[str, CommandResult]:
    """Return the exit code and the output of each command line."""
    process = subprocess.run(
        [sys.executable, "-P", __file__],
        input=json.dumps({name: asdict(line) for name, line in lines.items()}),
        env={"PATH": os.environ["PATH"], "MOCKLLM_ENV": mode},
        cwd=next(iter(lines.values())).directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return {name: CommandResult(**fields) for name, fields in json.loads(process.stdout).items()}


def main() -> None:
    from mockllm_site.kit import env

    env.configure()
    import django

    django.setup()
    # Imported before the fork, to save time in every fork.
    for name in ("mockllm_site.management.commands.serve", "mockllm_site.admin_urls"):
        __import__(name)
    lines = {name: CommandLine(**fields) for name, fields in json.load(sys.stdin).items()}
    print(json.dumps({name: _run_in_fork(line) for name, line in lines.items()}))


def _run_in_fork(line: CommandLine) -> dict[str, Any]:
    with open(os.devnull) as null, open("out", "w+") as out, open("err", "w+") as err:
        child = os.fork()
        if child == 0:
            for target, stream in enumerate((null, out, err)):
                os.dup2(stream.fileno(), target)
            # A command that serves instead of failing would run for ever.
            signal.alarm(SECONDS)
            os._exit(_run_line(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {"code": code, "out": Path("out").read_text(), "err": Path("err").read_text()}


def _run_line(line: CommandLine) -> int:
    os.chdir(line.directory)
    _connect_to(line.database_url)
    code = 0
    for arguments in (*line.before, line.arguments):
        code = _run_command(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _run_command(arguments: Sequence[str]) -> int:
    """Run `main` and return the exit code that the interpreter would end with."""
    from mockllm_site.__main__ import main

    sys.argv = ["mockllm", *arguments]
    try:
        main()
    except SystemExit as exit_error:
        if isinstance(exit_error.code, str):
            print(exit_error.code, file=sys.stderr)
            return 1
        return int(exit_error.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _connect_to(database_url: str) -> None:
    """Connect the fork to its database, which differs from that of its parent process."""
    from django.conf import settings
    from django.db import connections

    from mockllm_site.kit import env
    from mockllm_site.kit.setting_kinds import parse_database

    if settings.MOCKLLM_ENV != "test":
        env.variables()["DATABASE_URL"] = database_url
        database_settings = parse_database(database_url)
        connections.settings["default"].update(
            {"HOST": "", "PORT": "", "OPTIONS": {}, **database_settings}
        )
        del connections["default"]


if __name__ == "__main__":
    main()
