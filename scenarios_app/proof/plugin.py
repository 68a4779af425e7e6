"""`pytest --mockllm-torture`: repeats each test that uses the fixture `mockllm` with one fault at
one answer at a time.

pytest imports this in every run, so it imports little until the option is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scenarios_app.proof import OPTION

if TYPE_CHECKING:
    from scenarios_app.proof.repeats import TestSweeps

_sweeps: pytest.StashKey[TestSweeps] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mockllm")
    group.addoption(
        OPTION,
        action="store_true",
        help="repeat each test with one fault at one answer at a time, and print how it took each",
    )
    words = {
        "kinds": ("A,B", "only these kinds of trouble"),
        "only": ("CELL", "only this cell of each test: KIND@ANSWER"),
        "budget": ("N", "at most N runs of each test, the most telling ones first"),
        "seconds": ("S", "start no run after S seconds"),
        "seed": ("N", "of the order of runs (default: 0)"),
        "fail-on": ("A,B", "outcomes that fail the run (default: silent,wrong,hung,multiplied)"),
        "json": ("FILE", "write the matrix as JSON"),
        "html": ("FILE", "write a page with the output and requests of each run"),
        "junit": ("FILE", "write the matrix as JUnit XML"),
    }
    for name, (metavar, meaning) in words.items():
        group.addoption(f"{OPTION}-{name}", metavar=metavar, default=None, help=meaning)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(OPTION):
        from scenarios_app.proof.repeats import TestSweeps

        sweeps = config.stash[_sweeps] = TestSweeps(config)
        config.pluginmanager.register(sweeps, "mockllm-torture-sweeps")
