"""Reads plain chat requests of OpenAI's API, texts without tools, from typed values: faster than
`read_chat`, which reads all others."""

from functools import cache
from typing import Literal

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, Message, ToolChoice
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Limits
from scenarios_app.wire.openai.chat_request import OTHER_PROVIDERS, ChatFields, dialect_of_model
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import OPENAI

# Nesting of the types below.
_LEVELS = 4
_ANY_CHOICE = ToolChoice()


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["user", "system", "developer", "assistant"]
    content: str
    refusal: None = None
    tool_calls: None = None


class _StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


_DEFAULT_OPTIONS = _StreamOptions()


class _ChatBody(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a plain request. Each has the type that `read_chat` demands of it."""

    messages: list[_Message]
    model: str
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    metadata: dict[str, str] | None = None
    reasoning_effort: str | None = None
    seed: int | None = None
    store: bool | None = None
    user: str | None = None


_decode = msgspec.json.Decoder(_ChatBody).decode


def read_plain_chat(
    call: Call, endpoint: Endpoint, params: Params, limits: Limits, dialect: Dialect = OPENAI
) -> CanonicalRequest | None:
    """Return the request that `read_chat` returns for a plain body; None for any other body, for a
    model whose prefix may be a dialect's, and where a limit may be exceeded."""
    if len(call.body) >= limits.nodes or limits.depth < _LEVELS:
        return None
    try:
        body = _decode(call.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    model = body.model
    if not model or not 0 < len(body.messages) <= limits.messages:
        return None
    if dialect is OPENAI and "/" in model and dialect_of_model(model) is not OPENAI:
        return None
    limit, options = body.max_completion_tokens, body.stream_options or _DEFAULT_OPTIONS
    return CanonicalRequest(
        provider=dialect.provider,
        also=OTHER_PROVIDERS[dialect.name],
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=tuple([_to_message(message) for message in body.messages]),
        choice=_ANY_CHOICE,
        stream=body.stream or False,
        temperature=body.temperature,
        top_p=body.top_p,
        max_tokens=body.max_tokens if limit is None else limit,
        reasoning=body.reasoning_effort is not None and body.reasoning_effort != "none",
        headers=call.headers,
        metadata=body.metadata or {},
        own=_chat_fields(
            dialect, options.include_usage or False, options.include_obfuscation is not False
        ),
    )


def _to_message(message: _Message) -> Message:
    role = "system" if message.role == "developer" else message.role
    return Message(role, (TextPart(message.content),))


@cache
def _chat_fields(dialect: Dialect, include_usage: bool, obfuscated: bool) -> ChatFields:
    """Return the fields of a plain request, the same object for equal arguments."""
    return ChatFields(include_usage=include_usage, obfuscated=obfuscated, dialect=dialect)
