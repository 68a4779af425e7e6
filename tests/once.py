"""What every test would do anew, for longer than the rest of a short test takes, done once or not
at all: reading the machine's certificates, and looking at every static file."""

import ssl
from typing import Any

import certifi
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

# Where Linux and macOS keep certificates; what a test made lies elsewhere.
MACHINES = ("/etc/", "/usr/", "/opt/homebrew/etc/", certifi.where())

_load = ssl.SSLContext.load_verify_locations
_find = WhiteNoiseMiddleware.add_files_from_finders
_files: dict[str, StaticFile] = {}


def install() -> None:
    ssl.SSLContext.load_verify_locations = load_but_machines  # type: ignore[method-assign]
    WhiteNoiseMiddleware.add_files_from_finders = find_once


def load_but_machines(
    context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None
) -> None:
    """Each client has a context of its own. No test asks a host that the machine's certificates
    could vouch for, and one that did would be refused."""
    if cadata is not None or not str(cafile or capath).startswith(MACHINES):
        _load(context, cafile, capath, cadata)


def find_once(middleware: WhiteNoiseMiddleware) -> None:
    """Each of Django's test clients loads the middleware anew."""
    if not _files:
        _find(middleware)
        _files.update(middleware.files)
    middleware.files |= _files
