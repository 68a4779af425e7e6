"""`pytest --mockllm-torture` and `--mockllm-mutants`: repeat each test that uses the fixture
`mockllm` with one change of an answer at a time.

pytest imports this in every run, so it imports little until an option is given.
"""

from __future__ import annotations

import pytest

EXPERIMENTS = {
    "torture": "repeat each test with one fault at one answer at a time; print how it took each",
    "mutants": "repeat each test with one change of the script at a time; print those unnoticed",
}
WORDS = {
    "kinds": ("A,B", "only these kinds of change"),
    "only": ("CELL", "only this one, as a report names it"),
    "budget": ("N", "at most N runs of each test, the most telling ones first"),
    "seconds": ("S", "start no run after S seconds"),
    "seed": ("N", "of the order of runs (default: 0)"),
    "fail-on": ("A,B", "outcomes that fail the run"),
    "json": ("FILE", "write the results as JSON"),
    "html": ("FILE", "write a page with the results"),
    "junit": ("FILE", "write the results as JUnit XML"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mockllm")
    for experiment, meaning in EXPERIMENTS.items():
        option = f"--mockllm-{experiment}"
        group.addoption(option, action="store_true", help=meaning)
        for name, (metavar, text) in WORDS.items():
            group.addoption(f"{option}-{name}", metavar=metavar, default=None, help=text)
    text = "fail the run if the score is lower, instead of by outcomes"
    group.addoption("--mockllm-mutants-fail-under", metavar="PERCENT", default=None, help=text)


def pytest_configure(config: pytest.Config) -> None:
    wanted = [name for name in EXPERIMENTS if config.getoption(f"--mockllm-{name}")]
    if len(wanted) > 1:
        raise pytest.UsageError("give one of --mockllm-torture and --mockllm-mutants")
    for other in EXPERIMENTS.keys() - wanted:
        for name in (*WORDS, *(["fail-under"] if other == "mutants" else [])):
            if config.getoption(f"--mockllm-{other}-{name}") is not None:
                option = f"--mockllm-{other}"
                raise pytest.UsageError(f"{option}-{name} needs {option}")
    if not wanted:
        return
    from scenarios_app.proof.mutants import MUTANTS
    from scenarios_app.proof.repeats import TestSweeps
    from scenarios_app.proof.torture import TORTURE

    experiment = MUTANTS if wanted == ["mutants"] else TORTURE
    config.pluginmanager.register(TestSweeps(config, experiment), "mockllm-sweeps")
