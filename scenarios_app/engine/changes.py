"""Changes of answers: the Nth answer of a session fails or is altered, once, or a step's answers
are altered whenever it answers.

An answer that is changed by its number consumes no step yet: a client that sends the same request
again gets the step's answer. The session's next other request shows that the client went on, and
consumes the step. If then no step is left for a request, that step answers after all: parallel
requests and clients that ask for a better answer come back to it.

A step that is changed is consumed as usual: its script says something else.
"""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Literal, TypeAlias

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Message
from scenarios_app.engine.parts import AnswerPart, TextPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.alterations import Variant, alter, difference, variants_of
from scenarios_app.engine.producing.plan import deltas_of
from scenarios_app.engine.scenario import Fault
from scenarios_app.engine.state import StepRef

# Where a fault inside an answer strikes: in its first text, or in its first tool call.
Inside: TypeAlias = Literal["", "text", "call"]
# A client that never stops must not fill the memory.
MAX_ANSWERS = 10_000
SOCKET_HEADER = "sec-websocket-key"


class Change(msgspec.Struct, frozen=True):
    """The change of answer number `answer`, from 1, of a session, or of a step's answers.

    It has a `fault`, or the name of an `alteration` and at which place of the answer it alters, the
    `nth`. `inside` moves a fault inside the answer to the part of that kind. A `step` is named
    SCENARIO/STEP; it can be altered only.
    """

    answer: int = 0
    fault: Fault | None = None
    alteration: str = ""
    inside: Inside = ""
    step: str = ""
    nth: int = 1

    @property
    def name(self) -> str:
        return self.alteration if self.fault is None else self.fault.kind


class NumberedAnswer(msgspec.Struct):
    """An answer of a step: its number in its session, and its content before any change. `results`
    are the tool results in its request; `socket` is true if it goes over a WebSocket. `changed` is
    true once its change was applied; an alteration that does not fit the answer is not applied.
    `variants` are the alterations that fit it. `equivalent_changes` maps changes that its step
    declares harmless to the reasons."""

    session: str
    number: int
    scenario: str
    step: str
    provider: str
    stream: bool
    results: tuple[ToolResultPart, ...] = ()
    socket: bool = False
    change: Change | None = None
    text: str = ""
    calls: tuple[str, ...] = ()
    changed: bool = False
    before: str = ""
    after: str = ""
    variants: tuple[Variant, ...] = ()
    equivalent_changes: Mapping[str, str] = {}

    @property
    def change_name(self) -> str:
        """Return the name of the change that was applied, or an empty string."""
        return self.change.name if self.change is not None and self.changed else ""

    def alter(self, response: CanonicalResponse, request: CanonicalRequest) -> CanonicalResponse:
        """Note the response's content and the alterations that fit it; return it altered if the
        change is an alteration."""
        if not response.choices:
            return response
        choice = response.choices[0]
        parts: Sequence[AnswerPart] = choice.parts
        self.text = "".join(part.text for part in parts if isinstance(part, TextPart))
        self.calls = tuple(part.full_name for part in parts if isinstance(part, ToolCallPart))
        self.variants = tuple(variants_of(choice, request))
        change = self.change
        if change is None or not change.alteration:
            return response
        choices = alter(change.alteration, response.choices, request, nth=change.nth)
        if choices is None:
            return response
        self.changed = True
        self.before, self.after = difference(choice, choices[0])
        return msgspec.structs.replace(response, choices=choices)

    def move_fault(self, fault: Fault, choices: Sequence[Choice], words_per_chunk: int) -> Fault:
        """Return the fault, moved inside the first part of the kind that the change names in
        `inside`."""
        inside = self.change.inside if self.change else ""
        wanted = TextPart if inside == "text" else ToolCallPart
        before = 0
        for part in choices[0].parts if choices and inside else ():
            if isinstance(part, wanted):
                return msgspec.structs.replace(fault, after_chunks=before + 1)
            before += len(tuple(deltas_of(part, words_per_chunk)))
        return fault


