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

from tests.docs.output_comparison import contains_json, matches_output
from tests.docs.wire_answers import answer_lines

REQUEST_WORDS = ("to", "header", "with", "system", "you", "tool")
ANSWER_WORDS = ("think", "model", "stream", "call", "refuse", "error", "raw")
CHECK_WORDS = ("head", "body")
"""Further checks of an answer: a header, a part of its JSON."""

CHAT, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/messages", "/api/chat"
_LINE = re.compile(r"(\w+) +(.*)")


@dataclass(frozen=True, slots=True)
class Line:
    word: str
    text: str


@dataclass(slots=True)
class Conversation:
    """A conversation's next request, in the format of its path."""

    path: str = CHAT
    headers: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def add_line(self, line: Line) -> None:
        match line.word:
            case "to":
                self.path = line.text
            case "header":
                name, _, value = line.text.partition(": ")
                self.headers[name] = value
            case "with":
                self.fields |= json.loads(line.text)
            case "system" if self.path == MESSAGES:
                self.fields["system"] = line.text
            case "system":
                self.messages.append({"role": "system", "content": line.text})
            case "you":
                self.messages.append({"role": "user", "content": line.text})
            case _:
                self.messages.append(self._result(line.text))

    def body(self, *, stream: bool) -> dict[str, Any]:
        fields: dict[str, Any] = {"messages": self.messages} if self.messages else {}
        if stream or self.path == OLLAMA:
            fields["stream"] = stream
        if self.path == MESSAGES:
            fields["max_tokens"] = 1024
        return {"model": "gpt-4o", **fields, **self.fields}

    def add_answer(self, answer: Any) -> None:
        """Append the assistant's message to the conversation."""
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
            for is_answer, group in groupby(lines, key=lambda line: line.word not in REQUEST_WORDS):
                if is_answer:
                    _exchange(client, conversation, list(group), key=key)
                else:
                    for line in group:
                        conversation.add_line(line)


def conversations(text: str) -> Iterator[list[Line]]:
    """Yield the lines of each conversation; an indented line continues the one above."""
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        lines = []
        for text_line in re.sub(r"\n +", " ", part).splitlines():
            match = _LINE.fullmatch(text_line)
            assert match and match[1] in (*REQUEST_WORDS, *ANSWER_WORDS, *CHECK_WORDS), (
                f"unknown line: {text_line}"
            )
            lines.append(Line(match[1], match[2]))
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
    conversation.add_answer(answer.body)
    expected_lines = [
        f"{line.word} {line.text}" for line in expected if line.word not in CHECK_WORDS
    ]
    assert len(expected_lines) == len(answer.lines) and all(
        matches_output(expected_line, actual_line)
        for expected_line, actual_line in zip(expected_lines, answer.lines, strict=True)
    ), f"the page says {expected_lines}, the server {answer.lines}"
    for line in expected:
        if line.word == "head":
            name, _, value = line.text.partition(": ")
            assert matches_output(value, answer.headers.get(name, "(missing)")), (
                f"{line}: {answer.headers}"
            )
        elif line.word == "body":
            assert contains_json(json.loads(line.text), answer.body), (
                f"{line.text} is not in {answer.body}"
            )
