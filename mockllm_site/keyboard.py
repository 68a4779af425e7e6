"""What somebody types at a terminal: whole lines, and Ctrl-C, which is never lost."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Coroutine, Iterator
from importlib import import_module
from typing import Any, Final

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
