"""The part of a scenario document that says which requests a step answers and what it expects."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeAlias

from pydantic import (
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from scenarios_app.engine.document.base import (
    Document,
    Finding,
    in_a_list,
    reads_string,
    writes_string,
)
from scenarios_app.engine.document.fields import (
    Flag,
    Number,
    Pattern,
    Role,
    SomeText,
    Text,
    Thinking,
    Which,
    header_names,
)


class TextConditionDocument(Document):
    """A condition on a text: everything given must hold. A plain string means `equals`."""

    equals: Text | None = None
    """The whole text."""
    contains: SomeText | None = None
    """Found anywhere in the text."""
    startswith: SomeText | None = None
    """How the text begins."""
    regex: Pattern | None = None
    """An RE2 pattern found anywhere in the text; `^` and `$` tie it to the ends. Named groups
    `(?P<name>...)` can be used in the answer as `{{ match.name }}`. `\\w`, `\\b`, `\\d` and
    `\\s` know ASCII alone; `[\\pL\\pN_]` takes the letters and digits of every script."""
    ignore_case: Flag = False
    """Upper and lower case count as the same."""

    @property
    def asks(self) -> bool:
        """Whether it asks anything of the text."""
        tests = (self.equals, self.contains, self.startswith, self.regex)
        return any(test is not None for test in tests)

    def findings(self) -> Iterable[Finding]:
        if not self.asks:
            yield (), "expected at least one of equals, contains, startswith, regex"


def _out_of_the_list(values: list[Any], handler: SerializerFunctionWrapHandler) -> Any:
    written = handler(values)
    return written[0] if len(written) == 1 else written


TextCondition: TypeAlias = Annotated[
    TextConditionDocument, reads_string(TextConditionDocument, "equals"), writes_string("equals")
]
Alternatives: TypeAlias = Annotated[
    list[TextCondition],
    Field(min_length=1),
    WrapValidator(in_a_list, json_schema_input_type=TextCondition | list[TextCondition]),
    WrapSerializer(_out_of_the_list),
]


class WhoseMessage(Document):
    """Which message is meant."""

    role: Role | None = None
    """Whose message; without it anybody's. Developer messages and instructions are `system`,
    tool results are `tool`."""
    which: Which = "last"
    """The last message of that role, the first, any of them, or the one at an index."""


class MessageConditionDocument(TextConditionDocument, WhoseMessage):
    """A condition on the text of a message, or that there is a message of a role."""

    def findings(self) -> Iterable[Finding]:
        if not self.asks and self.role is None:
            yield (), "expected at least one of role, equals, contains, startswith, regex"


class ToolCallConditionDocument(Document):
    """A tool call in an earlier assistant message."""

    name: SomeText | None = None
    """The tool's name."""
    arguments: dict[str, JsonValue] | None = None
    """A part of its arguments: these keys with these values, and others beside them."""


class WhichResult(Document):
    """Which tool result is meant."""

    name: SomeText | None = None
    """The name of the tool that was called."""
    tool_call_id: SomeText | None = None
    """The id of the call that it belongs to."""
    is_error: Flag | None = None
    """Whether the tool failed, on wires that say so."""


class ToolResultConditionDocument(TextConditionDocument, WhichResult):
    """A tool's result in the conversation, and what its text is like."""

    def findings(self) -> Iterable[Finding]:
        return ()


MessageCondition: TypeAlias = Annotated[
    MessageConditionDocument,
    reads_string(MessageConditionDocument, "equals"),
    writes_string("equals"),
]
ToolResultCondition: TypeAlias = Annotated[
    ToolResultConditionDocument,
    reads_string(ToolResultConditionDocument, "equals"),
    writes_string("equals"),
]


class MatchDocument(Document):
    """What a request must be for the step to answer it; a missing key is no constraint."""

    provider: Alternatives = Field(default_factory=list)
    """`openai`, `anthropic`, ...; a list holds alternatives."""
    path: Alternatives = Field(default_factory=list)
    """The path without its query, raw or canonical (`/v1/chat/completions` for Azure too)."""
    model: Alternatives = Field(default_factory=list)
    """The model that is asked for; a list holds alternatives."""
    stream: Flag | None = None
    """Whether the request asks for a stream."""
    messages: list[MessageCondition] = Field(default_factory=list)
    """Conditions on messages; all must hold."""
    tools: list[SomeText] = Field(default_factory=list)
    """Names of tools that must all be offered."""
    tool_calls: list[ToolCallConditionDocument] = Field(default_factory=list)
    """Calls that earlier answers have made; all must be there."""
    tool_results: list[ToolResultCondition] = Field(default_factory=list)
    """Results of tools that the request brings; all must be there."""
    headers: Annotated[dict[str, TextCondition], header_names] = Field(default_factory=dict)
    """Request headers by name, in any case."""
    metadata: dict[str, TextCondition] = Field(default_factory=dict)
    """Entries of the request's metadata."""


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
