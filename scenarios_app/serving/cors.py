"""Calls from pages of other origins: the preflight's answer, and the headers that let pages read
ours."""

import re
from collections.abc import Sequence

from scenarios_app.wire.base import Call, Headers

TOKENS = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
METHODS = "GET, POST, DELETE, OPTIONS"
REMEMBER_SECONDS = "600"


def preflight_headers(call: Call, origins: Sequence[str]) -> Headers | None:
    """Return the headers of the answer to an allowed preflight; None for any other call."""
    allowed = _allow_headers(call, origins)
    is_preflight = call.method == "OPTIONS" and "access-control-request-method" in call.headers
    if not is_preflight or not allowed:
        return None
    requested = call.headers.get("access-control-request-headers", "").strip()
    private = call.headers.get("access-control-request-private-network") == "true"
    return (
        *allowed,
        ("access-control-allow-methods", METHODS),
        *((("access-control-allow-headers", requested),) if TOKENS.fullmatch(requested) else ()),
        *((("access-control-allow-private-network", "true"),) if private else ()),
        ("access-control-max-age", REMEMBER_SECONDS),
    )


def shared_headers(call: Call, origins: Sequence[str], answered: Headers) -> Headers:
    """Return the CORS headers of a response to an allowed origin; every header may be read."""
    allowed = _allow_headers(call, origins)
    if not allowed:
        return ()
    names = ", ".join(dict.fromkeys(name for name, _ in answered))
    return (*allowed, ("access-control-expose-headers", names))


def is_foreign_page(call: Call, origins: Sequence[str]) -> bool:
    """Return whether a page of another origin opens a WebSocket and is not allowed to. Browsers
    leave this check to the server."""
    scheme, _, host = call.headers.get("origin", "").partition("://")
    return bool(scheme) and host != call.headers.get("host") and not _allow_headers(call, origins)


def _allow_headers(call: Call, origins: Sequence[str]) -> Headers:
    """Return the headers that allow the call's origin; none if it has none or may not."""
    origin = call.headers.get("origin")
    if origin is None:
        return ()
    if "*" in origins:
        return (("access-control-allow-origin", "*"),)
    if origin in origins:
        return (("access-control-allow-origin", origin), ("vary", "origin"))
    return ()
