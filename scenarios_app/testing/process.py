"""Runs a server in test mode as a child process that ends with its parent."""

import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scenarios_app.testing.control import Control, ServerFailed

READY = "mockllm ready on "
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
def server_process(options: ServerOptions) -> Iterator[tuple[str, int]]:
    """Run a server; yield its base URL and process id. Raises ServerFailed if it does not start;
    its messages about settings become warnings."""
    with TemporaryDirectory(prefix="mockllm-") as directory:
        process, base_url = _start_server(Path(directory), options)
        finalizer = weakref.finalize(process, _stop_process, process)
        try:
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
    """Start `serve` and wait until it is ready; return its process and base URL. Raises
    ServerFailed."""
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
    with open(directory / "stderr", "w+", encoding="utf-8") as log:
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
        if not line.startswith(READY):
            _stop_process(process)
            log.seek(0)
            raise ServerFailed(_failure_reason(log.read(), options.timeout))
    for message in (directory / "stderr").read_text(encoding="utf-8").splitlines():
        if message.startswith(MESSAGE_PREFIX):
            warnings.warn(message.removeprefix(MESSAGE_PREFIX), stacklevel=2)
    return process, line.removeprefix(READY).strip()


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
    """Return the first line of output, or an empty text if the process ends or is killed here after
    the timeout."""
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


def _failure_reason(log: str, timeout: float) -> str:
    """Return the last line of the log, or that the server was late."""
    lines = [line for line in log.splitlines() if line.strip()]
    late = f"the server was not ready after {timeout:g} s"
    return lines[-1].removeprefix(MESSAGE_PREFIX) if lines else late
