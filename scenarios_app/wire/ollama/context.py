"""The `context` of Ollama's generate calls: a conversation as a list of numbers, to be sent back.

Where Ollama has tokens, here are the bytes of the conversation's JSON, two in each number.
"""

import struct
from collections.abc import Sequence

import msgspec

from scenarios_app.engine.canonical import Json, Message, Role
from scenarios_app.engine.parts import TextPart
from scenarios_app.wire.base import encode_json

# Older messages are forgotten where all of them would be more numbers than these.
MOST_NUMBERS = 16_384
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}

_decode = msgspec.json.Decoder().decode


def remember(messages: Sequence[Message]) -> list[int]:
    """The numbers for a conversation, of which the texts of user and assistant are kept."""
    said: list[Json] = [[m.role, m.text] for m in messages if m.role in _ROLES]
    while len(data := encode_json(said)) > 2 * MOST_NUMBERS:
        del said[0]
    # A space after it is as good as none, and makes the number of bytes even.
    even = data + b" " * (len(data) % 2)
    return list(struct.unpack(f"<{len(even) // 2}H", even))


def recall(numbers: Sequence[Json]) -> tuple[Message, ...]:
    """The conversation that numbers stand for; none where they come from anywhere else."""
    try:
        said = _decode(struct.pack(f"<{len(numbers)}H", *numbers))
    except (struct.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()
    messages = []
    for item in said if isinstance(said, list) else ():
        match item:
            case ["user" | "assistant" as role, str(text)]:
                messages.append(Message(_ROLES[role], (TextPart(text),)))
            case _:
                return ()
    return tuple(messages)
