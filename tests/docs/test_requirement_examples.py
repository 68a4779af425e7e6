"""The programs in `examples/requirements/`, one for each requirement, run as users run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "requirements"
OUTPUTS = {
    "000": (
        "swapped_handler.py",
        """\
the same answer twice: True
reasons about: True
ends with the question: True
""",
    ),
    "001": (
        "builder_server.py",
        """\
OpenAI: Take sunglasses.
Anthropic: Take sunglasses.
Gemini: Take sunglasses.
requests: 6
""",
    ),
    "002": (
        "chat_service.py",
        """\
thinking: Better not in my head.
calls: add
result: 42
text: 17 + 25 is 42.
complete, tool calls: 1
""",
    ),
    "003": (
        "agent_harness.py",
        """\
  failed: RateLimitError
turn: read_logs {'page': 1}
  failed: InternalServerError
turn: read_logs {'page': 2}
  failed: JSONDecodeError
turn: read_logs {'page': 3}
  failed: APIConnectionError
turn: read_logs {'page': 4}
report: All is well.
""",
    ),
    "004": (
        "chat_client.py",
        """\
connection lost after: started
numbers: 1 2 3
text: Once upon a time.
trace: completed with 3 events
vote: tie
""",
    ),
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("requirement", OUTPUTS)
def test_example_of_a_requirement_prints_its_expected_output(
    requirement: str, tmp_path: Path
) -> None:
    program, output = OUTPUTS[requirement]
    process = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "APP_ENV": "test", "MOCKLLM_WORDS_PER_SECOND": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    # Requirement 000 gets default answers, which are logged once per session.
    default = "the default answer of test-mode was sent"
    complaints = [line for line in process.stderr.splitlines() if default not in line]
    assert (process.returncode, process.stdout, complaints) == (0, output, [])


def test_every_requirement_has_one_example_that_names_it() -> None:
    first_lines = {
        path.name: path.read_text().splitlines()[0].partition(":")[0]
        for path in EXAMPLES.glob("*.py")
    }
    assert first_lines == {
        name: f'"""Requirement {number}' for number, (name, _) in OUTPUTS.items()
    }
