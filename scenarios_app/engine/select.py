"""Chooses what answers a request: by id, by match, or nothing. Pure: consuming is not done here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions import shorten
from scenarios_app.engine.expectations import assert_violations, violations_of
from scenarios_app.engine.index import Candidate, Index
from scenarios_app.engine.near_misses import (
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


def select(index: Index, request: CanonicalRequest) -> Selection:
    """Choose by the first way that applies."""
    for way in _WAYS:
        selection = way(index, request)
        if selection is not None:
            return selection
    return Selection("match", index.candidates(request))


def candidates_naming_path(index: Index, request: CanonicalRequest) -> Iterator[Candidate]:
    """What may answer a helper endpoint in place of its computed answer."""
    return index.candidates_naming_path(request)


def _by_id(index: Index, request: CanonicalRequest) -> Selection | None:
    """Way 2: a header or else the first user message names a scenario of that kind. A model named
    `test-llm…` takes no other way."""
    name = _header(request) or request.first_user_text.strip()
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


def _by_header(index: Index, request: CanonicalRequest) -> Selection | None:
    """A header that names a scenario of the other kind narrows way 3 to it."""
    name = _header(request)
    if not name:
        return None
    scenario = index.by_name.get(name)
    if scenario is None:
        text = f"{UNMATCHED}: X-MockLLM-Scenario names no enabled scenario: {_shown(name)}"
        return Selection("unknown", error_text=text)
    return Selection("match", index.candidates(request, scenario=name), scenario)


# Tried in this order; an answer scripted inside the request itself goes before them all.
_WAYS: tuple[Callable[[Index, CanonicalRequest], Selection | None], ...] = (_by_id, _by_header)


def _header(request: CanonicalRequest) -> str:
    return unquote(request.headers.get(HEADER, "")).strip()


def _shown(name: str) -> str:
    return shorten(name, _LONGEST_NAME) or "(no user message)"
