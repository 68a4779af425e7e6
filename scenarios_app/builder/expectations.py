"""The builder's methods that name a step, and set its providers, expectations and failures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self, TypedDict, Unpack

from mockllm_site.kit.keywords import suggest_names, with_suggestions
from scenarios_app.builder.conditions import Conditions
from scenarios_app.engine.scenario import Reasoning


class ExpectKeys(TypedDict, total=False):
    """Requirements for a request; one that violates them gets an error and is a violation."""

    tools: list[str]
    allow_missing_tools: bool
    temperature: float
    top_p: float
    reasoning: Reasoning


class EnvelopeKeys(TypedDict, total=False):
    """Parts of an HTTP error other than its status and message."""

    type: str
    code: str
    param: str
    body: object
    headers: Mapping[str, str]
    retry_after_ms: int
    retryable: bool


class FaultKeys(EnvelopeKeys, total=False):
    """The keys of a fault, which depend on its kind."""

    status: int
    message: str
    after_chunks: int
    hold_ms: int
    close_code: int
    after_frames: int
    half_frame: bool


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider and path whose requests a step answers; None matches any."""

    name: str | None = None
    path: str | None = None


@with_suggestions
def openai(*, path: str | None = None) -> Provider:
    """Match requests to OpenAI's API."""
    return Provider("openai", path)


@with_suggestions
def anthropic(*, path: str | None = None) -> Provider:
    """Match requests to Anthropic's API."""
    return Provider("anthropic", path)


@with_suggestions
def gemini(*, path: str | None = None) -> Provider:
    """Match requests to Gemini's API."""
    return Provider("gemini", path)


@with_suggestions
def ollama(*, path: str | None = None) -> Provider:
    """Match requests to Ollama's API."""
    return Provider("ollama", path)


@with_suggestions
def provider(name: str, *, path: str | None = None) -> Provider:
    """Match requests to a provider by name, such as `gemini`, optionally at this path."""
    return Provider(name, path)


@with_suggestions
def any_provider(*, path: str | None = None) -> Provider:
    """Match requests to any provider, optionally at this path."""
    return Provider(None, path)


@suggest_names
class Expectations(Conditions):
    """Methods that set expectations and failures of a step, beside those of its conditions."""

    __slots__ = ()

    def named(self, name: str) -> Self:
        """Name the step."""
        return self._set_step_key("name", name)

    def on_turn(self, turn: int) -> Self:
        """Answer only this turn: the number of assistant messages so far, plus one."""
        return self._set_step_key("turn", turn)

    def once(self) -> Self:
        """Answer once per session (the default)."""
        return self._set_step_key("consume", True)

    def always(self) -> Self:
        """Answer every time."""
        return self._set_step_key("consume", False)

    def with_equivalent_change(self, alteration: str, reason: str) -> Self:
        """Leave a change of the answer out of `mockllm mutants`, for a reason."""
        changes = self._to_expect()._last.keys.get("equivalent_changes", {})
        assert isinstance(changes, Mapping)
        return self._set_step_key("equivalent_changes", {**changes, alteration: reason})

    def expect(self, *providers: Provider) -> Self:
        """Match requests to these providers and paths; several are alternatives."""
        named = [p.name for p in providers if p.name is not None]
        paths = [p.path for p in providers if p.path is not None]
        keys = {"provider": named, "path": paths}
        keys = {key: values for key, values in keys.items() if values}
        return self._to_match()._with_section("match", keys)

    def expecting(self, **keys: Unpack[ExpectKeys]) -> Self:
        """Require this of a matched request; one that differs is a violation."""
        return self._to_expect()._with_section("expect", keys)

    def failing(
        self, times: int = 1, kind: str = "model_error", /, **keys: Unpack[FaultKeys]
    ) -> Self:
        """Fail the first `times` attempts with this fault; later ones get the answer."""
        failures = {"times": times, "fault": {"kind": kind, **keys}}
        return self._to_expect()._with_section("failures", failures)

    def _set_step_key(self, key: str, value: object) -> Self:
        """Return a copy with this key of the step for an expectation, such as its name."""
        draft = self._to_expect()
        return draft._set_step(replace(draft._last, keys={**draft._last.keys, key: value}))