class AnswerChanges:
    """The changes of one server process by session, and the answers since they were set.

    The session None stands for every session that has no changes. Answers are numbered while
    `by_session` is not empty.
    """

    def __init__(self) -> None:
        self.by_session: dict[str | None, tuple[Change, ...]] = {}
        self.answers: list[NumberedAnswer] = []
        self._lock = Lock()
        self._numbers: dict[str, int] = {}
        # By session: the step of the last changed answer, and the messages that asked for it.
        self._open: dict[str, tuple[StepRef, tuple[Message, ...]]] = {}
        # By session: the step that was consumed although its answer was changed.
        self._passed: dict[str, StepRef] = {}

    def start(self, session: str | None, changes: Sequence[Change]) -> None:
        """Set the changes of a session, or of all, and number its answers from 1."""
        with self._lock:
            self._forget(session)
            self.by_session[session] = tuple(changes)

    def stop(self, session: str | None) -> None:
        """Drop the changes of a session, or of all sessions."""
        with self._lock:
            self._forget(session)

    def _forget(self, session: str | None) -> None:
        self.answers = [one for one in self.answers if session not in (None, one.session)]
        stores: list[dict[Any, Any]] = [self.by_session, self._numbers, self._open, self._passed]
        for store in stores:
            if session is None:
                store.clear()
            else:
                store.pop(session, None)

    def take_refused_step(self, session: str, request: CanonicalRequest) -> StepRef | None:
        """Return the step of a changed answer, once, if this request is not a retry of the one that
        got it: then the client did not accept the answer, and the step is used up."""
        with self._lock:
            step, messages = self._open.get(session, (None, ()))
            if step is None or messages == request.messages:
                return None
            del self._open[session]
            self._passed[session] = step
            return step

    def take_repeatable_step(self, session: str) -> StepRef | None:
        """Return the step that `take_refused_step` returned, once, to answer the request if no
        other step does."""
        with self._lock:
            return self._passed.pop(session, None)

    def number_if_changed(
        self, session: str, step: StepRef, request: CanonicalRequest, *, consumable: bool
    ) -> NumberedAnswer | None:
        """Number the session's next answer if it has a change by number; return None otherwise. A
        `consumable` step is not consumed by a changed answer."""
        with self._lock:
            number = self._numbers.get(session, 0) + 1
            change = next((one for one in self._changes_of(session) if one.answer == number), None)
            if change is None:
                return None
            if consumable:
                self._open[session] = step, request.messages
            numbered = self._add_numbered(session, step, request)
            numbered.change, numbered.changed = change, change.fault is not None
            return numbered

    def number_next(self, session: str, step: StepRef, request: CanonicalRequest) -> NumberedAnswer:
        """Number the session's next answer and give it the change of its step, if there is one."""
        name = f"{step.scenario}/{step.label}"
        with self._lock:
            numbered = self._add_numbered(session, step, request)
            numbered.change = next(
                (one for one in self._changes_of(session) if one.step == name), None
            )
            return numbered

    def _changes_of(self, session: str) -> tuple[Change, ...]:
        return self.by_session.get(session, self.by_session.get(None, ()))

    def _add_numbered(
        self, session: str, step: StepRef, request: CanonicalRequest
    ) -> NumberedAnswer:
        number = self._numbers[session] = self._numbers.get(session, 0) + 1
        numbered = NumberedAnswer(
            session,
            number,
            step.scenario,
            step.label,
            request.provider,
            request.stream,
            results=_new_results(request),
            socket=SOCKET_HEADER in request.headers,
        )
        if len(self.answers) < MAX_ANSWERS:
            self.answers.append(numbered)
        return numbered


def _new_results(request: CanonicalRequest) -> tuple[ToolResultPart, ...]:
    """Return the tool results after the last answer in the request's messages."""
    answers = [i for i, message in enumerate(request.messages) if message.role == "assistant"]
    new = request.messages[answers[-1] + 1 if answers else 0 :]
    return tuple(part for m in new for part in m.parts if isinstance(part, ToolResultPart))
