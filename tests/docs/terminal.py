"""The picture of a terminal in the README: a test that passes, then one that fails, as they ran."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.repository import ROOT

FILE = ROOT / "docs" / "first-test.svg"
PROGRAM = """\
import openai


def advise(place):
    try:
        question = f"Will it rain in {place}?"
        answer = openai.OpenAI().responses.create(model="gpt-4o", input=question)
        return answer.output_text
    except openai.OpenAIError:
        return "Take a coat."
"""
TEST = """\
from advice import advise


def test_advice(mockllm):
    mockllm.on("{}").reply("No rain in Paris.")
    assert advise("Paris")
"""
# The words of the stub in the first and in the second run.
WORDS = ("will it rain", "how is the weather")
TITLE = "A test passes; with another stub it fails, and says what the program asked"
COMMAND = "pytest -q test_advice.py"
WIDTH, LINE_HEIGHT, PADDING, CHARS = 880, 19, 18, 106
TOTAL_SECONDS, LINE_SECONDS = 9.0, 0.35
FOREGROUND, BACKGROUND = "#d8dee9", "#20242c"
COLOURS = {"$": "#88c0d0", "FAILED": "#f07178", "mockllm:": "#f07178", "1 failed": "#f07178"}
COLOURS |= {"1 passed": "#a3d9a5", "#": "#8b95a5"}
CI = ("CI", "BUILD_NUMBER")
# What differs from run to run.
VARYING = ((r"\[[0-9a-f-]{36}\]", "[3f0c6b1e…]"), (r" in \d+\.\d+s", ""))


def run_tests() -> list[str]:
    """Return the lines of the picture: both runs of the test as they are today."""
    lines = []
    with TemporaryDirectory() as folder:
        (Path(folder) / "advice.py").write_text(PROGRAM)
        for words in WORDS:
            (Path(folder) / "test_advice.py").write_text(TEST.format(words))
            lines += ["", f'# mockllm.on("{words}").reply("No rain in Paris.")', f"$ {COMMAND}"]
            arguments = [*COMMAND.split(), "-p", "no:cacheprovider", "-W", "ignore"]
            process = subprocess.run(
                [sys.executable, "-m", *arguments],
                cwd=folder,
                # pytest cuts the lines of its summary to the width, but not in CI.
                env={name: value for name, value in os.environ.items() if name not in CI}
                | {"COLUMNS": "80"},
                capture_output=True,
                text=True,
                check=False,
            )
            lines += process.stdout.splitlines()
    return list(_shorten(lines[1:]))


def _shorten(lines: list[str]) -> Iterator[str]:
    """Yield the lines without what varies; long ones are wrapped."""
    for line in lines:
        text = line
        for pattern, replacement in VARYING:
            text = re.sub(pattern, replacement, text)
        text = re.sub(r"^[=_]{3,} (.*?) [=_]{3,}$", r"— \1 —", text)
        if re.match(r"\.+ +\[|F +\[|configfile|— short", text):
            continue
        while len(text) > CHARS:
            cut = text.rfind(" ", 0, CHARS)
            yield text[:cut]
            text = "    " + text[cut + 1 :]
        yield text


def picture(lines: list[str]) -> str:
    """Return an SVG in which the lines appear one after the other, once."""
    height = 2 * PADDING + LINE_HEIGHT * len(lines)
    rows = [_row(number, line) for number, line in enumerate(lines)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img" font-size="13.5" '
            'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace">',
            f"<title>{TITLE}</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
            *rows,
            "</svg>\n",
        ]
    )


def _row(number: int, line: str) -> str:
    """Return one line of the picture in its colour, with the time at which it appears."""
    colour = next((value for start, value in COLOURS.items() if line.startswith(start)), FOREGROUND)
    y = PADDING + LINE_HEIGHT * number + 13
    share = min(LINE_SECONDS * number / TOTAL_SECONDS, 0.95)
    appear = (
        f'<animate attributeName="opacity" values="0;1;1" keyTimes="0;{share:.3f};1" '
        f'calcMode="discrete" dur="{TOTAL_SECONDS:g}s"/>'
        if share
        else ""
    )
    text = escape(line, quote=False)
    return f'<text x="{PADDING}" y="{y}" fill="{colour}" xml:space="preserve">{text}{appear}</text>'


def main() -> None:
    """Write the picture."""
    FILE.write_text(picture(run_tests()), encoding="utf-8")
