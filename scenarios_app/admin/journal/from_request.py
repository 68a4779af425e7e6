"""From a request of the journal: a step that would answer it, and a command that sends it again."""

import re
import shlex
from typing import Any
from urllib.parse import quote, urlencode

from django.db import transaction

from scenarios_app.control.explain import explained_now
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.matching.lint import PLACEHOLDER
from scenarios_app.models import Scenario, ServedRequest
from scenarios_app.serving.doors.calls import make_call
from scenarios_app.store import save_documents
from scenarios_app.store.drafts import free_name

# Headers that a client makes by itself.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
# What a path may hold as it is; a percent sign there begins what is encoded already.
_IN_PATHS = "/:@!$&'()*+,;=~%-._"


class CannotRead(Exception):
    """The journal's copy of the request cannot be read as one; the message says why."""


def scenario_from(served: ServedRequest) -> Scenario:
    """A new scenario, switched off until it says what to answer, whose one step matches this
    request: its provider, its model, its last user message, and the tool result that it brings."""
    request = _read(served)
    document = {
        "name": free_name(f"from request {str(served.uid)[:8]}"),
        "description": f"Made from the request {served.uid}.",
        "enabled": False,
        "steps": [{"consume": False, "match": _match(request), "produce": {"text": PLACEHOLDER}}],
    }
    with transaction.atomic():
        (scenario,) = save_documents(load_documents(document))
    return scenario


def curl_of(served: ServedRequest, origin: str) -> str:
    """A shell command that sends the request again, with a key that will do for the masked one.

    What came in says nothing to curl itself: neither a body or a header that begins with `@`, which
    would name a file to send, nor brackets in the address, which would make many requests of one.
    """
    query = urlencode(served.query)
    url = f"{origin}{quote(served.path, safe=_IN_PATHS)}" + (f"?{query}" if query else "")
    words = ["curl", "-N", "-g", "--path-as-is", "-X", served.method, url]
    headers = {name.lower(): value for name, value in served.request_headers.items()}
    for name, value in headers.items():
        if name in _OWN or name.startswith("x-stainless") or not _TOKEN.fullmatch(name):
            continue
        # A header without a value ends in a semicolon; with a colon it would be left out.
        words += ["-H", f"{name}: {_unmasked(name, value)}" if value else f"{name};"]
    if served.request_body:
        if "content-type" not in headers:
            words += ["-H", "content-type:"]
        words += ["--data-raw", served.request_body]
    return " ".join(shlex.quote(word) for word in words)


def _unmasked(name: str, value: str) -> str:
    if name == "authorization":
        return "Bearer any"
    return "any" if name in ("x-api-key", "api-key", "x-goog-api-key") else value


def _read(served: ServedRequest) -> CanonicalRequest:
    if served.request_cut:
        raise CannotRead("The journal kept only the beginning of this request's body.")
    headers = [
        (n.encode(), v.encode("utf-8", "replace")) for n, v in served.request_headers.items()
    ]
    query = "&".join(f"{name}={value}" for name, value in served.query.items())
    call = make_call(
        served.method,
        served.path,
        query=query.encode("utf-8", "replace"),
        headers=headers,
        body=served.request_body.encode("utf-8", "replace"),
    )
    request = explained_now(call).request
    if request is None:
        raise CannotRead("This request is none that a step could answer.")
    return request


def _match(request: CanonicalRequest) -> dict[str, Any]:
    match: dict[str, Any] = {"provider": request.provider}
    if request.model:
        match["model"] = request.model
    messages = []
    if request.last_user_text:
        messages.append({"role": "user", "which": "last", "equals": request.last_user_text})
    last = request.messages[-1] if request.messages else None
    if last is not None and last.role == "tool" and request.tool_results:
        messages.append(
            {"role": "tool", "which": "last", "equals": request.tool_results[-1].content}
        )
    if messages:
        match["messages"] = messages
    return match
