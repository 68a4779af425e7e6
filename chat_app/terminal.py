"""A run's events on a terminal: the answer as it comes, and beside it what else happens."""

import json
from typing import Any

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from chat_app.values.cleaning import clean
from traces_app.log import LoggedEvent

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
        """One line, whatever the message holds."""
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
