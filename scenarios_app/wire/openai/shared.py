"""Code that OpenAI's endpoints share: keys, errors, headers, citations, and paths on Azure."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from scenarios_app.engine.canonical import ErrorAnswer, Json
from scenarios_app.engine.parts import Citation
from scenarios_app.wire.base import Call, Endpoint, Headers, Wire, encode_json, retry_headers
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.sample import MODELS
from scenarios_app.wire.openai.upstream import PROVIDER, upstream_of
from scenarios_app.wire.upstream import Upstream

AZURE = "/openai/"
DEPLOYMENT = "deployment"
# Those of deployments, of the `v1` API and of the dated APIs.
AZURE_PREFIXES = (f"{AZURE}deployments/{{{DEPLOYMENT}}}/", f"{AZURE}v1/", AZURE)

OLLAMA_PORT = ":11434"
# The paths that a deployment on Azure answers.
_DEPLOYMENT_PATHS = frozenset({"chat/completions", "completions", "embeddings"})

OPENAI_ERRORS: Mapping[str, ErrorAnswer] = {
    "rate_limited": ErrorAnswer(
        429,
        "Rate limit reached on requests per min (RPM): Limit 10000, Used 10000, Requested 1. "
        "Visit https://platform.openai.com/account/rate-limits to learn more.",
    ),
    "overloaded": ErrorAnswer(
        503,
        "Our servers are currently overloaded. Please try again later.",
        type="service_unavailable_error",
        code="server_is_overloaded",
    ),
}


class OpenAIWire(Wire):
    """The part of `Wire` that OpenAI's wires share."""

    models = MODELS
    key_headers: tuple[str, ...] = ("authorization", "api-key")
    provider = PROVIDER
    prefixes: tuple[str, ...] = ("/v1/", AZURE)
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "text/event-stream; charset=utf-8"
    own_errors = OPENAI_ERRORS
    upstream: Upstream | None = upstream_of(PROVIDER)

    def api_key(self, call: Call) -> str | None:
        """Return the bearer token; under Azure's paths the header api-key comes first. None without
        one."""
        if call.path.startswith(AZURE) and (key := call.headers.get("api-key", "").strip()):
            return key
        # As `bearer_token`, written out because every request comes here.
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        return (token.strip() or None) if scheme.lower() == "bearer" else None

    def authorise(self, call: Call) -> None:
        """Raise the 401 without a key, except on Ollama's port, where clients send none; Azure's
        paths need one there too."""
        if self.api_key(call) is None and not is_at_ollama_port(call):
            azure = " or 'api-key: KEY'" if call.path.startswith(AZURE) else ""
            raise WireError(
                401,
                "No API key was sent: it belongs in the header "
                f"'Authorization: Bearer KEY'{azure}.",
            )

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return encode_json(error_envelope(error))

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(request_id, error)


def is_at_ollama_port(call: Call) -> bool:
    """Return whether a call's host has Ollama's port and its path is not one of Azure."""
    at_port = call.headers.get("host", "").endswith(OLLAMA_PORT)
    return at_port and not call.path.startswith(AZURE)


def with_prefixes(endpoints: Iterable[Endpoint], starts: Iterable[str]) -> Iterator[Endpoint]:
    """Yield endpoints with each prefix in place of `/v1/`. A prefix with a deployment applies only
    to endpoints that deployments answer."""
    for endpoint in endpoints:
        rest = endpoint.pattern.removeprefix("/v1/")
        deployed = endpoint.method == "POST" and rest in _DEPLOYMENT_PATHS
        for start in starts:
            if deployed or DEPLOYMENT not in start:
                yield replace(endpoint, pattern=start + rest, alias_of=endpoint.canonical)


ERROR_CODES: Mapping[int, str] = {
    401: "invalid_api_key",
    404: "model_not_found",
    405: "method_not_supported",
    429: "rate_limit_exceeded",
}
_DEFAULT_RETRY_MS = 1000

# One of 10,000 requests a minute is restored in 6 ms, 1,000 of two million tokens in 30 ms.
_FULL_LIMITS: Headers = (
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "2000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "1999000"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "30ms"),
)


def error_envelope(error: ErrorAnswer) -> Json:
    """Return OpenAI's envelope; `type` and `code` default to those of the status."""
    code = ERROR_CODES.get(error.status)
    return {"error": error_fields(error, kind=error_type(error.status), code=code)}


def error_fields(error: ErrorAnswer, *, kind: str, code: Json) -> dict[str, Json]:
    """Return the fields of an error. `kind` and `code` are used if it has no type or code."""
    return {
        "message": error.message,
        "type": error.type or kind,
        "param": error.param,
        "code": error.code or code,
    }


def stream_error_code(error: ErrorAnswer) -> str:
    """Return an error's code, else that of its status, else its type: the event has only a code."""
    default = ERROR_CODES.get(error.status) or error.type or error_type(error.status)
    return error.code or default


def answer_headers(request_id: str, error: ErrorAnswer | None) -> Headers:
    """Return OpenAI's response headers: fixed values, the request id, rate limits and retries."""
    own: Headers = (
        ("x-request-id", f"req_{request_id}"),
        ("openai-processing-ms", "12"),
        ("openai-version", "2020-10-01"),
        ("openai-organization", "mockllm"),
    )
    return own + limit_headers(error) + openai_retry_headers(error)


def limit_headers(error: ErrorAnswer | None) -> Headers:
    """Return the rate limit headers: nothing remains after a rate limit error, else all but one
    request."""
    if error is None or not error.limited:
        return _FULL_LIMITS
    reset = format_duration(_retry_after_ms(error) or 0)
    return (
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-limit-tokens", "2000000"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-requests", reset),
        ("x-ratelimit-reset-tokens", reset),
    )


def openai_retry_headers(error: ErrorAnswer | None) -> Headers:
    """Return Retry-After, retry-after-ms and x-should-retry for an error, else nothing."""
    if error is None:
        return ()
    wait_ms = _retry_after_ms(error)
    return retry_headers(replace(error, retry_after_ms=wait_ms), ("retry-after-ms", str(wait_ms)))


def _retry_after_ms(error: ErrorAnswer) -> int | None:
    """Return the error's retry delay, else that of a rate limit, else None."""
    if error.limited and error.retry_after_ms is None:
        return _DEFAULT_RETRY_MS
    return error.retry_after_ms


def format_duration(milliseconds: int) -> str:
    """Return a reset time in OpenAI's format: `20ms`, `1.5s`, `6m0s`, `1h0m0s`."""
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1000:g}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def error_type(status: int) -> str:
    """Return the type that OpenAI's envelope has for a status."""
    if status >= 500:
        return "server_error"
    return "requests" if status == 429 else "invalid_request_error"


def citation_fields(citation: Citation, text: str, *, before: int = 0) -> dict[str, Json]:
    """Return the fields of a cited page, with the range of the content that it supports: `text`
    comes after `before` characters of the content."""
    start, end = citation.span_in(text)
    return {
        "start_index": before + start,
        "end_index": before + end,
        "title": citation.title or "",
        "url": citation.url,
    }
