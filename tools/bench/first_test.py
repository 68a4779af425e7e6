"""From an empty folder to a first green test, with each SDK: `make bench-first-test`.

The wheel is built from this tree, once. Then, for each SDK, by the clock: a new environment, the
install of the wheel, pytest and the SDK, and the test. The first SDK's install warms the cache of
packages and is not counted; installers are pip and uv. CPU is that of all processes, for machines
on which others work too.
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
        do(*build, cwd=ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        print(
            f"{'seconds from an empty folder':<32}{'install':>9}{'test':>7}{'all':>7}{'lines':>7}"
        )
        for name, install in {"uv": with_uv, "pip": with_pip}.items():
            started(install, wheel, "openai")
            for sdk in FIRST_TESTS:
                before = children()
                installed, tested = started(install, wheel, sdk)
                lines = len(FIRST_TESTS[sdk].strip().splitlines())
                print(
                    f"{f'{name}, {sdk}':<32}{installed:>9.1f}{tested:>7.1f}"
                    f"{installed + tested:>7.1f}{children() - before:>7.1f}{lines:>7}",
                    flush=True,
                )
    print(f"goal: {GOAL_SECONDS:.0f} s, {GOAL_LINES} lines")


def started(
    install: Callable[[Path, tuple[str, ...]], None], wheel: Path, sdk: str
) -> tuple[float, float]:
    """Seconds until everything is installed, and from then on until the test is green."""
    with tempfile.TemporaryDirectory() as empty:
        folder, start = Path(empty), time.monotonic()
        install(folder, (str(wheel), "pytest", sdk))
        installed = time.monotonic()
        (folder / "test_it.py").write_text(FIRST_TESTS[sdk].lstrip())
        output = do(folder / "v" / "bin" / "python", "-m", "pytest", "-q", cwd=folder)
        if "1 passed" not in output:
            raise RuntimeError(output)
        return installed - start, time.monotonic() - installed


def with_pip(folder: Path, packages: tuple[str, ...]) -> None:
    do(sys.executable, "-m", "venv", "--without-pip", folder / "v", cwd=folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / "v" / "bin" / "python")
    do(*pip, "install", "--quiet", "--disable-pip-version-check", *packages, cwd=folder)


def with_uv(folder: Path, packages: tuple[str, ...]) -> None:
    uv = (sys.executable, "-m", "uv")
    do(*uv, "venv", "--quiet", "--python", sys.executable, folder / "v", cwd=folder)
    python = folder / "v" / "bin" / "python"
    do(*uv, "pip", "install", "--quiet", "--python", python, *packages, cwd=folder)


def do(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command; raises if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=MAX_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
