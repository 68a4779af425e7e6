"""Colours of reports, and when a stream has them."""

import io

import pytest

from scenarios_app.verdict.colours import DIM, GREEN, RED, RESET, YELLOW, colour_report, has_colours

TERMINAL = {"TERM": "xterm"}


class TerminalText(io.StringIO):
    """A text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "part", "colour"),
    [
        ("mockllm: FAILED: the run, 1 request", "mockllm: FAILED", RED),
        ("passed: session a, 2 requests", "passed", GREEN),
        ("unmatched: /v1/x: no step answered [id]", "unmatched:", RED),
        ("  near: a, step 1: model: expected x, got y", None, DIM),
        ("never served: a, step 1", "never served:", YELLOW),
        ("warning: retry-after: too early [id]", "warning:", YELLOW),
        ("http 500      SILENT", "SILENT", RED),
        ("http 500      loud", "loud", GREEN),
        ("server_error@1: wrong", None, RED),
        ("test_a stays green when x", "test_a stays green when ", YELLOW),
    ],
)
def test_result_in_a_line_has_its_colour(line: str, part: str | None, colour: str) -> None:
    part = line if part is None else part
    assert colour_report(line) == line.replace(part, f"{colour}{part}{RESET}")


@pytest.mark.parametrize(
    "line", ["note: it passed", "The answer was ok", "mockllm: session a FAILED", "score: 90 %"]
)
def test_other_text_stays_plain(line: str) -> None:
    assert colour_report(line) == line


@pytest.mark.parametrize(
    ("terminal", "environment", "coloured"),
    [
        (True, TERMINAL, True),
        (False, TERMINAL, False),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (True, TERMINAL | {"NO_COLOR": "1"}, False),
        (True, TERMINAL | {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_only_terminals_have_colours_unless_a_variable_decides(
    terminal: bool, environment: dict[str, str], coloured: bool
) -> None:
    stream = TerminalText() if terminal else io.StringIO()
    assert has_colours(stream, environment) is coloured
