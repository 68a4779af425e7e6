"""Fills `{{ name }}` and `{{ name.key }}` in scripted texts: one pass over fixed values, no more.

Values go in as they are and are not looked at again. What else stands in braces is text.
"""

import json
import re
from collections import UserDict
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Choice, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    FinishReason,
    ServerToolResultPart,
    ServerToolUsePart,
    ToolCallPart,
    held_text,
)
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.secrets import secrets_of, without_pieces

FIXED_NAMES = ("request.model", "request.last_user_text", "request.turn")
# Possessive throughout: a text of nothing but braces and spaces is read once.
_IDENTIFIER = r"[^\W\d]\w*+"
# A variable of this name and value lets a text say braces that are no template.
BRACES, OPENING = "braces", "{{"
_TEMPLATE = re.compile(rf"\{{\{{\s*+({_IDENTIFIER}(?:\.{_IDENTIFIER})?+)\s*+\}}\}}")
# Two braces, the rest of the line up to the next brace, and what closes them.
_OPENED = re.compile(r"\{\{(?!\{)(?P<inside>[^{}\n]*+)(?P<closed>\}{0,2})")
_NAMED = re.compile(rf"(?P<space>\s*+)(?P<name>{_IDENTIFIER})(?:\.{_IDENTIFIER})*+(?P<rest>.*)")
# What follows a name in prose; code has colons, brackets and quotes there.
_PROSE = re.compile(r"[\s.,;!?].*|")
_WORDS = re.compile(r"[\w\s.-]*")


def render_template(text: str, values: Mapping[str, str]) -> str:
    """Fill a text. A name without a value stays as it stands; the caller caps the output."""
    return _TEMPLATE.sub(lambda m: values[m[1]] if m[1] in values else m[0], text)


def as_written(text: str) -> str:
    """A text that is filled to this one, where `BRACES` is a variable of value `OPENING`."""
    return _TEMPLATE.sub(lambda m: f"{{{{ {BRACES} }}}}{m[0].removeprefix(OPENING)}", text)


def template_names(text: str) -> tuple[str, ...]:
    """The names that a text asks for, each once, in order."""
    return tuple(dict.fromkeys(_TEMPLATE.findall(text)))


def has_templates(answer: ScriptedAnswer) -> bool:
    """Whether something in a scripted answer may be filled in."""
    return any(
        OPENING in text
        for choice in answer.choices
        for text in (
            *(held_text(part) for part in choice.parts),
            *(chunk.text for chunk in choice.chunks or ()),
        )
    )


