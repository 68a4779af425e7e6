"""The condition of a recorded step: that a request is the same conversation as the one that was
recorded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions import base as say
from scenarios_app.engine.conditions.base import AboutText, Condition
from scenarios_app.engine.conditions.subjects import Reading, Subject
from scenarios_app.engine.conditions.texts import TextCondition, quote
from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    Difference,
    asked,
    decoded,
    differences,
    rules_between,
)
from scenarios_app.engine.recorded.rules import NAMES, RuleName
from scenarios_app.engine.shapes import Document, quoted
from scenarios_app.engine.shapes.fields import SomeText, Text, one_of

_SAME = "the same conversation as was recorded"
_NOTHING = "nothing"
# Not met is never 0, however alike two requests are.
_LEAST = 0.02
# So many differences are told of one step.
_TOLD = 10

RuleKey: TypeAlias = Annotated[RuleName, one_of(RuleName)]


class RecordedRequestDocument(Document):
    """A request as it was recorded. Another one is the same if its conversation is: what is new in
    every run is not compared, by rules that each have a name."""

    method: SomeText = "POST"
    """The HTTP method."""
    query: dict[str, Text] = Field(default_factory=dict)
    """The query of its URL, which is compared where there is no body."""
    body: JsonValue = None
    """The body: JSON, or a text where it was none."""
    exact: list[RuleKey] = Field(default_factory=list)
    """Rules that are switched off: what they would leave out is compared too."""


def _digest(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
    if request.sent is None:
        return ()
    return (asked(request.sent, frozenset(subject.name.split())).digest,)


@dataclass(frozen=True, slots=True)
class RecordedCondition(AboutText):
    """A request is the recorded one, but for what is new in every run."""

    recorded: ComparedRequest = field(repr=False)

    key = "recorded"
    shape = RecordedRequestDocument | None
    meaning = "The request that was recorded: what is asked must be the same conversation."
    keyword = "with_recorded"

    @classmethod
    def compiled(cls, value: RecordedRequestDocument | None, place: str) -> Iterator[Condition]:
        if value is not None:
            body = decoded(value.body) if isinstance(value.body, str) else value.body
            exact = frozenset(value.exact)
            recorded = ComparedRequest(value.method, value.query, body, exact)
            subject = Subject(_digest, " ".join(sorted(exact)))
            yield cls(place, subject, (TextCondition(equals=recorded.digest),), recorded)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, dict):
            said = say.short(last_text(value.get("body")))
            yield f"the recorded conversation{f' “{said}”' if said else ''}"

    @property
    def expected(self) -> str:
        return _SAME

    def actual(self, reading: Reading) -> str:
        came = self._asked(reading)
        if came is None:
            return "a request of which only the head is known"
        if self.holds(reading):
            rules = rules_between(self.recorded, came)
            return (
                f"the same but for what these rules leave out: {', '.join(rules)}"
                if rules
                else ("the same")
            )
        return "; ".join(map(told, self.differences(reading)))

    def mismatches(self, reading: Reading) -> Iterator[tuple[str, str, str]]:
        found = self.differences(reading)
        if not found:
            yield from AboutText.mismatches(self, reading)
        for one in found:
            yield f"{self.field}.{one.place}", _shown(one.recorded), _shown(one.asked)

    def differences(self, reading: Reading) -> tuple[Difference, ...]:
        """What of the request is not as it was recorded."""
        came = self._asked(reading)
        return () if came is None else differences(self.recorded, came, most=_TOLD)

    def distance(self, reading: Reading) -> float:
        came = self._asked(reading)
        if came is None:
            return 1.0
        if self.holds(reading):
            return 0.0
        return max(_LEAST, 1.0 - self.recorded.likeness(came))

    def holds_exactly(self, reading: Reading) -> bool:
        """Whether the request is the recorded one without any rule."""
        sent = reading.request.sent
        exact = ComparedRequest(
            self.recorded.method, self.recorded.query, self.recorded.body, NAMES
        )
        return sent is not None and asked(sent, NAMES).digest == exact.digest

    @property
    def moves_on(self) -> bool:
        return True

    @property
    def may_be_masked(self) -> bool:
        return True

    def _asked(self, reading: Reading) -> ComparedRequest | None:
        sent = reading.request.sent
        return None if sent is None else asked(sent, self.recorded.exact)


def told(difference: Difference) -> str:
    """A difference as people read it."""
    match difference.kind:
        case "new":
            return f"{difference.place} is new: {_shown(difference.asked)}"
        case "removed":
            return f"{difference.place} is gone: {_shown(difference.recorded)}"
        case _:
            was, now = _shown(difference.recorded), _shown(difference.asked)
            return f"{difference.place} changed from {was} to {now}"


def last_text(body: Json) -> str:
    """The last text that somebody says in a body, for people to know a step by."""
    for key in ("messages", "input", "contents", "prompt"):
        value = say.member(body, key)
        if isinstance(value, str):
            return value
        for message in reversed(say.listed(value)):
            for text in _texts(message):
                return text
    return ""


def _texts(message: Json) -> Iterator[str]:
    for key in ("content", "parts", "output"):
        value = say.member(message, key)
        if isinstance(value, str):
            yield value
        for part in reversed(say.listed(value)):
            text = say.member(part, "text")
            if isinstance(text, str):
                yield text


def _shown(value: Json) -> str:
    if value is None:
        return _NOTHING
    return quote(value) if isinstance(value, str) else quoted(value)
