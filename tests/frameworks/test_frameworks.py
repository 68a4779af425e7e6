"""Agent frameworks against a server, each in a separate environment below `.frameworks/`.

`make test-frameworks` creates the environments; a framework that cannot be installed is skipped
with the reason.
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
    """The packages of a framework, and the arguments of the Python that has them."""

    name: str
    packages: tuple[str, ...]
    command: tuple[str, ...]

    @property
    def python(self) -> Path:
        return ENVIRONMENTS / self.name / "bin" / "python"

    def install(self) -> None:
        """Create the environment unless it exists with exactly these packages."""
        stamp, packages_text = ENVIRONMENTS / self.name / ".installed", "\n".join(self.packages)
        if stamp.is_file() and stamp.read_text() == packages_text:
            return
        error = _run_uv("venv", "--quiet", "--clear", str(ENVIRONMENTS / self.name))
        error = error or _run_uv(
            "pip", "install", "--quiet", "--python", str(self.python), *self.packages
        )
        require(not error, f"{self.name} could not be installed: {error[-300:]}")
        stamp.write_text(packages_text)


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
        # llama-index instantiates types of it that newer versions do not let it instantiate.
        "anthropic<1",
    ),
]

# Frameworks that only the page `docs/frameworks.md` runs.
PAGE_ONLY = [
    Framework("crewai", ("crewai>=1.15",), ()),
    Framework("google_adk", ("google-adk>=2.13",), ()),
]

LOOPS = [framework for framework in FRAMEWORKS if (HERE / f"loop_{framework.name}.py").is_file()]


def _run_uv(*arguments: str) -> str:
    """Run uv; return its error output, or an empty string if it succeeds."""
    result = subprocess.run(
        [sys.executable, "-m", "uv", *arguments],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    return result.stderr or "failed" if result.returncode else ""


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
def test_framework_gets_the_scripted_responses(server: RunningServer, framework: Framework) -> None:
    framework.install()
    run_framework(framework, framework.command, server)


@pytest.mark.skipif(
    not os.environ.get("MOCKLLM_FRAMEWORKS"), reason="make test-frameworks runs these"
)
@pytest.mark.timeout(INSTALL_SECONDS + RUN_SECONDS)
@pytest.mark.parametrize("framework", LOOPS, ids=lambda framework: framework.name)
def test_agents_of_a_framework_end_with_generated_responses(framework: Framework) -> None:
    framework.install()
    auto = {"steps": [{"consume": False, "produce": {"generate": {"kind": "auto"}}}]}
    with running_server(
        [{"name": "auto", **auto}], settings={"MOCKLLM_WORDS_PER_SECOND": "0"}
    ) as running:
        run_framework(framework, (str(HERE / f"loop_{framework.name}.py"),), running)


def run_framework(framework: Framework, command: tuple[str, ...], server: RunningServer) -> None:
    result = subprocess.run(
        [str(framework.python), *command],
        cwd=ENVIRONMENTS,
        env={**os.environ, "MOCKLLM_URL": server.base_url},
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-6_000:] + result.stderr[-3_000:]


def test_every_script_is_run() -> None:
    commands = {Path(framework.command[-1]).name for framework in FRAMEWORKS}
    script_names = {
        path.name for path in HERE.glob("s*.py") if path.name.startswith(("script_", "suite_"))
    }
    assert commands == script_names
    assert {path.name for path in HERE.glob("loop_*.py")} == {
        f"loop_{framework.name}.py" for framework in LOOPS
    }
