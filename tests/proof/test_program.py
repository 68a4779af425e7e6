"""One run of the command under test: its variables, its end and its time limit."""

import sys
from threading import Event

import pytest

from scenarios_app.proof.program import Interrupted, run_program

URL = "http://127.0.0.1:9"


def test_command_gets_the_variables_that_mockllm_run_sets() -> None:
    code = "import os; print(os.environ['OPENAI_BASE_URL'], os.environ['NODE_OPTIONS'])"
    run = run_program([sys.executable, "-c", code], URL, limit=60)
    assert run.code == 0 and not run.hung
    assert f"{URL}/v1" in run.output and "node_redirect.cjs" in run.output


def test_command_is_ended_with_its_children_when_its_time_is_over() -> None:
    run = run_program(["sh", "-c", "echo begun; sleep 600 & wait"], URL, limit=0.3)
    assert run.hung and run.output == "begun\n" and run.seconds < 60


def test_stopped_sweep_interrupts_the_command() -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Interrupted):
        run_program(["sleep", "600"], URL, limit=600, stop=stop)
