"""What comes when it is first wanted: SDKs take a second each, in which others may go on."""

import asyncio
import gc
import threading
from contextlib import suppress
from importlib import import_module
from types import ModuleType

# Google's SDK brings it along. OpenAI's never imports it but looks at each call whether somebody
# has, and takes what it finds: a half of it, while another thread imports it. So it is there before
# any SDK is, and with that before the first call.
_BEFORE_ALL = "httpx"

_one_at_a_time = threading.Lock()
_imported: dict[str, ModuleType] = {}


async def imported(name: str) -> ModuleType:
    """A module, the first time in a thread. One after the other: threads that import what imports
    the same others in another order are given halves of them. Raises ImportError."""
    if name not in _imported:
        _imported[name] = await asyncio.to_thread(_import, name)
    return _imported[name]


def _import(name: str) -> ModuleType:
    with _one_at_a_time:
        with suppress(ImportError):
            import_module(_BEFORE_ALL)
        module = import_module(name)
        # It stays: looking through it again and again for garbage takes moments in which nobody is
        # answered.
        gc.freeze()
        return module
