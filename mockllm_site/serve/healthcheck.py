"""`mockllm healthcheck`: asks a server whether it is ready. Imports no Django, to start fast."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from mockllm_site.kit.parsers import OneLineParser

READY_FILE: Final = "MOCKLLM_READY_FILE"
HELP: Final = (
    "Asks a server whether it is ready. The exit code is 0 if it is, else 1. "
    f"The server's address is read from the file {READY_FILE}, which `serve` writes."
)
TIMEOUT_SECONDS: Final = 2.0
NOT_READY: Final = 1


class NotReady(Exception):
    """The server is not ready; the message says why in one line."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--url", default="", help=f"the server to ask, instead of {READY_FILE}")


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm healthcheck` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm healthcheck", description=HELP)
    add_arguments(parser)
    return healthcheck(parser.parse_args(arguments))


def healthcheck(options: Namespace) -> int:
    """Print the state of a server; return 0 if it is ready, else 1."""
    try:
        url = options.url.rstrip("/") or _read_address()
        _check_ready(url)
    except NotReady as error:
        print(f"mockllm healthcheck: {error}", file=sys.stderr)
        return NOT_READY
    print(f"ready: {url}")
    return 0


def _read_address() -> str:
    """Return the URL in the file that MOCKLLM_READY_FILE names; raise NotReady if it has none."""
    file = os.environ.get(READY_FILE, "")
    if not file:
        raise NotReady(f"no server is named: set {READY_FILE} as for `serve`, or use --url")
    try:
        address = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotReady(f"{READY_FILE}: {error}") from None
    if not address:
        raise NotReady(f"{READY_FILE}: {file} is empty: the server is starting")
    return address


def _check_ready(url: str) -> None:
    """Raise NotReady unless the server's `/readyz` answers with success."""
    try:
        request = Request(f"{url}/readyz", headers=_host_header())
        build_opener(ProxyHandler({})).open(request, timeout=TIMEOUT_SECONDS).close()
    except HTTPError as error:
        with error:
            raise NotReady(f"{url}/readyz answers {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise NotReady(f"no server answers at {url}: {error}") from None


def _host_header() -> dict[str, str]:
    """Return a Host header with the first of ALLOWED_HOSTS, empty if any or the default will do."""
    first = os.environ.get("ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".")
    return {} if first in ("", "*") else {"Host": first}
