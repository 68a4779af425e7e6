"""Makes a curl command that repeats a request of the journal."""

import re
import shlex
from urllib.parse import quote, urlencode

from scenarios_app.models import ServedRequest
from scenarios_app.wire.registry import key_headers

# Headers that curl sets itself.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
# Characters of a path that are not escaped; a percent sign begins an escape.
_IN_PATHS = "/:@!$&'()*+,;=~%-._"
# Linux starts no program with an argument of 128 KiB.
_MAX_ARGUMENT_BYTES = 100_000


def curl_of(served: ServedRequest, origin: str) -> str:
    """Return a shell command that sends the request to `origin`, such as `http://localhost:8000`,
    with an example in place of the masked key.

    The request's text cannot inject options: a body or header that begins with `@` names no file,
    and brackets in the address do not multiply the request. A body that is too long for an argument
    of a program is piped to it.
    """
    query = urlencode(served.query)
    url = f"{origin}{quote(served.path, safe=_IN_PATHS)}" + (f"?{query}" if query else "")
    words = ["curl", "-N", "-g", "--path-as-is", "-X", served.method, url]
    headers = {name.lower(): value for name, value in served.request_headers.items()}
    for name, value in headers.items():
        if name in _OWN or name.startswith("x-stainless") or not _TOKEN.fullmatch(name):
            continue
        # curl drops `name:`, but sends `name;` as an empty header.
        words += ["-H", f"{name}: {_with_example_key(name, value)}" if value else f"{name};"]
    body, prefix = served.request_body, ""
    if body:
        if "content-type" not in headers:
            words += ["-H", "content-type:"]
        if len(body.encode()) > _MAX_ARGUMENT_BYTES:
            words += ["--data-binary", "@-"]
            prefix = f"printf %s {shlex.quote(body)} | "
        else:
            words += ["--data-raw", body]
    return prefix + " ".join(shlex.quote(word) for word in words)


def _with_example_key(name: str, value: str) -> str:
    """Return the value of a header by its lower-case name, or an example key if it is for keys."""
    if name == "authorization":
        return "Bearer any"
    return "any" if name in key_headers() else value
