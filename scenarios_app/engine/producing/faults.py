"""The kinds of faults: the effect of each on an answer, its keys, status and texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.scenario import Fault

# `error`: an HTTP error instead of the answer. `silence`: not one byte, see `silence_ms`.
# `malformed`: status 200 and a body that no client can read. The others occur inside the answer.
# `cut`: it breaks off and the connection closes. `end`: it breaks off and ends as if it were whole.
# `hold`: it goes silent for `hold_ms`, then goes on. In streams alone, `malformed_event`: it ends
# with an event that no client can read. `error_event`: it ends with the provider's error.
FaultEffect: TypeAlias = Literal[
    "error", "silence", "malformed", "cut", "end", "hold", "malformed_event", "error_event"
]
FaultStage: TypeAlias = Literal["error", "silence", "malformed", "inside"]

RETRY_AFTER_MS = 1000
NO_ERRORS: Mapping[str, ErrorAnswer] = {}
PHRASES = {status.value: status.phrase for status in HTTPStatus}

_INSTEAD_OF_ANSWER = ("error", "silence", "malformed")
_EFFECTS_WITHOUT_EVENTS: Mapping[FaultEffect, FaultEffect] = {
    "malformed_event": "malformed",
    "error_event": "error",
}
_ENVELOPE_KEYS = frozenset(
    {"message", "type", "code", "param", "headers", "retry_after_ms", "retryable"}
)
_SILENCE_KEYS = frozenset({"message", "hold_ms"})
_INSIDE_KEYS = frozenset({"message", "after_chunks"})
_CLOSE_KEYS = frozenset({"message", "code", "close_code", "after_frames", "half_frame"})
REFUSE_UPGRADE = "refuse_upgrade"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind of fault. `label` is its text in the editor and `words` its phrase in the sentence
    of a step.

    `stream` is its effect on a streamed answer, `keys` the keys that a document may set and
    `required` those that it must. `status` and `message` are its error's defaults; `limited` marks
    an error that asks the client to come back later. A fault `of_socket` acts on the connection
    itself if the answer uses a WebSocket.
    """

    name: str
    label: str
    words: str
    stream: FaultEffect
    keys: frozenset[str] = frozenset({"message"})
    required: tuple[str, ...] = ()
    status: int = 500
    message: str = ""
    limited: bool = False
    of_socket: bool = False

    @property
    def whole(self) -> FaultEffect:
        """Its effect on an answer that is not streamed, and so has no events."""
        return _EFFECTS_WITHOUT_EVENTS.get(self.stream, self.stream)

    @property
    def inside(self) -> bool:
        """True if it occurs inside an answer; False if it replaces the answer."""
        return self.stream not in _INSTEAD_OF_ANSWER


