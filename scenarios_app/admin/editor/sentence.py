"""A step in one sentence: when it answers, and with what. It reads plain data that nobody has
checked, so it leaves out what it does not understand."""

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.match import condition_kinds
from scenarios_app.engine.conditions.phrases import (
    as_list,
    get_member,
    get_short_text,
    list_first_names,
    shorten_line,
)
from scenarios_app.engine.conditions.request import TurnCondition
from scenarios_app.engine.producing.faults import fault_kinds

ANYTHING = "anything"
NOTHING = "nothing yet"


@dataclass(frozen=True, slots=True)
class Title:
    """`name` is the step's own, and empty where it has none."""

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
    """The title of a step in the document's form."""
    return Title(
        number=number,
        name=get_short_text(step, "name"),
        when=" · ".join(_when(step)) or ANYTHING,
        then=_failing(get_member(step, "failures")) + _answer(get_member(step, "produce")),
    )


def _when(step: Json) -> Iterator[str]:
    yield from TurnCondition.phrases(get_member(step, "turn"))
    for kind in condition_kinds():
        yield from kind.phrases(get_member(get_member(step, "match"), kind.key))


def _failing(failures: Json) -> str:
    times = get_member(failures, "times")
    if not isinstance(times, int):
        return ""
    often = "once" if times == 1 else f"{times} times"
    return f"{_fault(get_member(failures, 'fault')) or _words('model_error')} {often}, then "


def _answer(produce: Json) -> str:
    fault = _fault(get_member(produce, "fault"))
    modes = [key for key in ("streaming", "non_streaming") if get_member(produce, key)]
    if len(modes) == 2:
        said = f"{_content(get_member(produce, modes[0]))} streamed, else "
        said += _content(get_member(produce, modes[1]))
    else:
        said = _content(get_member(produce, modes[0]) if modes else produce)
    if said and fault:
        return f"{said}, {fault}"
    return said or fault or NOTHING


def _content(answer: Json) -> str:
    if raw := _dict(get_member(answer, "raw")):
        return f"raw HTTP {raw.get('status', 200)}"
    for key in ("choices", "chunks"):
        if items := as_list(get_member(answer, key)):
            return f"{len(items)} {key if len(items) > 1 else key[:-1]}"
    if (kind := get_short_text(get_member(answer, "generate"), "kind")) and kind:
        return "made for the request" if kind == "auto" else f"generated {kind}"
    parts = as_list(get_member(answer, "parts"))
    texts = [get_member(answer, "text"), *(get_member(part, "text") for part in parts)]
    calls = [
        *as_list(get_member(answer, "tool_calls")),
        *(get_member(part, "tool_call") for part in parts),
    ]
    refusals = [get_member(answer, "refusal"), *(get_member(part, "refusal") for part in parts)]
    thought = get_member(answer, "reasoning") or any(
        get_member(part, "reasoning") for part in parts
    )
    names = [get_short_text(call, "name") or "?" for call in calls if isinstance(call, dict)]
    said = [
        "reasoning" if thought else "",
        _first(texts, "text"),
        f"tool call{'s' if len(names) > 1 else ''} {list_first_names(list(names))}"
        if names
        else "",
        _first(refusals, "refusal"),
        "final report" if get_member(answer, "final_report") else "",
    ]
    return " + ".join(part for part in said if part)


def _first(texts: list[Json], noun: str) -> str:
    found = [text for text in texts if isinstance(text, str)]
    if not found:
        return ""
    shown = shorten_line(next((text for text in found if text.strip()), ""))
    return f"{noun} “{shown}”" if shown else f"empty {noun}"


def _words(kind: str) -> str:
    """What stands for a kind of fault; nothing for one that there is not."""
    known = fault_kinds().get(kind)
    return known.words if known else ""


def _fault(fault: Json) -> str:
    said = _words(get_short_text(fault, "kind"))
    status = get_member(fault, "status")
    return f"{said} {status}" if said and isinstance(status, int) else said


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
