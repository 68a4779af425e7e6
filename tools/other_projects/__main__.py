"""Runs `mockllm mutants` on the tests of three projects from PyPI.

The tests are in each project's source package and run unchanged, with another base URL. The answers
are the project's imported recordings, or a scenario beside this file. Three runs must be equal.
Writes the results to build/other-projects and prints them as Markdown.
"""

import json
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
BUILD = ROOT / "build" / "other-projects"
RUNS, JOBS, SECONDS = 3, 2, 3_000
MAX_TEXT_CHARS = 60
MOCKLLM = (sys.executable, "-m", "mockllm_site")
# pytest-recording would answer instead of the server.
RECORDED = ("--disable-recording", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Project:
    """A package with tests; `recordings` are folders in it, otherwise `scenario` is a file here.
    At most `budget` mutants are run, the most telling ones first."""

    name: str
    version: str
    tests: Sequence[str]
    packages: Sequence[str] = ()
    extras: str = ""
    recordings: Sequence[str] = ()
    scenario: str = ""
    budget: int = 1_000

    @property
    def folder(self) -> Path:
        return BUILD / self.name

    @property
    def source(self) -> Path:
        return self.folder / f"{self.name.replace('-', '_')}-{self.version}"


_PYTEST = ("pytest>=8,<10", "pytest-asyncio", "pytest-recording", "vcrpy")
PROJECTS = (
    Project(
        "chatlas",
        "0.23.0",
        (
            "tests/test_provider_anthropic.py",
            # The recording has no answer for the schema of newer versions of anthropic.
            *(
                "--deselect",
                "tests/test_provider_anthropic.py::test_anthropic_nested_data_model_extraction",
            ),
            *RECORDED,
        ),
        (
            *_PYTEST,
            "syrupy",
            "aiohttp<3.14",
            "tenacity",
            "openai",
            "anthropic",
            "google-genai",
            "pillow",
            "opentelemetry-sdk",
        ),
        recordings=("tests/_vcr/test_provider_anthropic",),
        budget=100,
    ),
    Project(
        "magentic",
        "0.41.1",
        (
            *(
                f"tests/test_{name}.py"
                for name in ("prompt_function", "chat", "chatprompt", "prompt_chain")
            ),
            # Its options block the network, this server's too.
            *("-o", "addopts=", *RECORDED),
        ),
        (*_PYTEST, "pytest-mock", "python-dotenv"),
        recordings=[
            f"tests/cassettes/test_{name}"
            for name in ("prompt_function", "chat", "chatprompt", "prompt_chain")
        ],
    ),
    Project(
        "strands-agents",
        "1.62.0",
        (
            "tests_integ/models/test_model_openai.py",
            # Hosted tools need files in a vector store; the overflow needs a request of 680 kB.
            *("-k", "not builtin and not overflow", "-W", "ignore"),
        ),
        (*_PYTEST[:2], "requests", "tenacity", "boto3"),
        "[openai,anthropic,gemini,litellm,mistral,ollama,writer,llamaapi]",
        scenario="strands.yaml",
    ),
)


def main(names: Sequence[str]) -> None:
    for project in PROJECTS:
        if not names or project.name in names:
            install(project)
            reports = [sweep(project, number) for number in range(1, RUNS + 1)]
            print("\n".join(lines(project, reports)), flush=True)


def install(project: Project) -> None:
    """Unpack the source package and install it, unless that is done."""
    python = project.folder / "venv" / "bin" / "python"
    if python.exists():
        return
    shutil.rmtree(project.folder, ignore_errors=True)
    project.folder.mkdir(parents=True)
    requirement = f"{project.name}=={project.version}"
    download = (
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        project.folder,
    )
    run(sys.executable, "-m", "pip", *download, requirement)
    (archive,) = project.folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(project.folder, filter="data")
    run(sys.executable, "-m", "uv", "venv", "--quiet", python.parents[1])
    source = f"{project.source}{project.extras}"
    pip = (sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python)
    run(*pip, source, *project.packages)
    if project.recordings:
        folders = (project.source / folder for folder in project.recordings)
        run(*MOCKLLM, "import", "--output", project.folder / "scenarios", *folders)


def sweep(project: Project, number: int) -> dict[str, Any]:
    """Run all mutants once; return the report."""
    report = project.folder / f"run-{number}.json"
    scenario = HERE / project.scenario if project.scenario else project.folder / "scenarios"
    options = ("--jobs", JOBS, "--seconds", SECONDS, "--budget", project.budget, "--json", report)
    pytest = ("../venv/bin/python", "-m", "pytest", "-q", "-x", *project.tests)
    command = (*MOCKLLM, "mutants", "--scenario", scenario, *options, "--", *pytest)
    run(*command, folder=project.source, codes=(0, 1), output=report.with_suffix(".txt"))
    result: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return result


def lines(project: Project, reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a summary and a table of the survivors."""
    mutants = reports[0]["mutants"]
    counts = Counter(mutant["outcome"] for mutant in mutants)
    equal = all(report == reports[0] for report in reports)
    yield f"## {project.name} {project.version}"
    yield ""
    yield (
        f"{counts['killed']} killed, {counts['survived']} survived, {counts['unused']} unused, "
        f"{reports[0]['skipped']} left out; {RUNS} runs {'equal' if equal else 'DIFFER'}."
    )
    yield ""
    yield "| step | change | before | after |"
    yield "| --- | --- | --- | --- |"
    for mutant in mutants:
        if mutant["outcome"] == "survived":
            cells = (mutant["step"], mutant["change"], mutant["before"], mutant["after"])
            yield f"| {' | '.join(map(_short, cells))} |"
    yield ""


def _short(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= MAX_TEXT_CHARS else f"{flat[:MAX_TEXT_CHARS]}…"


def run(
    *command: object,
    folder: Path = ROOT,
    codes: Sequence[int] = (0,),
    output: Path | None = None,
) -> None:
    """Run a command that has to end with one of these exit codes; keep its output in a file."""
    words = list(map(str, command))
    process = subprocess.run(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if output is not None:
        output.write_text(process.stdout, encoding="utf-8")
    if process.returncode not in codes:
        sys.exit(f"{' '.join(words)}: exit code {process.returncode}\n{process.stdout[-4_000:]}")


if __name__ == "__main__":
    main(sys.argv[1:])
