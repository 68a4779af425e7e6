"""`manage.py chat` as a person and as a script use it."""

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from rich.console import Console

from chat_app.errors import ChatError
from chat_app.models import Message
from chat_app.terminal import Screen, TerminalConversation, open_conversation
from mockllm_site.kit.database_thread import in_database
from tests.chat.chatting import Chat, scenario
from tests.chat.scripts import ENDLESS
from tests.support import fork_server
from traces_app.models import Status, Trace

CHAT = ["-P", "-m", "mockllm_site", "chat"]
SECONDS = 90.0


def block(**message: Any) -> str:
    chain = {"id_message": "", "messages": [message]}
    return f"<|instruction_start|>{json.dumps(chain)}<|instruction_end|>"


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MOCKLLM_ENV": "test", "TERM": "xterm"}


def piped(folder: Path, text: bytes, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [fork_server.python(), *CHAT, *arguments],
        input=text,
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_script_gets_answers_on_standard_output_and_nothing_else(tmp_path: Path) -> None:
    lines = [block(text="First."), "", block(tool_call=[{"name": "add", "args": {"a": 2, "b": 3}}])]
    done = piped(tmp_path, "\n".join(lines).encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "First.\nChain complete.\n"
    err = done.stderr.decode()
    assert '→ add {"a": 2, "b": 3}\n← 5\n' in err
    assert re.search(r"^conversation [0-9a-f-]{36}$", err, re.MULTILINE)


def test_refused_message_prints_one_line_and_the_next_is_sent(tmp_path: Path) -> None:
    done = piped(tmp_path, b"half \xff\n" + block(text="Fine.").encode())
    assert done.stdout.decode() == "Fine.\n"
    [error, _] = done.stderr.decode().splitlines()
    assert error.startswith("VALIDATION_ERROR: ")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "mockllm: Profile not found"),
        (["--conversation", str(UUID(int=7))], "mockllm: Conversation not found"),
        (["--conversation", "x"], "mockllm: Conversation not found"),
    ],
)
def test_unknown_profile_or_conversation_prints_one_line(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = piped(tmp_path, b"Hello\n", *arguments)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines() == [message]


class Terminal:
    """A terminal with the program on it."""

    def __init__(self, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self.process = process
        self._screen = screen
        self._seen = ""

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def until(self, text: str) -> str:
        """Read the screen up to that text."""
        until = time.monotonic() + SECONDS
        while text not in self._seen:
            assert time.monotonic() < until, self._seen
            self._seen += os.read(self._screen, 10_000).decode()
        seen, _, self._seen = self._seen.partition(text)
        return seen


@contextmanager
def terminal(folder: Path) -> Iterator[Terminal]:
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *CHAT],
        cwd=folder,
        env=environment(),
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        # Otherwise Ctrl-C would not be sent as a signal.
        preexec_fn=_own_terminal,
    )
    os.close(keyboard)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_c_cancels_the_answer_and_ctrl_d_ends_the_program(tmp_path: Path) -> None:
    with terminal(tmp_path) as person:
        person.until("> ")
        person.type(block(text_message={"length": 2_000}) + "\n")
        person.until("lorem")
        person.type("\x03")
        person.until("(cancelled)")
        person.until("> ")
        # At the prompt Ctrl-C only clears the line, so an empty one is sent.
        for _ in range(50):
            person.type("half a line\x03\n")
            person.until("> ")
        person.type(block(text="Still here.") + "\n")
        person.until("<|instruction_end|>")
        assert person.until("Still here.").strip() == ""
        person.until("> ")
        person.type("\x04")
        person.until("conversation ")
        assert person.process.wait(SECONDS) == 0


@pytest.fixture
def screen() -> Iterator[tuple[Screen, io.StringIO]]:
    file = io.StringIO()
    console = Console(file=file)
    yield Screen(console, console), file


async def talk_of(chat: Chat, screen: Screen, **options: Any) -> TerminalConversation:
    profile = await chat.profile(name="talk")
    return await open_conversation(profile.name, options.get("conversation"), screen=screen)


async def test_a_talk_is_one_conversation(chat: Chat, screen: tuple[Screen, io.StringIO]) -> None:
    await chat.says("One.", "Two.")
    talk = await talk_of(chat, screen[0])
    await talk.send_and_print("First")
    await talk.send_and_print("Second")
    assert screen[1].getvalue() == "One.\nTwo.\n"
    rows = await in_database(lambda: list(Message.objects.order_by("number").values("content")))
    assert [row["content"] for row in rows] == ["First", "One.", "Second", "Two."]
    assert not talk.failed


async def test_a_talk_goes_on_with_a_conversation(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.says("Hi.")
    conversation = await chat.conversation()
    talk = await talk_of(chat, screen[0], conversation=str(conversation.pk))
    await talk.send_and_print("Hello")
    assert await in_database(Message.objects.filter(conversation=conversation).count) == 2
    talk.print_id()
    assert screen[1].getvalue() == f"Hi.\nconversation {conversation.pk}\n"


async def test_to_cancel_a_talk_is_to_cancel_its_answer(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script(scenario(ENDLESS, {"text": "Next."}))
    talk = await talk_of(chat, screen[0])
    saying = asyncio.create_task(talk.send_and_print("Hello"))
    while "word" not in screen[1].getvalue():
        await asyncio.sleep(0.01)
    saying.cancel()
    await saying
    assert screen[1].getvalue().endswith("(cancelled)\n")
    assert (await in_database(Trace.objects.get)).status == Status.CANCELLED
    await talk.send_and_print("And?")
    assert screen[1].getvalue().endswith("(cancelled)\nNext.\n")


async def test_cancelled_while_it_is_sent(chat: Chat, screen: tuple[Screen, io.StringIO]) -> None:
    await chat.script(scenario(ENDLESS))
    talk = await talk_of(chat, screen[0])
    saying = asyncio.create_task(talk.send_and_print("Hello"))
    await asyncio.sleep(0)
    saying.cancel()
    await saying
    assert (await in_database(Trace.objects.get)).status == Status.CANCELLED


async def test_an_error_is_a_line_and_no_end(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script(scenario({"fault": {"kind": "rate_limit"}}, {"text": "Fine."}))
    talk = await talk_of(chat, screen[0])
    for text in (" ", "Hello", "Hello?"):
        await talk.send_and_print(text)
    assert talk.failed
    assert screen[1].getvalue() == (
        "VALIDATION_ERROR: Message cannot be empty\nRATE_LIMITED: Rate limited, try again\nFine.\n"
    )


async def test_a_profile_that_is_not_there(chat: Chat, screen: tuple[Screen, io.StringIO]) -> None:
    with pytest.raises(ChatError, match="Profile not found"):
        await open_conversation("nobody", None, screen=screen[0])
