"""Three kinds of traffic: the same request again and again, requests that all differ by a few
letters, and mixed ones. `python -m tools.bench.traffic` prints the CPU time per answer of each.

Mixed requests ask for 200 of 1,000 steps, of three models, with texts of random lengths; half have
a system prompt, a fifth offers tools, and a tenth is a conversation of 20 messages. All requests
are drawn from a fixed seed.
"""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tools.bench.cpu import spent
from tools.bench.load import ask
from tools.bench.peer_servers import NEEDLES
from tools.bench.servers import Running

Traffic: TypeAlias = Literal["repeated", "different", "mixed"]

TRAFFIC: tuple[Traffic, ...] = ("repeated", "different", "mixed")
ASKED_FOR = 777
# More than any cache holds.
DIFFERENT = 4_096
MIXED_STEPS, MODELS = 200, ("gpt-4o", "gpt-4o-mini", "gpt-5.2")
SYSTEM_SHARE, TOOLS_SHARE, LONG_SHARE = 0.5, 0.2, 0.1
MAX_WORDS, MESSAGES = 120, 20
ROUNDS, ROUND_SECONDS, WARM_SECONDS = 5, 1.0, 2.0
_WORDS = ("order", "refund", "please", "invoice", "delivery", "Tuesday", "account", "café", "help")


def bodies(traffic: Traffic, *, stream: bool) -> list[dict[str, Any]]:
    """Return the bodies of chat requests, to be sent in turn."""
    match traffic:
        case "repeated":
            return [_plain(0, stream=stream)]
        case "different":
            return [_plain(number, stream=stream) for number in range(DIFFERENT)]
        case "mixed":
            draw = random.Random(30)
            return [_mixed(draw, stream=stream) for _ in range(DIFFERENT)]


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


def _plain(number: int, *, stream: bool) -> dict[str, Any]:
    message = {"role": "user", "content": f"please answer {NEEDLES[ASKED_FOR]} now, {number:06}"}
    return {"model": "gpt-4o", "messages": [message], "stream": stream}


def _mixed(draw: random.Random, *, stream: bool) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if draw.random() < SYSTEM_SHARE:
        messages.append({"role": "system", "content": _text(draw)})
    if draw.random() < LONG_SHARE:
        for number in range(MESSAGES - 1):
            role = "assistant" if number % 2 else "user"
            messages.append({"role": role, "content": _text(draw)})
    needle = NEEDLES[draw.randrange(MIXED_STEPS)]
    messages.append({"role": "user", "content": f"{_text(draw)} {needle} {_text(draw)}"})
    body: dict[str, Any] = {"model": draw.choice(MODELS), "messages": messages, "stream": stream}
    if draw.random() < TOOLS_SHARE:
        body["tools"] = [_tool(name) for name in draw.sample(_WORDS, 3)]
    if draw.random() < 0.5:
        body |= {"temperature": draw.random(), "max_tokens": draw.randrange(1, 4_096)}
    return body


def _text(draw: random.Random) -> str:
    return " ".join(draw.choices(_WORDS, k=draw.randrange(1, MAX_WORDS)))


def _tool(name: str) -> dict[str, Any]:
    properties = {"id": {"type": "string", "description": f"Which {name}."}}
    schema = {"type": "object", "properties": properties, "required": ["id"]}
    function = {"name": f"find_{name}", "description": f"Find {name}.", "parameters": schema}
    return {"type": "function", "function": function}


def microseconds(server: Running, traffic: Traffic, *, stream: bool, seconds: float) -> float:
    """Return the CPU time of all threads of a server per answer."""
    sent = list(requests(server.port, traffic, stream=stream))
    before = spent(server.pid)
    done = ask(server.port, *sent, seconds=seconds)
    return (spent(server.pid) - before).process / done * 1e6


def main() -> None:
    from tools.bench.peers import ours

    with tempfile.TemporaryDirectory() as folder, ours(Path(folder), mode="test mode") as server:
        print(f"{'µs of CPU per answer':<22}{'whole':>8}{'stream':>8}")
        for traffic in TRAFFIC:
            costs = []
            for stream in (False, True):
                microseconds(server, traffic, stream=stream, seconds=WARM_SECONDS)
                rounds = [
                    microseconds(server, traffic, stream=stream, seconds=ROUND_SECONDS)
                    for _ in range(ROUNDS)
                ]
                costs.append(min(rounds))
            print(f"{traffic:<22}" + "".join(f"{cost:>8.0f}" for cost in costs))


if __name__ == "__main__":
    main()
