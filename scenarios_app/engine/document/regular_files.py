"""Reads files that people and other programs name: regular ones alone, up to a size."""

import os
import stat
from errno import EFBIG, EINVAL
from pathlib import Path
from typing import BinaryIO, Final

# For commands that no setting limits.
MAX_FILE_BYTES: Final = 67_108_864


def read_regular_file(path: str | Path, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a regular file. Raises OSError for another kind of file, and for more
    than `max_bytes`."""
    with open_regular_file(path) as file:
        is_large = os.fstat(file.fileno()).st_size > max_bytes
        # The file may grow meanwhile, and those in /proc have no size.
        data = b"" if is_large else file.read(max_bytes + 1)
    if is_large or len(data) > max_bytes:
        message = f"larger than {max_bytes:,} bytes (for servers, MOCKLLM_MAX_UPLOAD_BYTES)"
        raise OSError(EFBIG, message)
    return data


def open_regular_file(path: str | Path) -> BinaryIO:
    """Open a file to read. Raises OSError for anything but a regular file: a device may never end,
    and a pipe may never begin."""
    # Without O_NONBLOCK, opening a pipe waits for a writer.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(EINVAL, "no regular file")
