"""Pydantic models of scenarios and steps: all keys of the contract with their meaning."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, JsonValue, PrivateAttr, model_validator

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.match import DEFAULT_MATCH, MatchDocument
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY, FailuresDocument
from scenarios_app.engine.document.user import UserDocument
from scenarios_app.engine.scenario import (
    CATCH_ALL,
    Expect,
    Failures,
    Reasoning,
    Scenario,
    Select,
    SideEffects,
    Step,
)
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    expected,
    fields,
    quote_json,
    refuse,
    to_struct,
)

VERSION: Literal[1] = 1

SelectKey: TypeAlias = Annotated[Select, fields.one_of(Select)]
Thinking: TypeAlias = Annotated[Reasoning, fields.one_of(Reasoning)]


class ExpectDocument(Document):
    """Requirements for a matched request. A request that violates one is rejected."""

    tools: list[fields.SomeText] = Field(default_factory=list)
    """Tools that the request must offer."""
    allow_missing_tools: fields.Flag = False
    """Allow missing tools."""
    temperature: fields.Number | None = None
    """The required temperature, within 0.000001; a request without one violates it."""
    top_p: fields.Number | None = None
    """The required top_p, within 0.000001; a request without one violates it."""
    reasoning: Thinking | None = None
    """Whether the request must enable thinking."""


class SideEffectsDocument(Document):
    """Further effects of an answer."""

    counter: fields.Name | None = None
    """A counter of the session, increased by one with each answer."""
    status: fields.Status | None = None
    """The HTTP status of the answer, instead of 200."""
    headers: fields.Headers = Field(default_factory=dict)
    """Additional response headers."""
    echo_headers: list[fields.EchoedHeader] = Field(default_factory=list)
    """Request headers to repeat in the response."""
    asserts: list[MatchDocument] = Field(default_factory=list, alias="assert")
    """Further requirements. The answer is still sent, but a failed one is a violation."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.status in STATUSES_WITHOUT_BODY:
            yield ("status",), f"an answer of status {self.status} has no body: script it as raw"


class EquivalentChangesDocument(Document):
    """Changes of the answer that no test needs to notice, each with the reason."""

    empty_answer: fields.SomeText | None = None
    """Why an empty answer is as good."""
    refusal: fields.SomeText | None = None
    """Why a refusal is as good."""
    call_twice: fields.SomeText | None = None
    """Why the same tool call twice is as good."""
    result: fields.SomeText | None = None
    """Why a contradiction to a tool's result is as good."""
    number: fields.SomeText | None = None
    """Why another number is as good."""
    name: fields.SomeText | None = None
    """Why another name is as good."""
    field: fields.SomeText | None = None
    """Why another field is as good."""
    argument: fields.SomeText | None = None
    """Why another argument is as good."""
    no_argument: fields.SomeText | None = None
    """Why one argument less is as good."""
    call_order: fields.SomeText | None = None
    """Why calls in another order are as good."""
    no_call: fields.SomeText | None = None
    """Why one call less is as good."""
    language: fields.SomeText | None = None
    """Why another language is as good."""


# Shared by all steps without these sections, as documents and as the engine has them.
_NO_EXPECT = ExpectDocument()
_NO_SIDE_EFFECTS = SideEffectsDocument()
_NO_CHANGES = EquivalentChangesDocument()
_EXPECT_NOTHING, _NO_EFFECTS = Expect(), SideEffects()


class StepDocument(Document):
    """One step: conditions on requests, and the answer to those that meet them."""

    name: fields.Name | None = None
    """The step's name in the journal and in headers. Default: its number from 1."""
    turn: fields.Positive | None = None
    """The number of the answer in the conversation: assistant messages so far, plus one."""
    consume: fields.Flag = True
    """Whether the step answers once per session instead of every time."""
    match: MatchDocument = DEFAULT_MATCH
    """Conditions on the request."""
    expect: ExpectDocument = Field(default_factory=lambda: _NO_EXPECT)
    """Requirements that the matched request must meet."""
    failures: FailuresDocument | None = None
    """Failures of the first attempts."""
    produce: ProduceDocument
    """The answer."""
    side_effects: SideEffectsDocument = Field(default_factory=lambda: _NO_SIDE_EFFECTS)
    """Counters, status, headers and assertions."""
    equivalent_changes: EquivalentChangesDocument = Field(default_factory=lambda: _NO_CHANGES)
    """Changes of the answer that `mockllm mutants` leaves out, each with the reason."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        fault = self.failures.fault if self.failures else None
        if fault is not None and fault.inside and not self.produce.forms:
            yield (
                ("failures", "fault", "kind"),
                f"{fault.kind} strikes inside an answer, and this step has none",
            )

    def compile(self, *, key: str, number: int, by_turn: bool) -> Step:
        """Return step `number`, from 1, in the engine's form; `by_turn`: it is never consumed."""
        failures, effects = self.failures, self.side_effects
        return Step(
            key=key,
            label=self.name or str(number),
            match=self.match.compile(),
            produce=self.produce.compile(),
            turn=self.turn,
            consume=self.consume and not by_turn,
            expect=to_struct(self.expect, _EXPECT_NOTHING, tools=tuple(self.expect.tools)),
            failures=Failures(failures.times, failures.fault.compile()) if failures else None,
            side_effects=to_struct(
                effects,
                _NO_EFFECTS,
                headers=fields.sent_headers(effects.headers),
                echo_headers=tuple(name.lower() for name in effects.echo_headers),
                asserts=tuple(match.compile() for match in effects.asserts),
            ),
            equivalent_changes={n: why for n, why in self.equivalent_changes if why is not None},
        )


