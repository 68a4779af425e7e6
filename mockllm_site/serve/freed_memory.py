"""Configures glibc to return freed memory to the system.

glibc keeps freed blocks up to the size of the largest one that was freed so far, at most 32 MB.
After a few large requests the process would keep most of their memory.
"""

import ctypes
import sys

# Larger blocks get a mapping of their own, which is unmapped when they are freed.
MAX_HEAP_BLOCK_BYTES = 524_288
# Free memory at the end of a heap is returned to the system above this size.
MIN_TRIMMED_BYTES = 1_048_576
# Constants of <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def limit_kept_memory() -> None:
    """Limit the freed memory that glibc keeps; call it before memory is freed."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    # musl has no `mallopt`, and does not keep freed memory.
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, MAX_HEAP_BLOCK_BYTES)
        libc.mallopt(M_TRIM_THRESHOLD, MIN_TRIMMED_BYTES)
