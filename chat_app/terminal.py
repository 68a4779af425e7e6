"""A conversation in a terminal: reads lines, sends each as a message, prints the run's events."""

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

from chat_app.conversations import find_row
from chat_app.errors import ChatError
from chat_app.models import Conversation, ModelProfile
from chat_app.profiles import find_profile
from chat_app.service import StreamHandle, cancel, send_message
from chat_app.values.text import clean
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.log import LoggedEvent

_PROMPT: Final = "> "
# The index of special characters in termios settings, and the value that disables one.
_SPECIAL_CHARS_INDEX: Final = 6
_DISABLED: Final = b"\0"


def read_lines() -> Iterator[str]:
    """Yield lines until Ctrl-D. At the prompt, Ctrl-C clears the line; between prompts it does
    nothing, except within `run_interruptibly`."""
    editing = _enable_line_editing()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            try:
                with _control_c_as_key() if editing else _control_c_as_signal():
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


def run_interruptibly(runner: asyncio.Runner, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`; each Ctrl-C cancels it once, and it may go on after that."""
    with contextlib.suppress(asyncio.CancelledError):
        runner.run(_run_cancellable(work))


async def _run_cancellable(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` in the current task, which each Ctrl-C cancels."""
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


def _enable_line_editing() -> bool:
    """Enable line editing for `input`; true if Ctrl-C can be an editing key."""
    try:
        # Once imported, `input` uses it.
        readline: Any = import_module("readline")
    except ImportError:
        return False
    if "libedit" in (readline.__doc__ or ""):
        return False
    readline.parse_and_bind(r'"\C-c": kill-whole-line')
    return True


@contextlib.contextmanager
def _control_c_as_key() -> Iterator[None]:
    """Make Ctrl-C an editing key, not a signal, which could arrive just before readline waits."""
    termios: Any = import_module("termios")
    settings = termios.tcgetattr(sys.stdin)
    during = [*settings[:_SPECIAL_CHARS_INDEX], [*settings[_SPECIAL_CHARS_INDEX]]]
    during[_SPECIAL_CHARS_INDEX][termios.VINTR] = _DISABLED
    termios.tcsetattr(sys.stdin, termios.TCSANOW, during)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, settings)


@contextlib.contextmanager
def _control_c_as_signal() -> Iterator[None]:
    """Make Ctrl-C raise KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# A tool's arguments and result are cut to this length.
MAX_ASIDE_CHARS = 200


class Screen:
    """Prints a run. `answers` gets the answer's text; `asides` gets thinking, tools and errors. On
    a terminal both are the same console."""

    def __init__(self, answers: Console, asides: Console) -> None:
        self._answers = answers
        self._asides = asides
        # The kind of text in the open line.
        self._line = ""

    def show(self, event: LoggedEvent) -> None:
        """Print one event of a run."""
        payload = event.payload
        match event.type:
            case "chunk":
                self._print_piece(self._answers, payload["content"], kind="answer")
            case "thinking":
                self._print_piece(self._asides, payload["content"], kind="thinking", style="dim")
            case "tool_start":
                arguments = _shorten(payload["tool_args"])
                self.note(f"→ {clean(payload['tool_name'])} {arguments}", style="cyan")
            case "tool_output":
                style = "red" if payload["is_error"] else "dim cyan"
                self.note(f"← {_shorten(payload['output'])}", style=style)
            case "tool_end" if payload["status"] in ("timeout", "cancelled"):
                self.note(f"← {payload['status']}", style="red")
            case "error":
                self.error(payload["code"], payload["message"])
            case "done":
                self.end_line()
                if payload.get("cancelled"):
                    self.note("(cancelled)", style="dim")

    def note(self, text: str, *, style: str = "dim") -> None:
        """Print a text in a separate line, among the asides."""
        self.end_line()
        self._print_verbatim(self._asides, text, style=style, end="\n")

    def error(self, code: str, message: str) -> None:
        """Print an error in one line."""
        self.note(f"{code}: {' '.join(message.split())}", style="red")

    def end_line(self) -> None:
        if self._line:
            console = self._answers if self._line == "answer" else self._asides
            console.print()
        self._line = ""

    def _print_piece(self, console: Console, text: str, *, kind: str, style: str = "") -> None:
        """Print a piece of text on the open line, or on a new one if that has another `kind`."""
        if self._line != kind:
            self.end_line()
            # The newline that ended the line is half of the blank line between rounds.
            text = text.removeprefix("\n")
        self._line = kind
        self._print_verbatim(console, text, style=style, end="")

    def _print_verbatim(self, console: Console, text: str, *, style: str, end: str) -> None:
        """Print a text as it is, although it may look like markup, and contain tabs."""
        console.print(Segments([Segment(text + end, Style.parse(style))]), end="", soft_wrap=True)


def _shorten(value: Any) -> str:
    """Return a value on one line; `…` replaces what exceeds MAX_ASIDE_CHARS."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(clean(text).split())
    return line if len(line) <= MAX_ASIDE_CHARS else f"{line[:MAX_ASIDE_CHARS]}…"


# The client of conversations that start in a terminal.
CLIENT_ID: Final = "terminal"


@dataclass
class TerminalConversation:
    """A client's conversation in a terminal; its first message creates it, unless it exists."""

    profile: ModelProfile
    screen: Screen
    conversation_id: UUID | None = None
    failed: bool = False
    _last_seq: int = field(default=0, repr=False)

    async def send_and_print(self, text: str) -> None:
        """Send a message and print its answer; a cancellation cancels the answer. A ChatError is
        printed and sets `failed`."""
        sending = asyncio.ensure_future(self._send(text))
        try:
            try:
                await self._show_events(await asyncio.shield(sending))
            except asyncio.CancelledError:
                handle = await sending
                # The run may have ended.
                with contextlib.suppress(ChatError):
                    await cancel(handle)
                await self._show_events(handle)
        except ChatError as error:
            self.failed = True
            self.screen.error(error.code, error.message)

    def print_id(self) -> None:
        if self.conversation_id is not None:
            self.screen.note(f"conversation {self.conversation_id}")

    async def _send(self, text: str) -> StreamHandle:
        """Send a message, which may create the conversation; return its run. Raises ChatError."""
        handle = await send_message(
            self.conversation_id,
            text,
            self.profile,
            client_id=CLIENT_ID if self.conversation_id is None else None,
        )
        self.conversation_id = handle.conversation_id
        self._last_seq = 0
        return handle

    async def _show_events(self, handle: StreamHandle) -> None:
        """Print the events of a run that were not printed yet, up to its end."""
        async for event in follow(handle.id, after=self._last_seq):
            self._last_seq = event.seq
            self.screen.show(event)
            self.failed = self.failed or event.type == "error"


async def open_conversation(
    profile: str | None, conversation: str | None, *, screen: Screen
) -> TerminalConversation:
    """Return a conversation, new or existing; raises ChatError for unknown ids and names."""
    model_profile = await in_database(partial(find_profile, profile))
    if conversation is None:
        return TerminalConversation(model_profile, screen)
    row = await in_database(partial(find_row, Conversation.objects.all(), conversation))
    return TerminalConversation(model_profile, screen, row.pk)
