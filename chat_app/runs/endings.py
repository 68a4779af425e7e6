"""The ways in which a run can end, and the trace's columns for each."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from django.db import Error as DatabaseProblem
from django.utils import timezone

from chat_app.errors import INTERNAL_ERROR, NOT_FOUND, SERVICE_UNAVAILABLE, ChatError
from chat_app.models import MessageStatus
from chat_app.runs.model_calls import time_limit_error
from chat_app.values.events import Error
from chat_app.values.text import clean
from traces_app.leases import INTERRUPTED
from traces_app.models import ModelCall, Status

log = logging.getLogger(__name__)

MAX_ERROR_CHARS: Final = 2_000
DATABASE_UNAVAILABLE: Final = "The database is not available"


class StopReason(Enum):
    """The reasons for which an answer is stopped."""

    CANCELLED = "a client cancelled it"
    INTERRUPTED = "the process shuts down"
    UNRECORDED = "its events cannot be stored"
    LOST = "it was ended by another process, or deleted"
    OUT_OF_TIME = "it took longer than CHAT_RUN_SECONDS"


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run; it failed if there is an error."""

    status: Status
    error: Error | None = None

    @property
    def message_status(self) -> MessageStatus:
        """The status of its answer."""
        return _MESSAGE_STATUSES[self.status]


COMPLETED: Final = RunEnd(Status.COMPLETED)
CANCELLED: Final = RunEnd(Status.CANCELLED)
_MESSAGE_STATUSES: Final = {
    Status.COMPLETED: MessageStatus.COMPLETE,
    Status.CANCELLED: MessageStatus.CANCELLED,
    Status.FAILED: MessageStatus.FAILED,
}


def failed_end(code: str, message: str) -> RunEnd:
    """Return the end of a failed run, with the message cleaned and cut for display."""
    return RunEnd(Status.FAILED, Error(clean(message)[:MAX_ERROR_CHARS], code))


UNRECORDED: Final = failed_end(SERVICE_UNAVAILABLE, DATABASE_UNAVAILABLE)
ENDED_BY_PROCESS: Final = failed_end(SERVICE_UNAVAILABLE, INTERRUPTED)
DELETED: Final = failed_end(NOT_FOUND, "Conversation not found")
_END_BY_STOP_REASON: Final = {
    StopReason.CANCELLED: CANCELLED,
    StopReason.UNRECORDED: UNRECORDED,
}


def choose_end(stopped: StopReason | None, error: BaseException | None) -> RunEnd:
    """Return the end of an answer; the reason for which it was stopped hides its error."""
    if stopped is StopReason.OUT_OF_TIME:
        error = time_limit_error()
    elif stopped is not None:
        return _END_BY_STOP_REASON.get(stopped, ENDED_BY_PROCESS)
    match error:
        case None:
            return COMPLETED
        case ChatError(code=code, message=message):
            return failed_end(code, message)
        case DatabaseProblem():
            log.error("a run's query failed", exc_info=error)
            return UNRECORDED
        case Exception():
            log.error("a run failed", exc_info=error)
            return failed_end(INTERNAL_ERROR, "Internal error")
    # The task was cancelled from outside.
    return ENDED_BY_PROCESS


def trace_columns(end: RunEnd, calls: Sequence[ModelCall], *, tool_calls: int) -> dict[str, Any]:
    """Return the columns of the trace at the end of its run: status, error and totals."""
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
