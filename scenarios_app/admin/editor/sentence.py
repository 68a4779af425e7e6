"""A step in one sentence: when it answers, and with what. It reads plain data that nobody has
checked, so whatever it does not understand it leaves out."""

from collections.abc import Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import Json

ANYTHING = "anything"
NOTHING = "nothing yet"

_QUOTED = 40
_LISTED = 3
_WORDS = {"equals": "is", "contains": "contains", "startswith": "starts with", "regex": "matches"}
_SUBJECTS = {"tool": "tool result", "assistant": "assistant message"}
_SUBJECTS |= {"system": "system prompt", "user": "user"}
_FAULTS = {
    "http": "HTTP error",
    "rate_limit": "rate limit",
    "model_error": "model error",
    "timeout": "no answer in time",
    "network_error": "connection closed",
    "invalid_response": "malformed answer",
    "disconnect": "cut short",
    "truncate": "without its end mark",
    "malformed_chunk": "with a malformed chunk",
    "stall": "going silent for a while",
    "error_event": "broken off by an error",
}


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
        name=_text(_get(step, "name")),
        when=" · ".join(_when(step)) or ANYTHING,
        then=_failing(_get(step, "failures")) + _answer(_get(step, "produce")),
    )


def _when(step: Json) -> Iterator[str]:
    turn, match = _get(step, "turn"), _get(step, "match")
    if isinstance(turn, int):
        yield f"turn {turn}"
    for key, before in (("provider", ""), ("path", ""), ("model", "model ")):
        if said := " or ".join(_conditions(_get(match, key))):
            yield f"{before}{said}"
    stream = _get(match, "stream")
    if isinstance(stream, bool):
        yield "streamed" if stream else "not streamed"
    for message in _list(_get(match, "messages")):
        yield _message(message)
    if tools := _names(_list(_get(match, "tools"))):
        yield f"offers {tools}"
    for call in _list(_get(match, "tool_calls")):
        yield f"called {_text(_get(call, 'name')) or 'a tool'}"
    for result in _list(_get(match, "tool_results")):
        yield _result(result)
    for key, noun in (("headers", "header"), ("metadata", "metadata")):
        if names := _names(list(_dict(_get(match, key)))):
            yield f"{noun} {names}"


def _message(condition: Json) -> str:
    role = _text(_get(condition, "role"))
    which = _get(condition, "which")
    subject = _SUBJECTS.get(role, "message")
    if isinstance(which, int) and not isinstance(which, bool):
        subject += f" {which}"
    elif which in ("first", "any"):
        subject = f"{which} {subject}"
    said = " and ".join(_tests(condition, quoted=True))
    return f"{subject} {said}" if said else f"has {subject}"


def _result(condition: Json) -> str:
    name = _text(_get(condition, "name"))
    said = " and ".join(_tests(condition, quoted=True))
    return " ".join(part for part in ("result", name and f"of {name}", said) if part)


def _conditions(value: Json) -> Iterator[str]:
    """Alternatives, each in words; one that is an exact text is just that text."""
    for item in value if isinstance(value, list) else [value]:
        if said := " and ".join(_tests(item, quoted=False)):
            yield said


def _tests(condition: Json, *, quoted: bool) -> Iterator[str]:
    if isinstance(condition, str):
        condition = {"equals": condition}
    for mode, word in _WORDS.items():
        text = _get(condition, mode)
        if isinstance(text, str) and text:
            shown = _short(text)
            yield shown if mode == "equals" and not quoted else f"{word} “{shown}”"


def _failing(failures: Json) -> str:
    times = _get(failures, "times")
    if not isinstance(times, int):
        return ""
    often = "once" if times == 1 else f"{times} times"
    return f"{_fault(_get(failures, 'fault')) or _FAULTS['model_error']} {often}, then "


def _answer(produce: Json) -> str:
    fault = _fault(_get(produce, "fault"))
    modes = [key for key in ("streaming", "non_streaming") if _get(produce, key)]
    if len(modes) == 2:
        said = f"{_content(_get(produce, modes[0]))} streamed, else "
        said += _content(_get(produce, modes[1]))
    else:
        said = _content(_get(produce, modes[0]) if modes else produce)
    if said and fault:
        return f"{said}, {fault}"
    return said or fault or NOTHING


def _content(answer: Json) -> str:
    if raw := _dict(_get(answer, "raw")):
        return f"raw HTTP {raw.get('status', 200)}"
    for key in ("choices", "chunks"):
        if items := _list(_get(answer, key)):
            return f"{len(items)} {key if len(items) > 1 else key[:-1]}"
    if (kind := _text(_get(_get(answer, "generate"), "kind"))) and kind:
        return f"generated {kind}"
    parts = _list(_get(answer, "parts"))
    texts = [_get(answer, "text"), *(_get(part, "text") for part in parts)]
    calls = [*_list(_get(answer, "tool_calls")), *(_get(part, "tool_call") for part in parts)]
    refusals = [_get(answer, "refusal"), *(_get(part, "refusal") for part in parts)]
    thought = _get(answer, "reasoning") or any(_get(part, "reasoning") for part in parts)
    names = [_text(_get(call, "name")) or "?" for call in calls if isinstance(call, dict)]
    said = [
        "reasoning" if thought else "",
        _first(texts, "text"),
        f"tool call{'s' if len(names) > 1 else ''} {_names(list(names))}" if names else "",
        _first(refusals, "refusal"),
        "final report" if _get(answer, "final_report") else "",
    ]
    return " + ".join(part for part in said if part)


def _first(texts: list[Json], noun: str) -> str:
    found = [text for text in texts if isinstance(text, str)]
    if not found:
        return ""
    shown = _short(next((text for text in found if text.strip()), ""))
    return f"{noun} “{shown}”" if shown else f"empty {noun}"


def _fault(fault: Json) -> str:
    said = _FAULTS.get(_text(_get(fault, "kind")), "")
    status = _get(fault, "status")
    return f"{said} {status}" if said and isinstance(status, int) else said


def _names(items: list[Json]) -> str:
    names = [_short(item) for item in items if isinstance(item, str)]
    left = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {left} more" if left > 0 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else line[: _QUOTED - 1].rstrip() + "…"


def _get(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Json) -> str:
    return _short(value) if isinstance(value, str) else ""


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
