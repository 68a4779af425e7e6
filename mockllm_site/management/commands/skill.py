"""`skill`: prints or installs the skill for coding agents, made of `docs/skill.md`."""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mockllm_site import paths

PAGE: Final = paths.PROJECT / "docs" / "skill.md"
# The folders in which agents look for a project's skills.
FOLDERS: Final = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "cursor": ".cursor/skills",
    "gemini": ".gemini/skills",
    "opencode": ".opencode/skills",
}
HEAD: Final = """\
---
name: mockllm
description: Tests programs that call an LLM (OpenAI, Anthropic, Gemini and others) against a \
scripted server. Use it to write or repair such tests, and to explain unmatched requests.
---

"""
# The last line of an installed skill, with a hash of the text above it.
HASH_LINE: Final = "\n<!-- mockllm skill {} -->\n"
HASH_LINE_CHARS: Final = len(HASH_LINE.format("0" * 16))


class Command(BaseCommand):
    help = (
        "Prints the skill for coding agents. "
        "With --install, writes it where an agent reads it, below the current directory."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--install", choices=FOLDERS, help="the agent to write it for")
        parser.add_argument("--force", action="store_true", help="replace a file that was edited")

    def handle(self, *args: Any, **options: Any) -> None:
        text = append_hash(HEAD + PAGE.read_text(encoding="utf-8"))
        if options["install"] is None:
            self.stdout.write(text, ending="")
            return
        target = Path(FOLDERS[options["install"]]) / "mockllm" / "SKILL.md"
        if target.exists() and not options["force"] and is_edited(target):
            raise CommandError(f"{target}: this file was edited; --force replaces it")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        self.stdout.write(f"{target}")


def append_hash(text: str) -> str:
    """Return a text with its hash in a new last line."""
    return text + HASH_LINE.format(sha256(text.encode()).hexdigest()[:16])


def is_edited(file: Path) -> bool:
    """Return True if a file's text does not have the hash in its last line."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return append_hash(text[:-HASH_LINE_CHARS]) != text
