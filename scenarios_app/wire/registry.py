"""The installed wires, and the dispatch of calls to their endpoints.

To add a provider, add one line to `SHIPPED`. If wires share a prefix, the first that claims a call
and knows its path gets it, so the wire that claims every call comes last.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.secrets import declare_secret_names
from scenarios_app.wire import upstreams
from scenarios_app.wire.anthropic import wire as anthropic_messages
from scenarios_app.wire.base import Call, Endpoint, Params, Wire
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini import wire as gemini
from scenarios_app.wire.ollama import wire as ollama_api
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.openai.responses import wire as openai_responses
from scenarios_app.wire.paths import (
    IntendedPath,
    PathEndings,
    has_slash_in_id,
    match_path,
    unknown_url_message,
    wrong_base_message,
)
from scenarios_app.wire.upstream import DIALECT_HEADER, Upstream

SHIPPED: tuple[Wire, ...] = (
    ollama_api.WIRE,
    *gemini.WIRES,
    anthropic_messages.WIRE,
    openai_responses.WIRE,
    *openai_chat.WIRES,
)

_MAX_CACHED_PATH_CHARS = 512
_UNKNOWN_URL = "unknown_url"
# Without it botocore reports no message.
_UNKNOWN_TO_BEDROCK = (("x-amzn-errortype", "UnknownOperationException"),)


class _InstalledWires(msgspec.Struct):
    """The wires of this process, and the endings of their paths."""

    wires: tuple[Wire, ...]
    endings: PathEndings


def install(*wires: Wire) -> None:
    """Make these the wires of this process, in this order; their key headers become secrets."""
    _installed.wires = wires
    declare_secret_names(key_headers())
    by_name = {wire.upstream.name: wire.upstream for wire in reversed(wires) if wire.upstream}
    names = dict.fromkeys((*providers(), *by_name))
    upstreams.install(by_name.get(name) or Upstream(name) for name in names)
    _installed.endings = PathEndings(endpoint for wire in wires for endpoint in wire.endpoints)
    for cached_function in (_wires_under, _targets_at, find_intended_path):
        cached_function.cache_clear()


def wires() -> tuple[Wire, ...]:
    """Return the installed wires in the order in which calls are dispatched."""
    return _installed.wires


def key_headers() -> frozenset[str]:
    """Return the names of the headers in which clients of any provider send their keys."""
    return frozenset(name for wire in wires() for name in wire.key_headers)


def providers() -> tuple[str, ...]:
    """Return the names of the providers, each once, in the order for display."""
    return tuple(dict.fromkeys(wire.provider for wire in reversed(wires())))


def wires_by_name() -> Mapping[str, Wire]:
    """Return the wires by name, in the order for display."""
    return {wire.name: wire for wire in reversed(wires())}


class Target(msgspec.Struct, frozen=True):
    """The destination of a call. Without an endpoint, `error` is the 400, 404 or 405 to answer.

    If no provider owns the path, `is_owned` is false and the wire the last one.
    """

    wire: Wire
    endpoint: Endpoint | None
    params: Params = {}
    error: WireError | None = None
    is_owned: bool = True

    @property
    def provider(self) -> str:
        """The provider of the path, or "" if no provider owns it."""
        return self.wire.provider if self.is_owned else ""

    def api_key(self, call: Call) -> str | None:
        """Return the client's key, in any provider's form if the path is not owned, or None."""
        candidates = (self.wire,) if self.is_owned else wires()
        return next((key for wire in candidates if (key := wire.api_key(call))), None)


# A wire with its targets for one path, by method.
_WireTargets: TypeAlias = tuple[Wire, Mapping[str, Target]]


def is_provider_path(path: str) -> bool:
    """Return whether a raw path belongs to a provider, so that errors take its envelope."""
    return bool(_wires_under(path))


def url_patterns() -> Iterator[str]:
    """Yield regular expressions for the decoded paths of providers, without the first slash."""
    for prefix in sorted({p for wire in wires() for p in wire.prefixes}):
        end = "(?:/|$)" if prefix.endswith("/") else "/?$"
        yield f"^{re.escape(prefix.strip('/'))}{end}"


def find_target(call: Call) -> Target | None:
    """Return the target of a call, in the dialect that a header names, or the error to answer. None
    if no provider owns the path."""
    target = _find_by_path(call)
    dialect = call.headers.get(DIALECT_HEADER)
    if target is None or dialect is None or target.wire not in openai_chat.WIRES:
        return target
    return _to_dialect(target, dialect.strip().lower())


def unowned_target(call: Call) -> Target:
    """Return the 404 of a call whose path is no provider's. Its body has the message in the places
    where the SDKs of most providers look for it."""
    prefixes = {wire.provider: wire.prefixes[0] for wire in wires()}
    apis = ", ".join(f"{name} {prefixes[name]}" for name in providers())
    message = f"{unknown_url_message(call)} No provider's API here has it. There are: {apis}."
    error = WireError(404, message, code=_UNKNOWN_URL, headers=_UNKNOWN_TO_BEDROCK)
    envelope = {"message": message, "type": "invalid_request_error", "param": None}
    body = {"message": message, "error": {**envelope, "code": _UNKNOWN_URL}}
    error.answer = replace(error.answer, body=body)
    return Target(wires()[-1], None, error=error, is_owned=False)


def _to_dialect(target: Target, name: str) -> Target:
    """Return the same endpoint of a dialect; the 400 if there is no such dialect, the 404 if it
    lacks the endpoint."""
    wire = openai_chat.WIRES_BY_DIALECT.get(name)
    if wire is None:
        names = ", ".join(openai_chat.WIRES_BY_DIALECT)
        message = f"There is no dialect {name!r} of this API. {DIALECT_HEADER} may name {names}."
        return Target(target.wire, None, error=WireError(400, message, code="unknown_dialect"))
    if target.endpoint is None:
        return replace(target, wire=wire)
    method, canonical = target.endpoint.method, target.endpoint.canonical
    for endpoint in wire.endpoints:
        if (endpoint.method, endpoint.canonical) == (method, canonical):
            return replace(target, wire=wire, endpoint=endpoint)
    return _not_found(wire, f"The dialect {name!r} has no {canonical}.")


def _find_by_path(call: Call) -> Target | None:
    """Return the target at a call's path, or the 404 of the provider that owns it, or None."""
    target = _match_call(call)
    if target is not None and not (target.params and has_slash_in_id(target.params)):
        return target
    claiming = [wire for wire in _wires_under(call.path) if wire.claims(call)]
    if not claiming:
        return None
    candidates = _installed.endings.candidates_below_prefix(call.method, call.path)
    misplaced = _misplaced_target(call, candidates) or target
    return misplaced or _not_found(claiming[0], unknown_url_message(call))


