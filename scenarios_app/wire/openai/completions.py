"""OpenAI's legacy completions: prompts in, plain text out."""

from collections.abc import Callable, Mapping
from itertools import accumulate

import msgspec

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Message,
)
from scenarios_app.engine.parts import (
    Finish,
    OpaquePart,
    PartDelta,
    RefusalPart,
    StreamEvent,
    TextPart,
)
from scenarios_app.engine.producing.usage import split_tokens, top_tokens
from scenarios_app.wire.base import Call, Endpoint, Params, encode_json, encode_line
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.chat_answer import RESERVED_FIELDS, finish_reason
from scenarios_app.wire.openai.chat_decode import DECODER
from scenarios_app.wire.openai.dialects.usages import openai_usage
from scenarios_app.wire.openai.fields import (
    COMMON,
    DEFAULT_STREAM_OPTIONS,
    MAX_CHOICES,
    read_choice_count,
    read_fields,
    read_model,
    read_stop,
    read_top_logprobs,
)
from scenarios_app.wire.openai.shared import DEPLOYMENT
from scenarios_app.wire.openai.upstream import PROVIDER

_MAX_LOGPROBS = 5
# Fields without effect here: only their type is checked, as by the real API.
_FIELDS: Mapping[str, Callable[[Node], object]] = {
    **COMMON,
    "best_of": Node.integer,
    "echo": Node.flag,
    "logit_bias": Node.object,
    "logprobs": Node.integer,
    "max_tokens": Node.integer,
    "n": read_choice_count,
    "seed": Node.integer,
    "stop": read_stop,
    "suffix": Node.text,
}


class CompletionFields(msgspec.Struct, frozen=True):
    """Fields of a completion request that affect only its response.

    `echo` repeats the prompt, `include_usage` adds a usage chunk to a stream, `logprobs` is the
    number of alternatives per token, None for no log probabilities.
    """

    echo: bool = False
    include_usage: bool = False
    logprobs: int | None = None


