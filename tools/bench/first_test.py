"""Measures the seconds from an empty folder to a first green test: `make bench-first-test`.

The wheel is built once from this tree. Then, for each SDK and for pip and uv: a new environment,
the install of the wheel, pytest and the SDK, and the test. A first install, which is not counted,
fills the cache of packages. The last seconds are the CPU of all processes, for machines on which
others work too.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tools.bench.cpu import children
from tools.bench.servers import ROOT

GOAL_SECONDS, GOAL_LINES, MAX_SECONDS = 10.0, 5, 600
FIRST_TESTS = {
    "openai": """
import openai
def test_it(mockllm):
    mockllm.on("hello").reply("Hi!")
    assert openai.OpenAI().responses.create(model="gpt-4o", input="hello").output_text == "Hi!"
""",
    "anthropic": """
import anthropic
def test_it(mockllm):
    mockllm.on("hello").reply("Hi!")
    asked = {"model": "claude-sonnet-5-5", "messages": [{"role": "user", "content": "hello"}]}
    assert anthropic.Anthropic().messages.create(max_tokens=9, **asked).content[0].text == "Hi!"
""",
    "google-genai": """
from google import genai
def test_it(mockllm):
    mockllm.on("hello").reply("Hi!")
    client = genai.Client()
    assert client.models.generate_content(model="gemini-2.5-flash", contents="hello").text == "Hi!"
""",
    "ollama": """
import ollama
def test_it(mockllm):
    mockllm.on("hello").reply("Hi!")
    assert ollama.Client().generate(model="llama3.2", prompt="hello").response == "Hi!"
""",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
        run_command(*build, cwd=ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        print(
            f"{'seconds from an empty folder':<32}{'install':>9}{'test':>7}{'all':>7}{'lines':>7}"
        )
        for name, install in {"uv": install_with_uv, "pip": install_with_pip}.items():
            time_first_test(install, wheel, "openai")
            for sdk in FIRST_TESTS:
                before = children()
                install_seconds, test_seconds = time_first_test(install, wheel, sdk)
                lines = len(FIRST_TESTS[sdk].strip().splitlines())
                print(
                    f"{f'{name}, {sdk}':<32}{install_seconds:>9.1f}{test_seconds:>7.1f}"
                    f"{install_seconds + test_seconds:>7.1f}{children() - before:>7.1f}{lines:>7}",
                    flush=True,
                )
    print(f"goal: {GOAL_SECONDS:.0f} s, {GOAL_LINES} lines")


def time_first_test(
    install: Callable[[Path, tuple[str, ...]], None], wheel: Path, sdk: str
) -> tuple[float, float]:
    """Return the seconds of the install and of the test; raises RuntimeError if the test fails."""
    with tempfile.TemporaryDirectory() as empty:
        folder, start = Path(empty), time.monotonic()
        install(folder, (str(wheel), "pytest", sdk))
        end_of_install = time.monotonic()
        (folder / "test_it.py").write_text(FIRST_TESTS[sdk].lstrip())
        output = run_command(folder / "v" / "bin" / "python", "-m", "pytest", "-q", cwd=folder)
        if "1 passed" not in output:
            raise RuntimeError(output)
        return end_of_install - start, time.monotonic() - end_of_install


def install_with_pip(folder: Path, packages: tuple[str, ...]) -> None:
    run_command(sys.executable, "-m", "venv", "--without-pip", folder / "v", cwd=folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "v" / "bin" / "python")
    run_command(*pip, "install", "--quiet", "--disable-pip-version-check", *packages, cwd=folder)


def install_with_uv(folder: Path, packages: tuple[str, ...]) -> None:
    uv = (sys.executable, "-m", "uv")
    run_command(*uv, "venv", "--quiet", "--python", sys.executable, folder / "v", cwd=folder)
    python = folder / "v" / "bin" / "python"
    run_command(*uv, "pip", "install", "--quiet", "--python", python, *packages, cwd=folder)


def run_command(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command; raises if it fails."""
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=MAX_SECONDS)
    if result.returncode:
        raise RuntimeError(f"{command}: {result.stdout}{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    main()
