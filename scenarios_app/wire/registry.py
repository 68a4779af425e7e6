"""Every wire there is, and which of them, by which route, a call is for.

Adding a provider is one line in `WIRES`; where wires share a prefix, the first that claims a call
has it, so the one that claims everything stands last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import unquote

from scenarios_app.wire import anthropic_messages, openai_chat
from scenarios_app.wire.base import Call, Route, Wire
from scenarios_app.wire.errors import WireError

WIRES: tuple[Wire, ...] = (anthropic_messages.WIRE, openai_chat.WIRE)
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
    return _under(path, PREFIXES)


def find(call: Call) -> Target | None:
    """The target of a call, or None where no provider owns its path."""
    owners = [w for w in WIRES if _under(call.path, w.prefixes) and w.claims(call)]
    if not owners:
        return None
    allowed: list[tuple[Wire, str]] = []
    for wire in owners:
        for route in wire.routes:
            params = match_path(route.pattern, call.path)
            if params is None:
                continue
            if route.method == call.method:
                return Target(wire, route, params)
            allowed.append((wire, route.method))
    if allowed:
        error = WireError(
            405,
            f"Method {call.method} is not allowed for {call.path}.",
            headers=(("allow", ", ".join(sorted({method for _, method in allowed}))),),
        )
        return Target(allowed[0][0], None, error=error)
    message = f"Unknown request URL: {call.method} {call.path}."
    return Target(owners[0], None, error=WireError(404, message, code="unknown_url"))


def _under(path: str, prefixes: tuple[str, ...]) -> bool:
    """A prefix `/v1/` owns `/v1` as well, but not `/v1beta`."""
    return f"{path}/".startswith(prefixes)


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
        value = "[^/]+" if pieces[i + 1] else ".*[^/]"
        out += f"(?P<{pieces[i]}>{value})" + re.escape(pieces[i + 1])
    return re.compile(out, re.DOTALL)
