"""Points coding agents at a server: variables, and configuration in a temporary folder.

The user's own configuration is neither read nor changed; that of the project applies.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir
from typing import Final
from uuid import uuid4

from scenarios_app.testing.variables import API_KEY

# Variables that would send an agent to another provider.
UNSET_VARIABLES = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_VERTEX")
# The model of opencode, which has no default, where the project names none.
OPENCODE_MODEL: Final = "anthropic/claude-sonnet-4-5"
# opencode installs this package into its configuration folder unless it is locked there.
_OPENCODE_PACKAGE: Final = "@opencode-ai/plugin"


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """The variables of an agent, and its files by their path in its folder. `own_variables` are set
    only for a command that names the agent, because other programs read them too."""

    variables: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    own_variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent: its executable, its package on npm, and its setup for a server's base URL, a
    folder for its files, and the project that it trusts."""

    executable: str
    package: str
    setup: Callable[[str, Path, Path], AgentSetup]

    def is_named_in(self, command: Sequence[str]) -> bool:
        """Return True if a word of the command is the executable or the package."""
        return any(
            Path(word).name == self.executable
            or word == self.package
            or word.startswith(f"{self.package}@")
            for word in command
        )


def _claude_code_setup(base_url: str, folder: Path, project: Path) -> AgentSetup:
    """Return the setup of Claude Code: no login, no telemetry, and `project` is trusted."""
    variables = {
        "ANTHROPIC_BASE_URL": base_url,
        "CLAUDE_CONFIG_DIR": str(folder),
        # Also switches off telemetry and updates.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    # Without `-p` it would begin with a login, and ask about the key.
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [API_KEY]},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    return AgentSetup(variables, {".claude.json": json.dumps(state)})


def _codex_setup(base_url: str, folder: Path, project: Path) -> AgentSetup:
    """Return the setup of Codex: one provider, the server; `project` is trusted."""
    # Strings of JSON are strings of TOML.
    config = f"""\
model_provider = "mockllm"
check_for_update_on_startup = false

[model_providers.mockllm]
name = "mockllm"
base_url = {json.dumps(f"{base_url}/v1")}
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = true

[projects.{json.dumps(str(project), ensure_ascii=False)}]
trust_level = "trusted"

[analytics]
enabled = false

# A daemon would outlive the command; plugins are looked up on the network at each start.
[features]
daemon_auto_start = false
plugins = false
"""
    return AgentSetup({"CODEX_HOME": str(folder)}, {"config.toml": config})


def _gemini_cli_setup(base_url: str, folder: Path, project: Path) -> AgentSetup:
    """Return the setup of Gemini CLI, with folder trust off, so `project` is unused."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    variables = {"GOOGLE_GEMINI_BASE_URL": base_url, "GEMINI_CLI_HOME": str(folder)}
    # It warns about each start with two keys, and sets the other one itself.
    own_variables = {"GOOGLE_API_KEY": ""}
    return AgentSetup(variables, {".gemini/settings.json": json.dumps(settings)}, own_variables)


def _opencode_setup(base_url: str, folder: Path, project: Path) -> AgentSetup:
    """Return the setup of opencode, for its three providers; `project` is unused."""
    providers = {
        "anthropic": {"baseURL": f"{base_url}/v1"},
        "openai": {"baseURL": f"{base_url}/v1"},
        "google": {"baseURL": f"{base_url}/v1beta", "apiKey": "{env:GEMINI_API_KEY}"},
    }
    # This goes before the project's configuration, `OPENCODE_CONFIG` after it.
    overrides = {
        "enabled_providers": list(providers),
        "provider": {name: {"options": options} for name, options in providers.items()},
    }
    defaults = {"model": OPENCODE_MODEL, "autoupdate": False, "share": "disabled"}
    variables = {
        "OPENCODE_CONFIG": str(folder / "defaults.json"),
        "OPENCODE_CONFIG_CONTENT": json.dumps(overrides),
        "OPENCODE_DB": str(folder / "opencode.db"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    homes = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    lock = {"packages": {"": {"dependencies": {_OPENCODE_PACKAGE: "*"}}}}
    files = {
        "defaults.json": json.dumps(defaults),
        "opencode/package-lock.json": json.dumps(lock),
        "opencode/node_modules/.package-lock.json": "{}",
    }
    return AgentSetup(variables, files, dict.fromkeys(homes, str(folder)))


AGENTS: Final = (
    Agent("claude", "@anthropic-ai/claude-code", _claude_code_setup),
    Agent("codex", "@openai/codex", _codex_setup),
    Agent("gemini", "@google/gemini-cli", _gemini_cli_setup),
    Agent("opencode", "opencode-ai", _opencode_setup),
)


@contextmanager
def agent_variables(
    base_url: str, *, command: Sequence[str], project: Path | None = None
) -> Iterator[dict[str, str]]:
    """Write the configuration of all agents; yield the variables that point them at a server.
    `command` is what starts them. They trust `project`, by default the repository of the working
    directory. Their folders are removed at the end."""
    project = project or find_project(Path.cwd())
    # Prompts name the folder, and recordings are compared without UUIDs.
    root = Path(gettempdir(), f"mockllm-agents-{uuid4()}")
    root.mkdir(mode=0o700)
    try:
        variables: dict[str, str] = {}
        for agent in AGENTS:
            folder = root / agent.executable
            folder.mkdir()
            setup = agent.setup(base_url, folder, project)
            for name, text in setup.files.items():
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                # A path of the file system may hold bytes that are no UTF-8.
                file.write_text(text, encoding="utf-8", errors="replace")
            variables |= setup.variables
            if agent.is_named_in(command):
                variables |= setup.own_variables
        yield variables
    finally:
        # Agents may still write to it.
        rmtree(root, ignore_errors=True)


def find_project(folder: Path) -> Path:
    """Return the root of the Git repository that a folder is in, or the folder."""
    resolved = Path(os.path.realpath(folder))
    roots = (parent for parent in (resolved, *resolved.parents) if (parent / ".git").exists())
    return next(roots, resolved)
