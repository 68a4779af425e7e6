"""Alterations: answers of a step with one thing changed that a model could get wrong.

They answer two questions about a program: does it notice a broken answer, and do its tests notice
a different one?
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from scenarios_app.engine.canonical import Choice, Json, compact_json
from scenarios_app.engine.parts import AnswerPart, RefusalPart, TextPart, ToolCallPart

UNKNOWN_TOOL = "no_such_tool"
REFUSAL = "I cannot help with that request."
OTHER_LANGUAGE = "Lo siento, solo puedo responder en español."
OTHER_TEXT = "altered"
# Times a number, so that amounts and units are wrong by an order of magnitude.
FACTOR = 100

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)")
_NAME = re.compile(r"(?<=[^.!?\s] )[A-Z][a-z]{2,}\b")


@dataclass(frozen=True, slots=True)
class Alteration:
    """One way to alter a choice; `words` name it for people. `apply` returns None if the choice has
    nothing of the kind. One that is `broken` is no valid answer of a model; all others could be
    what a model says."""

    name: str
    words: str
    apply: Callable[[Choice], Choice | None]
    broken: bool = False


def alter(name: str, choices: Sequence[Choice]) -> tuple[Choice, ...] | None:
    """Return the choices with the first one altered, or None if the alteration does not apply."""
    if not choices:
        return None
    altered = ALTERATIONS[name].apply(choices[0])
    return None if altered is None else (altered, *choices[1:])


def _with_parts(choice: Choice, parts: Sequence[AnswerPart]) -> Choice:
    # Scripted chunks belong to the parts as they were.
    return replace(choice, parts=tuple(parts), chunks=None)


def _with_part(choice: Choice, index: int, part: AnswerPart) -> Choice:
    return _with_parts(choice, [*choice.parts[:index], part, *choice.parts[index + 1 :]])


def _text_index(choice: Choice) -> int | None:
    """Return the index of the last part with text."""
    places = [i for i, p in enumerate(choice.parts) if isinstance(p, TextPart) and p.text.strip()]
    return places[-1] if places else None


def _calls(choice: Choice) -> list[tuple[int, ToolCallPart]]:
    return [(i, part) for i, part in enumerate(choice.parts) if isinstance(part, ToolCallPart)]


def _changed_text(choice: Choice, change: Callable[[str], str | None]) -> Choice | None:
    index = _text_index(choice)
    if index is None:
        return None
    part = choice.parts[index]
    assert isinstance(part, TextPart)
    text = change(part.text)
    if text is None or text == part.text:
        return None
    return _with_part(choice, index, TextPart(text))


def _changed_call(choice: Choice, change: Callable[[ToolCallPart], str | None]) -> Choice | None:
    """Return the choice with other arguments of the first call for which there are any."""
    for index, call in _calls(choice):
        arguments = change(call)
        if arguments is not None and arguments != call.arguments:
            return _with_part(choice, index, replace(call, arguments=arguments))
    return None


def _empty(choice: Choice) -> Choice:
    return replace(_with_parts(choice, ()), finish_reason="stop")


def _cut_by_max_tokens(choice: Choice) -> Choice | None:
    halved = _changed_text(choice, lambda text: text[: (len(text) + 1) // 2].rstrip() or None)
    return halved and replace(halved, finish_reason="length")


def _refusal(choice: Choice) -> Choice:
    return replace(_with_parts(choice, (RefusalPart(REFUSAL),)), finish_reason="stop")


def _broken_arguments(choice: Choice) -> Choice | None:
    return _changed_call(choice, lambda call: call.arguments.rstrip()[:-1] or None)


def _unknown_tool(choice: Choice) -> Choice | None:
    for index, call in _calls(choice):
        return _with_part(choice, index, replace(call, name=UNKNOWN_TOOL))
    return None


def _call_twice(choice: Choice) -> Choice | None:
    for index, call in _calls(choice):
        copy = replace(call, id=f"{call.id}2" if call.id else "")
        return _with_parts(choice, [*choice.parts[: index + 1], copy, *choice.parts[index + 1 :]])
    return None


def _wrong_finish(choice: Choice) -> Choice:
    return replace(choice, finish_reason="stop" if _calls(choice) else "tool_calls")


def _one_call_less(choice: Choice) -> Choice | None:
    calls = _calls(choice)
    if not calls:
        return None
    parts = [part for i, part in enumerate(choice.parts) if i != calls[-1][0]]
    finish = choice.finish_reason if len(calls) > 1 else "stop"
    return replace(_with_parts(choice, parts), finish_reason=finish)


def _other_order(choice: Choice) -> Choice | None:
    calls = _calls(choice)
    if len(calls) < 2:
        return None
    (first, one), (second, other) = calls[:2]
    parts = list(choice.parts)
    parts[first], parts[second] = other, one
    return _with_parts(choice, parts)


def _other_number(text: str) -> str | None:
    found = _NUMBER.search(text)
    if found is None:
        return None
    number = float(found[0]) if "." in found[0] else int(found[0])
    return f"{text[: found.start()]}{_larger(number)}{text[found.end() :]}"


def _larger(number: float) -> float:
    changed = number * FACTOR or 1
    return int(changed) if changed == int(changed) else changed


def _other_name(text: str) -> str | None:
    found = _NAME.search(text)
    if found is None:
        return None
    return f"{text[: found.start()]}{_reversed_name(found[0])}{text[found.end() :]}"


def _reversed_name(name: str) -> str:
    return name[::-1].capitalize() if name[::-1].lower() != name.lower() else f"{name}s"


def _other_value(value: Json) -> Json:
    """Return the value with its first scalar changed to another one of its type."""
    changed, _ = _replace_first(value)
    return changed


def _replace_first(value: Json) -> tuple[Json, bool]:
    match value:
        case bool():
            return not value, True
        case int() | float():
            return _larger(value), True
        case str():
            return _other_number(value) or (_reversed_name(value) if value else OTHER_TEXT), True
        case list():
            for index, member in enumerate(value):
                changed, done = _replace_first(member)
                if done:
                    return [*value[:index], changed, *value[index + 1 :]], True
        case dict():
            for key, member in value.items():
                changed, done = _replace_first(member)
                if done:
                    return {**value, key: changed}, True
    return value, False


def _object(text: str) -> dict[str, Json] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _other_argument(call: ToolCallPart) -> str | None:
    if call.custom:
        return _other_number(call.arguments) or f"{call.arguments} {OTHER_TEXT}"
    arguments = _object(call.arguments)
    return compact_json(_other_value(arguments)) if arguments else None


def _argument_left_out(call: ToolCallPart) -> str | None:
    arguments = None if call.custom else _object(call.arguments)
    if not arguments:
        return None
    return compact_json(dict(list(arguments.items())[:-1]))


def _other_field(text: str) -> str | None:
    value = _object(text)
    return compact_json(_other_value(value)) if value else None


_ALL: tuple[Alteration, ...] = (
    Alteration("empty_answer", "an empty answer", _empty, broken=True),
    Alteration("max_tokens", "cut off by max_tokens", _cut_by_max_tokens, broken=True),
    Alteration("refusal", "a refusal", _refusal, broken=True),
    Alteration("broken_arguments", "arguments that are not JSON", _broken_arguments, broken=True),
    Alteration("unknown_tool", "a call of an unknown tool", _unknown_tool, broken=True),
    Alteration("call_twice", "the same tool call twice", _call_twice, broken=True),
    Alteration("wrong_finish", "a wrong finish reason", _wrong_finish, broken=True),
    Alteration("number", "another number", lambda choice: _changed_text(choice, _other_number)),
    Alteration("name", "another name", lambda choice: _changed_text(choice, _other_name)),
    Alteration("field", "another field", lambda choice: _changed_text(choice, _other_field)),
    Alteration(
        "argument", "another argument", lambda choice: _changed_call(choice, _other_argument)
    ),
    Alteration(
        "no_argument",
        "one argument less",
        lambda choice: _changed_call(choice, _argument_left_out),
    ),
    Alteration("call_order", "calls in another order", _other_order),
    Alteration("no_call", "one call less", _one_call_less),
    Alteration(
        "language",
        "another language",
        lambda choice: _changed_text(choice, lambda _: OTHER_LANGUAGE),
    ),
)
ALTERATIONS: Mapping[str, Alteration] = {alteration.name: alteration for alteration in _ALL}
