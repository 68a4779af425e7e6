"""Reads the fields of Ollama's requests, and encodes conversations as `context` numbers."""

import binascii
import re
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from scenarios_app.engine.canonical import ANY_OBJECT, Json, JsonFormat, Message, Tool
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

_MAX_TOP_LOGPROBS = 20
# Go's durations: "5m", "1h30m", "-1s", and a bare zero.
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_NONZERO_DIGIT = re.compile(r"[1-9]")


class ModelSettings(msgspec.Struct, frozen=True):
    """The model settings that affect a response."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    context_length: int | None = None


def require_field(node: Node, key: str) -> Node:
    """Return the node at a required key; raise Ollama's 400 if it is missing or null."""
    if field := node.maybe(key):
        return field
    raise WireError(400, f"{node.get(key).place} is required")


def read_model(body: Node) -> str:
    """Return the model's name; raise the 400 if it is missing or empty."""
    name = require_field(body, "model").text()
    if not name:
        raise WireError(400, "model is required")
    return name


def text_field(body: Node, key: str) -> str:
    """Return a text, or an empty one if it is missing; raise the 400 for another type."""
    return body.optional(key, Node.text) or ""


def read_settings(body: Node) -> ModelSettings:
    """Return the settings in `options`; raise the 400 for wrong types. Unknown ones are ignored."""
    options = body.maybe("options") or Node({})
    options.optional("seed", Node.integer)
    limit = options.optional("num_predict", Node.integer)
    return ModelSettings(
        temperature=options.optional("temperature", Node.number),
        top_p=options.optional("top_p", Node.number),
        # A negative number means no limit.
        max_tokens=limit if limit is None or limit >= 0 else None,
        stop=tuple(map(Node.text, options.items_at("stop"))),
        context_length=options.optional("num_ctx", Node.integer),
    )


def has_thinking(body: Node) -> bool:
    """Return whether thinking is on, by a boolean or a level (off if empty or `none`); raise the
    400 for another type."""
    node = body.get("think")
    match node.value:
        case None:
            return False
        case bool(wanted):
            return wanted
        case str(level):
            return level not in ("", "none")
        case _:
            raise node.wrong("a boolean or a string")


def read_format(body: Node) -> Json:
    """Return the response format, `json`, a JSON Schema, or None; raise the 400 if it is
    invalid."""
    node = body.get("format")
    match node.value:
        case None | "":
            return None
        case "json" | dict():
            return node.value
        case str(other):
            raise WireError(
                400, f'invalid format: "{other}"; expected "json" or a valid JSON Schema object'
            )
        case _:
            raise node.wrong("a string or an object")


def to_json_format(form: Json) -> JsonFormat | None:
    """Return the JSON format that a response must have, if any."""
    if form is None:
        return None
    return JsonFormat(ANY_OBJECT if form == "json" else form, "format")


def is_unload(body: Node) -> bool:
    """Return whether `keep_alive` asks to unload the model now; raise the 400 if it is invalid."""
    node = body.get("keep_alive")
    match node.value:
        case None:
            return False
        case str(text):
            if not _DURATION.fullmatch(text):
                raise WireError(400, f'{node.place}: invalid duration "{text}"')
            return not _NONZERO_DIGIT.search(text)
        case _:
            return node.number() == 0


def read_logprobs(body: Node) -> int | None:
    """Return the number of alternatives per token, or None without log probabilities; raise the 400
    for a number out of range."""
    top = body.optional("top_logprobs", Node.integer) or 0
    if not 0 <= top <= _MAX_TOP_LOGPROBS:
        raise WireError(400, f"top_logprobs must be between 0 and {_MAX_TOP_LOGPROBS}")
    return top if body.optional("logprobs", Node.flag) else None


def read_images(node: Node) -> Iterator[OpaquePart]:
    """Yield the images beside a text; raise the 400 for one that is not in base64."""
    for image in node.items_at("images"):
        try:
            binascii.a2b_base64(image.text(), strict_mode=True)
        except ValueError:
            raise WireError(400, f"{image.place} is not valid base64") from None
        yield OpaquePart("image")


def read_tool(node: Node) -> Tool:
    """Return a tool that a request offers."""
    text_field(node, "type")
    function = require_field(node, "function")
    return Tool(
        name=require_field(function, "name").text(),
        description=text_field(function, "description"),
        schema=function.optional("parameters", Node.object),
    )


# The oldest messages are dropped beyond this.
MAX_CONTEXT_NUMBERS = 16_384
_decode_turns = msgspec.json.Decoder(list[tuple[Literal["user", "assistant"], str]]).decode


def encode_context(messages: Sequence[Message]) -> list[int]:
    """Return the numbers, at most MAX_CONTEXT_NUMBERS, for the latest texts of user and assistant:
    the 16-bit words of their JSON."""
    turn_messages = [message for message in messages if message.role in ("user", "assistant")]
    turns = deque(encode_json([message.role, message.text]) for message in turn_messages)
    size = 1 + sum(len(turn) + 1 for turn in turns)
    while size > 2 * MAX_CONTEXT_NUMBERS:
        size -= len(turns.popleft()) + 1
    data = b"[%b]" % b",".join(turns)
    # JSON ignores a trailing space, which makes the number of bytes even.
    even = data + b" " * (len(data) % 2)
    return list(struct.unpack(f"<{len(even) // 2}H", even))


def decode_context(numbers: Sequence[Json]) -> tuple[Message, ...]:
    """Return the conversation of a `context`; empty if another server made the numbers."""
    try:
        turns = _decode_turns(struct.pack(f"<{len(numbers)}H", *numbers))
    except (struct.error, msgspec.MsgspecError, UnicodeDecodeError):
        return ()
    return tuple(Message(role, (TextPart(text),)) for role, text in turns)
