"""The fork server: imports the libraries that need no settings, and forks a process per request.

Runs as a script with the descriptor of a listening socket and prints a line when it is ready. When
its standard input closes, it ends and kills all processes that it forked.
"""

import gc
import importlib
import marshal
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import TextIO

from django.conf import settings

# None of these modules reads Django's settings while it is imported.
IMPORTED = (
    "ahocorasick_rs",
    "anthropic",
    "axes.apps",
    "channels.routing",
    "channels_redis.core",
    "chat_app.prompt.context",
    "chat_app.stream",
    "chat_app.tools.demo_server",
    "chat_app.tools.toolbox",
    "django.contrib.admin",
    "django.contrib.postgres.fields",
    "django.core.handlers.asgi",
    "django.core.management.commands.loaddata",
    "django.core.management.commands.migrate",
    "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base",
    "django.views.decorators.http",
    "environ",
    "google.genai",
    "mcp",
    "openai",
    "prometheus_client",
    "pydantic.json_schema",
    "rest_framework.serializers",
    "rich.console",
    "scenarios_app.engine.document",
    "scenarios_app.recording.files",
    "scenarios_app.serving.choose",
    "scenarios_app.serving.recorder.recordings",
    "scenarios_app.serving.reply",
    "scenarios_app.verdict.metrics",
    "scenarios_app.wire.registry",
    "traces_app.log",
    "unfold",
    "unfold.dataclasses",
    "unfold.utils",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.auto",
    "whitenoise.middleware",
)


@dataclass(frozen=True)
class Request:
    """The arguments, folder, environment and streams of a new process."""

    python: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


class Forks:
    """The forked processes and the connections of their clients."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, socket.socket] = {}
        # A byte for each signal: one at least for each child that ended.
        self._child_signals, wakeup = socket.socketpair()
        wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        self._wakeup = wakeup
        for source in (listener, self._child_signals, 0):
            self._selector.register(source, selectors.EVENT_READ)

    def serve(self) -> Request | None:
        """Fork until standard input closes. Returns the request in each child, None in the
        parent."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for pid in self._connections:
                        os.kill(pid, signal.SIGKILL)
                    return None
                if key.fileobj is self._listener:
                    if request := self._fork():
                        return request
                elif key.fileobj is self._child_signals:
                    self._reap()
                elif key.data in self._connections:
                    # The client has ended or was killed, so its process must end too.
                    self._selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)

    def _fork(self) -> Request | None:
        connection, _ = self._listener.accept()
        try:
            request = read(connection)
        except (EOFError, OSError, ValueError):
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            self._forget()
            connection.close()
            return request
        for stream in request.streams:
            os.close(stream)
        self._connections[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        _send_number(connection, pid)
        return None

    def _reap(self) -> None:
        self._child_signals.recv(4_096)
        with suppress(ChildProcessError):
            while (result := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = result
                connection = self._connections.pop(pid)
                with suppress(KeyError):
                    self._selector.unregister(connection)
                _send_number(connection, os.waitstatus_to_exitcode(status))
                connection.close()

    def _forget(self) -> None:
        """Close in the child all that belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for connection in (
            self._listener,
            self._child_signals,
            self._wakeup,
            *self._connections.values(),
        ):
            connection.close()


def read(connection: socket.socket) -> Request:
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        values = marshal.loads(stream.read(int.from_bytes(head, "big")))
    return Request(*values, streams)


def _send_number(connection: socket.socket, number: int) -> None:
    with suppress(OSError):
        connection.sendall(b"%d\n" % number)


def begin(request: Request) -> list[str]:
    """Apply the request's streams, folder and environment; return the remaining arguments."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    # Its children are forked as well.
    sys.executable = request.python
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    time.tzset()
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    match request.arguments:
        case ["-P", *arguments]:
            return arguments
        case ["-u", "-c", *arguments]:
            for stream in (sys.stdout, sys.stderr):
                stream.reconfigure(write_through=True)
            sys.path.insert(0, "")
            return ["-c", *arguments]
        case ["-c", *_] as arguments:
            sys.path.insert(0, "")
        case ["-m", *_] as arguments:
            sys.path.insert(0, os.getcwd())
        case arguments:
            sys.path.insert(0, os.path.dirname(os.path.realpath(arguments[0])))
    return arguments


def _stream(number: int) -> TextIO:
    """Open standard input, output or error as the interpreter does."""
    locales = map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))
    is_lenient = next(filter(None, locales), "C").partition(".")[0] in ("C", "POSIX")
    errors = "backslashreplace" if number == 2 else "surrogateescape" if is_lenient else "strict"
    mode = "w" if number else "r"
    stream = os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
    if number:
        unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
        lines = number == 2 or stream.isatty()
        stream.reconfigure(line_buffering=lines or unbuffered, write_through=unbuffered)
    return stream


def run(arguments: list[str]) -> None:
    """Run a module, a command or a script, as the interpreter does with its arguments."""
    match arguments:
        case ["-m", name, *rest]:
            sys.argv[:] = [name, *rest]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case ["-c", code, *rest]:
            sys.argv[:] = ["-c", *rest]
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), main.__dict__)
        case [path, *_] if not path.startswith("-"):
            sys.argv[:] = arguments
            runpy.run_path(path, run_name="__main__")
        case _:
            sys.exit(f"arguments that a forked process does not support: {arguments}")


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    assert not settings.configured
    # Other threads would not exist in the child.
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    request = Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
    if request is not None:
        run(begin(request))


if __name__ == "__main__":
    main()
