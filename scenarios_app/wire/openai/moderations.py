"""OpenAI's moderations: a few fixed words flag each category, so that tests can trigger it."""

import hashlib
import re
from collections.abc import Iterator, Mapping

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message
from scenarios_app.engine.parts import MessagePart, OpaquePart, TextPart
from scenarios_app.wire.base import (
    Call,
    ComputeContext,
    Endpoint,
    Params,
    encode_json,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.fields import unsupported
from scenarios_app.wire.openai.upstream import PROVIDER

MODEL = "omni-moderation-latest"
# Whole words in any case. A subcategory also flags its category.
CATEGORIES: Mapping[str, str] = {
    "harassment": "idiot|moron|harassment",
    "harassment/threatening": "i will hurt you|threaten you",
    "hate": "hate speech|subhuman",
    "hate/threatening": "exterminate them",
    "illicit": "shoplift|launder money",
    "illicit/violent": "build a bomb|make a bomb",
    "self-harm": "self-harm|suicide|kill myself|hurt myself",
    "self-harm/instructions": "how to kill myself|how to hurt myself",
    "self-harm/intent": "i want to kill myself|i want to hurt myself",
    "sexual": "pornography|porn",
    "sexual/minors": "child abuse material",
    "violence": "kill|murder|stab|shoot|bomb",
    "violence/graphic": "bloody corpse|severed head",
}
_IMAGE_CATEGORIES = frozenset(
    name for name in CATEGORIES if name.startswith(("self-harm", "violence")) or name == "sexual"
)
_WORDS = {name: re.compile(rf"(?i)\b(?:{words})\b", re.ASCII) for name, words in CATEGORIES.items()}


def read_moderations(
    call: Call, endpoint: Endpoint, params: Params, body: Node
) -> CanonicalRequest:
    """Return a request with a user message per input; a list of parts is one input. Raises the 400
    for another type."""
    field = body.need("input")
    match field.value:
        case str(text):
            messages = [Message("user", (TextPart(text),))]
        case [dict(), *_]:
            messages = [Message("user", tuple(_read_part(node) for node in field.items()))]
        case list():
            messages = [Message("user", (TextPart(node.text()),)) for node in field.items()]
        case _:
            raise field.wrong("a string or an array")
    model = body.optional("model", Node.text)
    return make_resource_request(
        call,
        endpoint,
        provider=PROVIDER,
        model=MODEL if model is None else model,
        messages=tuple(messages),
    )


def compute_moderations(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return one result per input."""
    results: list[Json] = [_moderation_result(message) for message in request.messages]
    body = {"id": f"modr-{context.request_id}", "model": request.model, "results": results}
    return encode_json(body)


def _read_part(node: Node) -> MessagePart:
    """Return a text, or an image without its content; raise a 400 for another type."""
    kind = node.need("type")
    match kind.text():
        case "text":
            return TextPart(node.need("text").text())
        case "image_url":
            node.need("image_url").need("url").text()
            return OpaquePart("image_url")
        case _:
            raise unsupported(kind, "'text' and 'image_url'")


def _moderation_result(message: Message) -> Json:
    """Return the result for one input: the categories of its words, with scores."""
    text = message.text
    flagged = set(_flagged_categories(text))
    texts = ["text"] if any(isinstance(part, TextPart) for part in message.parts) else []
    images = ["image"] if any(isinstance(part, OpaquePart) for part in message.parts) else []
    return {
        "flagged": bool(flagged),
        "categories": {name: name in flagged for name in CATEGORIES},
        "category_scores": {
            name: _score(name, text, flagged=name in flagged) for name in CATEGORIES
        },
        "category_applied_input_types": {
            name: [*texts, *images] if name in _IMAGE_CATEGORIES else [*texts]
            for name in CATEGORIES
        },
    }


def _flagged_categories(text: str) -> Iterator[str]:
    """Yield the categories of which the text has a word, each with its main category."""
    for name, words in _WORDS.items():
        if words.search(text):
            yield name
            yield name.partition("/")[0]


def _score(name: str, text: str, *, flagged: bool) -> float:
    """Return a score near 1 if flagged, else near 0, derived from the text's hash."""
    digest = hashlib.sha256(f"{name}\0{text}".encode("utf-8", "surrogatepass")).digest()
    share = int.from_bytes(digest[:4], "little") / 2**32
    return round(0.9 + share / 10, 6) if flagged else round(share / 1000, 9)


ENDPOINT = Endpoint("POST", "/v1/moderations", read_moderations, compute=compute_moderations)
