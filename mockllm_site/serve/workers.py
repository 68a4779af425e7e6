"""Forks the processes that serve on one socket, replaces dead ones and ends them on signals."""

import logging
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Final, TypeAlias

from mockllm_site.serve.server import MARGIN_SECONDS, Parent, StartFailed

log = logging.getLogger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
POLL_SECONDS: Final = 0.5
# Pause before a worker that failed to start is replaced.
RESTART_SECONDS: Final = 1.0
# Time after draining in which tools end and rows are written, before the worker is killed.
KILL_SECONDS: Final = 30.0
READY: Final = b"r"

# Serves in a forked child until it ends; calls its argument once it is ready.
Serve: TypeAlias = Callable[[Callable[[], None]], None]


@dataclass
class _Worker:
    """A forked process. `pipe` is a read end: READY means that it serves, the end that it ended."""

    pid: int
    pipe: int
    ready: bool = False


class Workers:
    """Runs `serve` in `count` forked processes and replaces dead ones; calls `ready` once all are
    ready. The first signal closes `bound` and lets answers finish; a second one stops them."""

    def __init__(
        self,
        count: int,
        serve: Serve,
        *,
        bound: socket.socket,
        ready: Callable[[], None],
        drain_seconds: float,
        parent: Parent | None = None,
    ) -> None:
        self._count = count
        self._serve = serve
        self._bound = bound
        self._ready = ready
        self._drain_seconds = drain_seconds
        self._parent = parent
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._signalled = self._up = self._ending = self._failed = False
        # When missing workers are started, and when workers that do not end are killed.
        self._start_at = self._kill_at = float("inf")

    def run(self) -> None:
        """Serve until a signal. Raise StartFailed if a worker does not start or fails later."""
        before = {number: signal.signal(number, self._remember_signal) for number in SIGNALS}
        awake, waker = socket.socketpair()
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(awake, selectors.EVENT_READ)
        try:
            for _ in range(self._count):
                self._fork_worker()
            while self._workers or not self._ending:
                self._handle_events(awake)
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
            awake.close()
            waker.close()
        if not self._up and self._failed:
            raise StartFailed("a worker did not start; the lines above say why")
        if self._failed:
            raise StartFailed("a worker ended with an error; the lines above say which")

    def _handle_events(self, awake: socket.socket) -> None:
        """Wait up to POLL_SECONDS for workers and signals, and handle them and what is due."""
        for key, _ in self._selector.select(POLL_SECONDS):
            if key.fileobj is awake:
                awake.recv(4_096)
            else:
                self._handle_pipe(self._workers[key.fd])
        if self._signalled or (self._parent is not None and self._parent.is_gone):
            self._signalled = False
            self._end_workers()
        now = time.monotonic()
        if now >= self._start_at and not self._ending:
            self._start_at = float("inf")
            while len(self._workers) < self._count:
                self._fork_worker()
        if now >= self._kill_at:
            self._kill_at = float("inf")
            self._signal_workers(signal.SIGKILL)

    def _fork_worker(self) -> None:
        """Fork a worker and watch its pipe; does not return in the child."""
        read, write = os.pipe()
        # Blocked until both sides have set up their handling of signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        pid = os.fork()
        if pid == 0:
            self._run_worker(read, write)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(write)
        self._workers[read] = _Worker(pid, read)
        self._selector.register(read, selectors.EVENT_READ)

    def _run_worker(self, read: int, write: int) -> None:
        """Serve in the forked child, then exit the process; never returns."""
        code = 1
        try:
            # Ctrl-C then reaches only the parent, which signals its children once.
            os.setpgid(0, 0)
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            for pipe in (read, *self._workers):
                os.close(pipe)
            self._serve(lambda: _report_ready(write))
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except StartFailed as error:
            print(f"mockllm: {error}", file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _handle_pipe(self, worker: _Worker) -> None:
        """Note that a worker is ready, or reap it; a death before all are ready ends the others."""
        if os.read(worker.pipe, 1) == READY:
            worker.ready = True
            if self._up:
                log.warning("worker %d is ready", worker.pid)
            elif all(worker.ready for worker in self._workers.values()) and not self._ending:
                self._up = True
                self._ready()
            return
        self._selector.unregister(worker.pipe)
        os.close(worker.pipe)
        del self._workers[worker.pipe]
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if self._ending:
            if code:
                self._failed = True
                log.error("worker %d ended %s", worker.pid, _describe_exit(code))
        elif self._up:
            log.error("worker %d ended %s and is replaced", worker.pid, _describe_exit(code))
            pause = 0.0 if worker.ready else RESTART_SECONDS
            self._start_at = min(self._start_at, time.monotonic() + pause)
        else:
            self._failed = True
            self._end_workers()

    def _end_workers(self) -> None:
        """Send SIGTERM to the workers; at the first call close `bound` and plan their kill."""
        if not self._ending:
            self._ending = True
            self._bound.close()
            self._kill_at = time.monotonic() + self._drain_seconds + MARGIN_SECONDS + KILL_SECONDS
        self._signal_workers(signal.SIGTERM)

    def _signal_workers(self, number: int) -> None:
        """Send a signal to all workers that still run."""
        for worker in self._workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, number)

    def _remember_signal(self, number: int, frame: FrameType | None) -> None:
        """Note a signal, on which the loop of `run` ends the workers."""
        self._signalled = True


def _report_ready(pipe: int) -> None:
    """Write READY to the parent, if it still lives."""
    with suppress(BrokenPipeError):
        os.write(pipe, READY)


def _describe_exit(code: int) -> str:
    """Return how a process ended: "by SIGNAL" or "with exit code N"."""
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
