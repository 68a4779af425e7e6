"""What a fault does to an answer: which kind strikes in which way, and the errors it makes."""

from http import HTTPStatus
from typing import Literal, TypeAlias

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.scenario import Fault

Strike: TypeAlias = Literal["error", "silence", "malformed", "inside"]

RETRY_AFTER_MS = 1000
PHRASES = {status.value: status.phrase for status in HTTPStatus}


def strike_of(fault: Fault, *, stream: bool) -> Strike:
    """How a fault strikes a streamed or a whole answer.

    `error`: the answer is `fault_error`. `silence`: not one byte is sent, see `silence_ms`.
    `malformed`: status 200 and a body that no client can read. `inside`: the answer itself is
    sent, and broken on the way: a stream by the marks of its plan, a whole answer by its bytes.
    """
    match fault.kind:
        case "http" | "rate_limit" | "model_error":
            return "error"
        case "timeout" | "network_error":
            return "silence"
        case "invalid_response":
            return "malformed"
        case "error_event":
            return "inside" if stream else "error"
        case "malformed_chunk":
            return "inside" if stream else "malformed"
        case _:
            return "inside"


def silence_ms(fault: Fault) -> int:
    """How long the connection is held without a byte before it is closed."""
    return fault.hold_ms if fault.kind == "timeout" else 0


def fault_error(fault: Fault) -> ErrorAnswer:
    """The error of a fault that has one: sent as an HTTP answer or as an in-stream event."""
    limited = fault.kind == "rate_limit"
    status = fault.status or (429 if limited else 500)
    retry_after_ms = fault.retry_after_ms
    if limited and retry_after_ms is None:
        retry_after_ms = RETRY_AFTER_MS
    return ErrorAnswer(
        status=status,
        message=_message(fault, status) if fault.message is None else fault.message,
        type=fault.type,
        code=fault.code,
        param=fault.param,
        body=fault.body,
        headers=fault.headers,
        retry_after_ms=retry_after_ms,
        retryable=fault.retryable,
        limited=limited,
    )


def _message(fault: Fault, status: int) -> str:
    match fault.kind:
        case "rate_limit":
            return "Simulated rate limit."
        case "model_error":
            return "Simulated model error."
        case "error_event":
            return "Simulated error inside the stream."
        case _:
            return f"Simulated failure: {PHRASES.get(status, status)}."
