"""The release workflow: order of jobs, permissions, and its scripts."""

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mockllm_site import __version__
from tests.release.actions import Runner

ROOT = Path(__file__).resolve().parents[2]
JOBS: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
STEPS = {step["id"]: step for job in JOBS.values() for step in job["steps"] if "id" in step}
EXAMPLE = yaml.safe_load((ROOT / "examples/ci/github-actions.yml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Return a runner in a folder with copies of the files that the scripts read."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    (tmp_path / "bin").mkdir()
    (tmp_path / "dist").mkdir()
    variables = {"GITHUB_REF_NAME": "v0.1.0", "GITHUB_SERVER_URL": "https://github.com"}
    path = [str(tmp_path / "bin"), str(Path(sys.executable).parent)]
    return Runner(tmp_path, {}, variables, path)


def install_program(runner: Runner, name: str, script: str) -> None:
    """Install a program in a folder at the front of the PATH."""
    file = runner.folder / "bin" / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def actions() -> list[str]:
    steps = [step for job in (*JOBS.values(), *EXAMPLE["jobs"].values()) for step in job["steps"]]
    return [step["uses"] for step in (*steps, *ACTION["runs"]["steps"]) if "uses" in step]


def test_actions_of_others_are_pinned_by_version() -> None:
    others = [name for name in actions() if "/mockllm@" not in name]
    assert len(others) > 10
    assert [name for name in others if not re.fullmatch(r"[\w./-]+@v\d+(\.\d+)*", name)] == []


def test_publishing_jobs_need_the_checking_jobs() -> None:
    needs = {name: job.get("needs") for name, job in JOBS.items()}
    assert needs == {
        "build": None,
        "check": "build",
        "image": "check",
        "publish": ["check", "image"],
        "notes": "publish",
    }


def test_each_job_has_only_the_permissions_it_needs() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job} == {
        "image": {"contents": "read", "packages": "write"},
        "publish": {"id-token": "write"},
        "notes": {"contents": "write"},
    }
    assert JOBS["publish"]["environment"] == "release"
    # Expressions in scripts would allow injection by names of branches and the like.
    scripts = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


def test_wheel_and_sdist_are_checked_on_every_supported_python() -> None:
    matrix = JOBS["check"]["strategy"]["matrix"]
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert {*supported, "3.14"} == set(matrix["python"])
    assert matrix["file"] == ["*.whl", "*.tar.gz"]


def test_image_has_two_architectures_and_proofs_of_its_origin() -> None:
    build = JOBS["image"]["steps"][-1]["with"]
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["push"], build["sbom"], build["provenance"]) == (True, True, "mode=max")
    assert STEPS["names"]["with"]["images"] == "ghcr.io/${{ github.repository }}"
    labels = re.findall(r"org\.opencontainers\.image\.(\w+)=", (ROOT / "Dockerfile").read_text())
    assert labels == ["title", "description", "licenses"]


def test_tag_of_another_version_stops_the_release(runner: Runner) -> None:
    (runner.folder / "dist/mockllm_server-0.1.0.tar.gz").touch()
    assert runner.run(STEPS["version"]).returncode == 0
    runner.variables["GITHUB_REF_NAME"] = "v0.2.0"
    assert runner.run(STEPS["version"]).returncode == 1


def test_package_that_names_another_repository_stops_the_release(runner: Runner) -> None:
    (line,) = re.findall(r'^Repository = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    runner.variables["GITHUB_REPOSITORY"] = line.removeprefix("https://github.com/")
    assert runner.run(STEPS["repository"]).returncode == 0
    runner.variables["GITHUB_REPOSITORY"] = "other/mockllm"
    assert runner.run(STEPS["repository"]).returncode == 1


def test_version_without_notes_stops_the_release(runner: Runner) -> None:
    assert runner.run(STEPS["notes"]).returncode == 0
    runner.variables["GITHUB_REF_NAME"] = "v99.0.0"
    process = runner.run(STEPS["notes"])
    assert (process.returncode, process.stderr) == (
        1,
        "CHANGELOG.md: no heading '## [99.0.0] - DATE'\n",
    )


@pytest.mark.process
def test_check_runs_the_command_and_a_first_test(runner: Runner, tmp_path: Path) -> None:
    # In place of `python -m venv`: an environment with the installed packages.
    script = (
        'mkdir -p "$3/bin"; '
        f'printf \'#!/bin/sh\\necho "$@" >"{tmp_path}/installed"\\n\' >"$3/bin/pip"; '
        'chmod +x "$3/bin/pip"; '
        + " ".join(
            f"printf '#!/bin/sh\\nexec {Path(sys.executable).with_name(name)} \"$@\"\\n' "
            f'>"$3/bin/{name}"; chmod +x "$3/bin/{name}";'
            for name in ("python", "mockllm")
        )
    )
    install_program(runner, "python", script)
    (runner.folder / "dist/mockllm_server-0.1.0-py3-none-any.whl").touch()
    runner.values["matrix.file"] = "*.whl"
    # The folder must not be below a project with pytest settings.
    (runner.folder / "pyproject.toml").unlink()
    runner.variables["PYTEST_ADDOPTS"] = "-p no:django -p no:schemathesis -p no:hypothesispytest"
    process = runner.run(STEPS["check"])
    assert process.returncode == 0, process.stdout + process.stderr
    assert "1 passed" in process.stdout
    installed = (tmp_path / "installed").read_text()
    assert installed == "install dist/mockllm_server-0.1.0-py3-none-any.whl pytest openai\n"


DOCKER: Mapping[str, str] = {
    "run": "echo id",
    "inspect": "test -e asked && echo {state} || {{ touch asked; echo starting; }}",
    "logs": "echo log",
    "exec": "echo {user}",
}


@pytest.mark.parametrize(("state", "user", "code"), [("healthy", "10001", 0), ("healthy", "0", 1)])
def test_image_that_runs_as_root_stops_the_release(
    runner: Runner, state: str, user: str, code: int
) -> None:
    cases = "\n".join(f"{name}) {do} ;;" for name, do in DOCKER.items())
    install_program(runner, "docker", f'case "$1" in\n{cases}\nesac'.format(state=state, user=user))
    install_program(runner, "sleep", "true")
    assert runner.run(STEPS["healthy"]).returncode == code


def test_image_that_never_gets_healthy_stops_the_release(runner: Runner) -> None:
    install_program(runner, "docker", 'case "$1" in inspect) echo starting ;; *) echo 1 ;; esac')
    install_program(runner, "sleep", "true")
    assert runner.run(STEPS["healthy"]).returncode == 1


def test_release_has_the_notes_and_the_files(runner: Runner) -> None:
    (runner.folder / "dist/a.whl").touch()
    install_program(runner, "gh", 'printf "%s\\n" "$@"; cat notes.md >&2')
    runner.values["github.token"] = "token"
    process = runner.run(STEPS["release"])
    assert process.stdout.split() == [
        *("release", "create", "v0.1.0", "dist/a.whl", "--verify-tag"),
        *("--title", "v0.1.0", "--notes-file", "notes.md"),
    ]
    assert process.stderr.startswith("### Added\n")


def test_changelog_has_notes_on_the_version_of_the_package() -> None:
    assert f"## [{__version__}] - " in (ROOT / "CHANGELOG.md").read_text()
