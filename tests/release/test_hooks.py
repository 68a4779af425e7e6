"""The pre-commit hook for other projects: its entry, in a folder with a project's settings."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project import processes
from tests.support import fork_server

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
(HOOK,) = yaml.safe_load(MANIFEST.read_text())
VALID = '{"name": "a", "steps": [{"match": {"model": "m"}, "produce": {"text": "Hi!"}}]}'


def run_hook(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the entry as pre-commit does: with file names after it, and `mockllm` on the PATH."""
    command = folder / "mockllm"
    command.write_text(f'#!/bin/sh\nexec {fork_server.python()} -P -m mockllm_site "$@"\n')
    command.chmod(0o755)
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "DATABASE_URL": "mysql://of.the.project"}
    entry = shlex.split(HOOK["entry"])
    return processes.run(*entry, *arguments, cwd=folder, variables=variables)


@pytest.mark.process
def test_valid_files_pass(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(VALID)
    (tmp_path / "b.yaml").write_text(VALID)
    process = run_hook(tmp_path, "a.json", "b.yaml")
    assert process.returncode == 0, process.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"a.json", "b.yaml", "mockllm"}


@pytest.mark.process
def test_broken_file_fails_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(VALID.replace("produce", "prodce"))
    process = run_hook(tmp_path, "a.json")
    assert process.returncode == 1
    assert re.search(r"^a\.json:1:\d+: steps\[0\]\.prodce: unknown key", process.stderr, re.M)


@pytest.mark.process
def test_warning_fails_only_with_the_argument_strict(tmp_path: Path) -> None:
    step = {"consume": False, "produce": {"text": "Hi!"}}
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "steps": [step, step]}))
    loose, strict = run_hook(tmp_path, "a.json"), run_hook(tmp_path, "--strict", "a.json")
    assert (loose.returncode, strict.returncode) == (0, 1), loose.stderr


@pytest.mark.parametrize(
    ("file", "is_checked"),
    [
        ("scenarios/a.json", True),
        ("tests/scenarios/deep/a.yaml", True),
        ("src/a.json", False),
        ("my-scenarios/a.json", False),
    ],
)
def test_hook_takes_files_in_folders_named_scenarios(file: str, is_checked: bool) -> None:
    assert bool(re.search(HOOK["files"], file)) is is_checked
    assert HOOK["require_serial"] is True


def test_manifest_is_valid_for_pre_commit() -> None:
    program = shutil.which("pre-commit", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("pre-commit is in the extra lint")
    process: Any = processes.run(program, "validate-manifest", MANIFEST, cwd=ROOT)
    assert process.returncode == 0, process.stdout
