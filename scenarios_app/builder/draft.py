"""The immutable draft of a scenario under construction: its steps and their sections."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias

from scenarios_app.engine.document import DocumentError
from scenarios_app.engine.producing.produce import REPORT_ID, REPORT_TOOL

Object: TypeAlias = Mapping[str, object]
Section: TypeAlias = Literal["match", "expect", "failures", "produce", "side_effects"]
PartKind: TypeAlias = Literal[
    "reasoning", "text", "tool_call", "final_report", "refusal", "hosted_tool"
]

# The order in which an answer's keys are sent; each single key can occur once.
_ORDER = ("reasoning", "text", "tool_call", "final_report", "refusal")
_SINGLE: tuple[PartKind, ...] = ("text", "final_report", "refusal")
_WHOLE_ANSWERS = frozenset(
    {"chunks", "choices", "raw", "generate", "streaming", "non_streaming", "fault"}
)


def without_none(**keys: object) -> dict[str, object]:
    """Return the keywords whose value is not None."""
    return {key: value for key, value in keys.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step under construction. The parts of its answer keep their order."""

    keys: Object = field(default_factory=dict)
    sections: Mapping[str, Object] = field(default_factory=dict)
    parts: tuple[tuple[PartKind, Object], ...] = ()

    @property
    def has_answer(self) -> bool:
        """True if the step has a part or a whole answer, such as a fault; it then takes no more
        conditions."""
        return bool(self.parts) or not _WHOLE_ANSWERS.isdisjoint(self.sections.get("produce", {}))

    def with_section(self, section: Section, keys: Object) -> "DraftStep":
        """Return the step with these keys of a section set."""
        now = {**self.sections.get(section, {}), **keys}
        return replace(self, sections={**self.sections, section: now})

    def with_more(self, section: Section, key: str, more: "list[object] | Object") -> "DraftStep":
        """Return the step with more items or entries in the value of a section's key."""
        there: Any = self.sections.get(section, {}).get(key, ())
        joined = [*there, *more] if isinstance(more, list) else {**dict(there), **more}
        return self.with_section(section, {key: joined})

    def document(self) -> dict[str, object]:
        """Return the step in the form of a document."""
        produce = {**self._answer(), **self.sections.get("produce", {})}
        return {**self.keys, **self.sections, "produce": produce}

    def _answer(self) -> dict[str, object]:
        """Return the keys of `produce` for the parts: `parts` if other keys cannot express them or
        their order."""
        kinds = [kind for kind, _ in self.parts]
        listed = "hosted_tool" in kinds or any("citations" in part for _, part in self.parts)
        listed = listed or any(kinds.count(kind) > 1 for kind in _SINGLE)
        if listed or kinds != sorted(kinds, key=_ORDER.index):
            return {"parts": [_part_keys(kind, content) for kind, content in self.parts]}
        answer: dict[str, object] = {
            "reasoning": [content for kind, content in self.parts if kind == "reasoning"],
            "tool_calls": [content for kind, content in self.parts if kind == "tool_call"],
        }
        for kind, content in self.parts:
            if kind in _SINGLE:
                answer |= {kind: content} if kind == "final_report" else _part_keys(kind, content)
        return {key: content for key, content in answer.items() if content != []}


def _part_keys(kind: PartKind, content: Object) -> dict[str, object]:
    """Return a part of an answer as a document has it."""
    if kind in ("tool_call", "hosted_tool"):
        return {kind: content}
    if kind == "final_report":
        return {"tool_call": {"id": REPORT_ID, "name": REPORT_TOOL, "arguments": content}}
    return {kind if key == "text" else key: value for key, value in content.items()}


@dataclass(frozen=True, slots=True)
class Draft:
    """A scenario under construction; every method returns a new draft."""

    _scenario: Object
    _steps: tuple[DraftStep, ...] = ()
    _pending: bool = False

    def then(self) -> Self:
        """Start the next step before an expectation; continue this step before an answer."""
        return replace(self, _pending=True)

    def _to_expect(self) -> Self:
        """Return the draft at the step for an expectation: a new one after `then()` or without
        steps."""
        if self._pending or not self._steps:
            return replace(self, _steps=(*self._steps, DraftStep()), _pending=False)
        return self

    def _to_match(self) -> Self:
        """Return the draft at the step for a condition; raises DocumentError if that step has an
        answer."""
        draft = self._to_expect()
        if draft._steps[-1].has_answer:
            place = f"steps[{len(draft._steps) - 1}]"
            raise DocumentError(place, "is answered already: say then() to start the next step")
        return draft

    def _to_answer(self) -> Self:
        """Return the draft at the step for an answer: the last one, or a new one without steps."""
        return replace(self._to_expect() if not self._steps else self, _pending=False)

    def _set_step(self, step: DraftStep) -> Self:
        """Return a draft with this step in place of the last one."""
        return replace(self, _steps=(*self._steps[:-1], step))

    def _with_section(self, section: Section, keys: Object) -> Self:
        """Return a copy whose last step has these keys in a section, such as `match`."""
        return self._set_step(self._last.with_section(section, keys))

    def _with_more(self, section: Section, key: str, more: list[object] | Object) -> Self:
        """Return a copy whose last step has more items or entries at a key of a section."""
        return self._set_step(self._last.with_more(section, key, more))

    @property
    def _last(self) -> DraftStep:
        return self._steps[-1]
