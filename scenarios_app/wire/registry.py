"""Every wire there is, and which of them, by which route, a call is for.

Adding a provider is one line in `SHIPPED`; where wires share a prefix, the first that claims a call
and knows its path has it, so the one that claims everything stands last.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.secrets import declare
from scenarios_app.wire.anthropic import wire as anthropic_messages
from scenarios_app.wire.base import Call, Endpoint, Params, Wire
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini import wire as gemini
from scenarios_app.wire.ollama import wire as ollama_api
from scenarios_app.wire.openai import wire as openai_chat
from scenarios_app.wire.openai.dialects.rows import HEADER as DIALECT_HEADER
from scenarios_app.wire.openai.responses import wire as openai_responses
from scenarios_app.wire.paths import Endings, Meant, match_path, swallows, told

SHIPPED: tuple[Wire, ...] = (
    ollama_api.WIRE,
    *gemini.WIRES,
    anthropic_messages.WIRE,
    openai_responses.WIRE,
    *openai_chat.WIRES,
)


# A path of more characters is looked up anew each time.
_LONG = 512


class _Installed(msgspec.Struct):
    wires: tuple[Wire, ...]
    endings: Endings


def install(*wires: Wire) -> None:
    """Make these the wires of this process, in this order; the headers of their keys are secret."""
    declare(name for wire in wires for name in wire.key_headers)
    _installed.wires = wires
    _installed.endings = Endings(endpoint for wire in wires for endpoint in wire.endpoints)
    for known in (_wires_under, _known_at, meant):
        known.cache_clear()


def wires() -> tuple[Wire, ...]:
    """Every wire, in the order in which they are asked whose a call is."""
    return _installed.wires


def providers() -> tuple[str, ...]:
    """The names of the providers, each once, as people list them."""
    return tuple(dict.fromkeys(wire.provider for wire in reversed(wires())))


def ways() -> Mapping[str, Wire]:
    """One wire for each way to ask, by its name, as people list them."""
    return {wire.name: wire for wire in reversed(wires())}


class Target(msgspec.Struct, frozen=True):
    """Where a call goes. Without an endpoint, `error` is the provider's 404 or 405."""

    wire: Wire
    endpoint: Endpoint | None
    params: Params = {}
    error: WireError | None = None


# A wire, and by method where a call of one path goes on it.
_Known: TypeAlias = tuple[Wire, Mapping[str, Target]]


def owns(path: str) -> bool:
    """Whether a raw path is a provider's, so that nothing but its envelope may answer there."""
    return bool(_wires_under(path))


def url_patterns() -> Iterator[str]:
    """Regular expressions for the paths that providers own, decoded and without their first
    slash."""
    for prefix in sorted({p for wire in wires() for p in wire.prefixes}):
        end = "(?:/|$)" if prefix.endswith("/") else "/?$"
        yield f"^{re.escape(prefix.strip('/'))}{end}"


def find(call: Call) -> Target | None:
    """The target of a call, or None where no provider owns its path."""
    found = _found(call)
    name = call.headers.get(DIALECT_HEADER)
    return found if name is None or found is None else _spoken(found, name.strip().lower())


def _spoken(found: Target, name: str) -> Target:
    """The same in the dialect of that name, where it is one of OpenAI's calls."""
    if found.wire not in openai_chat.WIRES:
        return found
    wire = openai_chat.SPOKEN.get(name)
    if wire is None:
        known = ", ".join(openai_chat.SPOKEN)
        message = f"There is no dialect {name!r} of this API. {DIALECT_HEADER} may name {known}."
        return Target(found.wire, None, error=WireError(400, message, code="unknown_dialect"))
    if found.endpoint is None:
        return replace(found, wire=wire)
    asked = (found.endpoint.method, found.endpoint.canonical)
    for same in wire.endpoints:
        if (same.method, same.canonical) == asked:
            return replace(found, wire=wire, endpoint=same)
    message = f"The dialect {name!r} has no {asked[1]}."
    return Target(wire, None, error=WireError(404, message, code="unknown_url"))


