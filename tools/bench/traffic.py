"""Chat requests for three kinds of traffic: the same request again and again, requests that differ
by a few letters, and mixed ones.

Mixed requests ask for 200 of 1,000 steps, of three models, with texts of random lengths; half have
a system prompt, a fifth offers tools, and a tenth is a conversation of 20 messages. All requests
are drawn from a fixed seed.
"""

import json
import random
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from tools.bench.peer_servers import NEEDLES

Traffic: TypeAlias = Literal["repeated", "different", "mixed"]

TRAFFIC: tuple[Traffic, ...] = ("repeated", "different", "mixed")
NEEDLE_NUMBER = 777
# More than any cache holds.
DIFFERENT = 4_096
MIXED_STEPS, MODELS = 200, ("gpt-4o", "gpt-4o-mini", "gpt-5.2")
SYSTEM_SHARE, TOOLS_SHARE, LONG_SHARE = 0.5, 0.2, 0.1
MAX_WORDS, MESSAGES = 120, 20
_WORDS = ("order", "refund", "please", "invoice", "delivery", "Tuesday", "account", "café", "help")


def bodies(traffic: Traffic, *, stream: bool) -> list[dict[str, Any]]:
    """Return the bodies of chat requests, to be sent in turn."""
    match traffic:
        case "repeated":
            return [_plain_body(0, stream=stream)]
        case "different":
            return [_plain_body(number, stream=stream) for number in range(DIFFERENT)]
        case "mixed":
            draw = random.Random(30)
            return [_mixed_body(draw, stream=stream) for _ in range(DIFFERENT)]


def requests(port: int, traffic: Traffic, *, stream: bool) -> Iterator[bytes]:
    """Yield the bytes of chat requests, to be sent in turn."""
    for body in bodies(traffic, stream=stream):
        data = json.dumps(body, ensure_ascii=False).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Content-Type: application/json\r\nAuthorization: Bearer test\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        yield head.encode() + data


def _plain_body(number: int, *, stream: bool) -> dict[str, Any]:
    message = {
        "role": "user",
        "content": f"please answer {NEEDLES[NEEDLE_NUMBER]} now, {number:06}",
    }
    return {"model": "gpt-4o", "messages": [message], "stream": stream}


def _mixed_body(draw: random.Random, *, stream: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if draw.random() < SYSTEM_SHARE:
        messages.append({"role": "system", "content": _random_text(draw)})
    if draw.random() < LONG_SHARE:
        for number in range(MESSAGES - 1):
            role = "assistant" if number % 2 else "user"
            messages.append({"role": role, "content": _random_text(draw)})
    needle = NEEDLES[draw.randrange(MIXED_STEPS)]
    messages.append(
        {"role": "user", "content": f"{_random_text(draw)} {needle} {_random_text(draw)}"}
    )
    body: dict[str, Any] = {"model": draw.choice(MODELS), "messages": messages, "stream": stream}
    if draw.random() < TOOLS_SHARE:
        body["tools"] = [_tool_definition(name) for name in draw.sample(_WORDS, 3)]
    if draw.random() < 0.5:
        body |= {"temperature": draw.random(), "max_tokens": draw.randrange(1, 4_096)}
    return body


def _random_text(draw: random.Random) -> str:
    return " ".join(draw.choices(_WORDS, k=draw.randrange(1, MAX_WORDS)))


def _tool_definition(name: str) -> dict[str, Any]:
    properties = {"id": {"type": "string", "description": f"Which {name}."}}
    schema = {"type": "object", "properties": properties, "required": ["id"]}
    function = {"name": f"find_{name}", "description": f"Find {name}.", "parameters": schema}
    return {"type": "function", "function": function}
