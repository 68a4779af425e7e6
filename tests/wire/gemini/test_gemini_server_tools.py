"""Google's own tools as parts: those that it has, and none of the others."""

import json
from typing import Any

import pytest

from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)
from tests.wire.gemini.gemini_cases import chunks, render, response


def parts(*said: AnswerPart) -> list[Any]:
    """The parts, the same from a stream and from a whole answer."""
    answer = response(*said, TextPart("."))
    found = render(answer)["candidates"][0]["content"]["parts"]
    streamed = [chunk["candidates"][0]["content"]["parts"][0] for chunk in chunks(answer)]
    assert streamed == [*found, {"text": ""}]
    return list(found[:-1])


def use(name: str, given: Any) -> ServerToolUsePart:
    return ServerToolUsePart("s-1", name, json.dumps(given))


def gave(name: str, found: Any, error: str | None = None) -> ServerToolResultPart:
    return ServerToolResultPart("s-1", name, json.dumps(found), error)


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
def test_a_tool_of_googles_is_called_and_responds(name: str, kind: str) -> None:
    call, result = parts(use(name, {"query": "q"}), gave(name, [{"url": "u"}]))
    assert call == {"toolCall": {"id": "s-1", "toolType": kind, "args": {"query": "q"}}}
    response = {"result": [{"url": "u"}]}
    assert result == {"toolResponse": {"id": "s-1", "toolType": kind, "response": response}}


@pytest.mark.parametrize(
    ("found", "error", "said"),
    [
        ({"hits": 1}, None, {"hits": 1}),
        (None, None, {"result": None}),
        ({"hits": 1}, "unavailable", {"error": "unavailable"}),
    ],
)
def test_server_tool_result_is_sent_as_an_object(found: Any, error: str | None, said: Any) -> None:
    (result,) = parts(gave("web_search", found, error))
    assert result["toolResponse"]["response"] == said


@pytest.mark.parametrize(
    ("given", "code"),
    [({"code": "print(1)"}, "print(1)"), ({"x": 1}, '{"x": 1}'), ({"code": 1}, '{"code": 1}')],
)
def test_code_is_executed(given: Any, code: str) -> None:
    (part,) = parts(use("code_execution", given))
    assert part == {"executableCode": {"id": "s-1", "language": "PYTHON", "code": code}}


@pytest.mark.parametrize(
    ("found", "error", "outcome", "output"),
    [
        ("1\n", None, "OUTCOME_OK", "1\n"),
        ({"stdout": "1\n", "stderr": ""}, None, "OUTCOME_OK", "1\n"),
        ({"output": [1]}, None, "OUTCOME_OK", "[1]"),
        ({"else": "ü"}, None, "OUTCOME_OK", '{"else": "ü"}'),
        (None, "too slow", "OUTCOME_FAILED", "too slow"),
    ],
)
def test_code_has_an_outcome(found: Any, error: str | None, outcome: str, output: str) -> None:
    (part,) = parts(gave("code_execution", found, error))
    result = {"id": "s-1", "outcome": outcome, "output": output}
    assert part == {"codeExecutionResult": result}


def test_a_tool_that_google_lacks_is_left_out() -> None:
    assert parts(use("tool_search_tool_regex", {}), gave("tool_search_tool_regex", {})) == []
