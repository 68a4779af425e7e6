"""The faults that there are, a row each: where one strikes, its keys and status, and its words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal, TypeAlias

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.engine.scenario import Fault

# `error`: an HTTP error instead of the answer. `silence`: not one byte, see `silence_ms`.
# `malformed`: status 200 and a body that no client can read. The others strike inside the answer.
# `cut`: it breaks off and the connection closes. `end`: it breaks off and ends as if it were whole.
# `hold`: it goes silent for `hold_ms`, then goes on. In streams alone, `malformed_event`: it ends
# with an event that no client can read. `error_event`: it ends with the provider's error.
Strike: TypeAlias = Literal[
    "error", "silence", "malformed", "cut", "end", "hold", "malformed_event", "error_event"
]
Place: TypeAlias = Literal["error", "silence", "malformed", "inside"]

RETRY_AFTER_MS = 1000
PHRASES = {status.value: status.phrase for status in HTTPStatus}

_BEFORE = ("error", "silence", "malformed")
_ENVELOPE = frozenset(
    {"message", "type", "code", "param", "headers", "retry_after_ms", "retryable"}
)
_INSIDE = frozenset({"message", "after_chunks"})


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind. `label` is its line among the editor's choices, `words` stand for it in the
    sentence of a step.

    `stream` and `whole` say how it strikes a streamed and a whole answer, `keys` what a document
    may say of it and `required` what it must. `status` and `message` are those of its error where
    the document says nothing, `limited` marks an error that asks to come again later.
    """

    name: str
    label: str
    words: str
    stream: Strike
    whole: Strike
    keys: frozenset[str] = field(default=frozenset({"message"}))
    required: tuple[str, ...] = ()
    status: int = 500
    message: str = ""
    limited: bool = False

    @property
    def inside(self) -> bool:
        """Whether it strikes inside an answer instead of standing alone."""
        return self.stream not in _BEFORE


SHIPPED = (
    FaultKind(
        "http",
        "HTTP error",
        "HTTP error",
        stream="error",
        whole="error",
        keys=_ENVELOPE | {"status", "body"},
        required=("status",),
    ),
    FaultKind(
        "rate_limit",
        "rate limit (429)",
        "rate limit",
        stream="error",
        whole="error",
        keys=_ENVELOPE,
        status=429,
        message="Simulated rate limit.",
        limited=True,
    ),
    FaultKind(
        "model_error",
        "model error (500)",
        "model error",
        stream="error",
        whole="error",
        keys=_ENVELOPE,
        message="Simulated model error.",
    ),
    FaultKind(
        "timeout",
        "timeout (no answer)",
        "no answer in time",
        stream="silence",
        whole="silence",
        keys=frozenset({"message", "hold_ms"}),
    ),
    FaultKind(
        "network_error",
        "connection reset",
        "connection closed",
        stream="silence",
        whole="silence",
    ),
    FaultKind(
        "invalid_response",
        "malformed answer",
        "malformed answer",
        stream="malformed",
        whole="malformed",
    ),
    FaultKind(
        "disconnect",
        "connection closed inside the answer",
        "cut short",
        stream="cut",
        whole="cut",
        keys=_INSIDE,
    ),
    FaultKind(
        "truncate",
        "stream without [DONE]",
        "without its end mark",
        stream="end",
        whole="end",
        keys=_INSIDE,
    ),
    FaultKind(
        "malformed_chunk",
        "malformed chunk",
        "with a malformed chunk",
        stream="malformed_event",
        whole="malformed",
        keys=_INSIDE,
    ),
    FaultKind(
        "stall",
        "pause in the stream",
        "going silent for a while",
        stream="hold",
        whole="hold",
        keys=_INSIDE | {"hold_ms"},
    ),
    FaultKind(
        "error_event",
        "error event in the stream",
        "broken off by an error",
        stream="error_event",
        whole="error",
        keys=_ENVELOPE | _INSIDE,
        message="Simulated error inside the stream.",
    ),
)


@dataclass(slots=True)
class _Installed:
    kinds: Mapping[str, FaultKind]


_installed = _Installed({kind.name: kind for kind in SHIPPED})


def install(*kinds: FaultKind) -> None:
    """Know these faults instead of the ones so far."""
    _installed.kinds = {kind.name: kind for kind in kinds}


def fault_kinds() -> Mapping[str, FaultKind]:
    """Every kind by its name: first those that stand alone, then those inside an answer."""
    return _installed.kinds


def kind_of(fault: Fault) -> FaultKind:
    return _installed.kinds[fault.kind]


def strike_of(fault: Fault, *, stream: bool) -> Place:
    """Where a fault strikes a streamed or a whole answer: instead of it, or `inside`: the answer
    itself is sent, and broken on the way, a stream by the marks of its plan, a whole answer by its
    bytes."""
    kind = kind_of(fault)
    match kind.stream if stream else kind.whole:
        case "error" | "silence" | "malformed" as before:
            return before
        case _:
            return "inside"


def silence_ms(fault: Fault) -> int:
    """How long the connection is held without a byte before it is closed."""
    return fault.hold_ms if "hold_ms" in kind_of(fault).keys else 0


def fault_error(fault: Fault) -> ErrorAnswer:
    """The error of a fault that has one: sent as an HTTP answer or as an in-stream event."""
    kind = kind_of(fault)
    status = fault.status or kind.status
    message = kind.message or f"Simulated failure: {PHRASES.get(status, status)}."
    retry_after_ms = fault.retry_after_ms
    if kind.limited and retry_after_ms is None:
        retry_after_ms = RETRY_AFTER_MS
    return ErrorAnswer(
        status=status,
        message=message if fault.message is None else fault.message,
        type=fault.type,
        code=fault.code,
        param=fault.param,
        body=fault.body,
        headers=fault.headers,
        retry_after_ms=retry_after_ms,
        retryable=fault.retryable,
        limited=kind.limited,
    )
