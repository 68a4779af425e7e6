"""Fills `{{ name }}` and `{{ name.key }}` in scripted texts in a single pass.

Inserted values are not filled again. Any other text in braces stays as it is.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Choice, Json, text_or_json
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    FinishReason,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.secrets import secrets_of, without_pieces

FIXED_NAMES = ("request.model", "request.last_user_text", "request.turn")
# Possessive, so a text of only braces and spaces is read once.
_IDENTIFIER = r"[^\W\d]\w*+"
# A variable of this name and value lets a text contain literal braces.
BRACES, OPENING = "braces", "{{"
_PLACEHOLDER = re.compile(rf"\{{\{{\s*+({_IDENTIFIER}(?:\.{_IDENTIFIER})?+)\s*+\}}\}}")
# Two braces, the rest of the line up to the next brace, and the closing braces.
_OPENED = re.compile(r"\{\{(?!\{)(?P<inside>[^{}\n]*+)(?P<closed>\}{0,2})")
_NAMED = re.compile(rf"(?P<space>\s*+)(?P<name>{_IDENTIFIER})(?:\.{_IDENTIFIER})*+(?P<rest>.*)")
# Text after a name in prose; code has colons, brackets and quotes there.
_PROSE = re.compile(r"[\s.,;!?].*|")
_WORDS = re.compile(r"[\w\s.-]*")


def fill_placeholders(
    text: str, values: Mapping[str, str], transform: Callable[[str], str] = str
) -> str:
    """Return a text with its placeholders replaced by their values, which `transform` may change;
    placeholders without a value stay."""
    return _PLACEHOLDER.sub(lambda m: transform(values[m[1]]) if m[1] in values else m[0], text)


def escape_placeholders(text: str) -> str:
    """Return a text with its placeholders escaped: filling it gives the text again if the scenario
    has a variable BRACES with the value OPENING."""
    return _PLACEHOLDER.sub(lambda m: f"{{{{ {BRACES} }}}}{m[0].removeprefix(OPENING)}", text)


def placeholder_names(text: str) -> tuple[str, ...]:
    """Return the distinct names of a text's placeholders, such as `user.name`, in order."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))


def has_placeholders(answer: ScriptedAnswer) -> bool:
    """Return True if a scripted answer has `{{` in a text, and so may contain placeholders."""
    return any(
        OPENING in text
        for choice in answer.choices
        for text in (
            *(produced_text(part) for part in choice.parts),
            *(chunk.text for chunk in choice.chunks or ()),
        )
    )


