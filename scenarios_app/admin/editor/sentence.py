"""Describes a step in one sentence: when it answers, and with what.

It reads unvalidated data and leaves out what it does not understand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.match import CONDITION_KINDS
from scenarios_app.engine.conditions.phrases import (
    as_list,
    get_member,
    get_short_text,
    list_first_names,
    shorten_line,
)
from scenarios_app.engine.conditions.request import TurnCondition
from scenarios_app.engine.producing.faults import FAULT_KINDS

ANYTHING = "anything"
NOTHING = "nothing yet"


@dataclass(frozen=True, slots=True)
class Title:
    """A step in words: its name, "" if it has none, and the two halves of its sentence."""

    number: int
    name: str
    when: str
    then: str

    @property
    def sentence(self) -> str:
        return f"{self.when} → {self.then}"

    def __str__(self) -> str:
        return " · ".join(part for part in (str(self.number), self.name, self.sentence) if part)


def title_of(number: int, step: Json) -> Title:
    """Return the title of a step in document form."""
    return Title(
        number=number,
        name=get_short_text(step, "name"),
        when=" · ".join(_condition_phrases(step)) or ANYTHING,
        then=_failures_phrase(get_member(step, "failures"))
        + _answer_phrase(get_member(step, "produce")),
    )


def _condition_phrases(step: Json) -> Iterator[str]:
    """Yield each condition of the step in words, the turn first."""
    yield from TurnCondition.phrases(get_member(step, "turn"))
    for kind in CONDITION_KINDS:
        yield from kind.phrases(get_member(get_member(step, "match"), kind.key))


def _failures_phrase(failures: Json) -> str:
    """Return how a step fails before it answers, and how often, or "" if it does not."""
    times = get_member(failures, "times")
    if not isinstance(times, int):
        return ""
    often = "once" if times == 1 else f"{times} times"
    fault = _fault_phrase(get_member(failures, "fault")) or _fault_words("model_error")
    return f"{fault} {often}, then "


def _answer_phrase(produce: Json) -> str:
    """Return the answer in words: its content by mode, and its fault."""
    fault = _fault_phrase(get_member(produce, "fault"))
    modes = [key for key in ("streaming", "non_streaming") if get_member(produce, key)]
    if len(modes) == 2:
        phrase = f"{_content_phrase(get_member(produce, modes[0]))} streamed, else "
        phrase += _content_phrase(get_member(produce, modes[1]))
    else:
        phrase = _content_phrase(get_member(produce, modes[0]) if modes else produce)
    if phrase and fault:
        return f"{phrase}, {fault}"
    return phrase or fault or NOTHING


def _content_phrase(answer: Json) -> str:
    """Return the content of an answer in words, its text shortened."""
    if isinstance(raw := get_member(answer, "raw"), dict) and raw:
        return f"raw HTTP {raw.get('status', 200)}"
    for key in ("choices", "chunks"):
        if items := as_list(get_member(answer, key)):
            return f"{len(items)} {key if len(items) > 1 else key[:-1]}"
    if kind := get_short_text(get_member(answer, "generate"), "kind"):
        return "made for the request" if kind == "auto" else f"generated {kind}"
    parts = as_list(get_member(answer, "parts"))
    sources = [answer, *parts]
    calls = [
        *as_list(get_member(answer, "tool_calls")),
        *(get_member(part, "tool_call") for part in parts),
    ]
    names = [get_short_text(call, "name") or "?" for call in calls if isinstance(call, dict)]
    hosted = [get_member(part, "hosted_tool") for part in parts]
    hosted_names = [get_short_text(tool, "tool") or "?" for tool in hosted if tool]
    plural = "s" if len(names) > 1 else ""
    phrases = [
        "reasoning" if any(get_member(one, "reasoning") for one in sources) else "",
        f"hosted {list_first_names([*hosted_names])}" if hosted_names else "",
        _first_text(sources, "text"),
        "JSON" if any(get_member(one, "json") is not None for one in sources) else "",
        f"tool call{plural} {list_first_names([*names])}" if names else "",
        _first_text(sources, "refusal"),
        "final report" if get_member(answer, "final_report") else "",
    ]
    return " + ".join(part for part in phrases if part)


def _first_text(sources: list[Json], noun: str) -> str:
    """Return the noun with the first text under this key that is not blank, `empty NOUN` if all are
    blank, or "" without texts."""
    strings = [text for one in sources if isinstance(text := get_member(one, noun), str)]
    if not strings:
        return ""
    excerpt = shorten_line(next((text for text in strings if text.strip()), ""))
    return f"{noun} “{excerpt}”" if excerpt else f"empty {noun}"


def _fault_words(kind: str) -> str:
    """Return the phrase for a failure type, or "" for an unknown one."""
    fault = FAULT_KINDS.get(kind)
    return fault.words if fault else ""


def _fault_phrase(fault: Json) -> str:
    """Return a fault in words, or "" without one."""
    words = _fault_words(get_short_text(fault, "kind"))
    status = get_member(fault, "status")
    return f"{words} {status}" if words and isinstance(status, int) else words
