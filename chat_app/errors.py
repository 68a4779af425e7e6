"""The chat's one exception: a code of the error contract, a message, and a field."""

from collections.abc import Mapping
from typing import Final

NOT_FOUND: Final = "NOT_FOUND"
CONFLICT: Final = "CONFLICT"
FORBIDDEN: Final = "FORBIDDEN"
UNAUTHORIZED: Final = "UNAUTHORIZED"
RATE_LIMITED: Final = "RATE_LIMITED"
NETWORK_ERROR: Final = "NETWORK_ERROR"
VALIDATION_ERROR: Final = "VALIDATION_ERROR"
SERVICE_UNAVAILABLE: Final = "SERVICE_UNAVAILABLE"
INTERNAL_ERROR: Final = "INTERNAL_ERROR"

STATUSES: Mapping[str, int] = {
    VALIDATION_ERROR: 400,
    UNAUTHORIZED: 401,
    FORBIDDEN: 403,
    NOT_FOUND: 404,
    CONFLICT: 409,
    RATE_LIMITED: 429,
    INTERNAL_ERROR: 500,
    NETWORK_ERROR: 502,
    SERVICE_UNAVAILABLE: 503,
}


class ChatError(Exception):
    """An error before or in a run. `field` is the path of the wrong value, if there is one."""

    def __init__(self, code: str, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return STATUSES[self.code]
