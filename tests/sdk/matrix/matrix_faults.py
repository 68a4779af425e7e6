"""Every kind of fault as rows of the matrix."""

from typing import Any

from scenarios_app.engine.producing.faults import FAULT_KINDS
from tests.sdk.matrix.matrix_rows import MESSAGE, WAIT_MS, WORDS, Broken, Feature, says
from tests.sdk.matrix.matrix_said import (
    Failure,
    FailureKind,
)


def faults() -> list[Feature]:
    """Every kind of fault, as it strikes a stream and a whole answer."""
    heard = "one two"

    def fault(kind: str, *, streamed: Broken | None, whole: Broken | None, **keys: Any) -> Feature:
        inside = FAULT_KINDS[kind].inside
        produce: dict[str, Any] = {"fault": {"kind": kind, **keys}}
        if inside:
            if kind != "close_socket":
                produce["fault"]["after_chunks"] = 2
            produce |= {"text": WORDS, "pacing": {"words_per_chunk": 1}}
        messages = says(WORDS) if inside else ()
        return Feature(f"fault {kind}", messages, produce, streamed=streamed, whole=whole)

    def alike(kind: str, failure: Failure, **keys: Any) -> Feature:
        broken = Broken(failure=failure)
        return fault(kind, streamed=broken, whole=broken, **keys)

    def failed(kind: FailureKind, said: str = "", **known: Any) -> Broken:
        return Broken(said, Failure(kind, **known))

    told: dict[str, Any] = {"message": MESSAGE}
    # Each provider has its own status.
    overload = Failure("status", None, MESSAGE)
    limit = Failure("status", 429, MESSAGE, WAIT_MS)
    return [
        alike("http", Failure("status", 418, MESSAGE), status=418, **told),
        alike("rate_limit", limit, retry_after_ms=WAIT_MS, **told),
        alike("rate_limited", limit, retry_after_ms=WAIT_MS, **told),
        alike("overloaded", overload, **told),
        alike("model_error", Failure("status", 500, MESSAGE), **told),
        alike("timeout", Failure("connection"), hold_ms=20),
        alike("network_error", Failure("connection")),
        alike("no_pong", Failure("connection"), hold_ms=20),
        alike("refuse_upgrade", Failure("status", 426, MESSAGE), **told),
        alike("invalid_response", Failure("unreadable")),
        fault(
            "disconnect",
            streamed=failed("connection", heard),
            whole=failed("connection"),
        ),
        fault("close_socket", streamed=failed("connection", "one"), whole=failed("connection")),
        fault("truncate", streamed=Broken(heard), whole=failed("unreadable")),
        fault(
            "malformed_chunk",
            streamed=failed("unreadable", heard),
            whole=failed("unreadable"),
        ),
        fault("stall", streamed=None, whole=None, hold_ms=20),
        fault(
            "error_event",
            streamed=failed("in the stream", heard, message=MESSAGE),
            whole=failed("status", status=500, message=MESSAGE),
            **told,
        ),
    ]
