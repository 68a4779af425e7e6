"""Runs the steps of a GitHub Action or workflow with Bash and the environment files of a runner."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 120
_EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")
_FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")


@dataclass
class Runner:
    """A job in a folder. `values` are the values of expressions such as `inputs.port`."""

    folder: Path
    values: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    summary: str = ""

    def run(self, step: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run a step's script, and take over what it wrote for later steps."""
        temporary = self.folder / "temp"
        temporary.mkdir(exist_ok=True)
        files = {name: temporary / name for name in _FILES}
        for file in files.values():
            file.write_text("")
        script = temporary / "step.sh"
        script.write_text(self.evaluate(step["run"]))
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.folder,
            env={
                "HOME": str(self.folder),
                "RUNNER_TEMP": str(temporary),
                **self.variables,
                "PATH": os.pathsep.join([*self.path, os.environ["PATH"]]),
                **{name: self.evaluate(str(value)) for name, value in step.get("env", {}).items()},
                **{name: str(file) for name, file in files.items()},
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        self.variables |= _assignments(files["GITHUB_ENV"])
        self.path[:0] = files["GITHUB_PATH"].read_text().splitlines()
        outputs = _assignments(files["GITHUB_OUTPUT"])
        self.values |= {f"steps.{step['id']}.outputs.{k}": v for k, v in outputs.items()}
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        return process

    def evaluate(self, text: str) -> str:
        """Return a text with the values of its expressions; an unknown one is a KeyError."""
        return _EXPRESSION.sub(lambda match: self.values[match[1]], text)


def _assignments(file: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return {name: value for name, _, value in lines}
