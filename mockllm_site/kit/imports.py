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
# Modules of this package use no SDK.
_PAGES = "mockllm_site."
# A module takes about as long to import.
PAUSE_SECONDS = 0.001

_import_lock = threading.Lock()
_imported: dict[str, ModuleType] = {}
# Threads that wait for a module, or import one that a request waits for.
_hurrying: set[int] = set()


async def import_in_thread(name: str, *, gently: bool = False) -> ModuleType:
    """Return a module, imported in a thread the first time; raise ImportError. One module is
    imported at a time, because concurrent imports can see half-imported modules. `gently` is for
    modules that nothing waits for: other threads run before each module that it imports."""
    if name not in _imported:
        _imported[name] = await asyncio.to_thread(_import_locked, name, gently)
    return _imported[name]


def import_now(name: str) -> None:
    """Import a module in this thread, in place of the first `import_in_thread`; raise
    ImportError."""
    _imported[name] = _import_locked(name, gently=False)


def _import_locked(name: str, gently: bool) -> ModuleType:
    """Import a module under the lock, after _FIRST_MODULE if it may use an SDK; raise
    ImportError."""
    thread = threading.get_ident()
    if not gently:
        _hurrying.add(thread)
    try:
        with _import_lock, _pausing(thread):
            if not name.startswith(_PAGES):
                with suppress(ImportError):
                    import_module(_FIRST_MODULE)
            module = import_module(name)
            # Modules stay, so the garbage collector need not scan them.
            gc.freeze()
            return module
    finally:
        _hurrying.discard(thread)


@contextmanager
def _pausing(thread: int) -> Iterator[None]:
    """Pause before each module that this thread imports, unless some thread is in a hurry."""
    finder = _PausingFinder(thread)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _PausingFinder:
    """Finds no module, and pauses before others find it: a thread that imports modules holds
    Python's lock for most of the time, while streams wait for it."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if threading.get_ident() == self._thread and not _hurrying:
            time.sleep(PAUSE_SECONDS)
