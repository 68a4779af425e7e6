"""Runs a server in test mode as a child process that ends with its parent."""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scenarios_app.testing.control import Control, ServerFailed

READY_PREFIX = "mockllm ready on "
MESSAGE_PREFIX = "mockllm: "
START_SECONDS = 60.0
STOP_SECONDS = 15.0
# Variables of this process that the server does not inherit.
NOT_INHERITED = {
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "REDIS_URL",
    "SECRET_KEY",
}


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Scenario documents, fixtures (`serve --fixture`) and settings (environment variables) of a
    server; `timeout` is the maximum time to start, in seconds. `paths` are scenario files that are
    loaded again when they change. Without `light` it has the chat, the admin and all pages too."""

    documents: Sequence[Mapping[str, Any]] = ()
    fixtures: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    catch_all: bool = False
    timeout: float = START_SECONDS
    paths: Sequence[str] = ()
    light: bool = True


@contextmanager
def server_process(
    options: ServerOptions, on_message: Callable[[str], object] = warnings.warn
) -> Iterator[tuple[str, int]]:
    """Run a server; yield its base URL and process id. Call `on_message` with each message about
    its settings. Raises ServerFailed if it does not start."""
    with TemporaryDirectory(prefix="mockllm-") as directory:
        process, base_url = _start_server(Path(directory), options)
        finalizer = weakref.finalize(process, _stop_process, process)
        try:
            for line in _log_lines(Path(directory)):
                if line.startswith(MESSAGE_PREFIX):
                    on_message(line.removeprefix(MESSAGE_PREFIX))
            yield base_url, process.pid
        finally:
            finalizer()


@contextmanager
def controlled_server(options: ServerOptions | None = None) -> Iterator[Control]:
    """Run a server; yield a client of its control API. Raises ServerFailed."""
    server = server_process(options or ServerOptions())
    with server as (base_url, _), closing(Control(base_url)) as control:
        yield control


def _start_server(directory: Path, options: ServerOptions) -> tuple["subprocess.Popen[str]", str]:
    """Start `serve`; return its process and base URL when it is ready. Raises ServerFailed."""
    # `-P`: a folder of the user named like one of our packages is not imported instead.
    command = [sys.executable, "-P", "-m", "mockllm_site", "serve", "--port", "0"]
    if options.light:
        command.append("--light")
    command += ["--parent", str(os.getpid())]
    for fixture in options.fixtures:
        file = Path(fixture)
        is_file = file.suffix == ".json" and file.is_file()
        command += ["--fixture", str(file.absolute()) if is_file else fixture]
    if not options.catch_all:
        command.append("--no-catch-all")
    paths = [str(Path(path).expanduser().absolute()) for path in options.paths]
    if paths:
        command.append("--watch")
    if options.documents:
        file = directory / "scenarios.json"
        file.write_text(json.dumps({"scenarios": list(options.documents)}), encoding="utf-8")
        paths.append(str(file))
    settings = options.settings
    if paths:
        settings = {"MOCKLLM_SCENARIOS": os.pathsep.join(paths), **settings}
    deadline = time.monotonic() + options.timeout
    with open(directory / "stderr", "wb") as log:
        process = subprocess.Popen(
            command,
            # An empty directory, so that no `.env` or package of the user is read.
            cwd=directory,
            env=_server_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # Ctrl-C goes only to the parent, which reads the verdict before it stops the server.
            start_new_session=True,
        )
    try:
        line = _read_first_line(process, options.timeout)
    except BaseException:
        _stop_process(process)
        raise
    if line.startswith(READY_PREFIX):
        return process, line.removeprefix(READY_PREFIX).strip()
    is_late = time.monotonic() >= deadline
    _stop_process(process)
    last_line = next(reversed(_log_lines(directory)), "").removeprefix(MESSAGE_PREFIX)
    if not is_late:
        raise ServerFailed(last_line or f"the server ended with exit code {process.returncode}")
    reason = f"the server was not ready after {options.timeout:g} s"
    raise ServerFailed(f"{reason}; its last message: {last_line}" if last_line else reason)


def _server_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server in test mode: this process's variables except MOCKLLM_*
    and NOT_INHERITED, and `settings`."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_INHERITED and not name.startswith("MOCKLLM_")
    }
    return {**inherited, "MOCKLLM_ENV": "test", "MOCKLLM_DRAIN_SECONDS": "1", **settings}


def _read_first_line(process: "subprocess.Popen[str]", timeout: float) -> str:
    """Return the first line of output, or "" if the process ends. Kill it after the timeout."""
    assert process.stdout is not None
    # Killing the process closes its output, which ends the wait for a line.
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


def _stop_process(process: "subprocess.Popen[str]") -> None:
    """Terminate a process, and kill it if it does not end in time."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _log_lines(directory: Path) -> list[str]:
    """Return the lines of a server's standard error that are not blank."""
    # The environment may select another encoding for the server.
    text = (directory / "stderr").read_text(encoding="utf-8", errors="replace")
    return [line for line in text.splitlines() if line.strip()]