def read_completion(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request with a user message for each prompt. Raises the 400, also for too many
    choices."""
    model = read_model(body, params.get(DEPLOYMENT))
    prompts = _read_prompts(body.get("prompt"))
    fields = read_fields(body, _FIELDS)
    n = fields.get("n", 1)
    if n * len(prompts) > MAX_CHOICES:
        raise WireError(
            400,
            f"Invalid 'prompt': {n} choices for each of {len(prompts)} prompts are more than "
            f"{MAX_CHOICES}.",
            param="prompt",
            code="array_above_max_length",
        )
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=prompts,
        stream=fields.get("stream", False),
        temperature=fields.get("temperature"),
        top_p=fields.get("top_p"),
        max_tokens=fields.get("max_tokens"),
        stop=fields.get("stop", ()),
        n=n * len(prompts),
        headers=call.headers,
        own=CompletionFields(
            fields.get("echo", False),
            fields.get("stream_options", DEFAULT_STREAM_OPTIONS).include_usage,
            read_top_logprobs(body, _MAX_LOGPROBS, "logprobs") if "logprobs" in fields else None,
        ),
    )


def render_text_completion(request: CanonicalRequest, response: CanonicalResponse) -> bytes:
    """Return the whole response: the prompt if it is echoed, then text and refusals; other parts
    are left out."""
    count = len(response.choices)
    choices: list[Json] = []
    for index, choice in enumerate(response.choices):
        texts = (part.text for part in choice.parts if isinstance(part, TextPart | RefusalPart))
        text = "".join((_echoed_prompt(request, index, count), *texts))
        choices.append(_choice_json(index, text, _finish_reason(choice), request.own))
    usage = openai_usage(response.usage)
    return encode_json({**_top_fields(response), "choices": choices, "usage": usage})


class CompletionEncoder:
    """Encodes one stream: for each choice a chunk per piece of text, then a finish chunk."""

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._own: CompletionFields = request.own
        # The characters sent of each choice that has begun.
        self._sent_chars: dict[int, int] = {}
        self._head = encode_json(_top_fields(response))[1:-1]
        self._tail = b',"usage":null}' if self._own.include_usage else b"}"

    def opening(self) -> bytes:
        return b""

    def event(self, event: StreamEvent) -> bytes:
        sent = b""
        if event.choice not in self._sent_chars:
            self._sent_chars[event.choice] = 0
            if echo := _echoed_prompt(self._request, event.choice, len(self._response.choices)):
                sent = self._chunk(event.choice, echo)
        match event:
            case PartDelta(part=TextPart() | RefusalPart()):
                sent += self._chunk(event.choice, event.text)
            case Finish():
                reason = _finish_reason(self._response.choices[event.choice])
                sent += self._chunk(event.choice, "", reason)
        return sent

    def closing(self) -> bytes:
        if not self._own.include_usage:
            return b"data: [DONE]\n\n"
        usage = encode_json(openai_usage(self._response.usage))
        last = b'data: {%b,"choices":[],"usage":%b}\n\n' % (self._head, usage)
        return last + b"data: [DONE]\n\n"

    def _chunk(self, choice: int, text: str, reason: str | None = None) -> bytes:
        """Return a chunk with this text of a choice, and count its characters as sent."""
        offset = self._sent_chars[choice]
        self._sent_chars[choice] += len(text)
        fields = encode_line(_choice_json(choice, text, reason, self._own, offset=offset))
        return b'data: {%b,"choices":[%b]%b\n\n' % (self._head, fields, self._tail)


def _read_prompts(node: Node) -> tuple[Message, ...]:
    """Return a message for each prompt, an empty one if it is null; raise the 400 for an empty list
    and other types."""
    match node.value:
        case None:
            return (Message("user", (TextPart(""),)),)
        case str() | [int(), *_]:
            return (_read_prompt(node),)
        case [_, *_]:
            return tuple(map(_read_prompt, node.items()))
        case _:
            raise node.wrong("a string or an array of prompts")


def _read_prompt(node: Node) -> Message:
    """Return the message of one prompt, a text or a list of tokens; tokens have no text."""
    if not isinstance(node.value, list):
        return Message("user", (TextPart(node.text()),))
    for token in node.items():
        token.integer()
    return Message("user", (OpaquePart("tokens"),))


def _echoed_prompt(request: CanonicalRequest, choice: int, choices: int) -> str:
    """Return the prompt of a choice if the request has `echo`, else "". Each prompt has the same
    share of the `choices`."""
    own: CompletionFields = request.own
    if not own.echo:
        return ""
    return request.messages[choice * len(request.messages) // choices].text


def _finish_reason(choice: Choice) -> str:
    """Return the finish reason of a choice; `stop` for calls, which legacy completions lack."""
    reason = finish_reason(choice.finish_reason, legacy=False)
    return "stop" if reason == "tool_calls" else reason


def _top_fields(response: CanonicalResponse) -> dict[str, Json]:
    """Return the fields that a completion and its chunks have beside the choices."""
    return {
        "id": f"cmpl-{response.id}",
        "object": "text_completion",
        "created": response.created,
        "model": response.model,
        "system_fingerprint": None,
        **{k: v for k, v in response.metadata.items() if k not in RESERVED_FIELDS},
    }


def _legacy_logprobs(text: str, top: int, *, offset: int = 0) -> Json:
    """Return the log probabilities of a legacy completion; `offset` is where the text begins."""
    tokens = split_tokens(text)
    *offsets, _ = accumulate((len(token.text) for token in tokens), initial=offset)
    return {
        "tokens": [token.text for token in tokens],
        "token_logprobs": [token.logprob for token in tokens],
        "top_logprobs": [
            {other.text: other.logprob for other in top_tokens(token, top)} for token in tokens
        ],
        "text_offset": list(offsets),
    }


def _choice_json(
    index: int, text: str, reason: str | None, own: CompletionFields, *, offset: int = 0
) -> Json:
    """Return a choice; `offset` is the position of its text for log probabilities."""
    logprobs = None
    if own.logprobs is not None and text:
        logprobs = _legacy_logprobs(text, own.logprobs, offset=offset)
    return {"text": text, "index": index, "logprobs": logprobs, "finish_reason": reason}


ENDPOINT = Endpoint(
    "POST",
    "/v1/completions",
    read_completion,
    decoder=DECODER,
    render=render_text_completion,
    encode=CompletionEncoder,
)
