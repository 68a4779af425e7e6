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
_TEMPLATE = re.compile(rf"\{{\{{\s*+({_IDENTIFIER}(?:\.{_IDENTIFIER})?+)\s*+\}}\}}")
# Two braces, the rest of the line up to the next brace, and the closing braces.
_OPENED = re.compile(r"\{\{(?!\{)(?P<inside>[^{}\n]*+)(?P<closed>\}{0,2})")
_NAMED = re.compile(rf"(?P<space>\s*+)(?P<name>{_IDENTIFIER})(?:\.{_IDENTIFIER})*+(?P<rest>.*)")
# Text after a name in prose; code has colons, brackets and quotes there.
_PROSE = re.compile(r"[\s.,;!?].*|")
_WORDS = re.compile(r"[\w\s.-]*")


def render_template(
    text: str, values: Mapping[str, str], transform: Callable[[str], str] = str
) -> str:
    """Fill a text with transformed values, without a limit; names without a value stay."""
    return _TEMPLATE.sub(lambda m: transform(values[m[1]]) if m[1] in values else m[0], text)


def escape_templates(text: str) -> str:
    """Return a text that fills to this one, given a variable `BRACES` with the value `OPENING`."""
    return _TEMPLATE.sub(lambda m: f"{{{{ {BRACES} }}}}{m[0].removeprefix(OPENING)}", text)


def template_names(text: str) -> tuple[str, ...]:
    """Return the distinct names in a text, in order."""
    return tuple(dict.fromkeys(_TEMPLATE.findall(text)))


def has_templates(answer: ScriptedAnswer) -> bool:
    """Return True if a scripted answer may contain templates."""
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
    """Return the names in a text that will have no value, given the scenario's variables and the
    named `groups` of its step (`match.NAME`)."""
    known_names = {
        *variable_values(variables),
        *FIXED_NAMES,
        *(f"match.{group}" for group in groups),
    }
    return tuple(name for name in template_names(text) if name not in known_names)