_ALL = (
    FaultKind(
        "http",
        "HTTP error",
        "HTTP error",
        stream="error",
        keys=_ENVELOPE_KEYS | {"status", "body"},
        required=("status",),
    ),
    FaultKind(
        "rate_limit",
        "rate limit (429)",
        "rate limit",
        stream="error",
        keys=_ENVELOPE_KEYS,
        status=429,
        message="Simulated rate limit.",
        limited=True,
    ),
    FaultKind(
        "rate_limited",
        "the provider's own rate limit (429)",
        "rate limit of the provider",
        stream="error",
        keys=_ENVELOPE_KEYS,
        status=429,
        message="Simulated rate limit.",
        limited=True,
    ),
    FaultKind(
        "overloaded",
        "the provider's own overload (503, 529)",
        "overload of the provider",
        stream="error",
        keys=_ENVELOPE_KEYS,
        status=503,
        message="Simulated overload.",
    ),
    FaultKind(
        "model_error",
        "model error (500)",
        "model error",
        stream="error",
        keys=_ENVELOPE_KEYS,
        message="Simulated model error.",
    ),
    FaultKind(
        "timeout", "timeout (no answer)", "no answer in time", stream="silence", keys=_SILENCE_KEYS
    ),
    FaultKind("network_error", "connection reset", "connection closed", stream="silence"),
    FaultKind(
        "no_pong",
        "WebSocket without answers to pings",
        "no answer, not even to pings",
        stream="silence",
        keys=_SILENCE_KEYS,
        of_socket=True,
    ),
    FaultKind(
        REFUSE_UPGRADE,
        "refused WebSocket (426)",
        "refused WebSocket",
        stream="error",
        keys=_ENVELOPE_KEYS,
        status=426,
        message="Simulated refusal of a WebSocket.",
    ),
    FaultKind("invalid_response", "malformed answer", "malformed answer", stream="malformed"),
    FaultKind(
        "disconnect",
        "connection closed inside the answer",
        "cut short",
        stream="cut",
        keys=_INSIDE_KEYS,
    ),
    FaultKind(
        "close_socket",
        "WebSocket closed by the server",
        "with the WebSocket closed",
        stream="cut",
        keys=_CLOSE_KEYS,
        status=400,
        message="Simulated end of the connection.",
        of_socket=True,
    ),
    FaultKind(
        "truncate", "stream without [DONE]", "without its end mark", stream="end", keys=_INSIDE_KEYS
    ),
    FaultKind(
        "malformed_chunk",
        "malformed chunk",
        "with a malformed chunk",
        stream="malformed_event",
        keys=_INSIDE_KEYS,
    ),
    FaultKind(
        "stall",
        "pause in the stream",
        "going silent for a while",
        stream="hold",
        keys=_INSIDE_KEYS | {"hold_ms"},
    ),
    FaultKind(
        "error_event",
        "error event in the stream",
        "broken off by an error",
        stream="error_event",
        keys=_ENVELOPE_KEYS | _INSIDE_KEYS,
        message="Simulated error inside the stream.",
    ),
)
FAULT_KINDS: dict[str, FaultKind] = {kind.name: kind for kind in _ALL}
"""All kinds by name: first those that replace an answer, then those inside one."""


def kind_of(fault: Fault) -> FaultKind:
    return FAULT_KINDS[fault.kind]


def fault_stage_of(fault: Fault, *, stream: bool) -> FaultStage:
    """Return the effect of a fault if it replaces a streamed or whole answer, else `inside`."""
    kind = kind_of(fault)
    match kind.stream if stream else kind.whole:
        case "error" | "silence" | "malformed" as stage:
            return stage
        case _:
            return "inside"


def silence_ms(fault: Fault) -> int:
    """Return the milliseconds for which a fault sends nothing: `hold_ms`, or 0 for most kinds."""
    return fault.hold_ms if "hold_ms" in kind_of(fault).keys else 0


def fault_error(fault: Fault, own_errors: Mapping[str, ErrorAnswer] = NO_ERRORS) -> ErrorAnswer:
    """Return the error of a fault, for an HTTP answer or an in-stream event.

    The fault's keys override the provider's `own_errors` (by kind of fault), and these the kind's
    defaults. Without `retry_after_ms`, a rate limit asks to wait RETRY_AFTER_MS.
    """
    kind = kind_of(fault)
    own = own_errors.get(kind.name) or ErrorAnswer(kind.status, kind.message)
    status = fault.status or own.status
    message = own.message or f"Simulated failure: {PHRASES.get(status, status)}."
    retry_after_ms = fault.retry_after_ms
    if kind.limited and retry_after_ms is None:
        retry_after_ms = RETRY_AFTER_MS
    return ErrorAnswer(
        status=status,
        message=message if fault.message is None else fault.message,
        type=own.type if fault.type is None else fault.type,
        code=own.code if fault.code is None else fault.code,
        param=fault.param,
        body=fault.body,
        headers=fault.headers,
        retry_after_ms=retry_after_ms,
        retryable=own.retryable if fault.retryable is None else fault.retryable,
        limited=kind.limited,
    )
