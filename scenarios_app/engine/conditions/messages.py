"""The condition on the text of a message."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias, Unpack

from scenarios_app.engine.canonical import CanonicalRequest, Json, Message, Role
from scenarios_app.engine.conditions.base import (
    Condition,
    SubjectTextCondition,
    SuspicionKind,
    builder_item,
)
from scenarios_app.engine.conditions.phrases import (
    as_list,
    get_member,
    get_short_text,
    phrase_text_condition,
)
from scenarios_app.engine.conditions.subjects import Subject, Which
from scenarios_app.engine.conditions.text_shapes import (
    ConditionKeys,
    TextConditionDocument,
    condition_of,
)
from scenarios_app.engine.conditions.texts import TextCondition, quote
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    dump_as_string,
    fields,
    parse_from_string,
)

_ROLE_NAMES = {
    "tool": "tool result",
    "assistant": "assistant message",
    "system": "system prompt",
    "user": "user",
}


class MessageSelector(Document):
    """Selects a message by role and position."""

    role: fields.Role | None = None
    """The role of the message; by default any. Developer messages and instructions are `system`,
    tool results are `tool`."""
    which: fields.Which = "last"
    """`last`, `first` or `any` message of that role, any since the model's last answer (`new`), or
    the one at an index."""


class MessageConditionDocument(TextConditionDocument, MessageSelector):
    """A condition on the text of a message, or that there is a message of a role."""

    def find_key_problems(self) -> Iterable[KeyProblem]:
        if not self.has_test and self.role is None:
            yield (), "expected at least one of role, equals, contains, startswith, regex"


MessageShape: TypeAlias = Annotated[
    MessageConditionDocument,
    parse_from_string(MessageConditionDocument, "equals"),
    dump_as_string("equals"),
]


class MessageKeys(ConditionKeys, total=False):
    """The keys of a MessageConditionDocument."""

    role: Role
    which: Which


@dataclass(frozen=True, slots=True)
class MessageCondition(SubjectTextCondition):
    """A condition on the text of a message."""

    key = "messages"
    shape = list[MessageShape]
    empty = list
    meaning = "Conditions on messages; all must hold."

    @builder_item
    @staticmethod
    def with_messages(text: str | None = None, /, **condition: Unpack[MessageKeys]) -> object:
        """Match a message by its whole text or a condition; by default the last one."""
        return condition_of(text, condition)

    @builder_item
    @staticmethod
    def with_system(text: str | None = None, /, **condition: Unpack[ConditionKeys]) -> object:
        """Match any of the system messages by its whole text or a condition."""
        return {"role": "system", "which": "any", **condition_of(text, condition)}

    @classmethod
    def compile(cls, value: list[MessageConditionDocument], field: str) -> Iterator[Condition]:
        for number, condition in enumerate(value):
            subject = Subject(cls.read_texts, condition.role or "", condition.which)
            yield cls(f"{field}[{number}]", subject, (condition.compile(),))

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        for condition in as_list(value):
            which = get_member(condition, "which")
            message_name = _ROLE_NAMES.get(get_short_text(condition, "role"), "message")
            if isinstance(which, int) and not isinstance(which, bool):
                message_name += f" {which}"
            elif which in ("first", "any", "new"):
                message_name = f"{which} {message_name}"
            phrase = phrase_text_condition(condition)
            yield f"{message_name} {phrase}" if phrase else f"has {message_name}"

    @staticmethod
    def read_texts(request: CanonicalRequest, subject: Subject) -> Iterable[str]:
        _, role, which = subject
        if which == "last":
            for message in reversed(request.messages):
                if not role or message.role == role:
                    return (message.text,)
            return ()
        messages = (
            _messages_since_last_answer(request.messages) if which == "new" else request.messages
        )
        candidates = [m for m in messages if not role or m.role == role]
        if which == "any" or which == "new":
            return (m.text for m in candidates)
        index = 0 if which == "first" else which
        return (candidates[index].text,) if 0 <= index < len(candidates) else ()

    @property
    def expected(self) -> str:
        return f"{self._message_name} {self.alternatives[0].describe()}"

    @property
    def absence(self) -> str:
        return f"no {self._message_name}"

    @property
    def _message_name(self) -> str:
        _, role, which = self.subject
        name = f"{role} message".lstrip()
        return f"{name} {which}" if isinstance(which, int) else f"{which} {name}"

    def excludes(self, other: Condition) -> bool:
        """Return True if no request can meet both: the same single message would need two texts."""
        return (
            isinstance(other, MessageCondition)
            and self.subject == other.subject
            and self.subject.which not in ("any", "new")
            and self.alternatives[0].excludes(other.alternatives[0])
        )

    @property
    def is_topical(self) -> bool:
        """True unless nearly every message passes, as one of a role without a text does."""
        text = self.alternatives[0]
        return text != _ANYTHING and not _explain_broadness(text)

    @property
    def can_fail_next_turn(self) -> bool:
        """True if the next request of the same conversation may have another message at this
        position."""
        if self.subject.name == "tool" and self.alternatives[0] == _ANYTHING:
            # The next result meets it too.
            return False
        if self.subject.which == "new":
            return True
        return self.subject.which == "last" and self.subject.name in ("", "assistant", "tool")

    @property
    def requires_tool_result(self) -> bool:
        """True if only requests with a tool's result can pass."""
        return self.subject.name == "tool"

    def suspicions(self, providers: Collection[str]) -> Iterator[tuple[SuspicionKind, str]]:
        """Yield a warning if the text passes in nearly every request."""
        if reason := _explain_broadness(self.alternatives[0]):
            yield "broad", reason


_ANYTHING = TextCondition()


def _messages_since_last_answer(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages after the model's last answer. A trailing assistant message that the
    model should continue does not count as an answer."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    begin = end
    while begin and messages[begin - 1].role != "assistant":
        begin -= 1
    return messages[begin:end]


def _explain_broadness(condition: TextCondition) -> str:
    """Return why nearly every message meets the condition, or an empty text."""
    if condition.equals is not None:
        return ""
    literals = [text for text in (condition.part, condition.start) if text is not None]
    if literals and all(len(text) <= 1 for text in literals) and condition.search is None:
        return f"{quote(max(literals, key=len))} is in nearly every message"
    if not literals and condition.search is not None and condition.search.search("") is not None:
        return f"the pattern {quote(condition.regex or '')} is found in every message"
    return ""
