"""Where on this server a recorded request belongs: which wire and endpoint answer it, by the host
that it went to and its path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.recorded.requests import decode_body
from scenarios_app.recording import RecordedRequest
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target, find_intended_path, find_target, upstreams
from scenarios_app.wire.upstream import Upstream

# Titles of APIs without a wire, by the end of their host names.
_TITLES: Final[Mapping[str, str]] = {
    ".amazonaws.com": "Bedrock",
    "aiplatform.googleapis.com": "Vertex",
    ".cohere.com": "Cohere",
    ".cohere.ai": "Cohere",
    ".huggingface.co": "Hugging Face",
}


@dataclass(frozen=True, slots=True)
class Placed:
    """A recorded request as this server would get it. `request` is what its wire reads in it, None
    where it would not take it or has no such endpoint."""

    call: Call
    target: Target
    request: CanonicalRequest | None

    @property
    def path(self) -> str:
        """The path by which a step names the endpoint."""
        endpoint = self.target.endpoint
        if endpoint is None:
            return self.call.path
        canonical = endpoint.canonical
        return canonical if "{" not in canonical.replace("{model}", "") else self.call.path

    @property
    def model(self) -> str:
        """The model where the body does not name it."""
        if isinstance(body := decode_body(self.call.body), dict) and body.get("model"):
            return ""
        named = self.request.model if self.request is not None else ""
        return named or self.target.params.get("model", "")

    @property
    def provider(self) -> str:
        return self.target.wire.provider


def placed(recorded: RecordedRequest) -> Placed | None:
    """Where a request belongs, None where this server does not speak the API that it is for."""
    url = recorded.url_parts
    host = (url.hostname or "").lower()
    upstream = _find_upstream(host)
    path = (upstream.path_prefix if upstream else "") + (url.path or "/")
    headers = {name.lower(): value for name, value in recorded.headers}
    call = Call(
        method=recorded.method.upper(),
        path=path,
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        headers=headers,
        body=recorded.body,
        raw_query=url.query,
    )
    target = find_target(call)
    if target is None or target.endpoint is None:
        if target is not None and (not host or upstream is not None):
            return Placed(call, target, None)
        likely = find_intended_path(call.method, path)
        if likely is None:
            return None
        call = Call(call.method, likely.path, call.query, headers, call.body, url.query)
        target = find_target(call)
        if target is None or target.endpoint is None:
            return None
    return Placed(call, target, _read(call, target))


def _find_upstream(host: str) -> Upstream | None:
    """Return the upstream that has this host name, or None."""
    for upstream in upstreams().values():
        for name in upstream.hosts:
            if host == name or (name.startswith(".") and host.endswith(name)):
                return upstream
    return None


def unspoken(recorded: RecordedRequest) -> str:
    """What API a request that belongs nowhere here is for, as people call it."""
    url = recorded.url_parts
    host = (url.hostname or "").lower()
    title = next((name for end, name in _TITLES.items() if f".{host}".endswith(end)), "")
    return f"{title} ({host})" if title else f"{recorded.method} {host}{url.path}"


def _read(call: Call, target: Target) -> CanonicalRequest | None:
    endpoint = target.endpoint
    assert endpoint is not None
    try:
        bodiless = endpoint.bodiless or call.method != "POST"
        body = Node({}) if bodiless else read_body(call.body, Limits())
        return endpoint.read(call, endpoint, target.params, body)
    except WireError:
        return None
