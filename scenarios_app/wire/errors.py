"""The only exception that wires raise: the request is answered with a provider's error."""

from scenarios_app.engine.canonical import ErrorAnswer


class WireError(Exception):
    """Raised to answer a request with an error, `answer`, in the provider's envelope."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.answer = ErrorAnswer(
            status, message, type=type, code=code, param=param, headers=headers
        )
