"""Headers for browsers: pages of other origins may read responses (CORS), and a policy gives no
response the rights of a page of the admin, which may have the same origin."""

import re
from collections.abc import Collection, Sequence

from scenarios_app.engine.producing.reach import REACHING_NAMES, find_reaching, name_header
from scenarios_app.wire.base import Call, Headers

TOKENS = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
METHODS = "GET, POST, DELETE, OPTIONS"
REMEMBER_SECONDS = "600"
# A browser gives such a page an origin of its own, and runs and loads nothing in it.
POLICY: Headers = (
    ("content-security-policy", "sandbox; default-src 'none'"),
    ("x-content-type-options", "nosniff"),
)
# Names the headers of a script or recording that were left out.
LEFT_OUT_HEADER = "x-mockllm-left-out"


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


def merge_headers(headers: Headers, *more: Headers) -> Headers:
    """Return the headers with more of them; later ones replace earlier ones of the same name."""
    for group in more:
        names = dict(group).keys()
        if not names.isdisjoint(dict(headers)):
            headers = tuple([header for header in headers if header[0] not in names])
        headers = (*headers, *group)
    return headers


def guard_headers(headers: Headers, cookies: Collection[str]) -> Headers:
    """Return a response's headers with the policy, and without those that set one of the admin's
    `cookies` or delete all; LEFT_OUT_HEADER names these."""
    has_some = not REACHING_NAMES.isdisjoint(dict(headers))
    if has_some and (reaching := find_reaching(headers, cookies)):
        others = tuple([header for header in headers if header not in reaching])
        names = ", ".join(dict.fromkeys(map(name_header, reaching)))
        headers = merge_headers(others, ((LEFT_OUT_HEADER, names),))
    return merge_headers(headers, POLICY)


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
