"""The agents that `make test-agents` installs, and their commands."""

import os
from pathlib import Path

from tests.docs.places import INSTALLED, shell_path
from tests.support.required_services import require

# The folder of the packages from npm. Agents are run only if it is set.
FOLDER = os.environ.get("MOCKLLM_AGENTS", "")
ON_DEMAND = "make test-agents runs this"
# The command of each agent with a prompt, and the name of its guide in docs/agents/.
COMMANDS = {
    "claude": ("claude", "-p", "Write notes.txt", "--permission-mode", "acceptEdits"),
    "codex": ("codex", "exec", "Write notes.txt"),
    "gemini": ("gemini", "-p", "Write notes.txt", "--approval-mode", "auto_edit"),
    "opencode": ("opencode", "run", "Write notes.txt"),
}
GUIDES = {
    "claude": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "opencode": "opencode",
}


def search_path(agent: str) -> str:
    """Return a PATH with the agents and our commands. Skips the test if the agent is missing."""
    folder = Path(FOLDER) / "node_modules" / ".bin"
    require((folder / agent).exists(), f"{agent} could not be installed from npm")
    return shell_path(folder, INSTALLED)
