"""The coding agents that are swept: each writes a file with its tool and reports that."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.installed import COMMANDS, FOLDER
from tests.docs.blocks import ROOT
from tests.docs.places import INSTALLED, shell_path
from tests.proof.clients import HERE, SweptClient

SCRIPT = "sweep_agent.sh"
EXAMPLES = ROOT / "examples" / "agents"


@dataclass(frozen=True)
class CodingAgent(SweptClient):
    """An agent of `make test-agents`; `arguments` is its command line."""

    is_node = True

    @property
    def node_modules(self) -> Path:
        return Path(FOLDER) / "node_modules"

    @property
    def is_installed(self) -> bool:
        return bool(FOLDER) and (self.node_modules / ".bin" / self.key).exists()

    @property
    def scenarios(self) -> Any:
        """Return the example of its guide, changed to repeat the tool call until it succeeds."""
        document = json.loads((EXAMPLES / f"{self.key}.json").read_text())
        notes = document if isinstance(document, dict) else document[0]
        for step in notes["steps"]:
            del step["turn"]
        del notes["steps"][0]["match"]["messages"]
        notes["steps"][1]["match"]["tool_results"][0]["is_error"] = False
        notes["steps"].reverse()
        return document

    @property
    def options(self) -> tuple[str, ...]:
        # Without the answers about titles and models. Parallel runs would share a folder.
        return ("--steps", "notes", "--jobs", "1")

    def command(self, *more: str) -> list[str]:
        return ["sh", str(HERE / "clients" / SCRIPT), *more, *self.arguments]

    def make_environment(self, empty: Path) -> tuple[Path, dict[str, str]]:
        # Agents trust a git repository.
        subprocess.run(["git", "init", "--quiet", empty / "project"], check=True)
        home = empty / "home"
        home.mkdir()
        path = shell_path(self.node_modules / ".bin", INSTALLED)
        variables = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        return empty / "project", variables


def coding_agent(key: str, title: str, package: str, *more: str) -> CodingAgent:
    return CodingAgent(key, title, (*COMMANDS[key], *more), (package,))


CODING_AGENTS = (
    coding_agent("claude", "Claude Code", "@anthropic-ai/claude-code"),
    coding_agent("codex", "Codex", "@openai/codex"),
    coding_agent("gemini", "Gemini CLI", "@google/gemini-cli"),
    # Without a title, a request for one comes before or after the first, at random.
    coding_agent("opencode", "opencode", "opencode-ai", "--title", "Notes"),
)
