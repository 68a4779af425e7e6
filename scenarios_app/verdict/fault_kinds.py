"""The kinds of trouble that a sweep puts into single answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from scenarios_app.engine.producing.alterations import REFUSAL, UNKNOWN_TOOL

# An answer of `/control/changes`.
Answer: TypeAlias = Mapping[str, Any]
# What an answer must have: nothing, text, tool calls, or a WebSocket below it.
Need: TypeAlias = Literal["any", "text", "calls", "socket"]

HOLD_MS = 2_000
# What clients wait before they try again, at most: the back-off of the SDKs.
RETRY_SECONDS = 6.0


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of trouble. `change` is its change at the control API, `seconds` how much longer a
    good client may take. `signs` are words, in lower case, one of which names the trouble in a
    program's output. `own_rules` are client rules that the trouble itself breaks. `breaks_call` is
    true if the first tool call cannot be run, so that its result must be an error."""

    name: str
    label: str
    change: Mapping[str, Any]
    signs: tuple[str, ...]
    needs: Need = "any"
    seconds: float = RETRY_SECONDS
    own_rules: frozenset[str] = frozenset()
    breaks_call: bool = False

    def applies(self, answer: Answer) -> bool:
        """Return whether the answer has what the trouble needs."""
        if self.needs == "text":
            return bool(answer["text"].strip())
        return self.needs == "any" or bool(answer[self.needs])


def _fault_kind(
    name: str,
    label: str,
    signs: tuple[str, ...],
    kind: str,
    *,
    needs: Need = "any",
    inside: str = "",
    **keys: Any,
) -> Kind:
    """Return a kind of trouble: a fault of `kind` with `keys`, with `inside` in the first text or
    call. With `hold_ms` clients may take longer."""
    change = {"fault": {"kind": kind, **keys}} | ({"inside": inside} if inside else {})
    seconds = RETRY_SECONDS + (HOLD_MS / 1000 if "hold_ms" in keys else 0)
    return Kind(name, label, change, signs, needs, seconds)


def _alteration_kind(name: str, label: str, signs: tuple[str, ...], **options: Any) -> Kind:
    """Return a kind of trouble that alters the answer's content."""
    return Kind(name, label, {"alteration": name}, signs, **options)


def _socket_fault_kind(name: str, label: str, signs: tuple[str, ...], **keys: Any) -> Kind:
    """Return a kind of trouble that closes the WebSocket."""
    signs = (*signs, *_CONNECTION_SIGNS)
    return _fault_kind(name, f"WebSocket {label}", signs, "close_socket", needs="socket", **keys)


_CONNECTION_SIGNS = (
    *("connection", "timed out", "timeout", "disconnect", "reset", "closed", "eof", "hang up"),
    *("terminated", "incomplete", "premature", "network", "fetch failed", "protocol"),
)
_PARSE_SIGNS = ("json", "parse", "decode", "malformed", "invalid", "unexpected", "expecting")
_FINISH_SIGNS = ("length", "max_tokens", "max tokens", "truncat", "incomplete", "cut off")
_LIMIT_SIGNS = ("429", "rate limit", "ratelimit", "rate_limit", "too many requests")
_500_SIGNS = ("500", "server error", "internalserver", "internal server", "server had an error")
_529_SIGNS = ("529", "503", "overloaded", "unavailable")
_SLOW_SIGNS = ("timed out", "timeout", "slow")
_STALL_SIGNS = ("timed out", "timeout", "stall")
_EMPTY_SIGNS = ("empty", "no content", "no answer", "no response", "nothing", "no output")
_UNKNOWN_SIGNS = (UNKNOWN_TOOL, "unknown tool", "unknown function", "not found", "keyerror")
_REASON_SIGNS = ("finish", "stop_reason", "stop reason", "tool_calls")
_PONG_SIGNS = ("pong", *_CONNECTION_SIGNS)
_AGE_LIMIT = "websocket_connection_limit_reached"

KINDS: tuple[Kind, ...] = (
    _fault_kind(
        "rate_limit", "429 with Retry-After", _LIMIT_SIGNS, "rate_limit", retry_after_ms=1_000
    ),
    _fault_kind(
        "rate_limit_without_time",
        "429 without Retry-After",
        _LIMIT_SIGNS,
        "http",
        status=429,
        message="Rate limit reached.",
    ),
    _fault_kind(
        "server_error", "500", _500_SIGNS, "http", status=500, message="The server had an error."
    ),
    _fault_kind("overloaded", "overloaded (529 or 503)", _529_SIGNS, "overloaded"),
    _fault_kind("timeout", "no answer", _CONNECTION_SIGNS, "timeout", hold_ms=HOLD_MS),
    _fault_kind("reset", "connection reset", _CONNECTION_SIGNS, "network_error"),
    _fault_kind(
        "slow_start", "slow first token", _SLOW_SIGNS, "stall", after_chunks=0, hold_ms=HOLD_MS
    ),
    _fault_kind("stall", "a pause inside", _STALL_SIGNS, "stall", hold_ms=HOLD_MS),
    _fault_kind(
        "cut_text", "cut in mid-text", _CONNECTION_SIGNS, "disconnect", needs="text", inside="text"
    ),
    _fault_kind(
        "cut_call",
        "cut in mid-tool-call",
        _CONNECTION_SIGNS,
        "disconnect",
        needs="calls",
        inside="call",
    ),
    _fault_kind(
        "ends_early", "ends in the middle", (*_CONNECTION_SIGNS, *_PARSE_SIGNS), "truncate"
    ),
    _fault_kind("malformed", "malformed frame", _PARSE_SIGNS, "malformed_chunk"),
    _alteration_kind("empty_answer", "empty answer", _EMPTY_SIGNS),
    _alteration_kind("max_tokens", "cut off by max_tokens", _FINISH_SIGNS, needs="text"),
    _alteration_kind("refusal", "refusal", ("refus", "content_filter")),
    _alteration_kind(
        "broken_arguments",
        "arguments that are not JSON",
        (*_PARSE_SIGNS, "argument"),
        needs="calls",
        own_rules=frozenset({"tool-arguments-outside-schema"}),
        breaks_call=True,
    ),
    _alteration_kind(
        "unknown_tool",
        "call of an unknown tool",
        _UNKNOWN_SIGNS,
        needs="calls",
        own_rules=frozenset({"tool-not-offered"}),
        breaks_call=True,
    ),
    _alteration_kind("call_twice", "the same call twice", ("twice", "duplicate"), needs="calls"),
    _alteration_kind("wrong_finish", "wrong finish reason", _REASON_SIGNS),
    _socket_fault_kind(
        "socket_closed", "closed before the answer", ("1012",), close_code=1012, after_frames=0
    ),
    _socket_fault_kind("socket_closed_inside", "closed in the answer", ("1011",), after_frames=3),
    _fault_kind(
        "half_frame",
        "half a WebSocket frame",
        _CONNECTION_SIGNS,
        "close_socket",
        needs="socket",
        after_frames=3,
        half_frame=True,
    ),
    _fault_kind("no_pong", "no pong", _PONG_SIGNS, "no_pong", needs="socket", hold_ms=HOLD_MS),
    _socket_fault_kind(
        "connection_limit",
        "after 60 minutes",
        (_AGE_LIMIT, "limit"),
        after_frames=0,
        code=_AGE_LIMIT,
        close_code=1000,
    ),
)

# What an altered answer shows if a program prints it.
ALTERED_TEXTS: Mapping[str, str] = {"refusal": REFUSAL}
