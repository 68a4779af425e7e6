"""Finds the wire and endpoint of a recorded request on this server, by its host and path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.recorded.requests import decode_body
from scenarios_app.recording import RecordedRequest
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target, find_intended_path, find_target
from scenarios_app.wire.upstreams import find_upstream

# Titles of APIs without a wire, by the end of their host names.
_TITLES: Final[Mapping[str, str]] = {
    ".amazonaws.com": "Bedrock",
    "aiplatform.googleapis.com": "Vertex",
    ".cohere.com": "Cohere",
    ".cohere.ai": "Cohere",
    ".huggingface.co": "Hugging Face",
}


@dataclass(frozen=True, slots=True)
class PlacedRequest:
    """A recorded request with its target here; `request` is None if the target has no endpoint or
    the wire cannot parse it."""

    call: Call
    target: Target
    request: CanonicalRequest | None

    @property
    def path(self) -> str:
        """The path that a step's match uses for the endpoint."""
        endpoint = self.target.endpoint
        if endpoint is None:
            return self.call.path
        canonical = endpoint.canonical
        return canonical if "{" not in canonical.replace("{model}", "") else self.call.path

    @property
    def model(self) -> str:
        """The model, or "" if the body names it."""
        if isinstance(body := decode_body(self.call.body), dict) and body.get("model"):
            return ""
        named = self.request.model if self.request is not None else ""
        return named or self.target.params.get("model", "")

    @property
    def provider(self) -> str:
        return self.target.wire.provider


def place_request(recorded: RecordedRequest) -> PlacedRequest | None:
    """Return the request with its target here, which may be the API's 404 or 405; None if this
    server lacks its API."""
    url = recorded.url_parts
    host = (url.hostname or "").lower()
    upstream = find_upstream(host)
    path = (upstream.path_prefix if upstream else "") + (url.path or "/")
    call = Call(
        method=recorded.method.upper(),
        path=path,
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        headers={name.lower(): value for name, value in recorded.headers},
        body=recorded.body,
        raw_query=url.query,
    )
    target = find_target(call)
    if target is None or target.endpoint is None:
        if target is not None and (not host or upstream is not None):
            return PlacedRequest(call, target, None)
        likely = find_intended_path(call.method, path)
        if likely is None:
            return None
        call = replace(call, path=likely.path)
        target = find_target(call)
        if target is None or target.endpoint is None:
            return None
    return PlacedRequest(call, target, _parse_request(call, target))


def describe_unsupported_api(recorded: RecordedRequest) -> str:
    """Return the name of the API that a request is for, such as `Bedrock (HOST)`."""
    url = recorded.url_parts
    host = (url.hostname or "").lower()
    title = next((name for end, name in _TITLES.items() if f".{host}".endswith(end)), "")
    return f"{title} ({host})" if title else f"{recorded.method} {host}{url.path}"


def _parse_request(call: Call, target: Target) -> CanonicalRequest | None:
    """Parse the request as its wire does, or return None if the wire rejects it."""
    endpoint = target.endpoint
    assert endpoint is not None
    try:
        bodiless = endpoint.bodiless or call.method != "POST"
        body = Node({}) if bodiless else read_body(call.body, Limits())
        return endpoint.read(call, endpoint, target.params, body)
    except WireError:
        return None
