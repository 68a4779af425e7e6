"""Alterations: answers of a step with one thing changed that a model could get wrong.

They answer two questions about a program: does it notice a broken answer, and do its tests notice
a different one?
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Choice, compact_json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.parts import AnswerPart, RefusalPart, TextPart, ToolCallPart
from scenarios_app.engine.producing.other_values import (
    OTHER_TEXT,
    contradictions,
    other_names,
    other_numbers,
    other_objects,
    read_object,
)

UNKNOWN_TOOL = "no_such_tool"
REFUSAL = "I cannot help with that request."
OTHER_LANGUAGE = "Lo siento, solo puedo responder en español."
# Places of one alteration in one answer; further ones are not listed.
MAX_VARIANTS = 10
MAX_LINE_CHARS = 120
_TOKEN = re.compile(r"\w+(?:[.,]\w+)*|\s+|.", re.DOTALL)

# Yields one altered choice for each place in the choice where the alteration applies.
Apply: TypeAlias = Callable[[Choice, CanonicalRequest], Iterator[Choice]]


@dataclass(frozen=True, slots=True)
class Alteration:
    """One way to alter a choice, described by `words`. No working model gives a `broken` answer."""

    name: str
    words: str
    apply: Apply
    broken: bool = False


class Variant(msgspec.Struct, frozen=True):
    """The alteration of this name at its `nth` place in an answer, from 1: the words `before` are
    replaced by those `after`."""

    alteration: str
    nth: int
    before: str
    after: str


def alter(
    name: str, choices: Sequence[Choice], request: CanonicalRequest, *, nth: int = 1
) -> tuple[Choice, ...] | None:
    """Return the choices with the alteration of this name at its `nth` place, from 1, in the first
    choice; None if it has no such place."""
    for choice in choices[:1]:
        for altered in islice(ALTERATIONS[name].apply(choice, request), nth - 1, nth):
            return (altered, *choices[1:])
    return None


def variants_of(choice: Choice, request: CanonicalRequest) -> Iterator[Variant]:
    """Yield the alterations of an answer that are not broken, each at up to MAX_VARIANTS places;
    only those whose words differ from the answer's and from those of earlier ones."""
    seen = {_line(choice)}
    for alteration in ALTERATIONS.values():
        if alteration.broken:
            continue
        altered = islice(alteration.apply(choice, request), MAX_VARIANTS)
        for nth, other in enumerate(altered, 1):
            if (line := _line(other)) not in seen:
                seen.add(line)
                yield Variant(alteration.name, nth, *difference(choice, other))


def difference(one: Choice, other: Choice) -> tuple[str, str]:
    """Return each choice's words, cut to MAX_LINE_CHARS, without their common beginning and end."""
    lines = [_TOKEN.findall(_line(choice)) for choice in (one, other)]
    shorter = min(map(len, lines))
    start = next((i for i in range(shorter) if lines[0][i] != lines[1][i]), shorter)
    left = shorter - start
    end = next((i for i in range(left) if lines[0][-1 - i] != lines[1][-1 - i]), left)
    if end and lines[0][-end] == ")" and "(" in lines[0][start : len(lines[0]) - end]:
        end -= 1  # The parenthesis of a call that is not in common.
    before, after = ("".join(words[start : len(words) - end]).strip(" ,") for words in lines)
    return shorten(before, MAX_LINE_CHARS), shorten(after, MAX_LINE_CHARS)


def _line(choice: Choice) -> str:
    """Return the texts, refusals and calls of a choice on one line, with single spaces."""
    pieces = (
        _call_line(part) if isinstance(part, ToolCallPart) else part.text
        for part in choice.parts
        if isinstance(part, TextPart | RefusalPart | ToolCallPart)
    )
    return " ".join(" ".join(pieces).split())


