"""Imports slow modules in a thread, at first use or after the start; an SDK takes a second."""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType

# A dependency of Google's SDK. OpenAI's SDK looks it up in `sys.modules` at each call and could
# find it half imported by another thread, so it is imported before any SDK.
_FIRST_MODULE = "httpx"
# Packages of this project, whose modules do not use that.
_OURS = {"mockllm_site", "scenarios_app", "chat_app", "traces_app"}
# A module takes about as long to import.
PAUSE_SECONDS = 0.001
# The importing thread gives up Python's lock this soon, instead of after 5 ms. A turn of the event
# loop takes the lock several times, so it waited 30 ms. Shorter, the loop waits longer again.
SWITCH_SECONDS = 0.001

_import_lock = threading.Lock()
_imported: dict[str, ModuleType] = {}
# Threads that wait for a module, or import one that a request waits for.
_hurrying: set[int] = set()


class _Cancelled(BaseException):
    """Ends an import; no module that is being imported catches it."""


async def import_in_thread(name: str, *, gently: bool = False) -> ModuleType:
    """Return a module, imported in a thread the first time; raise ImportError. One module is
    imported at a time, because concurrent imports can see half-imported modules. `gently` is for
    modules that nothing waits for: other threads run before each module that it imports, and a
    cancellation ends the import."""
    if name not in _imported:
        cancelled = threading.Event()
        try:
            _imported[name] = await asyncio.to_thread(
                _import_locked, name, cancelled if gently else None
            )
        finally:
            cancelled.set()
    return _imported[name]


def import_now(name: str) -> None:
    """Import a module in this thread, in place of the first `import_in_thread`; raise
    ImportError."""
    _imported[name] = _import_locked(name, None)


def _import_locked(name: str, cancelled: threading.Event | None) -> ModuleType:
    """Import a module under the lock, after _FIRST_MODULE if it may use an SDK; raise ImportError.
    With `cancelled`, pause before each module and end when it is set."""
    thread = threading.get_ident()
    if cancelled is None:
        _hurrying.add(thread)
    try:
        with _import_lock, _pausing(cancelled):
            if name.partition(".")[0] not in _OURS:
                with suppress(ImportError):
                    import_module(_FIRST_MODULE)
            module = import_module(name)
            # Modules stay, so the garbage collector need not scan them.
            gc.freeze()
            return module
    finally:
        _hurrying.discard(thread)


@contextmanager
def _pausing(cancelled: threading.Event | None) -> Iterator[None]:
    """Let other threads run while this one imports modules, if the import can be cancelled."""
    if cancelled is None:
        yield
        return
    finder = _PausingFinder(threading.get_ident(), cancelled)
    switch_seconds = sys.getswitchinterval()
    sys.meta_path.insert(0, finder)
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(switch_seconds)
        sys.meta_path.remove(finder)


class _PausingFinder:
    """Finds no module. Before others find it, pauses unless some thread is in a hurry: a thread
    that imports modules holds Python's lock for most of the time, while streams wait for it. Ends
    the import once it is cancelled."""

    def __init__(self, thread: int, cancelled: threading.Event) -> None:
        self._thread = thread
        self._cancelled = cancelled

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if threading.get_ident() != self._thread:
            return
        if self._cancelled.is_set():
            raise _Cancelled
        if not _hurrying:
            time.sleep(PAUSE_SECONDS)
