"""`mockllm record -- COMMAND`: records the requests of a command to real providers in a cassette,
or replays one. Also builds the settings of a recording server."""

import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.recording.upstreams import (
    UpstreamError,
    check_base_url,
    public_upstreams,
    read_upstreams,
    upstream_names,
)
from scenarios_app.testing.cassettes import MODES, check_writable, read_cassette, write_cassette
from scenarios_app.testing.control import ServerFailed, controlled_server
from scenarios_app.testing.process import ServerOptions
from scenarios_app.testing.run import (
    CANNOT_START,
    VERDICT_FAILED,
    CannotRun,
    print_verdict,
    refuse,
    run_command,
    strip_separator,
)
from scenarios_app.testing.variables import base_urls

HELP = (
    "Runs a command and keeps what real providers answer it. "
    "The exit code is the command's; a command that fails or asks nothing leaves the cassette as "
    f"it was. {CANNOT_START} "
    "An upstream is by default that of MOCKLLM_UPSTREAMS, the base URL in the environment, or the "
    "provider's own address."
)
DEFAULT_CASSETTE = "cassette.json"
UPSTREAMS_SETTING: Final = "MOCKLLM_UPSTREAMS"
PATHS_SETTING: Final = "MOCKLLM_UPSTREAM_PATHS"
# Settings of the environment that the server inherits.
_INHERITED_SETTINGS: Final = (PATHS_SETTING, "MOCKLLM_UPSTREAM_SECONDS", "MOCKLLM_RECORD_BYTES")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--cassette",
        metavar="FILE",
        default=DEFAULT_CASSETTE,
        help="the file of the cassette (default: %(default)s)",
    )
    add(
        "--mode",
        choices=MODES,
        default="once",
        help="once: record where there is no cassette yet, else only replay; none: only replay; "
        "new: replay recorded requests, record new ones; all: record everything again "
        "(default: %(default)s)",
    )
    for name in upstream_names():
        add(
            f"--{name}",
            metavar="URL",
            help=f"upstream for requests to {name}",
        )
    add("command", nargs=REMAINDER, metavar="-- COMMAND …", help="what to run, with its arguments")


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm record` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm record", description=HELP)
    add_arguments(parser)
    return record(parser.parse_args(arguments))


def record(options: Namespace) -> int:
    """Run the command, record or replay its cassette by the mode, and return the exit code."""
    command = strip_separator(options.command)
    if not command:
        return refuse("record", "no command: give one after --", code=2)
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
        urls = {name: url for name in upstream_names() if (url := getattr(options, name))}
        settings = upstream_settings(os.environ, urls)
        before = cassette if mode == "new" else None
        return _record_command(path, before, command, mode=mode, settings=settings)
    except (CannotRun, ServerFailed) as error:
        return refuse("record", error, code=VERDICT_FAILED)


def _record_command(
    path: Path,
    before: Mapping[str, Any] | None,
    command: Sequence[str],
    *,
    mode: str,
    settings: Mapping[str, str],
) -> int:
    """Record a command's requests; write the cassette if it succeeds, and return its exit code."""
    with controlled_server(ServerOptions(settings=settings)) as control:
        options = {"name": before["name"] if before else path.stem, "mode": mode}
        control.send("PUT", "recording", {**options, "cassettes": [before] if before else []})
        code = run_command(command, control.base_url, records=True)
        recording = control.send("DELETE", "recording")
    messages = [*recording["problems"], *recording["notes"]]
    count = recording["interactions"]
    if code:
        messages.append(f"the command failed, so {path} is left as it was")
    elif not count:
        messages.append(f"the command asked no provider, so {path} is left as it was")
    else:
        write_cassette(path, recording["document"])
        messages.append(f"{count} interaction{'' if count == 1 else 's'} recorded, {path} written")
    print_messages(messages)
    return code


def _replay(cassette: Mapping[str, Any], command: Sequence[str]) -> int:
    """Return the command's exit code or, if 0, VERDICT_FAILED after drift or a failed verdict."""
    with controlled_server() as control:
        control.send("PUT", "recording", {"mode": "none", "cassettes": [cassette]})
        code = run_command(command, control.base_url)
        recording = control.send("DELETE", "recording")
        print_messages(line for drift in recording["drift"] for line in drift["text"].splitlines())
        passed = print_verdict(control)
    return code or (0 if passed and not recording["drifted"] else VERDICT_FAILED)


def print_messages(lines: Iterable[str]) -> None:
    """Print lines to standard error, after the output of the command."""
    sys.stdout.flush()
    for line in lines:
        print(f"mockllm record: {line}", file=sys.stderr)


def upstream_settings(
    environment: Mapping[str, str], urls: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the settings of a recording server. Base URLs in `urls` (by provider) win over those
    of the environment. Raises ServerFailed for a URL that may not be called."""
    entries = [part for part in environment.get(UPSTREAMS_SETTING, "").split(",") if part.strip()]
    upstreams = {**public_upstreams(), **base_urls(environment)}
    try:
        upstreams |= read_upstreams(entries)
        for name, url in (urls or {}).items():
            upstreams[name] = check_base_url(name, url)
        for name, url in upstreams.items():
            check_base_url(name, url)
    except UpstreamError as error:
        raise ServerFailed(f"upstream {error}") from None
    inherited = {name: environment[name] for name in _INHERITED_SETTINGS if environment.get(name)}
    return {
        **inherited,
        UPSTREAMS_SETTING: ",".join(f"{name}={url}" for name, url in upstreams.items()),
    }