def _not_found(wire: Wire, message: str) -> Target:
    """Return a target whose answer is a 404 with the wire's envelope."""
    return Target(wire, None, error=WireError(404, message, code=_UNKNOWN_URL))


def find_misplaced_target(call: Call) -> Target | None:
    """Return the 404 of the provider whose path a call with a wrong base URL was meant for. The
    error names the right URL. Returns None if the path is not like any provider's."""
    return _misplaced_target(call, _installed.endings.candidates(call.method, call.path))


@lru_cache(maxsize=256)
def find_intended_path(method: str, path: str) -> IntendedPath | None:
    """Return the path that a request with a wrong base URL was meant for, or None."""
    return next(_installed.endings.candidates(method, path), None)


def _misplaced_target(call: Call, paths: Iterable[IntendedPath]) -> Target | None:
    """Return a 404 that names the right base URL for the first path that an endpoint has, or
    None."""
    candidates = list(paths)
    for candidate in candidates:
        target = _match_call(replace(call, path=candidate.path))
        if target is not None and target.endpoint is not None:
            # Of several prefixes, the message names the wire's main one.
            main = (target.wire.prefixes[0].rstrip("/"), candidate.lead)
            best = next((c for c in candidates if (c.base, c.lead) == main), candidate)
            return _not_found(target.wire, wrong_base_message(call, best))
    return None


def _match_call(call: Call) -> Target | None:
    """Return the endpoint for a call, the 405 of the first wire that knows its path, or None."""
    path, method = call.path, call.method
    lookup = _targets_at if len(path) <= _MAX_CACHED_PATH_CHARS else _targets_at.__wrapped__
    for wire, targets in lookup(path):
        if wire.claims(call):
            return targets.get(method) or _method_not_allowed(call, wire, targets)
    return None


def _method_not_allowed(call: Call, wire: Wire, targets: Mapping[str, Target]) -> Target:
    """Return a target whose answer is a 405 that lists the methods of the path."""
    error = WireError(
        405,
        f"Method {call.method} is not allowed for {call.path}.",
        code="method_not_supported",
        headers=(("allow", ", ".join(sorted(targets))),),
    )
    return Target(wire, None, error=error)


@lru_cache(maxsize=256)
def _targets_at(path: str) -> tuple[_WireTargets, ...]:
    """Return the wires with an endpoint at a path, with their targets, in dispatch order."""
    pairs = ((wire, _targets_on(wire, path)) for wire in _wires_under(path))
    return tuple((wire, targets) for wire, targets in pairs if targets)


def _targets_on(wire: Wire, path: str) -> Mapping[str, Target]:
    """Return the targets of the first pattern that matches, so that `x:verb` is no model name."""
    targets: dict[str, Target] = {}
    matched_pattern = ""
    for endpoint in wire.endpoints:
        if matched_pattern not in ("", endpoint.pattern):
            continue
        params = match_path(endpoint.pattern, path)
        if params is not None:
            matched_pattern = endpoint.pattern
            target = Target(wire, endpoint, MappingProxyType(params))
            targets.setdefault(endpoint.method, target)
    return targets


@lru_cache(maxsize=256)
def _wires_under(path: str) -> tuple[Wire, ...]:
    return tuple(wire for wire in wires() if _is_under(path, wire.prefixes))


def _is_under(path: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether a path is under any of these prefixes.

    The prefix `/v1/` includes `/v1`, but not `/v1beta`; the prefix `/api/chat` is that path and
    `/api/chat/`, and nothing below it. Paths are compared decoded, as Django does.
    """
    folders, paths = _split_prefixes(prefixes)
    path = unquote(path)
    return f"{path}/".startswith(folders) or path.removesuffix("/") in paths


@cache
def _split_prefixes(prefixes: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the prefixes that end with a slash, and those that are whole paths."""
    folders = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
    return folders, frozenset(prefixes).difference(folders)


_installed = _InstalledWires((), PathEndings(()))
install(*SHIPPED)
