"""Stands in for a Python process: has it forked elsewhere, hands it its streams, passes signals on,
and ends as it ends. It imports next to nothing, or there would be nothing to gain."""

import marshal
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
HARMLESS = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED"}
# What an interpreter is given before what it runs; more would be for one that is started anew.
KNOWN = ("-P", "-c", "-m", "-u")


class Signals:
    """What is sent to this process, for the other one as soon as there is one."""

    def __init__(self) -> None:
        self._pid = 0
        self._early: list[int] = []
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: self._pass_on(number))

    def go_to(self, pid: int) -> None:
        self._pid = pid
        for number in self._early:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        if self._pid:
            os.kill(self._pid, number)
        else:
            self._early.append(number)


def main(path: str, arguments: list[str]) -> None:
    first = arguments[0] if arguments else "-"
    if first.startswith("-m") and first != "-m":
        arguments = ["-m", first.removeprefix("-m"), *arguments[1:]]
        first = "-m"
    known = first in KNOWN or not first.startswith("-")
    if not known or {name for name in os.environ if name.startswith("PYTHON")} - HARMLESS:
        # A hash seed and its like are what an interpreter begins with.
        os.execv(sys.executable, [sys.executable, *arguments])
    signals = Signals()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{path}.socket")
        request = marshal.dumps((path, arguments, os.getcwd(), dict(os.environ)))
        socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(request)
        for stream in (0, 1, 2):
            # Whoever reads what it says waits for its end, and not for ours.
            os.close(stream)
        with connection.makefile("rb") as lines:
            signals.go_to(int(lines.readline()))
            status = int(lines.readline() or -signal.SIGKILL)
    end(status)


def end(status: int) -> None:
    if status >= 0:
        os._exit(status)
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)


main(sys.argv[0], sys.argv[1:])
