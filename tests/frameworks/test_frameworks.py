"""Agent frameworks against a server, each in an environment of its own below `.frameworks/`.

`make test-frameworks` makes the environments; what cannot be had is skipped with its reason.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scenarios_app.testing.server import RunningServer, running_server
from tests.support.required_services import require

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parents[1] / ".frameworks"
INSTALL_SECONDS, RUN_SECONDS = 900, 600


@dataclass(frozen=True)
class Framework:
    """What to install, and what to run with the Python that has it."""

    name: str
    packages: tuple[str, ...]
    command: tuple[str, ...]

    @property
    def python(self) -> Path:
        return ENVIRONMENTS / self.name / "bin" / "python"

    def install(self) -> None:
        """Make the environment unless it is there with these very packages."""
        stamp, wanted = ENVIRONMENTS / self.name / ".installed", "\n".join(self.packages)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        made = _uv("venv", "--quiet", "--clear", str(ENVIRONMENTS / self.name))
        made = made or _uv(
            "pip", "install", "--quiet", "--python", str(self.python), *self.packages
        )
        require(not made, f"{self.name} could not be installed: {made[-300:]}")
        stamp.write_text(wanted)


def script(name: str, *packages: str) -> Framework:
    return Framework(name, packages, (str(HERE / f"script_{name}.py"),))


FRAMEWORKS = [
    Framework(
        "langchain",
        (
            "langchain>=1",
            "langchain-tests>=1",
            "langchain-openai>=1",
            "langchain-anthropic>=1",
            "langchain-google-genai>=4",
            "langchain-ollama>=1",
            "pytest-timeout",
        ),
        # Without the project's configuration. Clients are reused between tests, so one event loop
        # serves all. The deselected test measures time with recorded cassettes.
        (
            *("-m", "pytest", "-q", "--noconftest", "--import-mode=importlib"),
            *("-c", os.devnull, "--rootdir", str(HERE), "-p", "no:cacheprovider"),
            *("-o", "asyncio_mode=auto"),
            *("-o", "asyncio_default_test_loop_scope=session"),
            *("-o", "asyncio_default_fixture_loop_scope=session"),
            *("--timeout", "60", "-k", "not stream_time"),
            str(HERE / "suite_langchain.py"),
        ),
    ),
    script("pydantic_ai", "pydantic-ai-slim[openai,anthropic,google]>=2"),
    script("openai_agents", "openai-agents>=0.20"),
    script("litellm", "litellm>=1.100", "mcp>=2"),
    script("mistral", "mistralai>=3"),
    script("instructor", "instructor[anthropic]>=1.17"),
    script(
        "llama_index",
        "llama-index-llms-openai>=0.8",
        "llama-index-llms-anthropic>=0.12",
        "llama-index-llms-ollama>=0.11",
        # Newer versions have types of which llama-index makes values.
        "anthropic<1",
    ),
]

# Frameworks that only the page `docs/frameworks.md` runs.
PAGE_ONLY = [
    Framework("crewai", ("crewai>=1.15",), ()),
    Framework("google_adk", ("google-adk>=2.13",), ()),
]

LOOPS = [framework for framework in FRAMEWORKS if (HERE / f"loop_{framework.name}.py").is_file()]


def _uv(*arguments: str) -> str:
    """Run uv; what it says where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", *arguments],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    return done.stderr or "failed" if done.returncode else ""


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    scenarios = json.loads((HERE / "scenarios.json").read_text())["scenarios"]
    with running_server(scenarios, settings={"MOCKLLM_WORDS_PER_SECOND": "0"}) as running:
        yield running


@pytest.mark.skipif(
    not os.environ.get("MOCKLLM_FRAMEWORKS"), reason="make test-frameworks runs these"
)
@pytest.mark.timeout(INSTALL_SECONDS + RUN_SECONDS)
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_a_framework_gets_what_was_scripted(server: RunningServer, framework: Framework) -> None:
    framework.install()
    run(framework, framework.command, server)


@pytest.mark.skipif(
    not os.environ.get("MOCKLLM_FRAMEWORKS"), reason="make test-frameworks runs these"
)
@pytest.mark.timeout(INSTALL_SECONDS + RUN_SECONDS)
@pytest.mark.parametrize("framework", LOOPS, ids=lambda framework: framework.name)
def test_agents_of_a_framework_end_without_a_script(framework: Framework) -> None:
    framework.install()
    auto = {"steps": [{"consume": False, "produce": {"generate": {"kind": "auto"}}}]}
    with running_server(
        [{"name": "auto", **auto}], settings={"MOCKLLM_WORDS_PER_SECOND": "0"}
    ) as running:
        run(framework, (str(HERE / f"loop_{framework.name}.py"),), running)


def run(framework: Framework, command: tuple[str, ...], server: RunningServer) -> None:
    done = subprocess.run(
        [str(framework.python), *command],
        cwd=ENVIRONMENTS,
        env={**os.environ, "MOCKLLM_URL": server.base_url},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-3_000:]


def test_every_script_is_run() -> None:
    commands = {Path(framework.command[-1]).name for framework in FRAMEWORKS}
    there = {
        path.name for path in HERE.glob("s*.py") if path.name.startswith(("script_", "suite_"))
    }
    assert commands == there
    assert {path.name for path in HERE.glob("loop_*.py")} == {
        f"loop_{framework.name}.py" for framework in LOOPS
    }
