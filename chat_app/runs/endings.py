"""The ways in which a run can end, and what its trace says of each."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from django.db import Error as DatabaseProblem
from django.utils import timezone

from chat_app.errors import INTERNAL_ERROR, NOT_FOUND, SERVICE_UNAVAILABLE, ChatError
from chat_app.models import MessageStatus
from chat_app.runs.model_calls import out_of_time
from chat_app.values.events import Error
from chat_app.values.text import clean
from traces_app.leases import INTERRUPTED
from traces_app.models import ModelCall, Status

log = logging.getLogger(__name__)

MESSAGE_LENGTH: Final = 2_000
UNAVAILABLE: Final = "The database is not available"


class Stop(Enum):
    """Why an answer is cut short."""

    CANCELLED = "its reader wants no more of it"
    INTERRUPTED = "the process ends"
    UNRECORDED = "its events cannot be stored"
    LOST = "it was ended elsewhere, or deleted"
    OUT_OF_TIME = "it takes longer than a run may"


@dataclass(frozen=True, slots=True)
class End:
    """How a run ends; with an error it failed."""

    status: Status
    error: Error | None = None

    @property
    def message_status(self) -> MessageStatus:
        """That of its answer."""
        return _MESSAGES[self.status]


COMPLETED: Final = End(Status.COMPLETED)
CANCELLED: Final = End(Status.CANCELLED)
_MESSAGES: Final = {
    Status.COMPLETED: MessageStatus.COMPLETE,
    Status.CANCELLED: MessageStatus.CANCELLED,
    Status.FAILED: MessageStatus.FAILED,
}


def failed(code: str, message: str) -> End:
    """What others said is cleaned: it is shown and stored."""
    return End(Status.FAILED, Error(clean(message)[:MESSAGE_LENGTH], code))


UNRECORDED: Final = failed(SERVICE_UNAVAILABLE, UNAVAILABLE)
ENDED_BY_PROCESS: Final = failed(SERVICE_UNAVAILABLE, INTERRUPTED)
DELETED: Final = failed(NOT_FOUND, "Conversation not found")
_STOPPED: Final = {
    Stop.CANCELLED: CANCELLED,
    Stop.INTERRUPTED: ENDED_BY_PROCESS,
    Stop.UNRECORDED: UNRECORDED,
}


def end_of(stopped: Stop | None, problem: BaseException | None) -> End:
    """The end of an answer that was stopped, or raised, or neither."""
    if stopped is Stop.OUT_OF_TIME:
        problem = out_of_time()
    elif stopped is not None:
        return _STOPPED.get(stopped, ENDED_BY_PROCESS)
    match problem:
        case None:
            return COMPLETED
        case ChatError(code=code, message=message):
            return failed(code, message)
        case DatabaseProblem():
            log.error("a run's query failed", exc_info=problem)
            return UNRECORDED
        case Exception():
            log.error("a run failed", exc_info=problem)
            return failed(INTERNAL_ERROR, "Internal error")
    # A cancellation that nobody asked for.
    return ENDED_BY_PROCESS


def columns(end: End, calls: Sequence[ModelCall], *, tool_calls: int) -> dict[str, Any]:
    """What the trace of a run keeps of its end and of all that was done in it."""
    first_tokens = [row.first_token_at for row in calls if row.first_token_at is not None]
    return {
        "status": end.status,
        "code": end.error.code if end.error else "",
        "error": end.error.message if end.error else "",
        "finished_at": timezone.now(),
        "first_token_at": min(first_tokens, default=None),
        "model_calls": len(calls),
        "tool_calls": tool_calls,
        "input_tokens": sum(row.input_tokens for row in calls),
        "output_tokens": sum(row.output_tokens for row in calls),
        "tokens_estimated": any(row.tokens_estimated for row in calls),
    }
