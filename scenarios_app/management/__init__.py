"""Shared by our commands: requests to the control API of a running server, and report files."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import CommandError

from scenarios_app.engine.document.regular_files import read_regular_file

URL = "MOCKLLM_URL"
# Files that a runner of GitHub Actions gives a step.
SUMMARY = "GITHUB_STEP_SUMMARY"
OUTPUT = "GITHUB_OUTPUT"
GITHUB_HELP = (
    f"in a step of GitHub Actions: print annotations, append Markdown to ${SUMMARY}, and set the "
    "output"
)
TIMEOUT_SECONDS = 60.0
# No verdict at all is another exit code than one that failed.
NOT_JUDGED = 2


def add_url(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        help=f"the server to ask (default: ${URL}, else the port of this mode on this machine); "
        "a server on another machine needs MOCKLLM_CONTROL_TOKEN",
    )


def call_control(url: str | None, path: str, *, body: Any = None, **query: str) -> Any:
    """Return the JSON of a control route, by POST if there is a `body`; raises CommandError."""
    port = getattr(settings, "MOCKLLM_PORT", 8000)
    base = url or os.environ.get(URL) or f"http://127.0.0.1:{port}"
    token = getattr(settings, "MOCKLLM_CONTROL_TOKEN", "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = f"{base.rstrip('/')}/control/{path}"
    try:
        with httpx2.Client(trust_env=False, timeout=TIMEOUT_SECONDS) as client:
            method = "GET" if body is None else "POST"
            response = client.request(method, address, params=query, headers=headers, json=body)
            answer = response.json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        message = str(error) or type(error).__name__
        raise CommandError(
            f"no mockllm server answers at {base} ({message}); start one with `mockllm serve`, or "
            f"name it with --url or {URL}",
            returncode=NOT_JUDGED,
        ) from None
    if not response.is_success:
        server_message = answer.get("message") if isinstance(answer, dict) else None
        reason = server_message or f"{address} answers {response.status_code}"
        raise CommandError(str(reason), returncode=NOT_JUDGED)
    return answer


def github_file(variable: str, *, option: str = "--github", hint: str = "") -> str:
    """Return the path that GitHub Actions sets in this variable; raises CommandError without it."""
    if file := os.environ.get(variable, ""):
        return file
    raise CommandError(f"{option}: {variable} is not set{hint}", returncode=NOT_JUDGED)


def read_file(path: str) -> bytes:
    """Return the content of a file; raises CommandError if it cannot be read."""
    try:
        return read_regular_file(path)
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise CommandError(message, returncode=NOT_JUDGED) from None


def write_step_results(summary: str, output: str) -> None:
    """Append Markdown to the summary of a step of GitHub Actions, and `output`, a line NAME=VALUE,
    to its outputs; raises CommandError."""
    write_file(github_file(SUMMARY), f"{summary}\n", append=True)
    write_file(github_file(OUTPUT), f"{output}\n", append=True)


def write_file(path: str, text: str, *, append: bool = False) -> None:
    """Write a report; raises CommandError if the file cannot be written."""
    try:
        with Path(path).open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(
            f"{path}: cannot be written: {error.strerror}", returncode=NOT_JUDGED
        ) from None
