"""Builds scenario documents in Python by chained methods.

    from scenarios_app.builder import openai, scenario

    scenario("greeting").expect(openai()).with_messages(contains="hello").respond_with_text("Hi!")

Each method returns a new builder, so scenarios can share a beginning. Expectations come before the
answer. `then()` starts the next step if an expectation follows, and continues the same step if an
answer follows. `build()` returns the document.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self, TypedDict, Unpack

from mockllm_site.kit.keywords import suggest_names
from scenarios_app.builder.answers import Answers
from scenarios_app.builder.draft import without_none
from scenarios_app.builder.expectations import (
    Expectations,
    Provider,
    anthropic,
    any_provider,
    gemini,
    ollama,
    openai,
    provider,
)
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.scenario import Select
from scenarios_app.wire.registry import providers

__all__ = [
    "Provider",
    "ScenarioBuilder",
    "anthropic",
    "any_provider",
    "gemini",
    "ollama",
    "openai",
    "provider",
    "scenario",
]


def __getattr__(name: str) -> Callable[..., Provider]:
    """Return a function like `openai` for another provider, or raise AttributeError."""
    if name in providers():
        return partial(provider, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class ScenarioKeys(TypedDict, total=False):
    """The keys of a scenario other than its name and steps; all are optional."""

    description: str
    priority: int
    enabled: bool
    select: Select
    tags: list[str]
    variables: Mapping[str, object]
    system_prompt_must_include: list[str]
    user: Mapping[str, object]


@suggest_names
class ScenarioBuilder(Expectations, Answers):
    """A scenario under construction: its keys and its steps in order."""

    __slots__ = ()

    def with_description(self, description: str) -> Self:
        """Set the description."""
        return self._with_keys(description=description)

    def with_priority(self, priority: int) -> Self:
        """Set the priority; scenarios with a higher number are tried first."""
        return self._with_keys(priority=priority)

    def with_tags(self, *tags: str) -> Self:
        """Set the tags for the admin; the first is the scenario's group."""
        return self._with_keys(tags=list(tags))

    def with_variables(self, **variables: object) -> Self:
        """Set values for `{{ name }}` in answers."""
        return self._with_keys(variables=variables)

    def with_system_prompt_including(self, *fragments: str) -> Self:
        """Set texts that the first system message must contain; a missing one is a violation."""
        return self._with_keys(system_prompt_must_include=list(fragments))

    def with_user(
        self,
        *turns: Mapping[str, object],
        must: Sequence[Mapping[str, object]] = (),
        max_turns: int | None = None,
    ) -> Self:
        """Set the scripted user: its turns in order, and checkpoints of the whole conversation."""
        options = without_none(must=list(must) or None, max_turns=max_turns)
        return self._with_keys(user={"turns": list(turns), **options})

    def by_first_user_message(self) -> Self:
        """Select by a first user message equal to the scenario's name, and the step by its turn."""
        return self._with_keys(select="first_user_message")

    def disabled(self) -> Self:
        """Load the scenario without serving it."""
        return self._with_keys(enabled=False)

    def build(self) -> dict[str, Json]:
        """Return the checked document. Raises `DocumentError` with the place of each error."""
        steps = [step.document() for step in self._steps]
        (document,) = load_documents({**self._scenario, "steps": steps})
        return document.dump_shortest()

    def _with_keys(self, **keys: object) -> Self:
        """Return a copy with these keys of the scenario, in place of earlier values."""
        return replace(self, _scenario={**self._scenario, **keys})


def scenario(name: str, **keys: Unpack[ScenarioKeys]) -> ScenarioBuilder:
    """Return a builder of a scenario without steps; the keywords are its keys in a document."""
    return ScenarioBuilder({"name": name, **keys})
