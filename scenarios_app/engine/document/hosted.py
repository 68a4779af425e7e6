"""The use of a provider's own tool, with its result, in a scenario document."""

from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import compact_json
from scenarios_app.engine.parts import ServerToolResultPart, ServerToolUsePart
from scenarios_app.engine.shapes import Document, KeyProblem, fields

HostedTool: TypeAlias = Literal[
    "web_search",
    "web_fetch",
    "file_search",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "image_generation",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
    "google_maps",
    "mcp",
    "mcp_list_tools",
]


class HostedToolDocument(Document):
    """A tool that the provider runs itself, and its result. An API without this tool leaves it
    out."""

    tool: Annotated[HostedTool, fields.one_of(HostedTool)]
    """The hosted tool."""
    server: fields.SomeText | None = None
    """The label of the MCP server, for `mcp` and `mcp_list_tools`."""
    name: fields.SomeText | None = None
    """The name of the MCP server's tool, for `mcp`."""
    id: fields.SomeText | None = None
    """The id of the use. By default generated."""
    input: dict[str, JsonValue] = Field(default_factory=dict)
    """The input, such as `query`, `code` or `prompt`; the arguments of an MCP tool."""
    result: JsonValue = None
    """The result. Without result and error the use is sent alone."""
    error: fields.SomeText | None = None
    """Instead of a result: the code or text of the failure."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.result is not None and self.error is not None:
            yield ("error",), "cannot be combined with result"
        wanted = {"server": self.tool.startswith("mcp"), "name": self.tool == "mcp"}
        for key, needed in wanted.items():
            if needed and getattr(self, key) is None:
                yield (key,), "missing"
            elif not needed and getattr(self, key) is not None:
                yield (key,), f"does not belong to {self.tool}"

    def compile(self) -> Iterator[ServerToolUsePart | ServerToolResultPart]:
        """Yield the use, and its result if there is one."""
        name, server = self.name or self.tool, self.server or ""
        yield ServerToolUsePart(self.id or "", name, compact_json(self.input), server)
        if self.result is not None or self.error is not None:
            yield ServerToolResultPart(
                self.id or "", name, compact_json(self.result), self.error, server
            )