def unknown_names(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the placeholder names of a text that no request can give a value: neither variables of
    the scenario, nor fixed names, nor `match.NAME` for the named regex `groups` of the step."""
    known_names = {
        *variable_values(variables),
        *FIXED_NAMES,
        *(f"match.{group}" for group in groups),
    }
    return tuple(name for name in placeholder_names(text) if name not in known_names)


def broken_placeholders(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> list[str]:
    """Return parts of a text that look like placeholders but are not, such as `{{ city` and `{{}}`.

    Other text in braces (JSON, code, templates of other languages) is not returned: in closed
    braces only a name with a value counts, and after unclosed ones a name behind a space.
    """
    known_names = {"request", *variables, *(["match"] if groups else ())}
    broken_parts = []
    for opened in _OPENED.finditer(text):
        if _PLACEHOLDER.match(text, opened.start()):
            continue
        closed = opened["closed"]
        name_match = _NAMED.fullmatch(opened["inside"])
        space, name, rest = name_match.groups() if name_match else ("", "", opened["inside"])
        is_broken: object
        if name_match is None:
            is_broken = closed == "}}" and not rest.strip()
        elif closed == "}}":
            is_broken = name in known_names and _WORDS.fullmatch(rest)
        elif space or name in known_names:
            is_broken = not rest.strip() if closed else _PROSE.fullmatch(rest)
        else:
            is_broken = False
        if is_broken:
            broken_parts.append(opened.group().removesuffix("" if closed else rest))
    return broken_parts


def placeholder_values(
    scenario: Scenario, request: CanonicalRequest, groups: Mapping[str, str]
) -> dict[str, str]:
    """Return all placeholder values by name: the scenario's variables, the request's values, which
    override them, and the groups that the step's regexes captured, with secrets masked."""
    secrets = secrets_of(request.headers) if groups else ()
    return {
        **variable_values(scenario.variables),
        "request.model": request.model,
        "request.last_user_text": request.last_user_text,
        "request.turn": str(request.turn),
        **{f"match.{name}": without_pieces(value, secrets) for name, value in groups.items()},
    }


def variable_values(variables: Mapping[str, Json]) -> dict[str, str]:
    """Return the values of a scenario's variables by placeholder name: each as text or JSON, and
    those of an object also as `name.key`."""
    values = {}
    for name, value in variables.items():
        values[name] = text_or_json(value)
        if isinstance(value, dict):
            values.update({f"{name}.{key}": text_or_json(inner) for key, inner in value.items()})
    return values


class TextTooLong(Exception):
    """The inserted values of an answer's placeholders are longer than the limit."""


class PlaceholderFiller:
    """Fills the placeholders of one answer; `make_values` is called at the first placeholder.

    Its methods raise TextTooLong if the inserted values have more than `max_chars` characters
    together. It has no reference cycle, since its values hold the request, which may be megabytes.
    """

    def __init__(self, make_values: Callable[[], Mapping[str, str]], max_chars: int) -> None:
        self._make_values = make_values
        self._remaining_chars = max_chars

    def fill_part(self, part: AnswerPart) -> AnswerPart:
        """Return a part with the placeholders of its text or JSON, and of a call's name, filled."""
        if OPENING not in produced_text(part):
            return part
        match part:
            case ToolCallPart():
                name, arguments = self.fill_text(part.name), self.fill_json(part.arguments)
                return replace(part, name=name, arguments=arguments)
            case ServerToolUsePart():
                return replace(part, input=self.fill_json(part.input))
            case ServerToolResultPart():
                return replace(part, content=self.fill_json(part.content))
            case TextPart(is_json=True):
                return replace(part, text=self.fill_json(part.text))
            case _:
                return replace(part, text=self.fill_text(part.text))

    def fill_text(self, text: str) -> str:
        """Return a text with its placeholders filled."""
        return fill_placeholders(text, self._values, self._spend) if OPENING in text else text

    def fill_json(self, text: str) -> str:
        """Return a text with its placeholders filled. If it is JSON, they are in strings, and their
        values are escaped, so that it stays JSON."""
        if OPENING not in text or not _is_json(text):
            return self.fill_text(text)
        return fill_placeholders(text, self._values, lambda value: self._spend(_escape_json(value)))

    @cached_property
    def _values(self) -> Mapping[str, str]:
        return self._make_values()

    def _spend(self, value: str) -> str:
        """Return the value unchanged after counting its length against the limit."""
        self._remaining_chars -= len(value)
        if self._remaining_chars < 0:
            raise TextTooLong
        return value


def fill_choice(choice: ScriptedChoice, filler: PlaceholderFiller) -> Choice:
    """Return the choice with placeholders filled; a part with scripted chunks is their join. The
    default finish reason is `tool_calls` if there are calls, else `stop`."""
    calls = any(isinstance(part, ToolCallPart) for part in choice.parts)
    reason: FinishReason = choice.finish_reason or ("tool_calls" if calls else "stop")
    if choice.chunks is None:
        parts = tuple([filler.fill_part(part) for part in choice.parts])
        return Choice(parts, reason, choice.stop_sequence)
    pieces: dict[int, list[str]] = {}
    chunks = []
    for chunk in choice.chunks:
        call = isinstance(choice.parts[chunk.part], ToolCallPart)
        text = filler.fill_json(chunk.text) if call else filler.fill_text(chunk.text)
        chunks.append(Chunk(chunk.part, text))
        pieces.setdefault(chunk.part, []).append(text)
    parts = tuple(
        _with_text(filler, part, "".join(pieces[i])) if i in pieces else filler.fill_part(part)
        for i, part in enumerate(choice.parts)
    )
    return Choice(parts, reason, choice.stop_sequence, tuple(chunks))


def _with_text(filler: PlaceholderFiller, part: AnswerPart, text: str) -> AnswerPart:
    """Return the part with this text, or a call with these arguments and its name filled."""
    if isinstance(part, ToolCallPart):
        return replace(part, name=filler.fill_text(part.name), arguments=text)
    if isinstance(part, ServerToolUsePart | ServerToolResultPart):
        return part  # never in chunks of its own
    return replace(part, text=text)


def _is_json(text: str) -> bool:
    """Return True if a text is JSON that can be parsed; too deeply nested JSON cannot."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _escape_json(value: str) -> str:
    """Return a text as it is written inside a JSON string, without quotes."""
    return json.dumps(value, ensure_ascii=False)[1:-1]
