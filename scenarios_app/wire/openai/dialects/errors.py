"""The error envelopes and response headers of the dialects."""

from collections.abc import Callable
from http import HTTPStatus

from scenarios_app.engine.canonical import ErrorAnswer, Json
from scenarios_app.wire.base import Headers
from scenarios_app.wire.openai.shared import (
    ERROR_CODES,
    error_fields,
    error_type,
    limit_headers,
    openai_retry_headers,
)


def openrouter_error(error: ErrorAnswer) -> Json:
    """Return an envelope with the status as code, and scripted fields in the metadata."""
    scripted = {"type": error.type, "code": error.code, "param": error.param}
    metadata: dict[str, Json] = {key: value for key, value in scripted.items() if value is not None}
    fields: dict[str, Json] = {"message": error.message, "code": error.status}
    if error.limited:
        metadata = {"raw": error.message, "provider_name": "mockllm", **metadata}
    if metadata:
        fields["metadata"] = metadata
    return {"error": fields, "user_id": "user_mockllm"} if error.limited else {"error": fields}


def vllm_error(error: ErrorAnswer) -> Json:
    """Return vLLM's envelope; by default its type is the status's name, such as
    `BadRequestError`, and its code the status."""
    try:
        name = HTTPStatus(error.status).phrase.title().replace(" ", "")
    except ValueError:
        name = "Unknown"
    kind = f"{name.removesuffix('Error')}Error"
    return {"error": error_fields(error, kind=kind, code=error.status)}


_DEEPSEEK_TYPES = {401: "authentication_error", 402: "unknown_error", 429: "rate_limit_reached"}


def deepseek_error(error: ErrorAnswer) -> Json:
    """Return an envelope with DeepSeek's types; the default code is `invalid_request_error`, and
    null from status 500."""
    kind = _DEEPSEEK_TYPES.get(error.status) or error_type(error.status)
    code = "invalid_request_error" if error.status < 500 else None
    return {"error": error_fields(error, kind=kind, code=code)}


def groq_error(error: ErrorAnswer) -> Json:
    """Return an envelope without null fields."""
    kind = "tokens" if error.status == 429 else _default_error_type(error.status)
    fields = error_fields(error, kind=kind, code=ERROR_CODES.get(error.status))
    return {"error": {key: value for key, value in fields.items() if value is not None}}


_MISTRAL_CODES = {400: "3051", 401: "3001", 404: "1500", 422: "3051", 429: "1300"}


def mistral_error(error: ErrorAnswer) -> Json:
    """Return the error's fields without an envelope around them."""
    kind = "rate_limited" if error.status == 429 else _default_error_type(error.status)
    fields = error_fields(error, kind=kind, code=_MISTRAL_CODES.get(error.status, "3000"))
    return {"object": "error", **fields, "raw_status_code": error.status}


_XAI_CODES = {
    401: "The caller does not have valid authentication credentials",
    403: "The caller does not have permission to execute the specified operation",
    404: "Some requested entity was not found",
    429: "Some resource has been exhausted",
}


def xai_error(error: ErrorAnswer) -> Json:
    """Return an object whose `error` is the message and whose `code` is by default a sentence."""
    other = "Internal error" if error.status >= 500 else "Client specified an invalid argument"
    return {
        "code": error.code or _XAI_CODES.get(error.status, other),
        "error": error.message,
    }


def ollama_error(error: ErrorAnswer) -> Json:
    """Return an envelope with Ollama's types, and a null code unless it is scripted."""
    kind = "not_found_error" if error.status == 404 else "invalid_request_error"
    if error.status >= 500:
        kind = "api_error"
    return {"error": error_fields(error, kind=kind, code=error.code)}


def _default_error_type(status: int) -> str:
    """Return the type of errors of Groq and Mistral beside those of a rate limit."""
    return "internal_server_error" if status >= 500 else "invalid_request_error"


def make_header_builder(
    *own: tuple[str, str], limits: bool = False
) -> Callable[[str, ErrorAnswer | None], Headers]:
    """Return a function for response headers: these (with `{id}` for the request id), then the
    limits, if sent, and the retry headers."""

    def headers(request_id: str, error: ErrorAnswer | None) -> Headers:
        named = tuple((name, value.replace("{id}", request_id)) for name, value in own)
        return named + (limit_headers(error) if limits else ()) + openai_retry_headers(error)

    return headers
