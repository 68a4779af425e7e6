"""Selects a scenario by id, and the types of the decision on a request. It consumes nothing."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.changes import NumberedAnswer
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.matching.index import Index
from scenarios_app.engine.matching.near_misses import UNMATCHED, NearMiss
from scenarios_app.engine.scenario import Fault, Scenario, ScriptedAnswer, Step

DecisionKind: TypeAlias = Literal[
    "step", "failure", "violation", "error_turn", "fallback_step", "in_band", "unmatched"
]
SelectionWay: TypeAlias = Literal["by_id", "match", "in_band", "url"]
SCENARIO_HEADER = "x-mockllm-scenario"
BY_ID_MODEL_PREFIX = "test-llm"
_MAX_NAME_CHARS = 200


class Decision(NamedTuple):
    """The step or text that answers a request, with what the journal stores about the choice.

    The way is `url` if no endpoint takes the request, so that no scenario was looked for. `text` is
    the message of an error turn, a fallback step or an error; `fault` replaces the step's answer on
    a failing attempt. In band, `scripted` is the answer and `text` its name. `attempt` counts the
    step's failures from 1 and is 0 if it has none left; `fallback` marks a catch-all's answer;
    `groups` are the captured groups. A stream breaks off after `cancel_after_chunks`, if set.
    `numbered` is set while answers are numbered; its alteration applies to a failure without a
    fault.
    """

    kind: DecisionKind
    way: SelectionWay
    scenario: Scenario | None = None
    step: Step | None = None
    text: str = ""
    attempt: int = 0
    violations: tuple[str, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    fallback: bool = False
    groups: Mapping[str, str] = MappingProxyType({})
    fault: Fault | None = None
    scripted: ScriptedAnswer | None = None
    cancel_after_chunks: int | None = None
    numbered: NumberedAnswer | None = None

    @property
    def change(self) -> str:
        """Return the name of the change that was applied to this answer, or an empty string."""
        return self.numbered.change_name if self.numbered is not None else ""

    def cancel_fault(self, *, stream: bool) -> Fault | None:
        """Return the fault that breaks off a stream after `cancel_after_chunks`, else None."""
        after = self.cancel_after_chunks
        return Fault("truncate", after_chunks=after) if stream and after is not None else None


def decide_by_id(index: Index, request: CanonicalRequest) -> Decision | None:
    """Return the decision if a header or the first user message names a scenario with `select:
    first_user_message`: its step of this turn, or a fallback step if there is none. If it names no
    such scenario, return an error turn for a model `test-llm…`, else None. The caller adds the
    violation."""
    name = requested_scenario(request)
    scenario = index.by_name.get(name)
    if scenario is None or scenario.select != "first_user_message":
        if not request.model.startswith(BY_ID_MODEL_PREFIX):
            return None
        return Decision("error_turn", "by_id", text=f"Scenario not found: {_shorten_name(name)}")
    step = next((step for step in scenario.steps if step.turn == request.turn), None)
    if step is None:
        text = f"No turn {request.turn} in scenario {scenario.name}"
        return Decision("fallback_step", "by_id", scenario, text=text)
    return Decision("step", "by_id", scenario, step)


def scenario_in_header(index: Index, request: CanonicalRequest) -> Scenario | Decision | None:
    """Return the scenario that a header names, which alone is matched; the 404 if it does not
    exist; None without a header."""
    name = scenario_header_of(request)
    if not name:
        return None
    text = f"{UNMATCHED}: X-MockLLM-Scenario names no enabled scenario: {_shorten_name(name)}"
    return index.by_name.get(name) or Decision("unmatched", "match", text=text)


def requested_scenario(request: CanonicalRequest) -> str:
    """Return the name of the requested scenario: the header's, else the first user message."""
    return scenario_header_of(request) or request.first_user_text.strip()


def scenario_header_of(request: CanonicalRequest) -> str:
    """Return the scenario name in the header, decoded; empty without one."""
    value = request.headers.get(SCENARIO_HEADER)
    return unquote(value).strip() if value else ""


def _shorten_name(name: str) -> str:
    """Return a scenario's name, a user message, cut for messages; a phrase if it is empty."""
    return shorten(name, _MAX_NAME_CHARS) or "(no user message)"
