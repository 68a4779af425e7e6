"""Events on a terminal: the answer as it comes, and what else happens beside it."""

import io
from typing import Any

import pytest
from django.utils import timezone
from rich.console import Console

from chat_app.terminal import MAX_ASIDE_CHARS, Screen
from traces_app.log import LoggedEvent

DIM, PLAIN = "\x1b[2m", "\x1b[0m"


def printed(*events: tuple[str, dict[str, Any]]) -> tuple[str, str]:
    """Return standard output and standard error of a pipe."""
    answers, asides = io.StringIO(), io.StringIO()
    screen = Screen(Console(file=answers), Console(file=asides))
    for number, (kind, payload) in enumerate(events, 1):
        screen.show(LoggedEvent(number, kind, payload, timezone.now()))
    return answers.getvalue(), asides.getvalue()


def chunk(text: str) -> tuple[str, dict[str, Any]]:
    return "chunk", {"content": text}


def thinking(text: str) -> tuple[str, dict[str, Any]]:
    return "thinking", {"content": text}


def start(name: str, arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tool_start", {"tool_call_id": "1", "tool_name": name, "tool_args": arguments}


def output(text: str, *, is_error: bool = False) -> tuple[str, dict[str, Any]]:
    return "tool_output", {"tool_call_id": "1", "output": text, "is_error": is_error}


def test_the_answer_is_one_text() -> None:
    assert printed(chunk("Hi "), chunk("there."), ("done", {}))[0] == "Hi there.\n"


def test_a_long_line_is_not_broken() -> None:
    text = "word " * 200
    assert printed(chunk(text), ("done", {}))[0] == f"{text}\n"


@pytest.mark.parametrize(
    "text", ["[bold]not bold[/bold]", ":smile:", "[/]", "12.5 'x' http://x", "a\tb"]
)
def test_markup_of_a_model_is_printed_verbatim(text: str) -> None:
    assert printed(chunk(text), ("done", {}))[0] == f"{text}\n"


def test_in_a_pipe_the_answer_stands_alone() -> None:
    answers, asides = printed(
        thinking("Let me see."),
        chunk("I look."),
        start("add", {"a": 1}),
        output("3"),
        chunk("Three."),
        ("done", {}),
    )
    assert answers == "I look.\nThree.\n"
    assert asides == 'Let me see.\n→ add {"a": 1}\n← 3\n'


@pytest.mark.parametrize("between", [(), (start("add", {}), output("3")), (thinking("Hm."),)])
def test_rounds_are_paragraphs_with_one_blank_line(between: tuple[Any, ...]) -> None:
    answers, _ = printed(chunk("I look."), *between, chunk("\n\nThree."), ("done", {}))
    assert answers == "I look.\n\nThree.\n"


def test_on_a_terminal_everything_is_in_order_and_thinking_is_dim() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard")
    screen = Screen(console, console)
    for event in (thinking("Hm."), chunk("Hi."), ("done", {})):
        screen.show(LoggedEvent(1, event[0], event[1], timezone.now()))
    assert file.getvalue() == f"{DIM}Hm.{PLAIN}\nHi.\n"


def test_long_results_and_arguments_are_cut_to_a_line() -> None:
    _, asides = printed(start("echo", {"text": "a\nb" * 500}), output("x\n\ny " * 500))
    lines = asides.splitlines()
    assert len(lines) == 2
    assert all(len(line) < MAX_ASIDE_CHARS + 20 and line.endswith("…") for line in lines)


def test_control_characters_in_tool_arguments_are_removed() -> None:
    _, asides = printed(start("x\x1b[2J", "\x1b[31m"), output("\x07\x1b]0;title\x07"))
    assert "\x1b" not in asides and "\x07" not in asides


@pytest.mark.parametrize("status", ["timeout", "cancelled"])
def test_a_tool_that_did_not_end_says_so(status: str) -> None:
    assert printed(("tool_end", {"tool_call_id": "1", "status": status}))[1] == f"← {status}\n"


@pytest.mark.parametrize("status", ["success", "error"])
def test_a_tool_whose_result_was_shown_says_no_more(status: str) -> None:
    assert printed(("tool_end", {"tool_call_id": "1", "status": status})) == ("", "")


def test_an_error_is_one_line() -> None:
    answers, asides = printed(
        chunk("Half"), ("error", {"code": "NETWORK_ERROR", "message": "It\nbroke [red]."})
    )
    assert (answers, asides) == ("Half\n", "NETWORK_ERROR: It broke [red].\n")


def test_a_cancelled_answer_says_so() -> None:
    answers, asides = printed(chunk("Half"), ("done", {"cancelled": True}))
    assert (answers, asides) == ("Half\n", "(cancelled)\n")


def test_uninteresting_events_print_nothing() -> None:
    assert printed(("started", {"trace_id": "t"})) == ("", "")
