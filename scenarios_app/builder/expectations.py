"""The builder's methods that set conditions and expectations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack

from mockllm_site.kit.keywords import raise_unknown_attribute, suggest_names, with_suggestions
from scenarios_app.builder.draft import Draft, Object, without_none
from scenarios_app.engine.canonical import Role
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.match import CONDITION_KINDS
from scenarios_app.engine.conditions.subjects import Which
from scenarios_app.engine.scenario import Reasoning


class ConditionKeys(TypedDict, total=False):
    """A condition on a text; all given keys must hold."""

    equals: str
    contains: str
    startswith: str
    regex: str
    ignore_case: bool


class MessageKeys(ConditionKeys, total=False):
    """A condition on the text of a message, and which message."""

    role: Role
    which: Which


class ResultKeys(ConditionKeys, total=False):
    """A condition on the text of a tool result, and which result."""

    tool_call_id: str
    is_error: bool


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
class Expectations(Draft):
    """Methods that set conditions, expectations and failures of a step."""

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
        return self._match({key: values for key, values in keys.items() if values})

    def with_model(self, *names: str, **condition: Unpack[ConditionKeys]) -> Self:
        """Match a model by name or by a condition; several are alternatives."""
        return self._match({"model": [*names, condition] if condition else list(names)})

    def with_stream(self, stream: bool = True) -> Self:
        """Match requests for a stream, or without one."""
        return self._match({"stream": stream})

    def with_messages(self, text: str | None = None, /, **condition: Unpack[MessageKeys]) -> Self:
        """Match a message by its whole text or a condition; by default the last one."""
        return self._match_item("messages", _text_condition(text, condition))

    def with_system(self, text: str | None = None, /, **condition: Unpack[ConditionKeys]) -> Self:
        """Match any of the system messages by its whole text or a condition."""
        anywhere = {"role": "system", "which": "any"}
        return self._match_item("messages", anywhere | _text_condition(text, condition))

    def with_tools(self, *names: str) -> Self:
        """Match requests that offer all these tools."""
        return self._match({"tools": list(names)})

    def with_tool_count(self, *, min: int | None = None, max: int | None = None) -> Self:
        """Match requests whose number of tools is in this range."""
        return self._match({"tool_count": without_none(min=min, max=max)})

    def with_max_tokens(self, *, min: int | None = None, max: int | None = None) -> Self:
        """Match requests with a token limit in this range."""
        return self._match({"max_tokens": without_none(min=min, max=max)})

    def with_response_format(
        self, kind: Literal["text", "json", "schema"] | None = None, *, schema: str | None = None
    ) -> Self:
        """Match requests for text, for any JSON, or for JSON of a schema, which may be named."""
        return self._match({"response_format": kind if schema is None else {"schema": schema}})

    def with_tool_call(self, name: str, input: str | None = None, /, **arguments: object) -> Self:
        """Match an earlier call of this tool with at least these arguments, or with this input."""
        call = without_none(name=name, arguments=arguments or None, input=input)
        return self._match_item("tool_calls", call)

    def with_tool_result(self, name: str | None = None, /, **condition: Unpack[ResultKeys]) -> Self:
        """Match a tool's result by the tool's name and a condition."""
        result: Object = {**condition} if name is None else {"name": name, **condition}
        return self._match_item("tool_results", result)

    def with_header(
        self, name: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> Self:
        """Match a request header by its value or by a condition."""
        return self._match_entry("headers", name, _text_condition(value, condition))

    def with_metadata(
        self, key: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> Self:
        """Match an entry of the request's metadata by its value or by a condition."""
        return self._match_entry("metadata", key, _text_condition(value, condition))

    def with_recorded(
        self, body: object, /, *, method: str = "POST", exact: Sequence[str] = ()
    ) -> Self:
        """Match a recorded request by its body: the same conversation. `exact` names rules to
        switch off."""
        other_method = None if method == "POST" else method
        options = without_none(method=other_method, exact=list(exact) or None)
        return self._match({"recorded": {"body": body, **options}})

    def expecting(self, **keys: Unpack[ExpectKeys]) -> Self:
        """Require this of a matched request; one that differs is a violation."""
        return self._to_expect()._with_section("expect", keys)

    def failing(
        self, times: int = 1, kind: str = "model_error", /, **keys: Unpack[FaultKeys]
    ) -> Self:
        """Fail the first `times` attempts with this fault; later ones get the answer."""
        failures = {"times": times, "fault": {"kind": kind, **keys}}
        return self._to_expect()._with_section("failures", failures)

    if not TYPE_CHECKING:  # A type checker knows the methods above, and misspelt ones by that.

        def __getattr__(self, name: str) -> Callable[..., Self]:
            """Return the method of a condition's keyword; raise AttributeError for other names."""
            for kind in CONDITION_KINDS:
                if kind.keyword == name:
                    return partial(self._add_condition, kind)
            raise_unknown_attribute(self, name)

    def _add_condition(
        self, kind: type[Condition], /, *values: object, **condition: object
    ) -> Self:
        """Add a condition in document form: one value, items of a list, or a name with a value.
        Raises ValueError for another number of values."""
        values_and_condition = [*values, condition] if condition else list(values)
        if kind.empty is None:
            (value,) = values_and_condition
            return self._match({kind.key: value})
        if kind.empty is dict:
            name, value = values_and_condition
            return self._match_entry(kind.key, str(name), value)
        draft = self
        for item in values_and_condition:
            draft = draft._match_item(kind.key, item)
        return draft

    def _set_step_key(self, key: str, value: object) -> Self:
        """Return a copy with this key of the step for an expectation, such as its name."""
        draft = self._to_expect()
        return draft._set_step(replace(draft._last, keys={**draft._last.keys, key: value}))

    def _match(self, keys: Object) -> Self:
        """Return a copy with these keys of `match` in the step for a condition."""
        return self._to_match()._with_section("match", keys)

    def _match_item(self, key: str, item: object) -> Self:
        """Return a copy with one more item in the list at `key` of `match`."""
        return self._to_match()._with_more("match", key, [item])

    def _match_entry(self, key: str, name: str, condition: object) -> Self:
        """Return a copy with one more condition, by name, in the object at `key` of `match`."""
        return self._to_match()._with_more("match", key, {name: condition})


def _text_condition(text: str | None, keys: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a condition, with `equals` if there is a text."""
    return {**keys} if text is None else {"equals": text, **keys}
