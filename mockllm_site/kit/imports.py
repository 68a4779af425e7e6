"""Imports slow modules in a thread at their first use; an SDK takes a second."""

import asyncio
import gc
import threading
from contextlib import suppress
from importlib import import_module
from types import ModuleType

# A dependency of Google's SDK. OpenAI's SDK looks it up in `sys.modules` at each call and could
# find it half imported by another thread, so it is imported before any SDK.
_FIRST_MODULE = "httpx"

_import_lock = threading.Lock()
_imported: dict[str, ModuleType] = {}


async def import_in_thread(name: str) -> ModuleType:
    """Return a module, imported in a thread the first time; raise ImportError. One module is
    imported at a time, because concurrent imports can see half-imported modules."""
    if name not in _imported:
        _imported[name] = await asyncio.to_thread(_import_locked, name)
    return _imported[name]


def _import_locked(name: str) -> ModuleType:
    """Import a module and _FIRST_MODULE under the lock; raise ImportError."""
    with _import_lock:
        with suppress(ImportError):
            import_module(_FIRST_MODULE)
        module = import_module(name)
        # Modules stay, so the garbage collector need not scan them.
        gc.freeze()
        return module
