"""Google's hosted tools as parts; tools that Google lacks are left out."""

import json
from typing import Any

import pytest

from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)
from tests.wire.gemini.gemini_cases import render, response, stream_chunks


def render_parts(*answer_parts: AnswerPart) -> list[Any]:
    """Render parts; check that a stream has the same."""
    answer = response(*answer_parts, TextPart("."))
    rendered_parts = render(answer)["candidates"][0]["content"]["parts"]
    streamed = [chunk["candidates"][0]["content"]["parts"][0] for chunk in stream_chunks(answer)]
    assert streamed == [*rendered_parts, {"text": ""}]
    return list(rendered_parts[:-1])


def tool_use(name: str, arguments: Any) -> ServerToolUsePart:
    return ServerToolUsePart("s-1", name, json.dumps(arguments))


def tool_result(name: str, content: Any, error: str | None = None) -> ServerToolResultPart:
    return ServerToolResultPart("s-1", name, json.dumps(content), error)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("web_search", "GOOGLE_SEARCH_WEB"),
        ("google_search", "GOOGLE_SEARCH_WEB"),
        ("web_fetch", "URL_CONTEXT"),
        ("url_context", "URL_CONTEXT"),
        ("google_maps", "GOOGLE_MAPS"),
        ("file_search", "FILE_SEARCH"),
    ],
)
def test_googles_tool_has_a_call_and_a_response(name: str, kind: str) -> None:
    call, result = render_parts(tool_use(name, {"query": "q"}), tool_result(name, [{"url": "u"}]))
    assert call == {"toolCall": {"id": "s-1", "toolType": kind, "args": {"query": "q"}}}
    expected_response = {"result": [{"url": "u"}]}
    assert result == {
        "toolResponse": {"id": "s-1", "toolType": kind, "response": expected_response}
    }


@pytest.mark.parametrize(
    ("content", "error", "expected_response"),
    [
        ({"hits": 1}, None, {"hits": 1}),
        (None, None, {"result": None}),
        ({"hits": 1}, "unavailable", {"error": "unavailable"}),
    ],
)
def test_server_tool_result_is_sent_as_an_object(
    content: Any, error: str | None, expected_response: Any
) -> None:
    (result,) = render_parts(tool_result("web_search", content, error))
    assert result["toolResponse"]["response"] == expected_response


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"code": "print(1)"}, "print(1)"), ({"x": 1}, '{"x": 1}'), ({"code": 1}, '{"code": 1}')],
)
def test_code_execution_is_executable_code(arguments: Any, code: str) -> None:
    (part,) = render_parts(tool_use("code_execution", arguments))
    assert part == {"executableCode": {"id": "s-1", "language": "PYTHON", "code": code}}


@pytest.mark.parametrize(
    ("content", "error", "outcome", "output"),
    [
        ("1\n", None, "OUTCOME_OK", "1\n"),
        ({"stdout": "1\n", "stderr": ""}, None, "OUTCOME_OK", "1\n"),
        ({"output": [1]}, None, "OUTCOME_OK", "[1]"),
        ({"else": "ü"}, None, "OUTCOME_OK", '{"else": "ü"}'),
        (None, "too slow", "OUTCOME_FAILED", "too slow"),
    ],
)
def test_code_result_has_an_outcome_and_output(
    content: Any, error: str | None, outcome: str, output: str
) -> None:
    (part,) = render_parts(tool_result("code_execution", content, error))
    result = {"id": "s-1", "outcome": outcome, "output": output}
    assert part == {"codeExecutionResult": result}


def test_a_tool_that_google_lacks_is_left_out() -> None:
    assert (
        render_parts(
            tool_use("tool_search_tool_regex", {}), tool_result("tool_search_tool_regex", {})
        )
        == []
    )
