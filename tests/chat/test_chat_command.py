"""`manage.py chat` on a terminal and in a pipe."""

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
from tests.chat.chat_helpers import Chat, scenario
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


def run_piped(folder: Path, text: bytes, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
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
    result = run_piped(tmp_path, "\n".join(lines).encode())
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode() == "First.\nChain complete.\n"
    err = result.stderr.decode()
    assert '→ add {"a": 2, "b": 3}\n← 5\n' in err
    assert re.search(r"^conversation [0-9a-f-]{36}$", err, re.MULTILINE)


def test_refused_message_prints_one_line_and_the_next_is_sent(tmp_path: Path) -> None:
    result = run_piped(tmp_path, b"half \xff\n" + block(text="Fine.").encode())
    assert result.stdout.decode() == "Fine.\n"
    [error, _] = result.stderr.decode().splitlines()
    assert error.startswith("VALIDATION_ERROR: ")
    assert result.returncode == 1


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
    result = run_piped(tmp_path, b"Hello\n", *arguments)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode().splitlines() == [message]


class Terminal:
    """A pseudo-terminal that runs the program."""

    def __init__(self, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self.process = process
        self._screen = screen
        self._unread = ""

    def type(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def read_until(self, text: str) -> str:
        """Read the screen up to the text and return what came before it."""
        deadline = time.monotonic() + SECONDS
        while text not in self._unread:
            assert time.monotonic() < deadline, self._unread
            self._unread += os.read(self._screen, 10_000).decode()
        before, _, self._unread = self._unread.partition(text)
        return before


@contextmanager
def open_terminal(folder: Path) -> Iterator[Terminal]:
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *CHAT],
        cwd=folder,
        env=environment(),
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        # Otherwise Ctrl-C would not be sent as a signal.
        preexec_fn=_make_controlling_terminal,
    )
    os.close(keyboard)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _make_controlling_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_ctrl_c_cancels_the_answer_and_ctrl_d_ends_the_program(tmp_path: Path) -> None:
    with open_terminal(tmp_path) as program:
        program.read_until("> ")
        program.type(block(text_message={"length": 2_000}) + "\n")
        program.read_until("lorem")
        program.type("\x03")
        program.read_until("(cancelled)")
        program.read_until("> ")
        # At the prompt Ctrl-C only clears the line, so an empty one is sent.
        for _ in range(50):
            program.type("half a line\x03\n")
            program.read_until("> ")
        program.type(block(text="Still here.") + "\n")
        program.read_until("<|instruction_end|>")
        assert program.read_until("Still here.").strip() == ""
        program.read_until("> ")
        program.type("\x04")
        program.read_until("conversation ")
        assert program.process.wait(SECONDS) == 0


@pytest.fixture
def screen() -> Iterator[tuple[Screen, io.StringIO]]:
    file = io.StringIO()
    console = Console(file=file)
    yield Screen(console, console), file


async def start_conversation(chat: Chat, screen: Screen, **options: Any) -> TerminalConversation:
    profile = await chat.profile(name="talk")
    return await open_conversation(profile.name, options.get("conversation"), screen=screen)


async def test_messages_of_one_session_share_a_conversation(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script_texts("One.", "Two.")
    conversation = await start_conversation(chat, screen[0])
    await conversation.send_and_print("First")
    await conversation.send_and_print("Second")
    assert screen[1].getvalue() == "One.\nTwo.\n"
    rows = await in_database(lambda: list(Message.objects.order_by("number").values("content")))
    assert [row["content"] for row in rows] == ["First", "One.", "Second", "Two."]
    assert not conversation.failed


async def test_named_conversation_is_continued(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script_texts("Hi.")
    row = await chat.conversation()
    conversation = await start_conversation(chat, screen[0], conversation=str(row.pk))
    await conversation.send_and_print("Hello")
    assert await in_database(Message.objects.filter(conversation=row).count) == 2
    conversation.print_id()
    assert screen[1].getvalue() == f"Hi.\nconversation {row.pk}\n"


async def test_cancelling_the_session_cancels_its_run(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script(scenario(ENDLESS, {"text": "Next."}))
    conversation = await start_conversation(chat, screen[0])
    send_task = asyncio.create_task(conversation.send_and_print("Hello"))
    while "word" not in screen[1].getvalue():
        await asyncio.sleep(0.01)
    send_task.cancel()
    await send_task
    assert screen[1].getvalue().endswith("(cancelled)\n")
    assert (await in_database(Trace.objects.get)).status == Status.CANCELLED
    await conversation.send_and_print("And?")
    assert screen[1].getvalue().endswith("(cancelled)\nNext.\n")


async def test_cancelling_while_a_message_is_sent_cancels_its_run(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script(scenario(ENDLESS))
    conversation = await start_conversation(chat, screen[0])
    send_task = asyncio.create_task(conversation.send_and_print("Hello"))
    await asyncio.sleep(0)
    send_task.cancel()
    await send_task
    assert (await in_database(Trace.objects.get)).status == Status.CANCELLED


async def test_error_prints_one_line_and_the_session_goes_on(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    await chat.script(scenario({"fault": {"kind": "rate_limit"}}, {"text": "Fine."}))
    conversation = await start_conversation(chat, screen[0])
    for text in (" ", "Hello", "Hello?"):
        await conversation.send_and_print(text)
    assert conversation.failed
    assert screen[1].getvalue() == (
        "VALIDATION_ERROR: Message cannot be empty\nRATE_LIMITED: Rate limited, try again\nFine.\n"
    )


async def test_unknown_profile_raises_a_chat_error(
    chat: Chat, screen: tuple[Screen, io.StringIO]
) -> None:
    with pytest.raises(ChatError, match="Profile not found"):
        await open_conversation("nobody", None, screen=screen[0])