def _call_line(call: ToolCallPart) -> str:
    """Return a call as `name(argument=JSON, …)`, or with its text if that is no JSON object."""
    arguments = None if call.custom else read_object(call.arguments)
    if arguments is None:
        return f"{call.full_name}({call.arguments})"
    listed = (f"{name}={compact_json(value)}" for name, value in arguments.items())
    return f"{call.full_name}({', '.join(listed)})"


def _with_parts(choice: Choice, parts: Sequence[AnswerPart]) -> Choice:
    """Return the choice with other parts; its scripted chunks, made for the old parts, go."""
    return replace(choice, parts=tuple(parts), chunks=None)


def _with_part(choice: Choice, index: int, *parts: AnswerPart) -> Choice:
    """Return the choice with any number of parts in place of the one at an index."""
    return _with_parts(choice, [*choice.parts[:index], *parts, *choice.parts[index + 1 :]])


def _indexed_calls(choice: Choice) -> list[tuple[int, ToolCallPart]]:
    """Return the tool calls of a choice, each with the index of its part."""
    return [(i, part) for i, part in enumerate(choice.parts) if isinstance(part, ToolCallPart)]


def _replace_texts(choice: Choice, change: Callable[[TextPart], Iterable[str]]) -> Iterator[Choice]:
    """Yield the choice with one text replaced, for each new text that `change` returns for it."""
    for index, part in enumerate(choice.parts):
        if not isinstance(part, TextPart) or not part.text.strip():
            continue
        for text in change(part):
            if text not in ("", part.text):
                # The ranges of citations belong to the text as it was.
                yield _with_part(choice, index, replace(part, text=text, citations=()))


def _in_prose(change: Callable[[str, CanonicalRequest], Iterator[str]]) -> Apply:
    """Return the alteration that changes prose: texts neither marked as JSON nor a JSON object."""

    def change_texts(choice: Choice, request: CanonicalRequest) -> Iterator[Choice]:
        """Yield the choice with one prose text changed, for each text that `change` yields."""

        def changed_texts(part: TextPart) -> Iterable[str]:
            """Return the changed versions of a part's text; none if it is no prose."""
            is_prose = not part.is_json and read_object(part.text) is None
            return change(part.text, request) if is_prose else ()

        return _replace_texts(choice, changed_texts)

    return change_texts


def _in_calls(change: Callable[[ToolCallPart, CanonicalRequest], Iterator[str]]) -> Apply:
    """Return the alteration that gives a call other arguments."""

    def change_calls(choice: Choice, request: CanonicalRequest) -> Iterator[Choice]:
        """Yield the choice with the arguments of one call changed, as often as `change` yields."""
        for index, call in _indexed_calls(choice):
            for arguments in change(call, request):
                yield _with_part(choice, index, replace(call, arguments=arguments))

    return change_calls


