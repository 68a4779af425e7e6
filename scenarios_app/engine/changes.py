"""Changes of answers: the Nth answer of a session fails or is altered, once, or a step's answers
are altered whenever it answers.

An answer that is changed by its number consumes no step yet: a client that sends the same request
again gets the step's answer. The session's next other request shows that the client went on, and
consumes the step. If then no step is left for a request, that step answers after all: parallel
requests and clients that ask for a better answer come back to it.

A step whose answers are all altered is consumed as usual.
"""

from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any, Literal, TypeAlias

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, Message
from scenarios_app.engine.parts import PartDelta, TextPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.alterations import Variant, alter, difference, variants_of
from scenarios_app.engine.producing.plan import iter_events
from scenarios_app.engine.scenario import Fault
from scenarios_app.engine.state import StepRef

# Where a fault inside an answer occurs: in its first text, or in its first tool call.
Inside: TypeAlias = Literal["", "text", "call"]
# A client that never stops must not fill the memory.
MAX_ANSWERS = 10_000
SOCKET_HEADER = "sec-websocket-key"


class Change(msgspec.Struct, frozen=True):
    """A change of the answer number `answer` of a session, from 1, or of all answers of `step`,
    written SCENARIO/STEP.

    It is a `fault` (of a numbered answer only) or the `alteration` of this name at the `nth` place,
    from 1, where it applies. With `inside` the fault occurs in the first part of that kind.
    """

    answer: int = 0
    fault: Fault | None = None
    alteration: str = ""
    inside: Inside = ""
    step: str = ""
    nth: int = 1

    @property
    def name(self) -> str:
        """The name of the alteration, or the kind of the fault."""
        return self.alteration if self.fault is None else self.fault.kind


class NumberedAnswer(msgspec.Struct):
    """An answer of a step: its number in its session, and its text and calls before any change.

    `results` are the new tool results in its request; `socket` is true if it uses a WebSocket.
    `changed` is true once its change was applied: an alteration that does not apply to the answer
    leaves it unchanged. `before` and `after` are the words in which an alteration changed it.
    `variants` are the alterations that a model could make of it, and `equivalent_changes` the names
    of those that its step declares harmless, with the reasons.
    """

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
        """The name of the change that was applied, else empty."""
        return self.change.name if self.change is not None and self.changed else ""

    def apply_alteration(
        self, response: CanonicalResponse, request: CanonicalRequest
    ) -> CanonicalResponse:
        """Store the text, calls and possible alterations of the response's first choice here.
        Return the response altered by the change, or unchanged if no alteration applies."""
        if not response.choices:
            return response
        choice = response.choices[0]
        self.text = "".join(part.text for part in choice.parts if isinstance(part, TextPart))
        self.calls = tuple(p.full_name for p in choice.parts if isinstance(p, ToolCallPart))
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

    def move_fault(
        self, fault: Fault, choices: Sequence[Choice], sequential: bool, words_per_chunk: int
    ) -> Fault:
        """Return the fault with `after_chunks` set so that it occurs after the first delta of a
        part of the kind `inside` of the change; unchanged if there is no such part or kind."""
        inside = self.change.inside if self.change else ""
        wanted = TextPart if inside == "text" else ToolCallPart
        events = iter_events(choices[:1] if inside else (), sequential, words_per_chunk)
        deltas = (event for event in events if isinstance(event, PartDelta))
        for number, delta in enumerate(deltas, 1):
            if isinstance(delta.part, wanted):
                return msgspec.structs.replace(fault, after_chunks=number)
        return fault


class AnswerChanges:
    """The changes of answers by session, and the answers numbered since they were set, in the
    memory of one server process.

    The changes under None apply to all sessions without changes of their own. Callers number
    answers only if `by_session` is not empty.
    """

    def __init__(self) -> None:
        self.by_session: dict[str | None, tuple[Change, ...]] = {}
        self.answers: list[NumberedAnswer] = []
        self._lock = RLock()
        self._numbers: dict[str, int] = {}
        # By session: the step of the last changed answer, and the messages that asked for it.
        self._pending: dict[str, tuple[StepRef, tuple[Message, ...]]] = {}
        # By session: the step that was consumed although its answer was changed.
        self._used: dict[str, StepRef] = {}

    def start(self, session: str | None, changes: Sequence[Change]) -> None:
        """Set the changes of a session, or of all (None), after `stop`, and number its answers from
        1."""
        with self._lock:
            self.stop(session)
            self.by_session[session] = tuple(changes)

    def stop(self, session: str | None) -> None:
        """Delete the changes and numbered answers of a session, or of all sessions (None)."""
        stores: list[dict[Any, Any]] = [self.by_session, self._numbers, self._pending, self._used]
        with self._lock:
            self.answers = [
                answer for answer in self.answers if session not in (None, answer.session)
            ]
            for store in stores:
                if session is None:
                    store.clear()
                else:
                    store.pop(session, None)

    def pop_unconsumed_step(self, session: str, request: CanonicalRequest) -> StepRef | None:
        """Return, once, the step of the last changed answer, which the caller has to consume. None
        if there is none or the request repeats the messages that asked for that answer."""
        with self._lock:
            step, messages = self._pending.get(session, (None, ()))
            if step is None or messages == request.messages:
                return None
            del self._pending[session]
            self._used[session] = step
            return step

    def pop_consumed_step(self, session: str) -> StepRef | None:
        """Return, once, the step that `pop_unconsumed_step` returned last, or None. It answers a
        request for which no other step is left."""
        with self._lock:
            return self._used.pop(session, None)

    def next_if_changed(
        self, session: str, step: StepRef, request: CanonicalRequest, *, consume: bool
    ) -> NumberedAnswer | None:
        """Count and return the session's next answer if a change has its number, else count nothing
        and return None. With `consume`, `pop_unconsumed_step` returns the step later."""
        with self._lock:
            number = self._numbers.get(session, 0) + 1
            change = next(
                (change for change in self._changes(session) if change.answer == number), None
            )
            if change is None:
                return None
            if consume:
                self._pending[session] = step, request.messages
            numbered = self._add_answer(session, step, request)
            numbered.change, numbered.changed = change, change.fault is not None
            return numbered

    def next_answer(self, session: str, step: StepRef, request: CanonicalRequest) -> NumberedAnswer:
        """Count and return the session's next answer, with the change of its step, if any."""
        name = f"{step.scenario}/{step.label}"
        with self._lock:
            numbered = self._add_answer(session, step, request)
            numbered.change = next(
                (change for change in self._changes(session) if change.step == name), None
            )
            return numbered

    def _changes(self, session: str) -> tuple[Change, ...]:
        """Return the session's changes, or those for all sessions if it has none."""
        return self.by_session.get(session, self.by_session.get(None, ()))

    def _add_answer(self, session: str, step: StepRef, request: CanonicalRequest) -> NumberedAnswer:
        """Count, return and store the session's next answer; it is not stored after MAX_ANSWERS."""
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
    """Return the tool results after the last assistant message of the request."""
    answers = [i for i, message in enumerate(request.messages) if message.role == "assistant"]
    new = request.messages[answers[-1] + 1 if answers else 0 :]
    return tuple(part for m in new for part in m.parts if isinstance(part, ToolResultPart))
