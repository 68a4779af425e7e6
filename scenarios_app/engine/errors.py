"""A provider error as a value: what went wrong, before any wire gives it its envelope."""

from dataclasses import dataclass

from scenarios_app.engine.canonical import Json


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error to be rendered in a provider's envelope.

    `type`, `code` and `param` are `None` where the wire's default for `status` applies. `body`
    replaces the envelope. `retry_after_ms` becomes the provider's own retry headers and
    `limited` its exhausted rate-limit headers; `retryable` becomes `x-should-retry`.
    """

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    body: Json = None
    headers: tuple[tuple[str, str], ...] = ()
    retry_after_ms: int | None = None
    retryable: bool | None = None
    limited: bool = False
