# `make docs` writes this file, from the conditions' classes.
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, Unpack

from scenarios_app.builder.draft import Draft
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.messages import MessageKeys
from scenarios_app.engine.conditions.text_shapes import ConditionKeys
from scenarios_app.engine.conditions.tools import ResultKeys

def methods_of(kind: type[Condition]) -> Iterator[tuple[str, Callable[..., Any]]]: ...

class Conditions(Draft):
    __slots__ = ()

    def with_model(self, *names: str, **condition: Unpack[ConditionKeys]) -> Self:
        """Match a model by name or by a condition; several are alternatives."""
    def with_stream(self, stream: bool = True) -> Self:
        """Match requests for a stream, or without one."""
    def with_messages(self, text: str | None = None, /, **condition: Unpack[MessageKeys]) -> Self:
        """Match a message by its whole text or a condition; by default the last one."""
    def with_system(self, text: str | None = None, /, **condition: Unpack[ConditionKeys]) -> Self:
        """Match any of the system messages by its whole text or a condition."""
    def with_tools(self, *names: str) -> Self:
        """Match requests that offer all these tools."""
    def with_tool_count(self, *, min: int | None = None, max: int | None = None) -> Self:
        """Match requests whose number of tools is in this range."""
    def with_tool_call(self, name: str, input: str | None = None, /, **arguments: object) -> Self:
        """Match an earlier call of this tool with at least these arguments, or with this input."""
    def with_tool_result(self, name: str | None = None, /, **condition: Unpack[ResultKeys]) -> Self:
        """Match a tool's result by the tool's name and a condition."""
    def with_response_format(
        self, kind: Literal["text", "json", "schema"] | None = None, *, schema: str | None = None
    ) -> Self:
        """Match requests for text, for any JSON, or for JSON of a schema, which may be named."""
    def with_max_tokens(self, *, min: int | None = None, max: int | None = None) -> Self:
        """Match requests with a token limit in this range."""
    def with_header(
        self, name: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> Self:
        """Match a request header by its value or by a condition."""
    def with_metadata(
        self, key: str, value: str | None = None, /, **condition: Unpack[ConditionKeys]
    ) -> Self:
        """Match an entry of the request's metadata by its value or by a condition."""
    def with_recorded(
        self, body: object, /, *, method: str = "POST", exact: Sequence[str] = ()
    ) -> Self:
        """Match a recorded request by its body: the same conversation. `exact` names rules to
        switch off."""
