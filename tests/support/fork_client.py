"""Represents one forked Python process: asks the fork server for it, passes streams and signals on,
and ends with its exit code. It imports little, so that it starts quickly."""

import marshal
import os
import signal
import socket
import sys

FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
IGNORED_VARIABLES = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED"}
# Interpreter options that a forked process supports; with others a new interpreter is started.
SUPPORTED_OPTIONS = ("-P", "-c", "-m", "-u")


class Signals:
    """Forwards signals to the forked process; early ones are stored until it exists."""

    def __init__(self) -> None:
        self._pid = 0
        self._early_signals: list[int] = []
        for number in FORWARDED_SIGNALS:
            signal.signal(number, lambda number, _: self._forward(number))

    def forward_to(self, pid: int) -> None:
        self._pid = pid
        for number in self._early_signals:
            self._forward(number)

    def _forward(self, number: int) -> None:
        if self._pid:
            os.kill(self._pid, number)
        else:
            self._early_signals.append(number)


def main(path: str, arguments: list[str]) -> None:
    first = arguments[0] if arguments else "-"
    if first.startswith("-m") and first != "-m":
        arguments = ["-m", first.removeprefix("-m"), *arguments[1:]]
        first = "-m"
    supported = first in SUPPORTED_OPTIONS or not first.startswith("-")
    if (
        not supported
        or {name for name in os.environ if name.startswith("PYTHON")} - IGNORED_VARIABLES
    ):
        # Only a new interpreter can apply a hash seed and the like.
        os.execv(sys.executable, [sys.executable, *arguments])
    signals = Signals()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{path}.socket")
        request = marshal.dumps((path, arguments, os.getcwd(), dict(os.environ)))
        socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(request)
        for stream in (0, 1, 2):
            # Readers of these pipes wait for the forked process's end, not for ours.
            os.close(stream)
        with connection.makefile("rb") as lines:
            signals.forward_to(int(lines.readline()))
            status = int(lines.readline() or -signal.SIGKILL)
    end(status)


def end(status: int) -> None:
    if status >= 0:
        os._exit(status)
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)


main(sys.argv[0], sys.argv[1:])
