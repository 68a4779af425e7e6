"""Many command lines, each in a fork of one process that has loaded Django: what costs seconds in a
process of its own takes milliseconds here."""

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
class Line:
    """What is typed after `mockllm` in a directory, and what is typed there before it."""

    arguments: Sequence[str]
    directory: str
    database_url: str = ""
    before: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def run(lines: Mapping[str, Line], *, mode: str) -> dict[str, Done]:
    """Each line's exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-P", __file__],
        input=json.dumps({name: asdict(line) for name, line in lines.items()}),
        env={"PATH": os.environ["PATH"], "MOCKLLM_ENV": mode},
        cwd=next(iter(lines.values())).directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: Done(**said) for name, said in json.loads(done.stdout).items()}


def main() -> None:
    from mockllm_site.kit import env

    env.configure()
    import django

    django.setup()
    # Imported before the fork, to save time in every fork.
    for name in ("mockllm_site.management.commands.serve", "mockllm_site.admin_urls"):
        __import__(name)
    lines = {name: Line(**given) for name, given in json.load(sys.stdin).items()}
    print(json.dumps({name: _forked(line) for name, line in lines.items()}))


def _forked(line: Line) -> dict[str, Any]:
    with open(os.devnull) as silence, open("out", "w+") as out, open("err", "w+") as err:
        child = os.fork()
        if child == 0:
            for target, stream in enumerate((silence, out, err)):
                os.dup2(stream.fileno(), target)
            # A command that serves instead of failing would run for ever.
            signal.alarm(SECONDS)
            os._exit(_code_of(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {"code": code, "out": Path("out").read_text(), "err": Path("err").read_text()}


def _code_of(line: Line) -> int:
    os.chdir(line.directory)
    _connect_to(line.database_url)
    code = 0
    for arguments in (*line.before, line.arguments):
        code = _run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _run(arguments: Sequence[str]) -> int:
    """As the interpreter would end after `main`."""
    from mockllm_site.__main__ import main

    sys.argv = ["mockllm", *arguments]
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _connect_to(database_url: str) -> None:
    """Let the fork's database be another one than that of the process it comes from."""
    from django.conf import settings
    from django.db import connections

    from mockllm_site.kit import env
    from mockllm_site.kit.setting_kinds import parse_database

    if settings.MOCKLLM_ENV != "test":
        env.variables()["DATABASE_URL"] = database_url
        found = parse_database("DATABASE_URL", database_url)
        connections.settings["default"].update({"HOST": "", "PORT": "", "OPTIONS": {}, **found})
        del connections["default"]


if __name__ == "__main__":
    main()
