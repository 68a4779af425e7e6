"""The process that is warm: it has imported what needs no settings, and forks whatever is asked.

Run as a script with the descriptor of a listening socket. Says a line once it is warm. It ends, and
all that it forked with it, when its standard input does.
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

# None of these, nor what they import, looks at Django's settings before it is used.
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
    "django_filters",
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
    "scenarios_app.verdict.counts",
    "scenarios_app.wire.registry",
    "simple_history.models",
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
    """What a process begins with."""

    python: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


class Forks:
    """Those who asked, and the processes that were forked for them."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._selector = selectors.DefaultSelector()
        self._asked: dict[int, socket.socket] = {}
        # A byte for each signal: one at least for each child that ended.
        self._ended, wakeup = socket.socketpair()
        wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
        self._wakeup = wakeup
        for source in (door, self._ended, 0):
            self._selector.register(source, selectors.EVENT_READ)

    def serve(self) -> Request | None:
        """Fork until standard input ends; returns what to do in each child, and then nothing."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for pid in self._asked:
                        os.kill(pid, signal.SIGKILL)
                    return None
                if key.fileobj is self._door:
                    if request := self._fork():
                        return request
                elif key.fileobj is self._ended:
                    self._reap()
                elif key.data in self._asked:
                    # Who asked is gone, perhaps killed: so must be what it stood for.
                    self._selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)

    def _fork(self) -> Request | None:
        connection, _ = self._door.accept()
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
        self._asked[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)
        _tell(connection, pid)
        return None

    def _reap(self) -> None:
        self._ended.recv(4_096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                connection = self._asked.pop(pid)
                with suppress(KeyError):
                    self._selector.unregister(connection)
                _tell(connection, os.waitstatus_to_exitcode(status))
                connection.close()

    def _forget(self) -> None:
        """Leave a child nothing of this."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for connection in (self._door, self._ended, self._wakeup, *self._asked.values()):
            connection.close()


def read(connection: socket.socket) -> Request:
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as rest:
        values = marshal.loads(rest.read(int.from_bytes(head, "big")))
    return Request(*values, streams)


def _tell(connection: socket.socket, number: int) -> None:
    with suppress(OSError):
        connection.sendall(b"%d\n" % number)


def begin(request: Request) -> list[str]:
    """Take on what the process begins with; returns what is left of the arguments."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    # What it starts in turn is warm too.
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
    """Standard input, output or error as the interpreter makes it."""
    given = map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))
    lenient = next(filter(None, given), "C").partition(".")[0] in ("C", "POSIX")
    errors = "backslashreplace" if number == 2 else "surrogateescape" if lenient else "strict"
    mode = "w" if number else "r"
    stream = os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
    if number:
        at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
        lines = number == 2 or stream.isatty()
        stream.reconfigure(line_buffering=lines or at_once, write_through=at_once)
    return stream


def run(arguments: list[str]) -> None:
    """What the interpreter does with its arguments."""
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
            sys.exit(f"not for a process that is warm: {arguments}")


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    assert not settings.configured
    # Only the thread that forks would go on in the child.
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    print("warm", flush=True)
    request = Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
    if request is not None:
        run(begin(request))


if __name__ == "__main__":
    main()
