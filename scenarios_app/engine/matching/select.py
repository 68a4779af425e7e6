"""Which way an answer is chosen, and what is chosen: by id, by match, or nothing. Pure: consuming
is not done here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.matching.index import Index
from scenarios_app.engine.matching.near_misses import UNMATCHED, NearMiss
from scenarios_app.engine.scenario import Fault, Scenario, ScriptedAnswer, Step

Kind: TypeAlias = Literal[
    "step", "failure", "violation", "error_turn", "fallback_step", "in_band", "unmatched"
]
Way: TypeAlias = Literal["by_id", "match", "in_band"]
HEADER = "x-mockllm-scenario"
BY_ID_MODELS = "test-llm"
_LONGEST_NAME = 200


class Decision(NamedTuple):
    """What answers a request, and what the journal keeps of it.

    `text` is what an error turn, a fallback step or an error says; `fault` is what a failing
    attempt gets in place of its step's answer. In band, `scripted` is the answer and `text` its
    name. `attempt` counts from 1 the attempts that the step's failures have had, 0 where it has
    none to give; `fallback` marks a catch-all's answer; `groups` are what its patterns captured.
    After `cancel_after_chunks`, if given, a stream breaks off.
    """

    kind: Kind
    way: Way
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

    def cancel(self, *, stream: bool) -> Fault | None:
        """What breaks a stream off; a whole answer stays whole."""
        after = self.cancel_after_chunks
        return Fault("truncate", after_chunks=after) if stream and after is not None else None


def decide_by_id(index: Index, request: CanonicalRequest) -> Decision | None:
    """Way 2: a header or else the first user message names a scenario of that kind, whose step of
    this turn answers. A model named `test-llm…` takes no other way.

    Where there is no such scenario the answer is an error turn, where it has no such step a
    fallback step; the text of either is a violation too.
    """
    name = asked_for(request)
    scenario = index.by_name.get(name)
    if scenario is None or scenario.select != "first_user_message":
        if not request.model.startswith(BY_ID_MODELS):
            return None
        return Decision("error_turn", "by_id", text=f"Scenario not found: {_shown(name)}")
    step = next((step for step in scenario.steps if step.turn == request.turn), None)
    if step is None:
        text = f"No turn {request.turn} in scenario {scenario.name}"
        return Decision("fallback_step", "by_id", scenario, text=text)
    return Decision("step", "by_id", scenario, step)


def scenario_in_header(index: Index, request: CanonicalRequest) -> Scenario | Decision | None:
    """Way 3 is narrowed to one scenario where a header names it: that scenario, the 404 where it is
    none, None without a header."""
    name = named_in_header(request)
    if not name:
        return None
    text = f"{UNMATCHED}: X-MockLLM-Scenario names no enabled scenario: {_shown(name)}"
    return index.by_name.get(name) or Decision("unmatched", "match", text=text)


def asked_for(request: CanonicalRequest) -> str:
    """The name under which a request may ask for a scenario by id."""
    return named_in_header(request) or request.first_user_text.strip()


def named_in_header(request: CanonicalRequest) -> str:
    """The scenario that a header names, of either kind; empty without one."""
    given = request.headers.get(HEADER)
    return unquote(given).strip() if given else ""


def _shown(name: str) -> str:
    return shorten(name, _LONGEST_NAME) or "(no user message)"
