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
HOLD_SECONDS = HOLD_MS / 1000 + RETRY_SECONDS


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind of trouble.

    `change` is its change at the control API, `seconds` how much longer a good client may take.
    `signs` are words, in lower case, one of which names the trouble in a program's output.
    Findings of the verdict by a rule in `own_rules` are our own doing. `breaks_call` is true if the
    first tool call cannot be run, so that its result must be an error.
    """

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
        match self.needs:
            case "text":
                return bool(answer["text"].strip())
            case "calls":
                return bool(answer["calls"])
            case "socket":
                return bool(answer["socket"])
            case "any":
                return True


def _fault(kind: str, **keys: Any) -> Mapping[str, Any]:
    return {"fault": {"kind": kind, **keys}}


_CONNECTION_SIGNS = (
    *("connection", "timed out", "timeout", "disconnect", "reset", "closed", "eof", "hang up"),
    *("terminated", "incomplete", "premature", "network", "fetch failed", "protocol"),
)
_PARSE_SIGNS = ("json", "parse", "decode", "malformed", "invalid", "unexpected", "expecting")
_FINISH_SIGNS = ("length", "max_tokens", "max tokens", "truncat", "incomplete", "cut off")
_LIMIT_SIGNS = ("429", "rate limit", "ratelimit", "rate_limit", "too many requests")

KINDS: tuple[Kind, ...] = (
    Kind(
        "rate_limit",
        "429 with Retry-After",
        _fault("rate_limit", retry_after_ms=1_000),
        _LIMIT_SIGNS,
    ),
    Kind(
        "rate_limit_without_time",
        "429 without Retry-After",
        _fault("http", status=429, message="Rate limit reached."),
        _LIMIT_SIGNS,
    ),
    Kind(
        "server_error",
        "500",
        _fault("http", status=500, message="The server had an error."),
        ("500", "server error", "internalserver", "internal server", "server had an error"),
    ),
    Kind(
        "overloaded",
        "overloaded (529 or 503)",
        _fault("overloaded"),
        ("529", "503", "overloaded", "unavailable"),
    ),
    Kind(
        "timeout",
        "no answer",
        _fault("timeout", hold_ms=HOLD_MS),
        _CONNECTION_SIGNS,
        seconds=HOLD_SECONDS,
    ),
    Kind("reset", "connection reset", _fault("network_error"), _CONNECTION_SIGNS),
    Kind(
        "slow_start",
        "slow first token",
        _fault("stall", after_chunks=0, hold_ms=HOLD_MS),
        ("timed out", "timeout", "slow"),
        seconds=HOLD_SECONDS,
    ),
    Kind(
        "stall",
        "a pause inside",
        _fault("stall", hold_ms=HOLD_MS),
        ("timed out", "timeout", "stall"),
        seconds=HOLD_SECONDS,
    ),
    Kind(
        "cut_text",
        "cut in mid-text",
        {**_fault("disconnect"), "inside": "text"},
        _CONNECTION_SIGNS,
        "text",
    ),
    Kind(
        "cut_call",
        "cut in mid-tool-call",
        {**_fault("disconnect"), "inside": "call"},
        _CONNECTION_SIGNS,
        "calls",
    ),
    Kind(
        "ends_early", "ends in the middle", _fault("truncate"), (*_CONNECTION_SIGNS, *_PARSE_SIGNS)
    ),
    Kind("malformed", "malformed frame", _fault("malformed_chunk"), _PARSE_SIGNS),
    Kind(
        "empty_answer",
        "empty answer",
        {"alteration": "empty_answer"},
        ("empty", "no content", "no answer", "no response", "nothing", "no output"),
    ),
    Kind(
        "max_tokens", "cut off by max_tokens", {"alteration": "max_tokens"}, _FINISH_SIGNS, "text"
    ),
    Kind("refusal", "refusal", {"alteration": "refusal"}, ("refus", "content_filter")),
    Kind(
        "broken_arguments",
        "arguments that are not JSON",
        {"alteration": "broken_arguments"},
        (*_PARSE_SIGNS, "argument"),
        "calls",
        own_rules=frozenset({"tool-arguments-outside-schema"}),
        breaks_call=True,
    ),
    Kind(
        "unknown_tool",
        "call of an unknown tool",
        {"alteration": "unknown_tool"},
        (UNKNOWN_TOOL, "unknown tool", "unknown function", "not found", "keyerror"),
        "calls",
        own_rules=frozenset({"tool-not-offered"}),
        breaks_call=True,
    ),
    Kind(
        "call_twice",
        "the same call twice",
        {"alteration": "call_twice"},
        ("twice", "duplicate"),
        "calls",
    ),
    Kind(
        "wrong_finish",
        "wrong finish reason",
        {"alteration": "wrong_finish"},
        ("finish", "stop_reason", "stop reason", "tool_calls"),
    ),
    Kind(
        "socket_closed",
        "WebSocket closed before the answer",
        _fault("close_socket", close_code=1012, after_frames=0),
        ("1012", *_CONNECTION_SIGNS),
        "socket",
    ),
    Kind(
        "socket_closed_inside",
        "WebSocket closed in the answer",
        _fault("close_socket", after_frames=3),
        ("1011", *_CONNECTION_SIGNS),
        "socket",
    ),
    Kind(
        "half_frame",
        "half a WebSocket frame",
        _fault("close_socket", after_frames=3, half_frame=True),
        _CONNECTION_SIGNS,
        "socket",
    ),
    Kind(
        "no_pong",
        "no pong",
        _fault("no_pong", hold_ms=HOLD_MS),
        ("pong", *_CONNECTION_SIGNS),
        "socket",
        seconds=HOLD_SECONDS,
    ),
    Kind(
        "connection_limit",
        "WebSocket after 60 minutes",
        _fault(
            "close_socket",
            after_frames=0,
            code="websocket_connection_limit_reached",
            close_code=1000,
        ),
        ("websocket_connection_limit_reached", "limit", *_CONNECTION_SIGNS),
        "socket",
    ),
)

# What an altered answer shows if a program prints it.
ALTERED_TEXTS: Mapping[str, str] = {"refusal": REFUSAL}
