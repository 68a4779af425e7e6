"""Pydantic models of scenarios and steps: all keys of the contract with their meaning."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, JsonValue, model_validator

from scenarios_app.engine.conditions.match import DEFAULT_MATCH, MatchDocument
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY, FailuresDocument
from scenarios_app.engine.scenario import Reasoning, Select
from scenarios_app.engine.shapes import Document, Finding, expected, quote_json, refuse
from scenarios_app.engine.shapes.fields import (
    EchoedHeader,
    Flag,
    Headers,
    Name,
    Number,
    Positive,
    Priority,
    SomeText,
    Status,
    Text,
    one_of,
)

VERSION: Literal[1] = 1

SelectKey: TypeAlias = Annotated[Select, one_of(Select)]
Thinking: TypeAlias = Annotated[Reasoning, one_of(Reasoning)]


class ExpectDocument(Document):
    """What a request that matched should also be; what does not hold is a violation."""

    tools: list[SomeText] = Field(default_factory=list)
    """Names of tools that should all be offered."""
    allow_missing_tools: Flag = False
    """Whether tools may be missing after all."""
    temperature: Number | None = None
    """The temperature that the request should ask for, within 0.000001."""
    top_p: Number | None = None
    """The top_p that the request should ask for, within 0.000001."""
    reasoning: Thinking | None = None
    """Whether the request should switch thinking on."""


class SideEffectsDocument(Document):
    """What an answer does beside answering."""

    counter: Name | None = None
    """A counter of the session that goes up by one with each answer."""
    status: Status | None = None
    """The HTTP status of the answer, instead of 200."""
    headers: Headers = Field(default_factory=dict)
    """More headers of the answer."""
    echo_headers: list[EchoedHeader] = Field(default_factory=list)
    """Headers of the request that the answer repeats."""
    asserts: list[MatchDocument] = Field(default_factory=list, alias="assert")
    """What the request should also be: the answer stays, but what does not hold is a violation."""

    def findings(self) -> Iterator[Finding]:
        if self.status in STATUSES_WITHOUT_BODY:
            yield ("status",), f"an answer of status {self.status} has no body: script it as raw"


# Shared by all steps without these sections; documents are immutable.
_NO_EXPECT = ExpectDocument()
_NO_SIDE_EFFECTS = SideEffectsDocument()


class StepDocument(Document):
    """One step: when this arrives, answer with that."""

    name: Name | None = None
    """Names the step in the journal and in headers; without it, its number from 1 does."""
    turn: Positive | None = None
    """Which answer of the conversation this is: assistant messages so far, plus one."""
    consume: Flag = True
    """Whether the step answers only once in each session and is then used up; false: it answers
    every time."""
    match: MatchDocument = DEFAULT_MATCH
    """When this arrives: what a request must be for the step to answer it."""
    expect: ExpectDocument = Field(default_factory=lambda: _NO_EXPECT)
    """What a request that is answered should also be."""
    failures: FailuresDocument | None = None
    """The first attempts fail instead."""
    produce: ProduceDocument
    """Answer with this."""
    side_effects: SideEffectsDocument = Field(default_factory=lambda: _NO_SIDE_EFFECTS)
    """What else an answer does."""

    def findings(self) -> Iterator[Finding]:
        fault = self.failures.fault if self.failures else None
        if fault is not None and fault.inside and not self.produce.forms:
            yield (
                ("failures", "fault", "kind"),
                f"{fault.kind} strikes inside an answer, and this step has none",
            )


class VersionedDocument(Document):
    """A document that says which version of the form it is written in."""

    version: Annotated[Literal[1], expected(str(VERSION))] = VERSION
    """The version of the form that this document is written in."""

    @model_validator(mode="before")
    @classmethod
    def _read_here(cls, data: Any) -> Any:
        version = data.get("version", VERSION) if isinstance(data, dict) else VERSION
        if version is True or version != VERSION:
            refuse([(("version",), f"{quote_json(version)} is not read here, {VERSION} is")])
        return data


class ScenarioDocument(VersionedDocument):
    """A named list of steps and how requests get to them."""

    name: Name
    """Names the scenario in the journal, in headers, and to clients that choose it by its name."""
    description: Text = ""
    """What it is for, for people."""
    priority: Priority = 0
    """Scenarios with a higher one go first, which nothing overrides."""
    enabled: Flag = True
    """Whether it answers anything."""
    select: SelectKey = "match"
    """`match`: by the steps' conditions. `first_user_message`: by a first user message that is
    the scenario's name; the step is the one of the turn."""
    tags: list[Name] = Field(default_factory=list)
    """Labels to find it by in the admin; the first is its group."""
    variables: dict[str, JsonValue] = Field(default_factory=dict)
    """Values for `{{ name }}` in answers; the keys of an object are `{{ name.key }}`."""
    system_prompt_must_include: list[SomeText] = Field(default_factory=list)
    """Texts that the system prompt should hold; a missing one is a violation."""
    steps: list[StepDocument] = Field(default_factory=list)
    """What it answers, one step after another."""
