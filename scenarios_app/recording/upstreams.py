"""Base URLs of upstreams, and the URL of a call at its provider."""

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

from mockllm_site.kit.addresses import AddressRefused, check_ip_literal, parse_base_url
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_target, providers
from scenarios_app.wire.upstream import Upstream
from scenarios_app.wire.upstreams import upstreams

# A path that is encoded more often than this is refused.
_MAX_DECODINGS: Final = 4


class UpstreamError(Exception):
    """An upstream that cannot be used; the message names it and the reason."""


class NotForwarded(Exception):
    """A path that is not forwarded; the message gives the reason and what to do."""


def upstream_names() -> tuple[str, ...]:
    """Return every name that an upstream may have."""
    return tuple(upstreams())


def public_upstreams() -> dict[str, str]:
    """Return the providers' own base URLs by name."""
    return {name: upstream.base_url for name, upstream in upstreams().items() if upstream.base_url}


def official_upstreams() -> dict[str, str]:
    """Return the providers' own base URLs on the internet, without those on this machine."""
    return {name: url for name, url in public_upstreams().items() if url.startswith("https://")}


def read_upstreams(entries: Iterable[str]) -> dict[str, str]:
    """Return base URLs by provider from `NAME=URL`, or `NAME` for the provider's own address.
    Raises UpstreamError."""
    default_urls, base_urls = upstreams(), dict[str, str]()
    for entry in entries:
        name, equals, url = (part.strip() for part in entry.partition("="))
        name = name.lower()
        if name not in default_urls:
            names = ", ".join(default_urls)
            raise UpstreamError(f"there is no provider {name!r}, expected one of {names}")
        if name in base_urls:
            raise UpstreamError(f"{name} is given twice")
        if not equals and not default_urls[name].base_url:
            raise UpstreamError(f"{name} has no default address, expected {name}=URL")
        base_urls[name] = check_base_url(name, url if equals else default_urls[name].base_url)
    return base_urls


def check_base_url(name: str, base_url: str) -> str:
    """Return a base URL without trailing slashes. Raises UpstreamError if it is no plain HTTP(S)
    URL or its host is an IP address that may not be called. Does not resolve the host name."""
    try:
        check_ip_literal(parse_base_url(base_url).raw_host.decode("ascii"))
    except AddressRefused as error:
        raise UpstreamError(f"{name}={base_url}: {error}") from None
    return base_url.rstrip("/")


def find_upstream_url(
    call: Call, base_urls: Mapping[str, str], *, paths: Iterable[str] = ()
) -> tuple[str, str]:
    """Return the name of a call's upstream and the call's URL there, without its query.

    The URL is empty if the provider has no upstream. Raises NotForwarded for a path that would
    leave the base URL, and for one that is neither a route of this server nor below one of `paths`.
    """
    name, path = find_upstream_path(call)
    if name not in base_urls:
        name = upstreams()[name].fallback or name
    base_url = base_urls.get(name)
    if base_url is None:
        return name, ""
    _check_forwarded(call, paths)
    return name, join_url(base_url, path)


def _check_forwarded(call: Call, paths: Iterable[str]) -> None:
    """Raise NotForwarded for dot segments, and unless a route or one of `paths` has the path."""
    if _has_dot_segment(call.path):
        raise NotForwarded(f"{call.path} is not forwarded: it has a segment . or ..")
    target = find_target(call)
    if target is not None and target.endpoint is not None:
        return
    if not any(_is_below(call.path, prefix) for prefix in paths):
        message = f"{call.method} {call.path} is not forwarded: it is no route of this server"
        raise NotForwarded(f"{message}. List its path in MOCKLLM_UPSTREAM_PATHS to record it")


def _has_dot_segment(path: str) -> bool:
    """True if a path has a segment `.` or `..` once it is decoded, or is encoded too often."""
    decoded = path
    for _ in range(_MAX_DECODINGS):
        path, decoded = decoded, unquote(decoded)
    segments = decoded.replace("\\", "/").split("/")
    return path != decoded or not {".", ".."}.isdisjoint(segments)


def _is_below(path: str, prefix: str) -> bool:
    """Return whether a path is equal to a prefix or below it."""
    folder = prefix.rstrip("/")
    return path == folder or path.startswith(f"{folder}/")


def find_upstream_path(call: Call) -> tuple[str, str]:
    """Return the name of the upstream that a call is for, and the call's path there. Calls without
    a wire are for the first provider, which has most paths."""

    def is_inside(prefix: str) -> bool:
        """Return whether the call's path is below a prefix; false for an empty one."""
        return bool(prefix) and call.path.startswith(f"{prefix}/")

    rows = upstreams().values()
    if below := [each for each in rows if is_inside(each.path_prefix)]:
        return below[0].name, call.path.removeprefix(below[0].path_prefix)
    named = [each for each in rows if _has_routing_header(call, each)]
    if owners := named or [each for each in rows if is_inside(each.own_path_prefix)]:
        return owners[0].name, call.path
    target = find_target(call)
    return target.wire.provider if target else providers()[0], call.path


def _has_routing_header(call: Call, upstream: Upstream) -> bool:
    """Return True if the call has the header value that routes requests to this upstream."""
    if upstream.routing_header is None:
        return False
    name, value = upstream.routing_header
    return call.headers.get(name, "").strip().lower() == value


def join_url(base_url: str, path: str) -> str:
    """Join a base URL and a path. Segments that end the one and begin the other are not repeated:
    a base URL may be the host alone or end in `/v1`, as SDKs expect it."""
    scheme, _, rest = base_url.rstrip("/").partition("://")
    host, *base_segments = rest.split("/")
    segments = path.removeprefix("/").split("/")
    lengths = range(len(base_segments), -1, -1)
    common = next(n for n in lengths if base_segments[len(base_segments) - n :] == segments[:n])
    target = "/".join((*base_segments, *segments[common:]))
    return f"{scheme}://{host}/{target}"
