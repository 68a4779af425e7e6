"""New environments with the package and some of its extras."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fresh.processes import run
from tests.support.required_services import require

ROOT = Path(__file__).resolve().parents[2]
INSTALL_SECONDS = 300


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    process = run("-m", "hatchling", "build", "-t", "wheel", "-d", str(target), cwd=ROOT)
    assert process.returncode == 0, process.stderr
    (file,) = target.glob("mockllm_server-*.whl")
    return file


def install(folder: Path, *requirements: str) -> Path:
    """Return the Python of a new environment with these packages."""
    require(find_spec("uv") is not None, "there is no uv in this environment")
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    process = subprocess.run(
        [
            *(*uv, "pip", "install", "--quiet", "--python", python),
            *("-c", ROOT / "constraints.txt", *requirements),
        ],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    offline = "Failed to fetch" in process.stderr or "dns error" in process.stderr
    require(not offline, "the package index cannot be reached")
    assert process.returncode == 0, process.stderr
    return python


@pytest.fixture(scope="session")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the package and no extras."""
    return install(tmp_path_factory.mktemp("base") / "venv", str(wheel))