def _found(call: Call) -> Target | None:
    found = _known(call)
    if found is not None and not (found.params and swallows(found.params)):
        return found
    owners = _owners(call)
    if not owners:
        return None
    found = _meant(call, _installed.endings.whole(call.method, call.path)) or found
    if found is not None:
        return found
    message = f"Unknown request URL: {call.method} {call.path}."
    return Target(owners[0], None, error=WireError(404, message, code="unknown_url"))


def misplaced(call: Call) -> Target | None:
    """The provider that a call looks meant for, whose path would be one of its but for the
    beginning, with the 404 that names the right one. None where it looks like nobody's."""
    return _meant(call, _installed.endings.meant(call.method, call.path))


@lru_cache(maxsize=256)
def meant(method: str, path: str) -> Meant | None:
    """What a path may have been meant to be, of any provider; None where it looks like nobody's."""
    return next(_installed.endings.meant(method, path), None)


def _meant(call: Call, found: Iterable[Meant]) -> Target | None:
    possible = list(found)
    for likely in possible:
        there = replace(call, path=likely.path)
        target = _known(there)
        if target is not None and target.endpoint is not None:
            home = target.wire.prefixes[0].rstrip("/")
            at_home = (one for one in possible if (one.base, one.lead) == (home, likely.lead))
            message = told(call, next(at_home, likely))
            return Target(target.wire, None, error=WireError(404, message, code="unknown_url"))
    return None


def _owners(call: Call) -> list[Wire]:
    return [wire for wire in _wires_under(call.path) if wire.claims(call)]


def _known(call: Call) -> Target | None:
    """The endpoint that fits the call, or the 405 of the first wire that knows its path."""
    path, method = call.path, call.method
    known = _known_at(path) if len(path) <= _LONG else _known_at.__wrapped__(path)
    for wire, targets in known:
        if wire.claims(call):
            return targets.get(method) or _not_allowed(call, wire, targets)
    return None


def _not_allowed(call: Call, wire: Wire, targets: Mapping[str, Target]) -> Target:
    error = WireError(
        405,
        f"Method {call.method} is not allowed for {call.path}.",
        headers=(("allow", ", ".join(sorted(targets))),),
    )
    return Target(wire, None, error=error)


@lru_cache(maxsize=256)
def _known_at(path: str) -> tuple[_Known, ...]:
    """The wires that know a path, in order."""
    found = ((wire, _targets(wire, path)) for wire in wires() if _under(path, wire.prefixes))
    return tuple((wire, targets) for wire, targets in found if targets)


def _targets(wire: Wire, path: str) -> Mapping[str, Target]:
    """The first pattern that fits the path has it, so that `x:verb` is no model's name."""
    targets: dict[str, Target] = {}
    fits = ""
    for endpoint in wire.endpoints:
        if fits not in ("", endpoint.pattern):
            continue
        params = match_path(endpoint.pattern, path)
        if params is not None:
            fits = endpoint.pattern
            target = Target(wire, endpoint, MappingProxyType(params))
            targets.setdefault(endpoint.method, target)
    return targets


@lru_cache(maxsize=256)
def _wires_under(path: str) -> tuple[Wire, ...]:
    return tuple(wire for wire in wires() if _under(path, wire.prefixes))


def _under(path: str, prefixes: tuple[str, ...]) -> bool:
    """A prefix `/v1/` owns `/v1` as well, but not `/v1beta`; the path `/api/chat` owns `/api/chat/`
    and nothing below it. Encoded or not, it is the same path, as it is to Django."""
    folders, paths = _split(prefixes)
    path = unquote(path)
    return f"{path}/".startswith(folders) or path.removesuffix("/") in paths


@cache
def _split(prefixes: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    folders = tuple(prefix for prefix in prefixes if prefix.endswith("/"))
    return folders, frozenset(prefixes).difference(folders)


_installed = _Installed((), Endings(()))
install(*SHIPPED)
