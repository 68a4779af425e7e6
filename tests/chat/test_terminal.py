"""Printing of run events: answers to standard output, everything else to standard error."""

import io
from typing import Any

import pytest
from django.utils import timezone
from rich.console import Console

from chat_app.terminal import MAX_ASIDE_CHARS, Screen
from traces_app.log import LoggedEvent

DIM, PLAIN = "\x1b[2m", "\x1b[0m"


def print_events(*events: tuple[str, dict[str, Any]]) -> tuple[str, str]:
    """Print the events as in a pipe; return standard output and standard error."""
    answers, asides = io.StringIO(), io.StringIO()
    screen = Screen(Console(file=answers), Console(file=asides))
    for number, (event_type, payload) in enumerate(events, 1):
        screen.show(LoggedEvent(number, event_type, payload, timezone.now()))
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
    assert print_events(chunk("Hi "), chunk("there."), ("done", {}))[0] == "Hi there.\n"


def test_a_long_line_is_not_broken() -> None:
    text = "word " * 200
    assert print_events(chunk(text), ("done", {}))[0] == f"{text}\n"


@pytest.mark.parametrize(
    "text", ["[bold]not bold[/bold]", ":smile:", "[/]", "12.5 'x' http://x", "a\tb"]
)
def test_markup_of_a_model_is_printed_verbatim(text: str) -> None:
    assert print_events(chunk(text), ("done", {}))[0] == f"{text}\n"


def test_answer_and_asides_go_to_separate_outputs_in_a_pipe() -> None:
    answers, asides = print_events(
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
    answers, _ = print_events(chunk("I look."), *between, chunk("\n\nThree."), ("done", {}))
    assert answers == "I look.\n\nThree.\n"


def test_terminal_prints_everything_in_order_with_dim_thinking() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard")
    screen = Screen(console, console)
    for event in (thinking("Hm."), chunk("Hi."), ("done", {})):
        screen.show(LoggedEvent(1, event[0], event[1], timezone.now()))
    assert file.getvalue() == f"{DIM}Hm.{PLAIN}\nHi.\n"


def test_long_results_and_arguments_are_cut_to_a_line() -> None:
    _, asides = print_events(start("echo", {"text": "a\nb" * 500}), output("x\n\ny " * 500))
    lines = asides.splitlines()
    assert len(lines) == 2
    assert all(len(line) < MAX_ASIDE_CHARS + 20 and line.endswith("…") for line in lines)


def test_control_characters_in_tool_arguments_are_removed() -> None:
    _, asides = print_events(start("x\x1b[2J", "\x1b[31m"), output("\x07\x1b]0;title\x07"))
    assert "\x1b" not in asides and "\x07" not in asides


@pytest.mark.parametrize("status", ["timeout", "cancelled"])
def test_interrupted_tool_prints_its_status(status: str) -> None:
    assert print_events(("tool_end", {"tool_call_id": "1", "status": status}))[1] == f"← {status}\n"


@pytest.mark.parametrize("status", ["success", "error"])
def test_end_of_a_tool_with_a_printed_result_prints_nothing(status: str) -> None:
    assert print_events(("tool_end", {"tool_call_id": "1", "status": status})) == ("", "")


def test_an_error_is_one_line() -> None:
    answers, asides = print_events(
        chunk("Half"), ("error", {"code": "NETWORK_ERROR", "message": "It\nbroke [red]."})
    )
    assert (answers, asides) == ("Half\n", "NETWORK_ERROR: It broke [red].\n")


def test_cancelled_answer_is_marked() -> None:
    answers, asides = print_events(chunk("Half"), ("done", {"cancelled": True}))
    assert (answers, asides) == ("Half\n", "(cancelled)\n")


def test_uninteresting_events_print_nothing() -> None:
    assert print_events(("started", {"trace_id": "t"})) == ("", "")
