"""`mockllm record -- COMMAND`: what a command says to real providers and hears from them, kept in a
cassette, or answered from one; and the setting that tells a server where those providers are."""

import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scenarios_app.recording.upstreams import (
    UpstreamError,
    check_base_url,
    public_upstreams,
    read_upstreams,
    upstream_names,
)
from scenarios_app.testing.cassettes import MODES, check_writable, read_cassette, write_cassette
from scenarios_app.testing.control import Control, ServerFailed
from scenarios_app.testing.process import Start, server_process
from scenarios_app.testing.run import (
    API_KEY,
    VERDICT_FAILED,
    CannotRun,
    judged,
    run_command,
    without_mark,
)
from scenarios_app.testing.variables import (
    base_urls,
    recorded_variables,
    sdk_variables,
    unset_variables,
)

HELP = (
    "Runs a command and keeps what real providers answer it. "
    "The exit code is the command's; a command that fails leaves the cassette as it was."
)
CASSETTE = "cassette.json"
SETTING: Final = "MOCKLLM_UPSTREAMS"
PATHS: Final = "MOCKLLM_UPSTREAM_PATHS"
# Settings of the server's that its user may have for it.
_PASSED_ON: Final = (PATHS, "MOCKLLM_UPSTREAM_SECONDS", "MOCKLLM_RECORD_BYTES")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cassette",
        metavar="FILE",
        default=CASSETTE,
        help="where it is kept (default: %(default)s)",
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="once",
        help="once: record where there is no cassette yet, else only replay; none: only replay; "
        "new: replay recorded requests, record new ones; all: record everything again "
        "(default: %(default)s)",
    )
    for name in upstream_names():
        parser.add_argument(
            f"--{name}",
            metavar="URL",
            help=f"pass requests to {name} on to this address (default: MOCKLLM_UPSTREAMS, the "
            "base URL in the environment, or its own)",
        )
    parser.add_argument(
        "command", nargs=REMAINDER, metavar="-- COMMAND …", help="what to run, with its arguments"
    )


def main(arguments: Sequence[str]) -> int:
    """The exit code of `mockllm record` with these arguments."""
    parser = ArgumentParser(prog="mockllm record", description=HELP)
    add_arguments(parser)
    return record(parser.parse_args(arguments))


def record(options: Namespace) -> int:
    """Start a server, run the command through it and write what came of it."""
    command = without_mark(options.command)
    if not command:
        return _refused("no command: give one after --", code=2)
    try:
        path = Path(options.cassette)
        cassette = read_cassette(path)
        mode = options.mode
        if mode == "once":
            mode = "all" if cassette is None else "none"
        if mode == "none":
            if cassette is None:
                raise ServerFailed(f"{path}: there is no such cassette, and nothing is recorded")
            return _replay(cassette, command)
        check_writable(path)
        given = {name: url for name in upstream_names() if (url := getattr(options, name))}
        settings = upstream_settings(os.environ, given)
        before = cassette if mode == "new" else None
        return _record(path, before, command, mode=mode, settings=settings)
    except CannotRun as error:
        return _refused(error.args[1], code=error.args[0])
    except ServerFailed as error:
        return _refused(str(error), code=VERDICT_FAILED)


def _record(
    path: Path,
    before: Mapping[str, Any] | None,
    command: Sequence[str],
    *,
    mode: str,
    settings: Mapping[str, str],
) -> int:
    with server_process(Start(settings=settings)) as (base_url, _):
        control = Control(base_url)
        try:
            begun = {"name": before["name"] if before else path.stem, "mode": mode}
            control.send("PUT", "recording", {**begun, "cassettes": [before] if before else []})
            variables = recorded_variables(base_url, environment=os.environ)
            code = run_command(command, variables)
            ended = control.send("DELETE", "recording")
        finally:
            control.close()
    told = [*ended["problems"], *ended["notes"]]
    if code:
        told.append(f"the command failed, so {path} is left as it was")
    else:
        write_cassette(path, ended["document"])
        told.append(f"{_interactions(ended['interactions'])} recorded, {path} written")
    tell("record", told)
    return code


def _replay(cassette: Mapping[str, Any], command: Sequence[str]) -> int:
    """Answer from a cassette alone: its exit code is the command's or else the verdict's."""
    with server_process(Start()) as (base_url, _):
        control = Control(base_url)
        try:
            control.send("PUT", "recording", {"mode": "none", "cassettes": [cassette]})
            variables = sdk_variables(base_url, API_KEY, environment=os.environ)
            code = run_command(command, variables, unset=unset_variables())
            ended = control.send("DELETE", "recording")
        finally:
            control.close()
        tell("record", [line for one in ended["drift"] for line in one["text"].splitlines()])
        passed = judged(base_url)
    return code or (0 if passed and not ended["drifted"] else VERDICT_FAILED)


def tell(command: str, lines: Iterable[str]) -> None:
    """Say something on standard error, after what the command has said."""
    sys.stdout.flush()
    for line in lines:
        print(f"mockllm {command}: {line}", file=sys.stderr)


def _interactions(number: int) -> str:
    return "1 interaction" if number == 1 else f"{number} interactions"


def _refused(message: str, *, code: int) -> int:
    tell("record", [message])
    return code


def upstream_settings(
    environment: Mapping[str, str], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The settings of a server that records; `given` are base URLs by provider, which win. Raises
    ServerFailed for one that no call may be sent to."""
    named = [part for part in environment.get(SETTING, "").split(",") if part.strip()]
    known = {**public_upstreams(), **base_urls(environment)}
    try:
        known |= read_upstreams(named)
        for name, url in (given or {}).items():
            known[name] = check_base_url(name, url)
        for name, url in known.items():
            check_base_url(name, url)
    except UpstreamError as error:
        raise ServerFailed(f"upstream {error}") from None
    kept = {name: environment[name] for name in _PASSED_ON if environment.get(name)}
    return {**kept, SETTING: ",".join(f"{name}={url}" for name, url in known.items())}
