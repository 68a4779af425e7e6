"""The providers themselves and this server, either way: where each provider is, and which URL there
a path here stands for; where here a recorded request belongs, by the host that it went to and its
path."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from mockllm_site.kit.addresses import Refused, check_literal, read_base_url
from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.recorded.requests import decoded
from scenarios_app.recording import RecordedRequest
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.openai.dialects.rows import HEADER as DIALECT_HEADER
from scenarios_app.wire.openai.dialects.rows import OWNED
from scenarios_app.wire.registry import Target, find, meant, providers

# Their own addresses, as each says in its API reference; a server of one's own has none.
PUBLIC: Final[Mapping[str, str]] = MappingProxyType(
    {
        "openai": "https://api.openai.com",
        "anthropic": "https://api.anthropic.com",
        "gemini": "https://generativelanguage.googleapis.com",
        "ollama": "http://127.0.0.1:11434",
        "openrouter": "https://openrouter.ai/api/v1",
        "groq": "https://api.groq.com/openai/v1",
        "mistral": "https://api.mistral.ai",
        "deepseek": "https://api.deepseek.com",
        "xai": "https://api.x.ai",
        "cohere": "https://api.cohere.com",
    }
)
# Dialects whose paths begin with their name, which they do not at the provider itself.
_MOUNTED: Final = frozenset(prefix.strip("/") for prefix in OWNED)
AZURE: Final = "azure"
_AZURE_PATH: Final = "/openai/"
# What stands here before the paths of hosts that speak a dialect of another provider's API.
_PREFIXES: Final[Mapping[str, str]] = {
    "api.deepseek.com": "/deepseek",
    "api.groq.com": "/groq",
    "api.mistral.ai": "/mistral",
    "api.x.ai": "/xai",
    "openrouter.ai": "/openrouter",
}
# Hosts of providers whose every path is theirs here too, also those without an endpoint.
_PROVIDERS: Final = (
    *("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"),
    *(".openai.azure.com", ".services.ai.azure.com", *_PREFIXES),
)
# How people call APIs that may not be spoken here, by how their hosts end.
_TITLES: Final[Mapping[str, str]] = {
    ".amazonaws.com": "Bedrock",
    "aiplatform.googleapis.com": "Vertex",
    ".cohere.com": "Cohere",
    ".cohere.ai": "Cohere",
    ".huggingface.co": "Hugging Face",
}


class UpstreamError(Exception):
    """An upstream that cannot be used; the message says which and why."""


def upstream_names() -> tuple[str, ...]:
    """Every name that an upstream may have: providers, and the dialects of OpenAI's API."""
    return tuple(dict.fromkeys((*providers(), *openai_chat.SPOKEN)))


def public_upstreams() -> dict[str, str]:
    """The providers' own addresses, of those that are spoken here."""
    return {name: PUBLIC[name] for name in upstream_names() if name in PUBLIC}


def read_upstreams(entries: Iterable[str]) -> dict[str, str]:
    """Base URLs by the names of providers, from `NAME=URL` or `NAME`, which is the provider's own
    address; raises UpstreamError."""
    found: dict[str, str] = {}
    for entry in entries:
        name, given, url = (part.strip() for part in entry.partition("="))
        name = name.lower()
        if name not in upstream_names():
            known = ", ".join(upstream_names())
            raise UpstreamError(f"there is no provider {name!r}, expected one of {known}")
        if name in found:
            raise UpstreamError(f"{name} is given twice")
        if not given and name not in PUBLIC:
            raise UpstreamError(f"{name} has no address of its own, expected {name}=URL")
        found[name] = checked(name, url if given else PUBLIC[name])
    return found


def checked(name: str, base_url: str) -> str:
    """A base URL without the slashes at its end; raises UpstreamError for one that no call may be
    sent to. Looks nothing up."""
    try:
        check_literal(read_base_url(base_url).raw_host.decode("ascii"))
    except Refused as error:
        raise UpstreamError(f"{name}={base_url}: {error}") from None
    return base_url.rstrip("/")


def upstream_of(call: Call, upstreams: Mapping[str, str]) -> tuple[str, str]:
    """The name of the provider that a call is for, and the URL that it would have there, without
    its query; no URL where that provider's upstream is not known."""
    name, path = provider_of(call)
    if name == AZURE and name not in upstreams:
        name = "openai"
    base_url = upstreams.get(name)
    return name, "" if base_url is None else url_of(base_url, path)


def provider_of(call: Call) -> tuple[str, str]:
    """Whose call it is, and its path as that provider has it."""
    first, slash, rest = call.path.removeprefix("/").partition("/")
    if slash and first in _MOUNTED:
        return first, f"/{rest}"
    spoken = call.headers.get(DIALECT_HEADER, "").strip().lower()
    if spoken in openai_chat.SPOKEN:
        return spoken, call.path
    if call.path.startswith(_AZURE_PATH):
        return AZURE, call.path
    target = find(call)
    return target.wire.provider if target else "openai", call.path


def url_of(base_url: str, path: str) -> str:
    """The URL of a path below a base URL. What the two have in common is said once: the base may be
    the host alone or, as SDKs want it, end in `/v1`."""
    scheme, _, place = base_url.rstrip("/").partition("://")
    host, *folders = place.split("/")
    segments = path.removeprefix("/").split("/")
    lengths = range(len(folders), -1, -1)
    common = next(n for n in lengths if folders[len(folders) - n :] == segments[:n])
    target = "/".join((*folders, *segments[common:]))
    return f"{scheme}://{host}/{target}"


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
        if isinstance(body := decoded(self.call.body), dict) and body.get("model"):
            return ""
        named = self.request.model if self.request is not None else ""
        return named or self.target.params.get("model", "")

    @property
    def provider(self) -> str:
        return self.target.wire.provider


def placed(recorded: RecordedRequest) -> Placed | None:
    """Where a request belongs, None where this server does not speak the API that it is for."""
    url = urlsplit(recorded.url)
    host = (url.hostname or "").lower()
    path = _PREFIXES.get(host, "") + (url.path or "/")
    headers = {name.lower(): value for name, value in recorded.headers}
    call = Call(
        method=recorded.method.upper(),
        path=path,
        query=dict(parse_qsl(url.query, keep_blank_values=True)),
        headers=headers,
        body=recorded.body,
        raw_query=url.query,
    )
    target = find(call)
    if target is None or target.endpoint is None:
        if target is not None and (not host or host.endswith(_PROVIDERS)):
            return Placed(call, target, None)
        likely = meant(call.method, path)
        if likely is None:
            return None
        call = Call(call.method, likely.path, call.query, headers, call.body, url.query)
        target = find(call)
        if target is None or target.endpoint is None:
            return None
    return Placed(call, target, _read(call, target))


def unspoken(recorded: RecordedRequest) -> str:
    """What API a request that belongs nowhere here is for, as people call it."""
    url = urlsplit(recorded.url)
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
