"""The generated key that signs logins, kept in a file so that a restart ends no login."""

import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

NEW_KEY_BYTES = 48
SUFFIX = ".secret-key"


def key_file(database: Mapping[str, Any]) -> Path:
    """Return the path of the key: beside a SQLite file, else in the working directory."""
    if database["ENGINE"].endswith("sqlite3"):
        return Path(f"{database['NAME']}{SUFFIX}").absolute()
    return Path.cwd() / f"mockllm{SUFFIX}"


def load_or_store_key(file: Path, new_key: str) -> str:
    """Return the key in the file, which is created with `new_key` if it does not exist. Return
    `new_key`, and log why it is not kept, if the file cannot be read or created."""
    try:
        if not file.exists():
            _store_key(file, new_key)
        key = file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not text"
    else:
        if len(key) >= NEW_KEY_BYTES:
            return key
        problem = "it holds no key; delete it"
    logger.warning(
        "SECRET_KEY: not kept in %s (%s), so logins end when the server does", file, problem
    )
    return new_key


def _store_key(file: Path, key: str) -> None:
    """Create the file with its whole content, or keep one that another process created first."""
    unfinished = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{key}\n")
            stream.flush()
            os.fsync(descriptor)
        # Unlike a rename, a link never replaces a file.
        with suppress(FileExistsError):
            os.link(unfinished, file)
    finally:
        unfinished.unlink()
