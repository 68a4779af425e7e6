"""Watches the scenario files of `serve` and loads those that change."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from tempfile import TemporaryFile
from threading import Event, Thread
from typing import Final

from django.db import connection, transaction

from scenarios_app.engine.document import Problem, ScenarioDocument
from scenarios_app.engine.document.files import ScenarioFiles
from scenarios_app.store.documents import load, remove

log = logging.getLogger(__name__)

LOADED: Final = "loaded from MOCKLLM_SCENARIOS"
REMOVED: Final = "removed from MOCKLLM_SCENARIOS"
# Interval at which other processes try to take over the watching.
LOOK_SECONDS: Final = 0.5
# Some editors empty or remove a file before they write it; after this time the save is complete.
SETTLE_SECONDS: Final = 0.2
ALL_VALID: Final = "all scenario files are valid again"
NONE_LEFT: Final = "there are no scenario files any more"
MAX_READINGS: Final = 10
MAX_PROBLEMS: Final = 20
_MAX_BYTES: Final = 1_000_000


class FileWatcher:
    """Reloads scenario files when they change, in a thread of one process of a `serve`. A file
    replaces its scenarios only when its content changes, so edits made elsewhere stay until then. A
    scenario that is in no file any more goes to the trash. The processes share an unnamed file: the
    one that holds its lock watches, and writes the problems into it. `documents` are the scenarios
    loaded at start; `forget` clears the state of sessions about one."""

    def __init__(
        self,
        files: ScenarioFiles,
        documents: Iterable[ScenarioDocument],
        *,
        forget: Callable[[str], None],
    ) -> None:
        self._files = files
        self._documents: Mapping[str, ScenarioDocument] = {
            document.name: document for document in documents
        }
        self._forget = forget
        self._shared = TemporaryFile(buffering=0)  # noqa: SIM115
        self._problems: list[Problem] = []
        self._stopping = Event()
        self._thread: Thread | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the first problems of the files, one line each."""
        text = os.pread(self._shared.fileno(), _MAX_BYTES, 0).partition(b"\0")[0]
        return tuple(text.decode(errors="replace").splitlines())

    def start(self) -> None:
        """Start a thread that watches once no other process does."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="mockllm-files", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread; its connection is closed when this returns."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._shared.close()

    def refresh(self) -> None:
        """Read the files, load what changed, and report the problems."""
        documents, problems = self._read_settled()
        # Compared as text: 1 is not true.
        before = {name: repr(document) for name, document in self._documents.items()}
        changed = [
            document for name, document in documents.items() if before.get(name) != repr(document)
        ]
        gone = self._documents.keys() - documents.keys()
        with transaction.atomic():
            loaded = load(changed, reason=LOADED) if changed else None
            removed = remove(gone, reason=REMOVED)
        for name in loaded.created if loaded else ():
            _print_to_stderr(f"{name}: new")
        for name in loaded.replaced if loaded else ():
            self._forget(name)
            _print_to_stderr(f"{name}: replaced")
        for name in removed:
            self._forget(name)
            _print_to_stderr(f"{name}: removed")
        self._documents = documents
        self._report_problems(problems)

    def _read_settled(self) -> tuple[Mapping[str, ScenarioDocument], list[Problem]]:
        """Read the files. A new problem or a missing scenario counts if the next reading agrees."""
        reading = self._files.read()
        for _ in range(MAX_READINGS):
            documents, problems = before = reading
            if problems == self._problems and self._documents.keys() <= documents.keys():
                break
            self._stopping.wait(SETTLE_SECONDS)
            if (reading := self._files.read()) == before:
                break
        return reading

    def _run(self) -> None:
        """Watch the files while no other process does; else wait for its end."""
        import fcntl  # not on every system

        while not self._stopping.is_set():
            try:
                # Only one process gets this lock; the system releases it when the process ends.
                fcntl.lockf(self._shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
                while not self._stopping.is_set():
                    self._watch()
            except BlockingIOError:
                pass
            except Exception:
                log.exception("scenario files could not be loaded; they are read again")
            self._stopping.wait(LOOK_SECONDS)
        connection.close()

    def _watch(self) -> None:
        """Read the files at the start and after each change; return once the folders are others."""
        from watchfiles import watch

        folders, is_read = self._files.folders(), False
        try:
            for changes in watch(
                *folders,
                watch_filter=lambda _, path: self._files.concerns(path),
                rust_timeout=int(LOOK_SECONDS * 1000),
                yield_on_timeout=True,
                stop_event=self._stopping,
                recursive=False,
            ):
                if changes or not is_read:
                    self.refresh()
                    is_read = True
                    if self._files.folders() != folders or folders & {path for _, path in changes}:
                        return
        except FileNotFoundError:
            # A folder may be removed between its listing and the start of the watch.
            if all(map(os.path.isdir, folders)):
                raise

    def _report_problems(self, problems: list[Problem]) -> None:
        """Print notes and new problems, and share the problems with other processes."""
        for note in self._files.notes:
            _print_to_stderr(str(note))
        self._files.notes.clear()
        if problems != self._problems:
            lines = "\n".join(map(str, problems[:MAX_PROBLEMS]))
            os.pwrite(self._shared.fileno(), lines.encode(errors="replace") + b"\0", 0)
            for problem in problems[:MAX_PROBLEMS]:
                _print_to_stderr(f"{problem} (its changes are not loaded)")
            if (more := len(problems) - MAX_PROBLEMS) > 0:
                _print_to_stderr(f"and {more} more problems of scenario files")
            if not problems:
                _print_to_stderr(ALL_VALID if self._documents else NONE_LEFT)
        self._problems = problems


def _print_to_stderr(message: str) -> None:
    print(f"mockllm: {message}", file=sys.stderr, flush=True)
