"""A tool's result as one text."""

from typing import Any

import pytest
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from chat_app.tools import MAX_RESULT_CHARS, ToolOutcome, to_outcome


def text(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def test_texts_are_joined_by_newlines() -> None:
    result = CallToolResult(content=[text("one"), text(""), text("two\n")])
    assert to_outcome(result) == ToolOutcome("one\n\ntwo\n")


def test_empty_result_is_an_empty_text() -> None:
    assert to_outcome(CallToolResult(content=[])) == ToolOutcome("")


def test_error_result_has_an_error_prefix() -> None:
    result = CallToolResult(content=[text("no"), text("way")], is_error=True)
    assert to_outcome(result) == ToolOutcome("Error: no\nway", "error")


def test_an_error_may_be_structured() -> None:
    result = CallToolResult(content=[], structured_content={"why": None}, is_error=True)
    assert to_outcome(result) == ToolOutcome('Error: {"why":null}', "error")


def test_structured_content_beside_a_text_is_ignored() -> None:
    result = CallToolResult(content=[text("3")], structured_content={"result": 3})
    assert to_outcome(result) == ToolOutcome("3")


def test_structured_content_follows_other_blocks() -> None:
    resource = TextResourceContents(uri="file:///x", text="inside")
    result = CallToolResult(
        content=[EmbeddedResource(type="resource", resource=resource)],
        structured_content={"a": "ü"},
    )
    assert to_outcome(result) == ToolOutcome('[resource: file:///x, of no known type]\n{"a":"ü"}')


@pytest.mark.parametrize("is_error", [False, True])
def test_a_result_beyond_the_limit_is_an_error_that_names_it(is_error: bool) -> None:
    at_limit = CallToolResult(content=[text("x" * MAX_RESULT_CHARS)])
    assert len(to_outcome(at_limit).text) == MAX_RESULT_CHARS
    beyond: Any = CallToolResult(
        content=[text("x" * MAX_RESULT_CHARS), text("")], is_error=is_error
    )
    assert to_outcome(beyond) == ToolOutcome(
        "Error: the result has 4,194,305 characters; at most 4,194,304 are taken", "error"
    )
