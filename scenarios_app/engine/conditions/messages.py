"""The condition on what a message says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message
from scenarios_app.engine.conditions import base as say
from scenarios_app.engine.conditions.base import AboutText, Condition, Known, SuspicionKind
from scenarios_app.engine.conditions.subjects import Subject
from scenarios_app.engine.conditions.text_shapes import TextConditionDocument
from scenarios_app.engine.conditions.texts import TextCondition, quote
from scenarios_app.engine.shapes import Document, Finding, reads_string, writes_string
from scenarios_app.engine.shapes.fields import Role, Which

_SUBJECTS = {
    "tool": "tool result",
    "assistant": "assistant message",
    "system": "system prompt",
    "user": "user",
}


class WhoseMessage(Document):
    """Which message is meant."""

    role: Role | None = None
    """Whose message; without it anybody's. Developer messages and instructions are `system`,
    tool results are `tool`."""
    which: Which = "last"
    """The last message of that role, the first, any of them, any that came since the model's last
    answer (`new`), or the one at an index."""


class MessageConditionDocument(TextConditionDocument, WhoseMessage):
    """A condition on the text of a message, or that there is a message of a role."""

    def findings(self) -> Iterable[Finding]:
        if not self.asks and self.role is None:
            yield (), "expected at least one of role, equals, contains, startswith, regex"


OneMessage: TypeAlias = Annotated[
    MessageConditionDocument,
    reads_string(MessageConditionDocument, "equals"),
    writes_string("equals"),
]


@dataclass(frozen=True, slots=True)
class MessageCondition(AboutText):
    """What a message says."""

    key = "messages"
    shape = list[OneMessage]
    empty = list
    meaning = "Conditions on messages; all must hold."
    keyword = "with_messages"

    @classmethod
    def compiled(cls, value: list[MessageConditionDocument], place: str) -> Iterator[Condition]:
        for number, one in enumerate(value):
            subject = Subject(cls.read, one.role or "", one.which)
            yield cls(f"{place}[{number}]", subject, (one.compiled(),))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for one in say.listed(value):
            which = say.member(one, "which")
            who = _SUBJECTS.get(say.text_at(one, "role"), "message")
            if isinstance(which, int) and not isinstance(which, bool):
                who += f" {which}"
            elif which in ("first", "any", "new"):
                who = f"{which} {who}"
            said = say.tests(one)
            yield f"{who} {said}" if said else f"has {who}"

    @staticmethod
    def read(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        _, role, which = subject
        if which == "last":
            for message in reversed(request.messages):
                if not role or message.role == role:
                    return (message.text,)
            return ()
        messages = _new(request.messages) if which == "new" else request.messages
        fitting = [m for m in messages if not role or m.role == role]
        if which == "any" or which == "new":
            return (m.text for m in fitting)
        index = 0 if which == "first" else which
        return (fitting[index].text,) if 0 <= index < len(fitting) else ()

    @property
    def expected(self) -> str:
        return f"{self._who} {self.alternatives[0].describe()}"

    @property
    def absence(self) -> str:
        return f"no {self._who}"

    @property
    def _who(self) -> str:
        _, role, which = self.subject
        who = f"{role} message".lstrip()
        return f"{who} {which}" if isinstance(which, int) else f"{which} {who}"

    def excludes(self, other: Condition) -> bool:
        return (
            isinstance(other, MessageCondition)
            and self.subject == other.subject
            and self.subject.which not in ("any", "new")
            and self.alternatives[0].excludes(other.alternatives[0])
        )

    @property
    def moves_on(self) -> bool:
        if self.subject.name == "tool" and self.alternatives[0] == _ANYTHING:
            # The next result is as good.
            return False
        if self.subject.which == "new":
            return True
        return self.subject.which == "last" and self.subject.name in ("", "assistant", "tool")

    @property
    def awaits_result(self) -> bool:
        return self.subject.name == "tool"

    def suspicions(self, known: Known) -> Iterator[tuple[SuspicionKind, str]]:
        if said := _says_little(self.alternatives[0]):
            yield "broad", said


_ANYTHING = TextCondition()


def _new(messages: Sequence[Message]) -> Sequence[Message]:
    """What came since the model's last answer; the beginning of one that the model is to go on
    with is none."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    begin = end
    while begin and messages[begin - 1].role != "assistant":
        begin -= 1
    return messages[begin:end]


def _says_little(condition: TextCondition) -> str:
    if condition.equals is not None:
        return ""
    literals = [text for text in (condition.part, condition.start) if text is not None]
    if literals and all(len(text) <= 1 for text in literals) and condition.search is None:
        return f"{quote(max(literals, key=len))} is in nearly every message"
    if not literals and condition.search is not None and condition.search.search("") is not None:
        return f"the pattern {quote(condition.regex or '')} is found in every message"
    return ""
