"""The headers of all responses: they keep a scripted page from acting on the admin, which may have
the same origin."""

from collections.abc import Collection

from scenarios_app.engine.producing.reach import REACHING_NAMES, find_reaching, name_header
from scenarios_app.wire.base import Headers

# A browser gives such a page an origin of its own, and runs and loads nothing in it.
POLICY: Headers = (
    ("content-security-policy", "sandbox; default-src 'none'"),
    ("x-content-type-options", "nosniff"),
)
# Names the headers of a script or recording that were left out.
LEFT_OUT_HEADER = "x-mockllm-left-out"


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
        kept = tuple([header for header in headers if header not in reaching])
        names = ", ".join(dict.fromkeys(map(name_header, reaching)))
        headers = merge_headers(kept, ((LEFT_OUT_HEADER, names),))
    return merge_headers(headers, POLICY)
