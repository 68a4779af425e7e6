"""A scenario that is being written: which step is meant, and how its sections grow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self, TypeAlias

from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.producing.produce import REPORT_ID, REPORT_TOOL

Object: TypeAlias = Mapping[str, object]
Section: TypeAlias = Literal["match", "expect", "failures", "produce", "side_effects"]
Kind: TypeAlias = Literal["reasoning", "text", "tool_call", "final_report", "refusal"]

# The order in which an answer's own keys are sent; each of the single ones has one place.
_ORDER = ("reasoning", "text", "tool_call", "final_report", "refusal")
_SINGLE: tuple[Kind, ...] = ("text", "final_report", "refusal")
_WHOLE_ANSWERS = frozenset(
    {"chunks", "choices", "raw", "generate", "streaming", "non_streaming", "fault"}
)


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step so far. The parts of its answer keep the order in which they were said."""

    keys: Object = field(default_factory=dict)
    sections: Mapping[str, Object] = field(default_factory=dict)
    parts: tuple[tuple[Kind, Object], ...] = ()

    @property
    def answered(self) -> bool:
        """Whether there is an answer yet."""
        return bool(self.parts) or not _WHOLE_ANSWERS.isdisjoint(self.sections.get("produce", {}))

    def with_section(self, section: Section, keys: Object) -> "DraftStep":
        """Keys of a section have new values; the others stay."""
        now = {**self.sections.get(section, {}), **keys}
        return replace(self, sections={**self.sections, section: now})

    def with_item(self, section: Section, key: str, item: object) -> "DraftStep":
        """The list at a key of a section has one more item."""
        items = self.sections.get(section, {}).get(key, [])
        assert isinstance(items, Sequence)
        return self.with_section(section, {key: [*items, item]})

    def with_entries(self, section: Section, key: str, entries: Object) -> "DraftStep":
        """The object at a key of a section has more entries."""
        there = self.sections.get(section, {}).get(key, {})
        assert isinstance(there, Mapping)
        return self.with_section(section, {key: {**there, **entries}})

    def document(self) -> dict[str, object]:
        """The step as it stands in a document."""
        produce = {**self._answer(), **self.sections.get("produce", {})}
        return {**self.keys, **self.sections, "produce": produce}

    def _answer(self) -> dict[str, object]:
        """The parts under keys of their own where that keeps their order, else as a list."""
        kinds = [kind for kind, _ in self.parts]
        in_order = kinds == sorted(kinds, key=_ORDER.index)
        if not in_order or any(kinds.count(kind) > 1 for kind in _SINGLE):
            return {"parts": [_part(kind, said) for kind, said in self.parts]}
        answer: dict[str, object] = {
            "reasoning": [said for kind, said in self.parts if kind == "reasoning"],
            "tool_calls": [said for kind, said in self.parts if kind == "tool_call"],
            **{kind: said.get("text", said) for kind, said in self.parts if kind in _SINGLE},
        }
        return {key: said for key, said in answer.items() if said != []}


def _part(kind: Kind, said: Object) -> dict[str, object]:
    if kind == "tool_call":
        return {"tool_call": said}
    if kind == "final_report":
        return {"tool_call": {"id": REPORT_ID, "name": REPORT_TOOL, "arguments": said}}
    return {kind if key == "text" else key: value for key, value in said.items()}


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario so far. Nothing changes it: every step on the way gives a new one."""

    _scenario: Object
    _steps: tuple[DraftStep, ...] = ()
    _pending: bool = False

    def then(self) -> Self:
        """Before an expectation: the next step. Before an answer: more of this one."""
        return replace(self, _pending=True)

    def _to_expect(self) -> Self:
        """At the step that an expectation is meant for: after `then()`, a new one."""
        if self._pending or not self._steps:
            return replace(self, _steps=(*self._steps, DraftStep()), _pending=False)
        return self

    def _to_match(self) -> Self:
        """The same for an expectation that comes before any answer."""
        draft = self._to_expect()
        if draft._steps[-1].answered:
            place = f"steps[{len(draft._steps) - 1}]"
            raise DocumentError(place, "is answered already: say then() to start the next step")
        return draft

    def _to_answer(self) -> Self:
        """At the step that an answer is meant for: `then()` or not, the last one."""
        return replace(self._to_expect() if not self._steps else self, _pending=False)

    def _put(self, step: DraftStep) -> Self:
        return replace(self, _steps=(*self._steps[:-1], step))

    @property
    def _step(self) -> DraftStep:
        return self._steps[-1]
