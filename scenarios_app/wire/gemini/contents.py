"""Parses the `contents` of a Gemini request into messages.

The official clients send a streamed response back as one content for each chunk, of which the last
is an empty text. Consecutive model contents up to there are one message.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import Json, Message
from scenarios_app.engine.parts import (
    MessagePart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from scenarios_app.wire.base import encode_json, user_messages
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.fields import (
    decode_signature,
    find_field,
    list_field,
    read_field,
    require_field,
    text_field,
    to_snake_case,
)

_ROLES = ("user", "model", "function")
# Keys that a part may have beside its data.
_SECONDARY_KEYS = frozenset(
    {"thought", "thought_signature", "video_metadata", "part_metadata", "media_resolution"}
)
# The key of a function's result: Google's, then that of the official client.
_RESULT_KEYS = ("output", "result")

# A part with its signature; None if there is only a signature.
SignedPart: TypeAlias = tuple[MessagePart | None, str | None]
SignedParts: TypeAlias = list[SignedPart]


def read_contents(contents: Iterator[Node]) -> Iterator[Message]:
    """Yield the messages of a conversation; calls and results without ids get matching ones."""
    calls = _CallIds()
    for of_model, run in groupby(contents, _is_model):
        if of_model:
            yield from _model_messages(run, calls)
        else:
            for content in run:
                yield from user_messages(tuple(_read_parts(content, calls)))


def read_system(content: Node) -> Message:
    """Return the system instruction; its role is ignored."""
    return Message("system", tuple(_read_parts(content, _CallIds())))


def read_text(content: Node) -> str:
    """Return the text of a content to be embedded."""
    return Message("user", tuple(_read_parts(content, _CallIds()))).text


class _CallIds(msgspec.Struct):
    """The ids of a conversation's calls: by name those without a result, and the answered ones."""

    count: int = 0
    waiting: defaultdict[str, deque[str]] = msgspec.field(
        default_factory=lambda: defaultdict(deque)
    )
    answered: set[str] = set()

    def add_call(self, explicit_id: str | None, name: str) -> str:
        """Add a call and return its id: the client's, else one made of the call's number."""
        self.count += 1
        call_id = explicit_id or f"call-{self.count}"
        self.waiting[name].append(call_id)
        return call_id

    def match_result(self, explicit_id: str | None, name: str) -> str:
        """Return the id of a result's call: the client's, else the first open call of this name,
        else the name."""
        if explicit_id:
            self.answered.add(explicit_id)
            return explicit_id
        waiting = self.waiting[name]
        while waiting:
            if (call_id := waiting.popleft()) not in self.answered:
                return call_id
        return name


def _is_model(content: Node) -> bool:
    """Return whether a content is by the model; raise the 400 for an unknown role."""
    role = text_field(content, "role") or "user"
    if role in _ROLES:
        return role == "model"
    place = content.get("role").place
    raise WireError(400, f"{place}: Please use a valid role: user, model.", param=place)


def _model_messages(contents: Iterable[Node], calls: _CallIds) -> Iterator[Message]:
    """Yield a message for each content; those before one with only an empty text become one."""
    streamed: list[SignedParts] = []
    for content in contents:
        nodes = list_field(content, "parts")
        content_parts = [(_read_part(node, calls), _read_signature(node)) for node in nodes]
        streamed.append(content_parts)
        if [part for part, _ in content_parts] == [TextPart("")]:
            yield Message("assistant", _join_contents(streamed))
            streamed = []
    yield from (Message("assistant", _join_contents([content_parts])) for content_parts in streamed)


def _join_contents(contents: Iterable[SignedParts]) -> tuple[MessagePart, ...]:
    """Return the parts of a message, each signature on the reasoning that it belongs to.

    The API puts signatures on the call or text after the reasoning; hidden reasoning has only its
    signature.
    """
    parts: list[MessagePart] = []
    latest: ReasoningPart | None = None
    place = 0
    for part, signature in map(_join_pieces, _group_pieces(contents)):
        if isinstance(part, ReasoningPart):
            latest, place = part, len(parts)
        elif signature and latest and latest.signature is None:
            latest = parts[place] = replace(latest, signature=signature)
        elif signature and not (latest and latest.signature == signature):
            latest, place = ReasoningPart("", signature=signature), len(parts)
            parts.append(latest)
        if part is not None and part != TextPart(""):
            parts.append(part)
    return tuple(parts)


def _group_pieces(contents: Iterable[SignedParts]) -> Iterator[SignedParts]:
    """Yield each part as a list of its pieces; pieces of one part meet where contents meet."""
    pieces: SignedParts = []
    for parts in contents:
        for number, piece in enumerate(parts):
            if pieces and not (number == 0 and _continues_part(pieces[-1], piece)):
                yield pieces
                pieces = []
            pieces.append(piece)
    if pieces:
        yield pieces


def _continues_part(before: SignedPart, piece: SignedPart) -> bool:
    """Return whether a piece continues the part before it; a signature ends a part."""
    (last, signature), (part, _) = before, piece
    streams = isinstance(part, TextPart | ReasoningPart)
    return streams and type(last) is type(part) and signature is None


def _join_pieces(pieces: SignedParts) -> SignedPart:
    """Return one part with the text of all pieces, and the signature of the last."""
    part, signature = pieces[-1]
    if isinstance(part, TextPart | ReasoningPart):
        texts = (p.text for p, _ in pieces if isinstance(p, TextPart | ReasoningPart))
        part = replace(part, text="".join(texts))
    return part, signature


def _read_parts(content: Node, calls: _CallIds) -> Iterator[MessagePart]:
    """Yield the parts of a content, apart from those that are only a signature."""
    for node in list_field(content, "parts"):
        if (part := _read_part(node, calls)) is not None:
            yield part


def _read_part(node: Node, calls: _CallIds) -> MessagePart | None:
    """Return one part, an OpaquePart for unknown data, or None for a signature alone; raise the
    400 for a part without data."""
    if text := find_field(node, "text"):
        if read_field(node, "thought", Node.flag):
            return ReasoningPart(text.text(), signature=_read_signature(node))
        return TextPart(text.text())
    if call := find_field(node, "functionCall"):
        name = require_field(call, "name").text()
        arguments = encode_json(read_field(call, "args", Node.object) or {}).decode()
        return ToolCallPart(calls.add_call(text_field(call, "id"), name), name, arguments)
    if response := find_field(node, "functionResponse"):
        return _read_result(response, calls)
    keys = (key for key in node.object() if to_snake_case(key) not in _SECONDARY_KEYS)
    if (data := next(filter(node.maybe, keys), None)) is not None:
        return OpaquePart(data)
    if _read_signature(node):
        return None
    raise WireError(
        400,
        f"{node.place}.data: required oneof field 'data' must have one initialized field",
        param=node.place,
    )


def _read_signature(node: Node) -> str | None:
    """Return a part's signature decoded, or unchanged if it is no base64; None without one."""
    sent = text_field(node, "thoughtSignature")
    return decode_signature(sent) if sent else None


def _read_result(node: Node, calls: _CallIds) -> ToolResultPart:
    """Return a function's response; it belongs to the call of its id, or to an open one of its
    name."""
    name = require_field(node, "name").text()
    call_id = calls.match_result(text_field(node, "id"), name)
    fields = read_field(node, "response", Node.object) or {}
    if error := fields.get("error"):
        return ToolResultPart(call_id, name, _to_text(error), is_error=True)
    returned = [fields[key] for key in _RESULT_KEYS if fields.get(key) is not None]
    content = returned[0] if returned else fields
    return ToolResultPart(call_id, name, _to_text(content))


def _to_text(value: Json) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()