class VersionedDocument(Document):
    """Base of documents with the version of their format."""

    json_schema: fields.Text | None = Field(default=None, alias="$schema", exclude=True)
    """The address of this JSON Schema, for editors. It is ignored."""
    version: Annotated[Literal[1], expected(str(VERSION))] = VERSION
    """The version of the document format."""

    @model_validator(mode="before")
    @classmethod
    def _check_version(cls, data: Any) -> Any:
        """Return the data unchanged; raises ValidationError if its version is another."""
        version = data.get("version", VERSION) if isinstance(data, dict) else VERSION
        if version is True or version != VERSION:
            refuse([(("version",), f"{quote_json(version)} is not read here, {VERSION} is")])
        return data


class ScenarioDocument(VersionedDocument):
    """A named list of steps and how requests get to them."""

    name: fields.Name
    """The scenario's name in the journal, in headers, and for selection by name."""
    description: fields.Text = ""
    """A description for people."""
    priority: fields.Priority = 0
    """Scenarios with a higher number are tried first."""
    enabled: fields.Flag = True
    """Whether the scenario is served."""
    select: SelectKey = "match"
    """`match`: the steps' conditions select. `first_user_message`: a first user message equal to
    the scenario's name selects it, and the turn its step."""
    tags: list[fields.Name] = Field(default_factory=list)
    """Labels for the admin; the first is the group."""
    variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Values for `{{ name }}` in answers; the keys of an object are `{{ name.key }}`."""
    system_prompt_must_include: list[fields.SomeText] = Field(default_factory=list)
    """Texts that the first system message must contain; a missing one is a violation."""
    steps: list[StepDocument] = Field(default_factory=list)
    """The steps, tried from top to bottom."""
    user: UserDocument | None = None
    """A scripted user who talks to your agent, for `mockllm simulate`."""

    # The valid JSON that the document was read from; None for one that was converted or merged.
    _written: Mapping[str, Json] | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """True if the values are equal, however they were written."""
        return isinstance(other, ScenarioDocument) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values of some fields; it is not the document as written."""
        copy = super().model_copy(update=update, deep=deep)
        copy._written = None
        return copy

    def keep_written(self, data: Mapping[str, Json]) -> None:
        """Keep the valid JSON that the document was read from, for `dump`."""
        self._written = data

    def dump(self) -> dict[str, Json]:
        """Return the JSON that the document was read from, key for key; of one that was converted
        or merged, the shortest."""
        return self.dump_shortest() if self._written is None else dict(self._written)

    def dump_shortest(self) -> dict[str, Json]:
        """Return the shortest JSON that loads to this document; equal documents give equal JSON."""
        return self.model_dump(by_alias=True, exclude_defaults=True)


def compile_scenario(
    document: ScenarioDocument, *, step_keys: Sequence[str] | None = None
) -> Scenario:
    """Return the scenario as the engine runs it. `step_keys`, one for each step, identify the steps
    in the state of sessions; another number of keys raises ValueError. Without them a step's key is
    its number from 1, which is stable only while steps are added at the end."""
    keys = step_keys or [str(number) for number in range(1, len(document.steps) + 1)]
    by_turn = document.select == "first_user_message"
    return Scenario(
        name=document.name,
        steps=tuple(
            step.compile(key=key, number=number, by_turn=by_turn)
            for number, (step, key) in enumerate(zip(document.steps, keys, strict=True), 1)
        ),
        priority=document.priority,
        select=document.select,
        variables=document.variables,
        system_prompt_must_include=tuple(document.system_prompt_must_include),
        catch_all=document.name == CATCH_ALL,
    )