def _remove_parts(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice without parts and with finish reason `stop`."""
    yield replace(_with_parts(choice, ()), finish_reason="stop")


def _cut_last_text(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice, if it has a text, with half of its last one and finish reason `length`."""
    halves = _replace_texts(choice, lambda part: [part.text[: (len(part.text) + 1) // 2].rstrip()])
    # The last text is where a model would stop.
    for halved in list(halves)[-1:]:
        yield replace(halved, finish_reason="length")


def _refuse(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with a refusal in place of its parts and with finish reason `stop`."""
    yield replace(_with_parts(choice, (RefusalPart(REFUSAL),)), finish_reason="stop")


def _break_arguments(call: ToolCallPart, _: CanonicalRequest) -> Iterator[str]:
    """Yield a call's arguments without their last character, so that they are no JSON."""
    if broken := call.arguments.rstrip()[:-1]:
        yield broken


def _rename_tool(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with one call renamed to UNKNOWN_TOOL, for each call."""
    for index, call in _indexed_calls(choice):
        yield _with_part(choice, index, replace(call, name=UNKNOWN_TOOL))


def _repeat_call(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with one of its calls twice in a row, under two ids, for each call."""
    for index, call in _indexed_calls(choice):
        yield _with_part(choice, index, call, replace(call, id=f"{call.id}2" if call.id else ""))


def _change_finish(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with finish reason `stop` if it has calls, else `tool_calls`."""
    yield replace(choice, finish_reason="stop" if _indexed_calls(choice) else "tool_calls")


def _drop_call(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice without one of its calls, for each; without any, it ends with `stop`."""
    calls = _indexed_calls(choice)
    finish = choice.finish_reason if len(calls) > 1 else "stop"
    for index, _call in calls:
        yield replace(_with_part(choice, index), finish_reason=finish)


def _swap_calls(choice: Choice, _: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with two neighbouring calls swapped, for each such pair."""
    for (first, call), (second, other) in pairwise(_indexed_calls(choice)):
        parts = list(choice.parts)
        parts[first], parts[second] = other, call
        yield _with_parts(choice, parts)


def _change_argument(call: ToolCallPart, request: CanonicalRequest) -> Iterator[str]:
    """Yield the arguments of a call with one value changed, for each value that may change by the
    tool's schema; the text of a custom tool with one number changed, else with a word added."""
    if call.custom:
        numbers = list(other_numbers(call.arguments))
        yield from numbers or [f"{call.arguments} {OTHER_TEXT}"]
        return
    name = (call.namespace, call.name)
    schemas = (tool.schema for tool in request.tools if (tool.namespace, tool.name) == name)
    for arguments in other_objects(read_object(call.arguments) or {}, next(schemas, None)):
        yield compact_json(arguments)


def _drop_argument(call: ToolCallPart, _: CanonicalRequest) -> Iterator[str]:
    """Yield the arguments of a call without one of them, for each; none for a custom tool."""
    arguments = {} if call.custom else read_object(call.arguments) or {}
    for left_out in arguments:
        yield compact_json({key: value for key, value in arguments.items() if key != left_out})


def _change_json_fields(choice: Choice, request: CanonicalRequest) -> Iterator[Choice]:
    """Yield the choice with one value of a JSON text changed, for each value in an object that may
    change by the schema of the request's response format."""
    schema = request.json.schema if request.json else None
    return _replace_texts(
        choice, lambda part: map(compact_json, other_objects(read_object(part.text) or {}, schema))
    )


def _contradict_results(text: str, request: CanonicalRequest) -> Iterator[str]:
    """Yield the text with one change that contradicts the tool results of the request."""
    return contradictions(text, "\n".join(result.content for result in request.tool_results))


_ALL: tuple[Alteration, ...] = (
    Alteration("empty_answer", "an empty answer", _remove_parts),
    Alteration("max_tokens", "cut off by max_tokens", _cut_last_text, broken=True),
    Alteration("refusal", "a refusal", _refuse),
    Alteration(
        "broken_arguments", "arguments that are not JSON", _in_calls(_break_arguments), broken=True
    ),
    Alteration("unknown_tool", "a call of an unknown tool", _rename_tool, broken=True),
    Alteration("call_twice", "the same tool call twice", _repeat_call),
    Alteration("wrong_finish", "a wrong finish reason", _change_finish, broken=True),
    Alteration("result", "a contradiction to a tool's result", _in_prose(_contradict_results)),
    Alteration("number", "another number", _in_prose(lambda text, _: other_numbers(text))),
    Alteration("name", "another name", _in_prose(lambda text, _: other_names(text))),
    Alteration("field", "another field", _change_json_fields),
    Alteration("argument", "another argument", _in_calls(_change_argument)),
    Alteration("no_argument", "one argument less", _in_calls(_drop_argument)),
    Alteration("call_order", "calls in another order", _swap_calls),
    Alteration("no_call", "one call less", _drop_call),
    Alteration("language", "another language", _in_prose(lambda text, _: iter([OTHER_LANGUAGE]))),
)
ALTERATIONS: Mapping[str, Alteration] = {alteration.name: alteration for alteration in _ALL}
