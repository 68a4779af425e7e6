"""Commands as agents: a message that is not read, and answers that come early or never end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scenarios_app.simulate.conversation import Agent, AgentFailed
from scenarios_app.testing.simulate.agents import agent_command

# Larger than a pipe's buffer.
LONG = "x" * 300_000
NOWHERE = "http://127.0.0.1:9"


@contextmanager
def program(code: str, *, timeout: float = 20) -> Iterator[Agent]:
    command = [sys.executable, "-c", f"import sys, time\n{code}"]
    with agent_command(command, NOWHERE, key="k", timeout=timeout) as agent:
        yield agent


def test_command_that_reads_nothing_is_late() -> None:
    with (
        program("time.sleep(60)", timeout=1) as agent,
        pytest.raises(AgentFailed, match=r"^no answer within 1 s \(--timeout\)"),
    ):
        agent(LONG)


def test_command_that_never_ends_its_line_is_late() -> None:
    dots = "while True: print('.', end='', flush=True); time.sleep(0.01)"
    with (
        program(dots, timeout=1) as agent,
        pytest.raises(AgentFailed, match=r"^no answer within 1 s \(--timeout\)"),
    ):
        agent("Hello")


def test_long_message_arrives_whole() -> None:
    with program("for line in sys.stdin: print(len(line))") as agent:
        assert [agent(LONG), agent("Hello")] == ["300001", "6"]


def test_message_is_sent_to_its_end_after_an_early_answer() -> None:
    code = "print('early')\nfor line in sys.stdin: print(len(line))"
    with program(code) as agent:
        assert [agent(LONG), agent("Hello"), agent("Hi")] == ["early", "300001", "6"]


def test_command_that_ends_before_the_message_is_read_is_named() -> None:
    with (
        program("sys.exit(3)") as agent,
        pytest.raises(AgentFailed, match=r"^the command ended with exit code 3"),
    ):
        agent(LONG)
