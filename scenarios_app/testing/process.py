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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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


class ServerFailed(Exception):
    """The server did not start, is gone, or rejected a call; the message gives the reason."""

    # The public module, which tracebacks of tests show.
    __module__ = "mockllm"


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


class StandbyServer:
    """A child process that imports the server's code (`serve --standby`) and then waits for its
    options. It has the settings, the `paths` and the apps of the `options` that it began with, and
    keeps its bytecode in the folder `bytecode`, if that is given."""

    def __init__(self, options: ServerOptions, bytecode: Path | None = None) -> None:
        self._directory = TemporaryDirectory(prefix="mockllm-")
        folder = Path(self._directory.name)
        self._documents, self._log = folder / "scenarios.json", folder / "stderr"
        self._environment = _server_environment(options)
        self._write_documents(options)
        files = [*_absolute_paths(options.paths), str(self._documents)]
        # `-P`: a folder of the user named like one of our packages is not imported instead.
        command = [sys.executable, "-P", "-m", "mockllm_site", "serve", "--port", "0"]
        command += ["--standby", "--parent", str(os.getpid())]
        if options.light:
            command.append("--light")
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command,
                # An empty directory, so that no `.env` or package of the user is read.
                cwd=folder,
                env={
                    "MOCKLLM_SCENARIOS": os.pathsep.join(files),
                    **self._environment,
                    **({} if bytecode is None else _bytecode_variables(bytecode)),
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Ctrl-C goes only to the parent, which reads the verdict before it stops the
                # server.
                start_new_session=True,
            )
        self._light, self._paths = options.light, options.paths
        self.is_started = False
        """Whether it got its options."""
        # Nothing of a light server in test mode outlives it, and it has no child processes.
        in_memory = self._environment["MOCKLLM_ENV"] == "test" and options.light
        own_settings = "DJANGO_SETTINGS_MODULE" in options.settings
        end = self._process.kill if in_memory and not own_settings else self._process.terminate
        self.stop = weakref.finalize(self, _stop_process, self._process, end, self._directory)
        """Stop the process, once; also called when this process ends."""

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def fits(self, options: ServerOptions) -> bool:
        """Return True if a server with these options would begin in the same way now."""
        ours, theirs = (
            {name: value for name, value in variables.items() if not name.startswith("PYTEST_")}
            for variables in (self._environment, _server_environment(options))
        )
        alike = (self._light, self._paths) == (options.light, options.paths)
        return alike and ours == theirs

    def start(self, options: ServerOptions) -> str:
        """Let the process serve with these options; return its base URL when it is ready. Raises
        ServerFailed."""
        self.is_started = True
        self._write_documents(options)
        deadline = time.monotonic() + options.timeout
        try:
            # It has ended if a setting is wrong.
            with suppress(BrokenPipeError):
                self._send_options(options)
            line = _read_first_line(self._process, options.timeout)
        except BaseException:
            self.stop()
            raise
        if line.startswith(READY_PREFIX):
            return line.removeprefix(READY_PREFIX).strip()
        is_late = time.monotonic() >= deadline
        code, messages = self._process.wait(), self.messages()
        last_line = messages[-1].removeprefix(MESSAGE_PREFIX) if messages else ""
        self.stop()
        if not is_late:
            raise ServerFailed(last_line or f"the server ended with exit code {code}")
        reason = f"the server was not ready after {options.timeout:g} s"
        raise ServerFailed(f"{reason}; its last message: {last_line}" if last_line else reason)

    def messages(self) -> list[str]:
        """Return the lines of the server's standard error that are not blank."""
        # The environment may select another encoding for the server.
        text = self._log.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if line.strip()]

    def _write_documents(self, options: ServerOptions) -> None:
        """Write the documents into the file that the server reads when it has its options."""
        document = {"scenarios": list(options.documents)}
        self._documents.write_text(json.dumps(document), encoding="utf-8")

    def _send_options(self, options: ServerOptions) -> None:
        """Write the options of `serve` to the process, and close its input."""
        sent = {
            "fixture": [_fixture_argument(fixture) for fixture in options.fixtures],
            "no_catch_all": not options.catch_all,
            "watch": bool(options.paths) or None,
        }
        assert self._process.stdin is not None
        with self._process.stdin as stdin:
            stdin.write(f"{json.dumps(sent)}\n")


@contextmanager
def server_process(
    options: ServerOptions,
    on_message: Callable[[str], object] = warnings.warn,
    prepared: StandbyServer | None = None,
) -> Iterator[tuple[str, int]]:
    """Run a server; yield its base URL and process id. Call `on_message` with each message about
    its settings. The server is the `prepared` process, which is stopped if it does not fit the
    options. Raises ServerFailed if the server does not start."""
    _refuse_unknown_settings(options.settings)
    if prepared is not None and not (prepared.stop.alive and prepared.fits(options)):
        prepared.stop()
        prepared = None
    process = prepared or StandbyServer(options)
    try:
        base_url = process.start(options)
        for line in process.messages():
            if line.startswith(MESSAGE_PREFIX):
                on_message(line.removeprefix(MESSAGE_PREFIX))
        yield base_url, process.pid
    finally:
        process.stop()


def _refuse_unknown_settings(settings: Mapping[str, str]) -> None:
    """Raise ServerFailed for a name that our settings do not have, but nearly."""
    if not settings or "DJANGO_SETTINGS_MODULE" in settings:
        return
    # Imported here because few tests have settings.
    from mockllm_site.kit.env import unknown_setting_line

    for name in settings:
        if line := unknown_setting_line(name):
            raise ServerFailed(f"settings: {line}")


def lacks_bytecode() -> bool:
    """Return True if a server would compile its code at each start: Python neither has bytecode of
    this package nor may write it."""
    return sys.dont_write_bytecode and not Path(cache_from_source(__file__)).exists()


def _bytecode_variables(folder: Path) -> dict[str, str]:
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)}


def _absolute_paths(paths: Sequence[str]) -> list[str]:
    return [str(Path(path).expanduser().absolute()) for path in paths]


def _fixture_argument(fixture: str) -> str:
    """Return what `serve --fixture` gets: the absolute path of a file, or the name."""
    file = Path(fixture)
    return str(file.absolute()) if file.suffix == ".json" and file.is_file() else fixture


def _server_environment(options: ServerOptions) -> dict[str, str]:
    """Return the environment of a server in test mode: this process's variables except MOCKLLM_*
    and NOT_INHERITED, and the settings."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_INHERITED and not name.startswith("MOCKLLM_")
    }
    return {**inherited, "MOCKLLM_ENV": "test", "MOCKLLM_DRAIN_SECONDS": "1", **options.settings}


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


def _stop_process(
    process: "subprocess.Popen[str]", end: Callable[[], None], directory: "TemporaryDirectory[str]"
) -> None:
    """End a process by `end`, kill it if that takes too long, and delete its directory."""
    end()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            # Options that the process did not read.
            with suppress(BrokenPipeError):
                pipe.close()
    directory.cleanup()
