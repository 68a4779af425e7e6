"""Every kind of fault as rows of the matrix."""

from typing import Any

from scenarios_app.engine.producing.faults import FAULT_KINDS
from tests.sdk.matrix.matrix_messages import (
    Failure,
    FailureKind,
)
from tests.sdk.matrix.matrix_rows import (
    MESSAGE,
    WAIT_MS,
    WORDS,
    BrokenResponse,
    Feature,
    text_messages,
)


def faults() -> list[Feature]:
    """Return every kind of fault with its effect on a stream and on a response in one piece."""
    partial_text = "one two"

    def fault(
        kind: str,
        *,
        broken_stream: BrokenResponse | None,
        broken_response: BrokenResponse | None,
        **keys: Any,
    ) -> Feature:
        inside = FAULT_KINDS[kind].inside
        produce: dict[str, Any] = {"fault": {"kind": kind, **keys}}
        if inside:
            if kind != "close_socket":
                produce["fault"]["after_chunks"] = 2
            produce |= {"text": WORDS, "pacing": {"words_per_chunk": 1}}
        messages = text_messages(WORDS) if inside else ()
        return Feature(
            f"fault {kind}",
            messages,
            produce,
            broken_stream=broken_stream,
            broken_response=broken_response,
        )

    def same_failure(kind: str, failure: Failure, **keys: Any) -> Feature:
        failing = BrokenResponse(failure=failure)
        return fault(kind, broken_stream=failing, broken_response=failing, **keys)

    def broken(kind: FailureKind, text: str = "", **fields: Any) -> BrokenResponse:
        return BrokenResponse(text, Failure(kind, **fields))

    message_field: dict[str, Any] = {"message": MESSAGE}
    # Each provider has its own status.
    overload = Failure("status", None, MESSAGE)
    limit = Failure("status", 429, MESSAGE, WAIT_MS)
    return [
        same_failure("http", Failure("status", 418, MESSAGE), status=418, **message_field),
        same_failure("rate_limit", limit, retry_after_ms=WAIT_MS, **message_field),
        same_failure("rate_limited", limit, retry_after_ms=WAIT_MS, **message_field),
        same_failure("overloaded", overload, **message_field),
        same_failure("model_error", Failure("status", 500, MESSAGE), **message_field),
        same_failure("timeout", Failure("connection"), hold_ms=20),
        same_failure("network_error", Failure("connection")),
        same_failure("no_pong", Failure("connection"), hold_ms=20),
        same_failure("refuse_upgrade", Failure("status", 426, MESSAGE), **message_field),
        same_failure("invalid_response", Failure("unreadable")),
        fault(
            "disconnect",
            broken_stream=broken("connection", partial_text),
            broken_response=broken("connection"),
        ),
        fault(
            "close_socket",
            broken_stream=broken("connection", "one"),
            broken_response=broken("connection"),
        ),
        fault(
            "truncate",
            broken_stream=BrokenResponse(partial_text),
            broken_response=broken("unreadable"),
        ),
        fault(
            "malformed_chunk",
            broken_stream=broken("unreadable", partial_text),
            broken_response=broken("unreadable"),
        ),
        fault("stall", broken_stream=None, broken_response=None, hold_ms=20),
        fault(
            "error_event",
            broken_stream=broken("in the stream", partial_text, message=MESSAGE),
            broken_response=broken("status", status=500, message=MESSAGE),
            **message_field,
        ),
    ]
