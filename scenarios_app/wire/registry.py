"""Every wire there is, and which of them, by which route, a call is for.

Adding a provider is one line in `WIRES`; where wires share a prefix, the first that claims a call
and knows its path has it, so the one that claims everything stands last.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from urllib.parse import unquote

from scenarios_app.wire import anthropic_messages, gemini, ollama_api, openai_chat, openai_responses
from scenarios_app.wire.base import Call, Route, Wire
from scenarios_app.wire.errors import WireError

WIRES: tuple[Wire, ...] = (
    ollama_api.WIRE,
    *gemini.WIRES,
    anthropic_messages.WIRE,
    openai_responses.WIRE,
    openai_chat.WIRE,
)
PREFIXES: tuple[str, ...] = tuple(sorted({p for wire in WIRES for p in wire.prefixes}))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes. Without a route, `error` is the provider's 404 or 405."""

    wire: Wire
    route: Route | None
    params: Mapping[str, str] = field(default_factory=dict)
    error: WireError | None = None


def owns(path: str) -> bool:
    """Whether a raw path is a provider's, so that nothing but its envelope may answer there."""
    return bool(_wires_under(path))


def url_patterns() -> Iterator[str]:
    """Regular expressions for the paths that providers own, decoded and without their first
    slash."""
    for prefix in PREFIXES:
        end = "(?:/|$)" if prefix.endswith("/") else "/?$"
        yield f"^{re.escape(prefix.strip('/'))}{end}"


def find(call: Call) -> Target | None:
    """The target of a call, or None where no provider owns its path."""
    owners = [wire for wire in _wires_under(call.path) if wire.claims(call)]
    if not owners:
        return None
    for wire in owners:
        fits, allowed = "", set()
        for route in wire.routes:
            # The first pattern that fits the path has it, so that `x:verb` is no model's name.
            params = match_path(route.pattern, call.path) if fits in ("", route.pattern) else None
            if params is None:
                continue
            if route.method == call.method:
                return Target(wire, route, params)
            fits = route.pattern
            allowed.add(route.method)
        if allowed:
            error = WireError(
                405,
                f"Method {call.method} is not allowed for {call.path}.",
                headers=(("allow", ", ".join(sorted(allowed))),),
            )
            return Target(wire, None, error=error)
    message = f"Unknown request URL: {call.method} {call.path}."
    return Target(owners[0], None, error=WireError(404, message, code="unknown_url"))


@lru_cache(maxsize=256)
def _wires_under(path: str) -> tuple[Wire, ...]:
    return tuple(wire for wire in WIRES if _under(path, wire.prefixes))


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


def match_path(pattern: str, path: str) -> Mapping[str, str] | None:
    """The decoded parameters of a raw path under a pattern, None where it does not fit."""
    if "{" not in pattern:
        return {} if pattern == path else None
    found = _compiled(pattern).fullmatch(path)
    return {k: unquote(v) for k, v in found.groupdict().items()} if found else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", pattern)
    out = re.escape(pieces[0])
    for i in range(1, len(pieces), 2):
        value = "[^/]+" if pieces[i + 1].startswith("/") else ".*[^/]"
        # Some clients encode the colon before a verb.
        after = re.escape(pieces[i + 1]).replace(":", "(?::|%3[Aa])")
        out += f"(?P<{pieces[i]}>{value}){after}"
    return re.compile(out, re.DOTALL)
