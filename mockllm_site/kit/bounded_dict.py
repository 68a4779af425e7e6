"""A dict with a maximum size, for caches and counts that must not grow without limit."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `max_items`; setting a key makes it the newest, and the oldest is evicted.
    Setting a key is several steps: threads that must not miss a key meanwhile need a lock."""

    def __init__(self, max_items: int) -> None:
        super().__init__()
        self.max_items = max_items

    def __setitem__(self, key: K, value: V) -> None:
        """Set an item as the newest; drop the oldest beyond the limit."""
        # Each step tolerates changes by another thread or a finalizer.
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self.max_items:
            self.popitem(last=False)
