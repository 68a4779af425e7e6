"""Chooses what answers a request: by id, by match, or nothing. Pure: consuming is not done here."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.matching.expectations import (
    assert_violations,
    violated_message,
    violations_of,
)
from scenarios_app.engine.matching.index import Candidate, Index
from scenarios_app.engine.matching.near_misses import (
    UNMATCHED,
    NearMiss,
    near_misses,
    near_misses_by_id,
    unmatched_message,
)
from scenarios_app.engine.scenario import Scenario, Step

__all__ = [
    "Decision",
    "NearMiss",
    "Selection",
    "assert_violations",
    "candidates_naming_path",
    "near_misses",
    "near_misses_by_id",
    "select",
    "unmatched_message",
    "violated_message",
    "violations_of",
]

Way: TypeAlias = Literal["by_id", "match", "unknown"]
HEADER = "x-mockllm-scenario"
BY_ID_MODELS = "test-llm"
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """The way an answer is chosen, and what is chosen so far.

    `by_id`: `scenario` and `step`, which is also the only candidate and is never consumed. Without
    a step `error_text` says what is missing, and the answer is an error turn where there is no
    scenario, a fallback step where there is one; the text is a violation too.
    `match`: `candidates` in order, of `scenario` alone where a header names it; the first that can
    be consumed, or needs not be, answers.
    `unknown`: a header names no scenario; `error_text` is the message of the 404.
    """

    way: Way
    candidates: Iterator[Candidate] = field(default_factory=lambda: iter(()))
    scenario: Scenario | None = None
    step: Step | None = None
    error_text: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen in the end, as the journal keeps it. `attempt` counts from 1 the attempts
    that its failures have had, 0 where it has none to give; `fallback` marks a catch-all's
    answer."""

    scenario: Scenario | None = None
    step: Step | None = None
    attempt: int = 0
    violations: tuple[str, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    fallback: bool = False
    groups: Mapping[str, str] = field(default_factory=dict)


def select(
    index: Index, request: CanonicalRequest, consumed: Container[tuple[str, str]] = frozenset()
) -> Selection:
    """Choose by the first way that applies; `consumed` holds scenario and key of the steps that
    the session has consumed. An answer scripted inside the request itself goes before them all."""
    return _by_id(index, request) or _by_match(index, request, consumed)


def candidates_naming_path(
    index: Index, request: CanonicalRequest, consumed: Container[tuple[str, str]] = frozenset()
) -> Iterator[Candidate]:
    """What may answer a helper endpoint in place of its computed answer."""
    return index.candidates_naming_path(request, consumed=consumed)


def _by_id(index: Index, request: CanonicalRequest) -> Selection | None:
    """Way 2: a header or else the first user message names a scenario of that kind. A model named
    `test-llm…` takes no other way."""
    name = asked_for(request)
    scenario = index.by_name.get(name)
    if scenario is None or scenario.select != "first_user_message":
        if not request.model.startswith(BY_ID_MODELS):
            return None
        return Selection("by_id", error_text=f"Scenario not found: {_shown(name)}")
    step = next((step for step in scenario.steps if step.turn == request.turn), None)
    if step is None:
        text = f"No turn {request.turn} in scenario {scenario.name}"
        return Selection("by_id", scenario=scenario, error_text=text)
    return Selection("by_id", iter((Candidate(scenario, step),)), scenario, step)


def _by_match(
    index: Index, request: CanonicalRequest, consumed: Container[tuple[str, str]]
) -> Selection:
    """Way 3, narrowed to one scenario where a header names it."""
    name = named_in_header(request)
    scenario = index.by_name.get(name) if name else None
    if name and scenario is None:
        text = f"{UNMATCHED}: X-MockLLM-Scenario names no enabled scenario: {_shown(name)}"
        return Selection("unknown", error_text=text)
    narrowed = scenario.name if scenario else None
    found = index.candidates(request, scenario=narrowed, consumed=consumed)
    return Selection("match", found, scenario)


def asked_for(request: CanonicalRequest) -> str:
    """The name under which a request may ask for a scenario by id."""
    return named_in_header(request) or request.first_user_text.strip()


def named_in_header(request: CanonicalRequest) -> str:
    """The scenario that a header names, of either kind; empty without one."""
    return unquote(request.headers.get(HEADER, "")).strip()


def _shown(name: str) -> str:
    return shorten(name, _LONGEST_NAME) or "(no user message)"