def unknown_names(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> tuple[str, ...]:
    """The names in a text that will have no value, given the scenario's variables and the named
    regex groups of its step (`match.group_names`)."""
    known = {*variable_values(variables), *FIXED_NAMES, *(f"match.{group}" for group in groups)}
    return tuple(name for name in template_names(text) if name not in known)


def broken_templates(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> list[str]:
    """Return what looks like a template in a text and is none, such as `{{ city` and `{{}}`.

    Other text in braces (JSON, code, templates of other languages) is not returned: inside whole
    braces only a name that has a value counts, and after half of them a name behind a space.
    """
    known = {"request", *variables, *(["match"] if groups else ())}
    found = []
    for opened in _OPENED.finditer(text):
        if _TEMPLATE.match(text, opened.start()):
            continue
        inside, closed = opened["inside"], opened["closed"]
        named = _NAMED.fullmatch(inside)
        if named is None:
            broken = closed == "}}" and not inside.strip()
        elif closed == "}}":
            broken = named["name"] in known and bool(_WORDS.fullmatch(named["rest"]))
        else:
            meant = bool(named["space"]) or named["name"] in known
            rest = named["rest"]
            broken = (
                meant and not rest.strip() if closed else meant and bool(_PROSE.fullmatch(rest))
            )
        if broken:
            prose = named["rest"] if named and not closed else ""
            found.append(opened.group().removesuffix(prose))
    return found


def template_values(
    scenario: Scenario, request: CanonicalRequest, groups: Mapping[str, str]
) -> dict[str, str]:
    """Every value by its name. A variable that is no string is its JSON text; the keys of an
    object are there as `name.key`. The request's own names go before variables of that name. What a
    regex caught holds no piece of the secrets that the request brought."""
    secrets = secrets_of(request.headers) if groups else ()
    return {
        **variable_values(scenario.variables),
        "request.model": request.model,
        "request.last_user_text": request.last_user_text,
        "request.turn": str(request.turn),
        **{f"match.{name}": without_pieces(value, secrets) for name, value in groups.items()},
    }


def variable_values(variables: Mapping[str, Json]) -> dict[str, str]:
    """What a scenario's variables say, by the names that templates have for them."""
    values = {}
    for name, value in variables.items():
        values[name] = _text(value)
        if isinstance(value, dict):
            values.update({f"{name}.{key}": _text(inner) for key, inner in value.items()})
    return values


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class TooLong(Exception):
    """More text of template values was asked for than may be produced."""


class _Values(UserDict[str, str]):
    """Template values that each go through a function on their way out."""

    def __init__(self, values: Mapping[str, str], through: Callable[[str], str]) -> None:
        self.data = dict(values)
        self._through = through

    def __getitem__(self, name: str) -> str:
        return self._through(self.data[name])


class Filling:
    """Fills the templates of one answer; their values are made when the first one is met."""

    def __init__(self, values: Callable[[], Mapping[str, str]] | None, limit: int) -> None:
        self._live = values is not None
        self._make = values or dict
        self._left = limit

    def part(self, part: AnswerPart) -> AnswerPart:
        if isinstance(part, ToolCallPart):
            if not (self._open(part.name) or self._open(part.arguments)):
                return part
            return ToolCallPart(part.id, self.text(part.name), self.arguments(part.arguments))
        if isinstance(part, ServerToolUsePart | ServerToolResultPart):
            return part
        return replace(part, text=self.text(part.text)) if self._open(part.text) else part

    def text(self, text: str) -> str:
        return render_template(text, self._plain) if self._open(text) else text

    def arguments(self, text: str) -> str:
        """JSON stays JSON: there a template can only stand in a string. Other text is text."""
        if not self._open(text):
            return text
        return render_template(text, self._escaped if _is_json(text) else self._plain)

    def _open(self, text: str) -> bool:
        return self._live and "{{" in text

    @cached_property
    def _values(self) -> Mapping[str, str]:
        return self._make()

    @cached_property
    def _plain(self) -> Mapping[str, str]:
        return _Values(self._values, self._spend)

    @cached_property
    def _escaped(self) -> Mapping[str, str]:
        return _Values(self._values, lambda value: self._spend(_escape(value)))

    def _spend(self, value: str) -> str:
        self._left -= len(value)
        if self._left < 0:
            raise TooLong
        return value


def fill_choice(choice: ScriptedChoice, filling: Filling) -> Choice:
    """A scripted choice with its templates filled and its finish reason settled."""
    reason = choice.finish_reason or _finish_reason(choice)
    if choice.chunks is None:
        parts = tuple([filling.part(part) for part in choice.parts])
        return Choice(parts, reason, choice.stop_sequence)
    pieces: dict[int, list[str]] = {}
    chunks = []
    for chunk in choice.chunks:
        call = isinstance(choice.parts[chunk.part], ToolCallPart)
        text = filling.arguments(chunk.text) if call else filling.text(chunk.text)
        chunks.append(Chunk(chunk.part, text))
        pieces.setdefault(chunk.part, []).append(text)
    # Whole and stream agree: a part that is scripted in chunks is what its chunks make of it.
    parts = tuple(
        _with_text(filling, part, "".join(pieces[i])) if i in pieces else filling.part(part)
        for i, part in enumerate(choice.parts)
    )
    return Choice(parts, reason, choice.stop_sequence, tuple(chunks))


def _with_text(filling: Filling, part: AnswerPart, text: str) -> AnswerPart:
    if isinstance(part, ToolCallPart):
        return ToolCallPart(part.id, filling.text(part.name), text)
    if isinstance(part, ServerToolUsePart | ServerToolResultPart):
        return part  # never in chunks of its own
    return replace(part, text=text)


def _finish_reason(choice: ScriptedChoice) -> FinishReason:
    if any(isinstance(part, ToolCallPart) for part in choice.parts):
        return "tool_calls"
    return "stop"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _escape(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
