"""`mockllm env`: prints the variables that point SDKs at a running server. Imports no Django."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final

from mockllm_site.kit.parsers import OneLineParser
from mockllm_site.serve.healthcheck import READY_FILE
from scenarios_app.testing.variables import API_KEY, sdk_variables, unset_variables

URL: Final = "MOCKLLM_URL"
HELP: Final = (
    "Prints the variables that point SDKs at a running server. "
    "They are those that `mockllm run` sets for its command."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url", default="", help=f"address of the server (default: {URL}, else {READY_FILE}'s)"
    )
    parser.add_argument(
        "--key", default=API_KEY, help="API key, which names the session (default: %(default)s)"
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="sh",
        help="sh for eval; dotenv for files such as $GITHUB_ENV and docker's --env-file; json",
    )


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm env` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm env", description=HELP)
    add_arguments(parser)
    return print_variables(parser.parse_args(arguments))


def print_variables(options: Namespace) -> int:
    """Print the variables and return 0; return 1 if no server's URL is given."""
    url = (options.url or os.environ.get(URL, "") or _ready_address()).rstrip("/")
    if not url.startswith(("http://", "https://")):
        problem = f"{url}: expected http://…" if url else f"no server is named: use --url or {URL}"
        print(f"mockllm env: {problem}", file=sys.stderr)
        return 1
    variables = sdk_variables(url, options.key, environment=os.environ)
    print(FORMATS[options.format](variables, unset_variables()))
    return 0


def _ready_address() -> str:
    """Return the URL in the file that MOCKLLM_READY_FILE names; empty if it cannot be read."""
    try:
        return Path(os.environ.get(READY_FILE, "")).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _as_sh(variables: Mapping[str, str], unset: Sequence[str]) -> str:
    lines = [f"export {name}={quote(value)}" for name, value in variables.items()]
    return "\n".join([*lines, *(f"unset {name}" for name in unset)])


def _as_dotenv(variables: Mapping[str, str], unset: Sequence[str]) -> str:
    """Return lines for an `.env` file; variables to unset become empty."""
    # A dotenv file cannot unset a variable, only empty it.
    empty = [f"{name}=" for name in unset if os.environ.get(name)]
    return "\n".join([*(f"{name}={value}" for name, value in variables.items()), *empty])


def _as_json(variables: Mapping[str, str], unset: Sequence[str]) -> str:
    return json.dumps({**variables, **dict.fromkeys(unset)}, indent=2)


FORMATS: Final[Mapping[str, Callable[[Mapping[str, str], Sequence[str]], str]]] = {
    "sh": _as_sh,
    "dotenv": _as_dotenv,
    "json": _as_json,
}
