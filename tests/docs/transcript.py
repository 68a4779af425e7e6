"""Plays transcripts of conversations against a server, line by line.

    system  You are a cat.
    you     Is it raining?
    call    get_weather({"city":"Oslo"})
    tool    raining
    model   Meow. It is.

Each line is a word and a text. A blank line begins the next conversation.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import httpx2

from tests.docs.shown import agrees, holds
from tests.docs.wire_answers import answer_lines

ASKED = ("to", "header", "with", "system", "you", "tool")
ANSWERED = ("think", "model", "stream", "call", "refuse", "error", "raw")
ALSO = ("head", "body")
"""Further checks of an answer: a header, a part of its JSON."""

CHAT, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/messages", "/api/chat"
_LINE = re.compile(r"(\w+) +(.*)")


@dataclass(frozen=True, slots=True)
class Line:
    word: str
    text: str


@dataclass(slots=True)
class Conversation:
    """The request so far, in the format of its path."""

    path: str = CHAT
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def ask(self, line: Line) -> None:
        match line.word:
            case "to":
                self.path = line.text
            case "header":
                name, _, value = line.text.partition(": ")
                self.headers[name] = value
            case "with":
                self.more |= json.loads(line.text)
            case "system" if self.path == MESSAGES:
                self.more["system"] = line.text
            case "system":
                self.messages.append({"role": "system", "content": line.text})
            case "you":
                self.messages.append({"role": "user", "content": line.text})
            case _:
                self.messages.append(self._result(line.text))

    def body(self, *, stream: bool) -> dict[str, Any]:
        said: dict[str, Any] = {"messages": self.messages} if self.messages else {}
        if stream or self.path == OLLAMA:
            said["stream"] = stream
        if self.path == MESSAGES:
            said["max_tokens"] = 1024
        return {"model": "gpt-4o", **said, **self.more}

    def hear(self, answer: Any) -> None:
        """Append an answer to the conversation."""
        match answer:
            case {"choices": [{"message": message}, *_]}:
                self.messages.append(message)
                self.calls = [call["id"] for call in message.get("tool_calls") or ()]
            case {"role": "assistant", "content": blocks}:
                self.messages.append({"role": "assistant", "content": blocks})
                self.calls = [block["id"] for block in blocks if block["type"] == "tool_use"]

    def _result(self, text: str) -> dict[str, Any]:
        call = self.calls.pop(0)
        if self.path == MESSAGES:
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            return {"role": "user", "content": [result]}
        return {"role": "tool", "tool_call_id": call, "content": text}


def play(text: str, *, base_url: str, key: str) -> None:
    """Play all conversations in one session. Raises AssertionError if an answer differs."""
    with httpx2.Client(base_url=base_url, trust_env=False, timeout=30) as client:
        for lines in conversations(text):
            conversation = Conversation()
            for answered, group in groupby(lines, key=lambda line: line.word not in ASKED):
                if answered:
                    _exchange(client, conversation, list(group), key=key)
                else:
                    for line in group:
                        conversation.ask(line)


def conversations(text: str) -> Iterator[list[Line]]:
    """Yield the lines of each conversation; an indented line continues the one above."""
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        lines = []
        for written in re.sub(r"\n +", " ", part).splitlines():
            found = _LINE.fullmatch(written)
            assert found and found[1] in (*ASKED, *ANSWERED, *ALSO), f"unknown line: {written}"
            lines.append(Line(found[1], found[2]))
        yield lines


def _exchange(
    client: httpx2.Client, conversation: Conversation, expected: list[Line], *, key: str
) -> None:
    stream = any(line.word == "stream" for line in expected)
    headers = {"Authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
    request = client.build_request(
        "POST",
        conversation.path,
        headers=headers | conversation.headers,
        json=conversation.body(stream=stream),
    )
    answer = answer_lines(client, request)
    conversation.hear(answer.body)
    told = [f"{line.word} {line.text}" for line in expected if line.word not in ALSO]
    assert len(told) == len(answer.lines) and all(
        agrees(wanted, got) for wanted, got in zip(told, answer.lines, strict=True)
    ), f"the page says {told}, the server {answer.lines}"
    for line in expected:
        if line.word == "head":
            name, _, value = line.text.partition(": ")
            assert agrees(value, answer.headers.get(name, "(missing)")), f"{line}: {answer.headers}"
        elif line.word == "body":
            assert holds(json.loads(line.text), answer.body), f"{line.text} is not in {answer.body}"
