"""The condition of a recorded step: the request is the same conversation as the recorded one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, TypeAlias

from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.conditions.base import Condition, SubjectTextCondition, builder_value
from scenarios_app.engine.conditions.phrases import as_list, get_member, shorten_line
from scenarios_app.engine.conditions.subjects import RequestReader, Subject
from scenarios_app.engine.conditions.texts import TextCondition, quote
from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    Difference,
    decode_body,
    differences,
    rules_needed,
    to_compared_request,
)
from scenarios_app.engine.recorded.rules import RULE_NAMES, RuleName
from scenarios_app.engine.shapes import Document, fields, quote_json

# A condition that fails has more than distance 0, however alike the requests are.
_MIN_UNMET_DISTANCE = 0.02
_MAX_DIFFERENCES = 10

RuleKey: TypeAlias = Annotated[RuleName, fields.one_of(RuleName)]


class RecordedRequestDocument(Document):
    """A request as it was recorded. Another request is the same if it differs only in volatile
    values, which built-in rules leave out."""

    method: fields.SomeText = "POST"
    """The HTTP method."""
    query: dict[str, fields.Text] = Field(default_factory=dict)
    """The query, compared if there is no body."""
    body: JsonValue = None
    """The body: JSON, or text."""
    exact: list[RuleKey] = Field(default_factory=list)
    """Rules to switch off in this step."""


@dataclass(frozen=True, slots=True)
class RecordedCondition(SubjectTextCondition):
    """The request equals the recorded one after the rules for volatile values."""

    recorded: ComparedRequest = field(repr=False)

    key = "recorded"
    shape = RecordedRequestDocument | None
    meaning = "The recorded request. The request must be the same conversation."
    can_fail_next_turn = True
    may_be_masked = True

    @builder_value
    @staticmethod
    def with_recorded(
        body: object, /, *, method: str = "POST", exact: Sequence[str] = ()
    ) -> object:
        """Match a recorded request by its body: the same conversation. `exact` names rules to
        switch off."""
        other_method = {} if method == "POST" else {"method": method}
        return {"body": body, **other_method, **({"exact": list(exact)} if exact else {})}

    @classmethod
    def compile(cls, value: RecordedRequestDocument | None, field: str) -> Iterator[Condition]:
        if value is not None:
            body = decode_body(value.body) if isinstance(value.body, str) else value.body
            exact = frozenset(value.exact)
            recorded = ComparedRequest(value.method, value.query, body, exact)
            subject = Subject(cls.read_texts, " ".join(sorted(exact)))
            yield cls(field, subject, (TextCondition(equals=recorded.digest),), recorded)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        if isinstance(value, dict):
            text = shorten_line(last_text(value.get("body")))
            yield f"the recorded conversation{f' “{text}”' if text else ''}"

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        if request.sent is None:
            return ()
        return (to_compared_request(request.sent, frozenset(subject.name.split())).digest,)

    @property
    def expected(self) -> str:
        return "the same conversation as was recorded"

    def actual(self, reader: RequestReader) -> str:
        received = self._compared_form(reader)
        if received is None:
            return "a request of which only the head is known"
        if self.holds(reader):
            rules = ", ".join(rules_needed(self.recorded, received))
            return f"the same but for what these rules leave out: {rules}" if rules else "the same"
        return "; ".join(map(describe_difference, self.differences(reader)))

    def mismatches(self, reader: RequestReader) -> Iterator[tuple[str, str, str]]:
        """Yield each difference as its place, the recorded and the received value."""
        differences = self.differences(reader)
        if not differences:
            yield from SubjectTextCondition.mismatches(self, reader)
        for difference in differences:
            was, now = _format_value(difference.recorded), _format_value(difference.received)
            yield f"{self.field}.{difference.place}", was, now

    def differences(self, reader: RequestReader) -> tuple[Difference, ...]:
        """Return at most 10 differences from the recorded request; none if the raw one is
        unknown."""
        received = self._compared_form(reader)
        if received is None:
            return ()
        return differences(self.recorded, received, limit=_MAX_DIFFERENCES)

    def distance(self, reader: RequestReader) -> float:
        """Return 0.0 if the requests are equal, else how much they differ, at most 1.0."""
        received = self._compared_form(reader)
        if received is None:
            return 1.0
        if self.holds(reader):
            return 0.0
        return max(_MIN_UNMET_DISTANCE, 1.0 - self.recorded.likeness(received))

    def holds_exactly(self, reader: RequestReader) -> bool:
        """Return True if the request equals the recorded one with all rules switched off."""
        sent = reader.request.sent
        exact = replace(self.recorded, exact=RULE_NAMES)
        return sent is not None and to_compared_request(sent, RULE_NAMES).digest == exact.digest

    def _compared_form(self, reader: RequestReader) -> ComparedRequest | None:
        """Return the request in the form that is compared with the recorded one, or None if the raw
        request is unknown."""
        sent = reader.request.sent
        return None if sent is None else to_compared_request(sent, self.recorded.exact)


def describe_difference(difference: Difference) -> str:
    """Return a difference as one line for people."""
    was, now = _format_value(difference.recorded), _format_value(difference.received)
    match difference.kind:
        case "new":
            return f"{difference.place} is new: {now}"
        case "removed":
            return f"{difference.place} is gone: {was}"
        case _:
            return f"{difference.place} changed from {was} to {now}"


def last_text(body: Json) -> str:
    """Return the last message text in a request body, which identifies the step for people; empty
    if there is none."""
    for key in ("messages", "input", "contents", "prompt"):
        value = get_member(body, key)
        if isinstance(value, str):
            return value
        for message in reversed(as_list(value)):
            for text in _texts_from_end(message):
                return text
    return ""


def _texts_from_end(message: Json) -> Iterator[str]:
    """Yield a message's texts under `content`, `parts` and `output`, for the name of its step; the
    last one of each key first."""
    for key in ("content", "parts", "output"):
        value = get_member(message, key)
        if isinstance(value, str):
            yield value
        for part in reversed(as_list(value)):
            text = get_member(part, "text")
            if isinstance(text, str):
                yield text


def _format_value(value: Json) -> str:
    """Return a text in quotes or another value as JSON, both shortened; "nothing" for None."""
    if value is None:
        return "nothing"
    return quote(value) if isinstance(value, str) else quote_json(value)
