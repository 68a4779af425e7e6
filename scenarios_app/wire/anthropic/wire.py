"""The Anthropic wire: messages, batches, token counts and the models list."""

from functools import partial

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.wire.anthropic import batches
from scenarios_app.wire.anthropic.answer import HOSTED_TOOLS, render_message
from scenarios_app.wire.anthropic.decode import DECODER
from scenarios_app.wire.anthropic.errors import OWN_ERRORS, answer_headers, error_envelope
from scenarios_app.wire.anthropic.models import model_info, read_page, render_page
from scenarios_app.wire.anthropic.request import MESSAGES, read_request, read_thread_id
from scenarios_app.wire.anthropic.sample import MODELS, sample, sdk_setups
from scenarios_app.wire.anthropic.stream import AnthropicEncoder
from scenarios_app.wire.anthropic.upstream import PROVIDER, UPSTREAM
from scenarios_app.wire.base import (
    Call,
    ComputeContext,
    Endpoint,
    Params,
    Wire,
    bearer_token,
    encode_json,
    make_resource_request,
    named_sse,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError


def _read(
    call: Call, endpoint: Endpoint, params: Params, body: Node, *, counted: bool = False
) -> CanonicalRequest:
    """Return a request for a message, or to count its tokens; raise the 404 for a beta thread."""
    try:
        if (held := read_thread_id(body)) is None:
            return read_request(call, endpoint, body, counted=counted)
    except WireError as error:
        # The envelope has no field for the parameter: the message names it.
        raise WireError(error.answer.status, error.answer.message) from None
    # On this code the official client sends the whole conversation instead.
    raise WireError(
        404,
        f"thread.previous_message_id: no conversation is held under '{held}'",
        code="thread_not_found",
    )


def _read_model(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request about one model, or about a page of the list."""
    model = params.get("model", "")
    own = None if model else read_page(call)
    return make_resource_request(call, endpoint, own, provider=PROVIDER, model=model)


def _count(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the body of a token count."""
    tokens = count_input(request)
    managed = {"context_management": {"original_input_tokens": tokens}}
    return encode_json({"input_tokens": tokens, **(managed if request.own.managed else {})})


def _show_models(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the named model, whether it is known or not, or a page of all models."""
    if request.model:
        return encode_json(model_info(request.model))
    return encode_json(render_page(map(model_info, context.models), request.own))


class AnthropicMessages(Wire):
    """Anthropic's API. Beta calls use the same endpoints with a query that is ignored."""

    name = "anthropic"
    title = "Anthropic"
    models = MODELS
    key_headers = ("x-api-key", "authorization")
    provider = PROVIDER
    prefixes = ("/v1/",)
    endpoints = (
        Endpoint(
            "POST",
            MESSAGES,
            _read,
            render=lambda request, response: encode_json(render_message(response, request.own)),
            encode=lambda request, response: AnthropicEncoder(response, request.own),
            decoder=DECODER,
            sends=HOSTED_TOOLS | {"citations", "mcp", "mcp_list_tools"},
        ),
        Endpoint("POST", f"{MESSAGES}/count_tokens", partial(_read, counted=True), compute=_count),
        *batches.ENDPOINTS,
        Endpoint("GET", "/v1/models", _read_model, compute=_show_models),
        Endpoint("GET", "/v1/models/{model}", _read_model, compute=_show_models),
    )
    tool_call_prefix = "toolu_"
    sequential = True
    signs_reasoning = True
    stream_type = "text/event-stream; charset=utf-8"
    malformed_body = b'{"id":"msg_0","type":"message","role":"assistant","content":[{"type":"te'
    malformed_event = named_sse(
        "content_block_delta", b'{"type":"content_block_delta","index":0,"delta":{"type":"te'
    )
    own_errors = OWN_ERRORS
    upstream = UPSTREAM
    sample = staticmethod(sample)
    sdk_setups = staticmethod(sdk_setups)
    error = staticmethod(error_envelope)
    headers = staticmethod(answer_headers)

    def claims(self, call: Call) -> bool:
        """Return whether a call below /v1/ is for Anthropic, by its path or its version header."""
        below_messages = f"{call.path}/".startswith(f"{MESSAGES}/")
        return below_messages or "anthropic-version" in call.headers

    def api_key(self, call: Call) -> str | None:
        return call.headers.get("x-api-key", "").strip() or bearer_token(call)

    def authorise(self, call: Call) -> None:
        """Raise a 401 without an API key; any key is accepted."""
        if self.api_key(call) is None:
            raise WireError(401, "x-api-key header is required")

    def check_headers(self, call: Call) -> None:
        """Raise a 400 without an `anthropic-version`."""
        if not call.headers.get("anthropic-version", "").strip():
            raise WireError(400, "anthropic-version: header is required")

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        return named_sse("error", error_envelope(error, request_id=None))


WIRE: Wire = AnthropicMessages()
