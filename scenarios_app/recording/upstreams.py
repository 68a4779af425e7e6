"""Where the providers themselves are, and which URL there a path here stands for."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from mockllm_site.kit.addresses import Refused, check_literal, read_base_url
from scenarios_app.wire.base import Call
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.openai.dialects.rows import HEADER as DIALECT_HEADER
from scenarios_app.wire.openai.dialects.rows import OWNED_PREFIXES
from scenarios_app.wire.registry import find_target, providers

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
# Environment variables in which people keep their real keys, by provider.
KEY_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY",),
        "azure": ("AZURE_OPENAI_API_KEY",),
        "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "ollama": ("OLLAMA_API_KEY",),
        "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
        "openrouter": ("OPENROUTER_API_KEY",),
        "groq": ("GROQ_API_KEY",),
        "mistral": ("MISTRAL_API_KEY",),
        "deepseek": ("DEEPSEEK_API_KEY",),
        "xai": ("XAI_API_KEY",),
        "cohere": ("CO_API_KEY", "COHERE_API_KEY"),
    }
)
# Dialects whose paths begin with their name, which they do not at the provider itself.
_MOUNTED: Final = frozenset(prefix.strip("/") for prefix in OWNED_PREFIXES)
AZURE: Final = "azure"
# A path that is encoded more often than this is refused.
_MAX_DECODINGS: Final = 4
_AZURE_PATH: Final = "/openai/"


class UpstreamError(Exception):
    """An upstream that cannot be used; the message says which and why."""


class NotForwarded(Exception):
    """A path that is not sent upstream; the message says why and what to do."""


def upstream_names() -> tuple[str, ...]:
    """Every name that an upstream may have: providers, and the dialects of OpenAI's API."""
    return tuple(dict.fromkeys((*providers(), *openai_chat.WIRES_BY_DIALECT)))


def public_upstreams() -> dict[str, str]:
    """The providers' own addresses, of those that are spoken here."""
    return {name: PUBLIC[name] for name in upstream_names() if name in PUBLIC}


def official_upstreams() -> dict[str, str]:
    """The providers' own addresses on the internet; a server on this machine is none."""
    return {name: url for name, url in public_upstreams().items() if url.startswith("https://")}


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


def upstream_of(
    call: Call, upstreams: Mapping[str, str], *, paths: Iterable[str] = ()
) -> tuple[str, str]:
    """Return the provider's name and the URL of a call there, without its query.

    The URL is empty if the provider has no upstream. Raises NotForwarded for a path that would
    leave the base URL, and for one that is neither a route of this server nor below one of `paths`.
    """
    name, path = provider_of(call)
    if name == AZURE and name not in upstreams:
        name = "openai"
    base_url = upstreams.get(name)
    if base_url is None:
        return name, ""
    _check_forwarded(call, paths)
    return name, url_of(base_url, path)


def _check_forwarded(call: Call, paths: Iterable[str]) -> None:
    if _has_dot_segment(call.path):
        raise NotForwarded(f"{call.path} is not forwarded: it has a segment . or ..")
    target = find_target(call)
    if target is not None and target.endpoint is not None:
        return
    if not any(_is_below(call.path, prefix) for prefix in paths):
        message = f"{call.method} {call.path} is not forwarded: it is no route of this server"
        raise NotForwarded(f"{message}. List its path in MOCKLLM_UPSTREAM_PATHS to record it")


def _has_dot_segment(path: str) -> bool:
    """Whether an upstream could read `.` or `..` in a path, however often it decodes it."""
    decoded = path
    for _ in range(_MAX_DECODINGS):
        path, decoded = decoded, unquote(decoded)
    segments = decoded.replace("\\", "/").split("/")
    return path != decoded or not {".", ".."}.isdisjoint(segments)


def _is_below(path: str, prefix: str) -> bool:
    folder = prefix.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")


def provider_of(call: Call) -> tuple[str, str]:
    """Whose call it is, and its path as that provider has it."""
    first, slash, rest = call.path.removeprefix("/").partition("/")
    if slash and first in _MOUNTED:
        return first, f"/{rest}"
    spoken = call.headers.get(DIALECT_HEADER, "").strip().lower()
    if spoken in openai_chat.WIRES_BY_DIALECT:
        return spoken, call.path
    if call.path.startswith(_AZURE_PATH):
        return AZURE, call.path
    target = find_target(call)
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
