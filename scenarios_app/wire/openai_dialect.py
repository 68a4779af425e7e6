"""What all of OpenAI's routes share: keys, errors, headers, and the forms of paths on Azure."""

from collections.abc import Iterable
from dataclasses import replace

from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire.base import Call, Headers, Route
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai_errors import answer_headers, error_body, error_event

PROVIDER = "openai"
AZURE = "/openai/"
DEPLOYMENT = "deployment"

_BEARER = "bearer "
# What a deployment on Azure answers itself.
_DEPLOYED = frozenset({"chat/completions", "completions", "embeddings"})


class OpenAIDialect:
    """The part of a `Wire` that its OpenAI kinds share."""

    provider = PROVIDER
    prefixes: tuple[str, ...] = ("/v1/", AZURE)
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "text/event-stream; charset=utf-8"

    def api_key(self, call: Call) -> str | None:
        """The bearer token; under Azure's paths its own header comes first."""
        if call.path.startswith(AZURE) and (key := call.headers.get("api-key", "").strip()):
            return key
        sent = call.headers.get("authorization", "")
        if sent[: len(_BEARER)].lower() != _BEARER:
            return None
        return sent[len(_BEARER) :].strip() or None

    def authorise(self, call: Call) -> None:
        if self.api_key(call) is None:
            azure = " or 'api-key: KEY'" if call.path.startswith(AZURE) else ""
            raise WireError(
                401,
                "No API key was sent: it belongs in the header "
                f"'Authorization: Bearer KEY'{azure}.",
            )

    def check(self, call: Call, route: Route) -> None:
        """Nothing more than a key is asked for."""

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return error_body(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        return error_event(error)

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(request_id, error)


def with_azure(routes: Iterable[Route]) -> tuple[Route, ...]:
    """Routes under `/v1/`, and then their forms on Azure: of a deployment, of the `v1` API and of
    the dated ones."""
    own = tuple(routes)
    return (*own, *(alias for route in own for alias in _aliases(route)))


def _aliases(route: Route) -> Iterable[Route]:
    rest = route.pattern.removeprefix("/v1/")
    starts = [f"{AZURE}v1/", AZURE]
    if route.method == "POST" and rest in _DEPLOYED:
        starts.insert(0, f"{AZURE}deployments/{{{DEPLOYMENT}}}/")
    for start in starts:
        yield replace(route, pattern=start + rest, alias_of=route.canonical)
