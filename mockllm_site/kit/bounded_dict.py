"""A dict with a maximum size, for caches and counts that must not grow without limit."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `max_items`: setting a key makes it the newest and evicts the oldest.
    Setting is not atomic: the key is absent for a moment, and other threads may see that."""

    def __init__(self, max_items: int) -> None:
        super().__init__()
        self.max_items = max_items

    def __setitem__(self, key: K, value: V) -> None:
        """Set an item as the newest; evict the oldest beyond the limit."""
        # Each step tolerates changes by another thread or a finalizer.
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self.max_items:
            self.popitem(last=False)