def broken_templates(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> list[str]:
    """Return parts of a text that look like templates but are not, such as `{{ city` and `{{}}`.

    Other text in braces (JSON, code, templates of other languages) is not returned: in closed
    braces only a name with a value counts, and after unclosed ones a name behind a space.
    """
    known_names = {"request", *variables, *(["match"] if groups else ())}
    broken_parts = []
    for opened in _OPENED.finditer(text):
        if _TEMPLATE.match(text, opened.start()):
            continue
        inside, closed = opened["inside"], opened["closed"]
        name_match = _NAMED.fullmatch(inside)
        if name_match is None:
            broken = closed == "}}" and not inside.strip()
        elif closed == "}}":
            broken = name_match["name"] in known_names and bool(
                _WORDS.fullmatch(name_match["rest"])
            )
        else:
            is_intended = bool(name_match["space"]) or name_match["name"] in known_names
            rest = name_match["rest"]
            broken = (
                is_intended and not rest.strip()
                if closed
                else is_intended and bool(_PROSE.fullmatch(rest))
            )
        if broken:
            prose = name_match["rest"] if name_match and not closed else ""
            broken_parts.append(opened.group().removesuffix(prose))
    return broken_parts


def template_values(
    scenario: Scenario, request: CanonicalRequest, groups: Mapping[str, str]
) -> dict[str, str]:
    """Return every value by name: variables as text or JSON, with keys as `name.key`; the
    request's, which override them; and captured groups, in which secrets are masked."""
    secrets = secrets_of(request.headers) if groups else ()
    return {
        **variable_values(scenario.variables),
        "request.model": request.model,
        "request.last_user_text": request.last_user_text,
        "request.turn": str(request.turn),
        **{f"match.{name}": without_pieces(value, secrets) for name, value in groups.items()},
    }


def variable_values(variables: Mapping[str, Json]) -> dict[str, str]:
    """Return the values of a scenario's variables by template name."""
    values = {}
    for name, value in variables.items():
        values[name] = text_or_json(value)
        if isinstance(value, dict):
            values.update({f"{name}.{key}": text_or_json(inner) for key, inner in value.items()})
    return values


class TextTooLong(Exception):
    """Template values would exceed the limit of produced text."""


class TemplateFiller:
    """Fills the templates of one answer; the values are computed on first use.

    It has no reference cycle, since its values hold the request, which may be megabytes.
    """

    def __init__(self, values: Callable[[], Mapping[str, str]] | None, limit: int) -> None:
        self._is_enabled = values is not None
        self._make_values = values or dict
        self._remaining_chars = limit

    def fill_part(self, part: AnswerPart) -> AnswerPart:
        """Return a part with the templates of its texts and JSON filled."""
        if isinstance(part, ToolCallPart):
            if not (self._has_template(part.name) or self._has_template(part.arguments)):
                return part
            name, arguments = self.fill_text(part.name), self.fill_json(part.arguments)
            return replace(part, name=name, arguments=arguments)
        if isinstance(part, ServerToolUsePart):
            text = self.fill_json(part.input)
            return part if text is part.input else replace(part, input=text)
        if isinstance(part, ServerToolResultPart):
            text = self.fill_json(part.content)
            return part if text is part.content else replace(part, content=text)
        if not self._has_template(part.text):
            return part
        fill = self.fill_json if isinstance(part, TextPart) and part.is_json else self.fill_text
        return replace(part, text=fill(part.text))

    def fill_text(self, text: str) -> str:
        """Return a text with its templates filled; raise an error if the values exceed the
        limit."""
        if not self._has_template(text):
            return text
        return render_template(text, self._template_values, self._spend)

    def fill_json(self, text: str) -> str:
        """Fill a text; if it is JSON, values are escaped, as templates are in its strings."""
        if not self._has_template(text):
            return text
        transform = self._escape_within_limit if _is_json(text) else self._spend
        return render_template(text, self._template_values, transform)

    def _has_template(self, text: str) -> bool:
        return self._is_enabled and "{{" in text

    @cached_property
    def _template_values(self) -> Mapping[str, str]:
        return self._make_values()

    def _spend(self, value: str) -> str:
        """Return the value after counting it; raise TextTooLong beyond the limit."""
        self._remaining_chars -= len(value)
        if self._remaining_chars < 0:
            raise TextTooLong
        return value

    def _escape_within_limit(self, value: str) -> str:
        """Return a value escaped for a JSON string; its length counts against the limit."""
        return self._spend(_escape_json(value))


def fill_choice(choice: ScriptedChoice, filler: TemplateFiller) -> Choice:
    """Return a choice with filled templates and its finish reason."""
    reason = choice.finish_reason or _default_finish_reason(choice)
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
    # A part scripted in chunks is the join of its chunks, so whole and streamed answers agree.
    parts = tuple(
        _with_text(filler, part, "".join(pieces[i])) if i in pieces else filler.fill_part(part)
        for i, part in enumerate(choice.parts)
    )
    return Choice(parts, reason, choice.stop_sequence, tuple(chunks))


def _with_text(filler: TemplateFiller, part: AnswerPart, text: str) -> AnswerPart:
    """Return the part with a filled text or filled arguments."""
    if isinstance(part, ToolCallPart):
        return replace(part, name=filler.fill_text(part.name), arguments=text)
    if isinstance(part, ServerToolUsePart | ServerToolResultPart):
        return part  # never in chunks of its own
    return replace(part, text=text)


def _default_finish_reason(choice: ScriptedChoice) -> FinishReason:
    """Return `tool_calls` if the choice has calls, else `stop`."""
    if any(isinstance(part, ToolCallPart) for part in choice.parts):
        return "tool_calls"
    return "stop"


def _is_json(text: str) -> bool:
    """Return True if a text is JSON before its templates are filled."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _escape_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]
