"""The failures that a scenario document can script, and which keys each kind has."""

from collections.abc import Iterator, Mapping

from pydantic import Field, JsonValue

from scenarios_app.engine.document.base import Document, Finding
from scenarios_app.engine.document.fields import (
    FaultKind,
    Flag,
    Headers,
    Positive,
    Status,
    Text,
    Whole,
)
from scenarios_app.engine.scenario import INSIDE_FAULTS

_ENVELOPE = frozenset(
    {"message", "type", "code", "param", "headers", "retry_after_ms", "retryable"}
)
_INSIDE = frozenset({"message", "after_chunks"})
KEYS_OF_KINDS: Mapping[str, frozenset[str]] = {
    "http": _ENVELOPE | {"status", "body"},
    "rate_limit": _ENVELOPE,
    "model_error": _ENVELOPE,
    "timeout": frozenset({"message", "hold_ms"}),
    "network_error": frozenset({"message"}),
    "invalid_response": frozenset({"message"}),
    "disconnect": _INSIDE,
    "truncate": _INSIDE,
    "malformed_chunk": _INSIDE,
    "stall": _INSIDE | {"hold_ms"},
    "error_event": _ENVELOPE | _INSIDE,
}
NO_BODY = (204, 304)


class FaultDocument(Document):
    """A failure to act out, alone or inside an answer."""

    kind: FaultKind
    """Alone: http, rate_limit, model_error, timeout, network_error, invalid_response. Inside an
    answer: disconnect, truncate, malformed_chunk, stall, error_event."""
    after_chunks: Whole = 1
    """Content chunks that are sent before a fault inside an answer strikes."""
    hold_ms: Whole = 30_000
    """How long timeout and stall stay silent, in milliseconds."""
    status: Status | None = None
    """The HTTP status of kind http."""
    message: Text | None = None
    """The error's message, where the fault has one."""
    type: Text | None = None
    """The error's type in the provider's envelope."""
    code: Text | None = None
    """The error's code in the provider's envelope."""
    param: Text | None = None
    """The parameter that the error is about, in the provider's envelope."""
    body: JsonValue = None
    """Instead of the provider's envelope: text as it stands, other JSON encoded."""
    headers: Headers = Field(default_factory=dict)
    """More headers of the error."""
    retry_after_ms: Whole | None = None
    """Becomes the provider's own retry headers."""
    retryable: Flag | None = None
    """Becomes the header x-should-retry."""

    @property
    def inside(self) -> bool:
        """Whether it strikes inside an answer instead of standing alone."""
        return self.kind in INSIDE_FAULTS

    def findings(self) -> Iterator[Finding]:
        allowed = KEYS_OF_KINDS[self.kind] | {"kind"}
        for key in self.model_dump(exclude_defaults=True):
            if key not in allowed:
                yield (key,), f"does not belong to a fault of kind {self.kind}"
        if self.kind == "http" and self.status is None:
            yield ("status",), "missing"
        if self.status in NO_BODY:
            yield ("status",), "an error has a body, and 204 and 304 have none"
        if self.body is not None:
            for key in ("message", "type", "code", "param"):
                if getattr(self, key) is not None:
                    yield (key,), "belongs to the envelope, which body replaces"


class FailuresDocument(Document):
    """The first attempts fail; later ones get the answer, for ever."""

    times: Positive
    """How many attempts fail, per session and provider."""
    fault: FaultDocument = Field(default_factory=lambda: FaultDocument(kind="model_error"))
    """How they fail."""
