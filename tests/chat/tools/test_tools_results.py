"""A tool's result as one text."""

from typing import Any

import pytest
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from chat_app.tools import LONGEST, Outcome, outcome_of


def text(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def test_texts_stand_one_below_the_other() -> None:
    result = CallToolResult(content=[text("one"), text(""), text("two\n")])
    assert outcome_of(result) == Outcome("one\n\ntwo\n")


def test_a_result_without_anything_is_an_empty_text() -> None:
    assert outcome_of(CallToolResult(content=[])) == Outcome("")


def test_an_error_begins_so() -> None:
    result = CallToolResult(content=[text("no"), text("way")], is_error=True)
    assert outcome_of(result) == Outcome("Error: no\nway", "error")


def test_an_error_may_be_structured() -> None:
    result = CallToolResult(content=[], structured_content={"why": None}, is_error=True)
    assert outcome_of(result) == Outcome('Error: {"why":null}', "error")


def test_structured_content_beside_a_text_is_the_same_said_twice() -> None:
    result = CallToolResult(content=[text("3")], structured_content={"result": 3})
    assert outcome_of(result) == Outcome("3")


def test_structured_content_follows_what_is_no_text() -> None:
    resource = TextResourceContents(uri="file:///x", text="inside")
    result = CallToolResult(
        content=[EmbeddedResource(type="resource", resource=resource)],
        structured_content={"a": "ü"},
    )
    assert outcome_of(result) == Outcome('[resource: file:///x, of no known type]\n{"a":"ü"}')


@pytest.mark.parametrize("is_error", [False, True])
def test_a_result_beyond_the_limit_is_an_error_that_names_it(is_error: bool) -> None:
    at_limit = CallToolResult(content=[text("x" * LONGEST)])
    assert len(outcome_of(at_limit).text) == LONGEST
    beyond: Any = CallToolResult(content=[text("x" * LONGEST), text("")], is_error=is_error)
    assert outcome_of(beyond) == Outcome(
        "Error: the result has 4,194,305 characters; at most 4,194,304 are taken", "error"
    )
