"""The clients that are swept: their commands, packages and names on the page."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.docs.blocks import ROOT
from tests.frameworks.test_frameworks import ENVIRONMENTS

HERE = Path(__file__).parent
NPM = HERE.parent / "npm"
WEATHER: dict[str, Any] = {
    "name": "weather",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "weather"}]},
            "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
        {"produce": {"text": "It is 21 degrees in Paris, and sunny."}},
    ],
}
_VERSIONS = (
    "import sys; from importlib.metadata import version; "
    "print(*(f'{name} {version(name)}' for name in sys.argv[1:]), sep=', ')"
)


@dataclass(frozen=True)
class SweptClient:
    """A program and its arguments; `environment` is that of a framework below `.frameworks/`."""

    key: str
    title: str
    arguments: tuple[str, ...]
    packages: tuple[str, ...]
    environment: str = ""

    @property
    def is_node(self) -> bool:
        return self.arguments[0].endswith(".mjs")

    @property
    def node_modules(self) -> Path:
        return NPM / "node_modules"

    @property
    def scenarios(self) -> Any:
        return WEATHER

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of its sweeps."""
        return ("--jobs", "4")

    @property
    def interpreter(self) -> str:
        if self.is_node:
            return shutil.which("node") or "node"
        folder = ENVIRONMENTS / self.environment / "bin"
        return str(folder / "python") if self.environment else sys.executable

    @property
    def is_installed(self) -> bool:
        if self.is_node:
            return shutil.which("node") is not None and self.node_modules.is_dir()
        return Path(self.interpreter).exists()

    def command(self, *more: str) -> list[str]:
        folder = NPM if self.is_node else HERE / "clients"
        script, *arguments = self.arguments
        return [self.interpreter, str(folder / script), *arguments, *more]

    def make_environment(self, empty: Path) -> tuple[Path, dict[str, str]]:
        """Return the folder and the variables of its sweeps, given an empty folder."""
        return ROOT, {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}

    def versions(self) -> str:
        """Return its packages with their versions."""
        if self.is_node:
            files = (self.node_modules / name / "package.json" for name in self.packages)
            bodies = [json.loads(file.read_text()) for file in files]
            return ", ".join(f"{body['name']} {body['version']}" for body in bodies)
        code = [self.interpreter, "-c", _VERSIONS, *self.packages]
        return subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()


SDKS = (
    SweptClient("openai_chat", "openai, chat", ("openai_chat.py",), ("openai",)),
    SweptClient(
        "openai_chat_stream", "openai, chat, stream", ("openai_chat.py", "stream"), ("openai",)
    ),
    SweptClient("openai_responses", "openai, Responses", ("openai_responses.py",), ("openai",)),
    SweptClient(
        "openai_responses_stream",
        "openai, Responses, stream",
        ("openai_responses.py", "stream"),
        ("openai",),
    ),
    SweptClient("anthropic", "anthropic", ("anthropic_messages.py",), ("anthropic",)),
    SweptClient(
        "anthropic_stream",
        "anthropic, stream",
        ("anthropic_messages.py", "stream"),
        ("anthropic",),
    ),
    SweptClient("google", "google-genai", ("google_genai.py",), ("google-genai",)),
    SweptClient(
        "google_stream", "google-genai, stream", ("google_genai.py", "stream"), ("google-genai",)
    ),
)
FRAMEWORKS = (
    SweptClient(
        "pydantic_ai",
        "pydantic-ai",
        ("pydantic_ai_agent.py",),
        ("pydantic-ai-slim", "openai"),
        "pydantic_ai",
    ),
    SweptClient(
        "openai_agents",
        "openai-agents",
        ("openai_agents_agent.py",),
        ("openai-agents", "openai"),
        "openai_agents",
    ),
    SweptClient(
        "langgraph",
        "LangGraph",
        ("langgraph_agent.py",),
        ("langchain", "langgraph", "langchain-openai"),
        "langchain",
    ),
    SweptClient("litellm", "litellm", ("litellm_chat.py",), ("litellm", "openai"), "litellm"),
    SweptClient("ai_openai", "AI SDK", ("sweep_ai.mjs", "openai"), ("ai", "@ai-sdk/openai")),
    SweptClient(
        "ai_anthropic_stream",
        "AI SDK, stream",
        ("sweep_ai.mjs", "anthropic", "stream"),
        ("ai", "@ai-sdk/anthropic"),
    ),
)


def sweep_client(client: SweptClient, *more: str, report: Path) -> str:
    """Sweep a client over all kinds and write its report as JSON; return what it printed."""
    scenario = report.with_name(f"{client.key}_scenario.json")
    scenario.write_text(json.dumps(client.scenarios), encoding="utf-8")
    options = ["--scenario", str(scenario), *client.options, "--json", str(report)]
    arguments = [sys.executable, "-m", "mockllm_site", "torture", *options, "--"]
    with TemporaryDirectory() as empty:
        folder, variables = client.make_environment(Path(empty))
        process = subprocess.run(
            [*arguments, *client.command(*more)],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{client.title}: {process.stderr}")
    return process.stdout
