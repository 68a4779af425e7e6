"""What conditions read off a request: each text found, folded and parsed at most once."""

import json
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import re2

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.matching.conditions import CompiledText
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scenario import Which

SubjectKind: TypeAlias = Literal[
    "provider",
    "path",
    "model",
    "stream",
    "turn",
    "first_user",
    "message",
    "tool",
    "tool_call",
    "tool_result",
    "tool_result_id",
    "tool_result_name",
    "header",
    "metadata",
]
_PAIRS_OF = 2_000
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]*")
_OTHER_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")
_TOKEN = re2.compile(r"(?s)<\|.*?\|>")


class Subject(NamedTuple):
    """A place in a request that holds texts. `name` is a message's role (empty: any role), a
    lower-case header or a metadata key; `which` picks among messages, an index from 0."""

    kind: SubjectKind
    name: str = ""
    which: Which = "last"


class Text:
    """A text as conditions see it."""

    def __init__(self, plain: str) -> None:
        self.plain = plain

    @cached_property
    def folded(self) -> str:
        return self.plain.casefold()

    @cached_property
    def pairs(self) -> frozenset[str]:
        """The pairs of neighbouring letters in the beginning, by which texts are alike."""
        return pairs_of(self.folded[:_PAIRS_OF])

    def meets(self, condition: CompiledText) -> bool:
        return condition.test(self.plain, folded=self.folded if condition.ignore_case else None)


class Reading:
    """One request, read by many conditions."""

    def __init__(self, request: CanonicalRequest) -> None:
        self.request = request
        self._texts: dict[Subject, tuple[Text, ...]] = {}

    def texts(self, subject: Subject) -> tuple[Text, ...]:
        """The texts at a place, none where the request has no such place."""
        found = self._texts.get(subject)
        if found is None:
            found = tuple(Text(plain) for plain in _find(self.request, subject))
            self._texts[subject] = found
        return found

    @cached_property
    def calls(self) -> tuple[tuple[ToolCallPart, Json], ...]:
        """Earlier tool calls with their arguments decoded; broken arguments stay text."""
        return tuple((call, _decode(call.arguments)) for call in self.request.tool_calls)


def pairs_of(text: str) -> frozenset[str]:
    """All pairs of neighbouring characters, the ends of the text counting as spaces."""
    padded = f" {text} "
    return frozenset(padded[i : i + 2] for i in range(len(padded) - 1))


def sanitise_tool_name(name: str) -> str:
    """A tool's name as it is compared: `<|…|>` dropped, what is not a letter, digit, `_` or `-`
    made `_`."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    bare: str = _TOKEN.sub("", name)
    return _OTHER_CHARACTER.sub("_", bare)


def _find(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
    match subject.kind:
        case "provider":
            return (request.provider,)
        case "path":
            return dict.fromkeys((request.path, request.route))
        case "model":
            return (request.model,)
        case "stream":
            return ("true" if request.stream else "false",)
        case "turn":
            return (str(request.turn),)
        case "first_user":
            return (request.first_user_text.strip(),)
        case "message":
            return _messages(request, subject.name, subject.which)
        case "tool":
            return dict.fromkeys(sanitise_tool_name(tool.name) for tool in request.tools)
        case "tool_call":
            return (call.name for call in request.tool_calls)
        case "tool_result":
            return (result.content for result in request.tool_results)
        case "tool_result_id":
            return (result.tool_call_id for result in request.tool_results)
        case "tool_result_name":
            return (result.name for result in request.tool_results)
        case "header":
            return _value(request.headers.get(subject.name))
        case _:
            return _value(request.metadata.get(subject.name))


def _messages(request: CanonicalRequest, role: str, which: Which) -> Iterable[str]:
    if which == "last":
        last = (m for m in reversed(request.messages) if not role or m.role == role)
        return _value(next((m.text for m in last), None))
    fitting = [m for m in request.messages if not role or m.role == role]
    if which == "any":
        return (m.text for m in fitting)
    index = 0 if which == "first" else which
    return (fitting[index].text,) if 0 <= index < len(fitting) else ()


def _value(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _decode(arguments: str) -> Json:
    try:
        decoded: Json = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return decoded
