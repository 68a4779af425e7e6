"""A conversation held in a terminal: lines as they are typed, each message answered or cancelled
before the next, and a run's events as they come."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from chat_app.conversations import as_uuid
from chat_app.errors import NOT_FOUND, ChatError
from chat_app.models import Conversation, ModelProfile
from chat_app.profiles import profile_named
from chat_app.service import StreamHandle, cancel, send_message
from chat_app.values.text import clean
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.log import LoggedEvent

_PROMPT: Final = "> "
# Where a terminal's settings have their special characters, and the one that stands for none.
_SPECIAL: Final = 6
_NONE: Final = b"\0"


def typed_lines() -> Iterator[str]:
    """One line after another until Ctrl-D. At the prompt Ctrl-C clears the line, and between two
    prompts it does nothing, unless `interruptible` runs there."""
    editing = _line_editing()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            try:
                with _control_c_is_a_key() if editing else _control_c_is_a_signal():
                    line = input(_PROMPT)
            except KeyboardInterrupt:
                print()
            except EOFError:
                print()
                return
            else:
                yield line
    finally:
        signal.signal(signal.SIGINT, before)


def interruptible(runner: asyncio.Runner, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`; each Ctrl-C cancels it once, and it may go on after that."""
    with contextlib.suppress(asyncio.CancelledError):
        runner.run(_cancelled_by_control_c(work))


async def _cancelled_by_control_c(work: Coroutine[Any, Any, None]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    before = signal.getsignal(signal.SIGINT)
    # The runner's own handler may be called only when the loop wakes up for something else.
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await work
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _line_editing() -> bool:
    """Let `input` edit its line: whether Ctrl-C can be one of the keys for that."""
    try:
        # Being there, it is what `input` uses.
        readline: Any = import_module("readline")
    except ImportError:
        return False
    if "libedit" in (readline.__doc__ or ""):
        return False
    readline.parse_and_bind(r'"\C-c": kill-whole-line')
    return True


@contextlib.contextmanager
def _control_c_is_a_key() -> Iterator[None]:
    """As a signal it may come in the moment before readline waits, which then waits on."""
    termios: Any = import_module("termios")
    settings = termios.tcgetattr(sys.stdin)
    during = [*settings[:_SPECIAL], [*settings[_SPECIAL]]]
    during[_SPECIAL][termios.VINTR] = _NONE
    termios.tcsetattr(sys.stdin, termios.TCSANOW, during)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, settings)


@contextlib.contextmanager
def _control_c_is_a_signal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# How much of a tool's arguments and result is shown.
ASIDE_LENGTH = 200


class Screen:
    """Where a run is shown. `answers` gets what the model says and nothing else, `asides` its
    thinking, its tools, and errors; on a terminal both are the same."""

    def __init__(self, answers: Console, asides: Console) -> None:
        self._answers = answers
        self._asides = asides
        # What the line that was begun belongs to.
        self._line = ""

    def show(self, event: LoggedEvent) -> None:
        said = event.payload
        match event.type:
            case "chunk":
                self._say(self._answers, said["content"], line="answer")
            case "thinking":
                self._say(self._asides, said["content"], line="thinking", style="dim")
            case "tool_start":
                arguments = _short(said["tool_args"])
                self.note(f"→ {clean(said['tool_name'])} {arguments}", style="cyan")
            case "tool_output":
                style = "red" if said["is_error"] else "dim cyan"
                self.note(f"← {_short(said['output'])}", style=style)
            case "tool_end" if said["status"] in ("timeout", "cancelled"):
                self.note(f"← {said['status']}", style="red")
            case "error":
                self.error(said["code"], said["message"])
            case "done":
                self.end_line()
                if said.get("cancelled"):
                    self.note("(cancelled)", style="dim")

    def note(self, text: str, *, style: str = "dim") -> None:
        """A line of its own."""
        self.end_line()
        self._print(self._asides, text, style=style, end="\n")

    def error(self, code: str, message: str) -> None:
        """One line, also of a message of several."""
        self.note(f"{code}: {' '.join(message.split())}", style="red")

    def end_line(self) -> None:
        if self._line:
            console = self._answers if self._line == "answer" else self._asides
            console.print()
        self._line = ""

    def _say(self, console: Console, text: str, *, line: str, style: str = "") -> None:
        if self._line != line:
            self.end_line()
            # The line before has ended: half of the blank line between two rounds is there.
            text = text.removeprefix("\n")
        self._line = line
        self._print(console, text, style=style, end="")

    def _print(self, console: Console, text: str, *, style: str, end: str) -> None:
        # To the letter: what models and tools say may look like markup, and has tabs.
        said = Segments([Segment(text + end, Style.parse(style))])
        console.print(said, end="", soft_wrap=True)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(clean(text).split())
    return line if len(line) <= ASIDE_LENGTH else f"{line[:ASIDE_LENGTH]}…"


# Whose the conversations are that are begun so.
CLIENT: Final = "terminal"


@dataclass
class Talk:
    """One conversation, begun with its first message unless it is there already."""

    profile: ModelProfile
    screen: Screen
    conversation_id: UUID | None = None
    failed: bool = False
    _shown: int = field(default=0, repr=False)

    async def say(self, text: str) -> None:
        """Send a message and show its answer. To be cancelled is to cancel the answer."""
        sending = asyncio.ensure_future(self._send(text))
        try:
            try:
                await self._show(await asyncio.shield(sending))
            except asyncio.CancelledError:
                handle = await sending
                # It may have ended just now.
                with contextlib.suppress(ChatError):
                    await cancel(handle)
                await self._show(handle)
        except ChatError as error:
            self.failed = True
            self.screen.error(error.code, error.message)

    def end(self) -> None:
        if self.conversation_id is not None:
            self.screen.note(f"conversation {self.conversation_id}")

    async def _send(self, text: str) -> StreamHandle:
        handle = await send_message(
            self.conversation_id,
            text,
            self.profile,
            client_id=CLIENT if self.conversation_id is None else None,
        )
        self.conversation_id = handle.conversation_id
        self._shown = 0
        return handle

    async def _show(self, handle: StreamHandle) -> None:
        async for event in follow(handle.id, after=self._shown):
            self._shown = event.seq
            self.screen.show(event)
            self.failed = self.failed or event.type == "error"


async def begin_talk(profile: str | None, conversation: str | None, *, screen: Screen) -> Talk:
    """Raises ChatError for a profile or a conversation that is not there."""
    found = await in_database(partial(profile_named, profile))
    if conversation is None:
        return Talk(found, screen)
    return Talk(found, screen, await in_database(partial(_existing, conversation)))


def _existing(conversation: str) -> UUID:
    key = as_uuid(conversation)
    if key is None or not Conversation.objects.filter(pk=key).exists():
        raise ChatError(NOT_FOUND, "Conversation not found", field="conversation_id")
    return key
